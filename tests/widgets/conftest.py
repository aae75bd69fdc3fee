"""Panels without a browser: a local AgentCore in a temporary folder, and what a panel told its views."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import loomlib as loom
from loom_widgets.kit import Panel
from loomlib import local

PATIENCE_S = 60.0


class Watched:
    """A panel with everything that it told; asks as a view would, and waits for the answers."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.told: list[Mapping[str, Any]] = []
        self._numbers = itertools.count(1)
        panel.listen(self.told.append)

    def begin(self, name: str, /, **form: Any) -> int:
        number = next(self._numbers)
        self.panel.receive({"do": name, "with": form, "id": number})
        return number

    def answer(self, number: int) -> Mapping[str, Any]:
        """The answer's value; None-like failure is told as {"failed": True}."""
        wait_until(lambda: any(each.get("id") == number and each["is"] != "heard" for each in self.told))
        found = next(each for each in self.told if each.get("id") == number and each["is"] != "heard")
        return {"failed": True} if found["is"] == "failed" else found["value"]

    def ask(self, name: str, /, **form: Any) -> Mapping[str, Any]:
        return self.answer(self.begin(name, **form))

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        return [each for each in self.told if each["is"] == kind]


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.01)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("widgets") / "home"
    yield folder
    local.stop(folder)


@pytest.fixture(scope="session")
def bench(home: Path) -> Iterator[loom.Workbench]:
    with loom.connect(home=home) as opened:
        yield opened
