"""The journal of a deployment: what survives the process, and who may hold it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from loomlib.deploy.journal import DeployJournal, Intent
from loomlib.errors import DeployError

MADE = Intent(kind="role", name="loom-a-us-east-1", action="create")
CHANGED = Intent(kind="runtime", name="a", action="change", before={"version": "3"})


def journal(home: Path, agent: str = "a") -> DeployJournal:
    return DeployJournal(home, "aws-123456789012-us-east-1", agent)


def test_intents_are_there_for_the_next_process(tmp_path: Path) -> None:
    with journal(tmp_path) as first:
        assert not first.is_interrupted
        first.add(MADE)
        first.add(CHANGED)
    assert journal(tmp_path).is_interrupted
    with journal(tmp_path) as second:
        assert second.intents == (MADE, CHANGED)
        second.remove(MADE)
        assert second.intents == (CHANGED,)
        second.clear()
    assert not journal(tmp_path).is_interrupted


def test_of_two_intents_on_one_resource_the_first_counts(tmp_path: Path) -> None:
    with journal(tmp_path) as first:
        first.add(MADE)
    with journal(tmp_path) as second:
        second.add(Intent(kind=MADE.kind, name=MADE.name, action="change", before={"policy": {}}))
        assert second.intents == (MADE,)


def test_a_second_deployment_of_an_agent_is_refused_and_others_are_not(tmp_path: Path) -> None:
    refused = pytest.raises(DeployError, match=f"a is being deployed by process {os.getpid()}")
    with journal(tmp_path), journal(tmp_path, "b"), refused, journal(tmp_path):
        pass
    with journal(tmp_path):
        pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from loomlib.deploy.journal import DeployJournal, Intent
with DeployJournal(Path({str(tmp_path)!r}), "aws-123456789012-us-east-1", "a") as journal:
    journal.add(Intent(kind="role", name="loom-a-us-east-1", action="create"))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], check=False, timeout=240)
    with journal(tmp_path) as deploy_journal:
        assert deploy_journal.intents == (MADE,)


@pytest.mark.parametrize("text", ["", "[]", '{"intents": 1}', '{"intents": [1, {}]}', "\xff\xfe"])
def test_a_damaged_journal_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    with journal(tmp_path) as first:
        first.add(MADE)
    (file,) = (tmp_path / "deployments").glob("*.json")
    file.write_text(text, "latin-1")
    with pytest.raises(DeployError, match="journal of the deployment is damaged"), journal(tmp_path):
        pass


def test_the_journal_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    with journal(tmp_path) as first:
        first.add(CHANGED)
        (file,) = (tmp_path / "deployments").glob("*.json")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert json.loads(file.read_text())["agent"] == "a"
