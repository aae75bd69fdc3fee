"""Two learners at once: each has an AgentCore of their own, and a reset of one leaves the other alone."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from loom_command import LoomCommand

import loomlib as loom
from loomlib import local, workshop
from loomlib.errors import ResourceNotFoundError


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[list[Path]]:
    homes = [tmp_path / "learners" / name for name in ("ada", "ben")]
    yield homes
    for home in homes:
        local.stop(home)


def test_two_learners_share_nothing_and_one_can_start_over(homes: list[Path], loom_command: LoomCommand) -> None:
    with loom.connect(home=homes[0]) as ada, loom.connect(home=homes[1]) as ben:
        states = [local.find(home) for home in homes]
        assert states[0] is not None
        assert states[1] is not None
        assert states[0].port != states[1].port
        assert states[0].access_key != states[1].access_key
        assert states[0].secret_key != states[1].secret_key

        agent = ada.deploy("echo")
        first = agent.invoke("hello").raise_for_status()
        second = agent.invoke("again", session_id=first.session_id)
        ada.memories.create("diary")
        assert workshop.lesson(1, ada).exercise("1.4", [first, second]).is_right
        assert not len(ben.agents())
        assert not len(ben.memories.table())
        assert ben.telemetry.session_count() == 0
        assert workshop.lesson(1, ben).progress().done == 0
        with pytest.raises(ResourceNotFoundError):
            ben.memories.get("diary")

        crossed = urllib.request.Request(
            f"{states[1].url}/_loom/status", headers={"Authorization": f"Bearer {states[0].token}"}
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(crossed, timeout=30)
        refused.value.close()
        assert refused.value.code in (401, 403)

    environment = {**os.environ, "LOOM_HOME": str(homes[0])}
    assert "ada" in loom_command.run("workshop", "progress", environment=environment).stdout
    reset = loom_command.run("workshop", "reset", "--yes", environment=environment)
    assert reset.returncode == 0, reset.stderr
    assert list(homes[0].iterdir()) == []
    assert (homes[1] / "loom.db").exists()
    nothing = loom_command.run("workshop", "reset", "--yes", environment=environment)
    assert "Nothing to reset" in nothing.stderr
