"""A local AgentCore whose long-term memory does not wait."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from memory_clients import LongTerm

import loomlib as loom
from loomlib import local


@pytest.fixture(scope="session")
def prompt_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[local.ServiceState]:
    home = tmp_path_factory.mktemp("home")
    state, _ = local.start(home, local.ServiceOptions(memory_delay_s=0.02), persistent=True)
    yield state
    local.stop(home)


@pytest.fixture
def long_term(prompt_service: local.ServiceState) -> Iterator[Callable[..., LongTerm]]:
    """Makes memories in the service, each with clients of its own."""
    with contextlib.ExitStack() as opened:

        def make(*strategies: dict[str, Any], **more: Any) -> LongTerm:
            return opened.enter_context(contextlib.closing(LongTerm.made(prompt_service, *strategies, **more)))

        yield make


@pytest.fixture(scope="session")
def memory_bench(prompt_service: local.ServiceState) -> Iterator[loom.Workbench]:
    with loom.connect(home=prompt_service.home) as bench:
        yield bench
