"""Which isolation is chosen where bubblewrap is missing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from loomlib import local
from loomlib.errors import LocalServiceError
from loomlib.local.sandbox.isolation import choose


@pytest.fixture(autouse=True)
def _no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "programs").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))


def test_required_isolation_is_refused_without_bubblewrap(tmp_path: Path) -> None:
    with pytest.raises(LocalServiceError, match="--sandbox required asks: bubblewrap ") as refusal:
        choose("required")
    assert refusal.value.on.startswith("bubblewrap on ")
    assert "apt-get install bubblewrap" in refusal.value.try_
    with pytest.raises(LocalServiceError, match="--sandbox required asks"):
        local.start(tmp_path / "home", local.ServiceOptions(sandbox="required"), persistent=True)
    assert local.find(tmp_path / "home") is None


def test_the_best_isolation_without_bubblewrap_is_another_user_id_for_root_and_none_for_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    chosen = choose("best", home=tmp_path / "home")  # a place where no other user comes
    assert (chosen.level, chosen.network, chosen.program) == ("none", "shared", "")
    assert chosen.reason.startswith(("bubblewrap is not installed", "bubblewrap needs Linux"))
    assert ("; another user id cannot be used" in chosen.reason) == (sys.platform == "linux" and os.geteuid() == 0)
    assert chosen.reason in chosen.sentence
    assert chosen.label == "sessions: not isolated"


def test_isolation_that_is_switched_off_names_the_switch() -> None:
    assert choose("off").sentence.endswith("(switched off with --sandbox off)")
