"""An agent to deploy, and AWS as the local AgentCore stands in for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from echo_agent import ECHO_AGENT


@pytest.fixture(scope="module")
def make_agent(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes an agent's folder."""

    def make(name: str = "echo", code: str = ECHO_AGENT, **files: str) -> Path:
        folder = tmp_path_factory.mktemp("code") / name
        folder.mkdir()
        (folder / "agent.py").write_text(code)
        for file, text in files.items():
            (folder / file.replace("__", ".")).write_text(text)
        return folder

    return make
