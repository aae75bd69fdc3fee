"""Folders and settings files that other users own or can write to are refused until this user trusts them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from loomlib import local
from loomlib.cli.main import cli
from loomlib.errors import SettingsError, UntrustedError
from loomlib.settings import Settings, default_home, read_table

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
ANOTHER_USER = 54_321
STATE = {
    "pid": 1, "port": 8080, "access_key": "LOOM", "secret_key": "x", "region": "us-east-1", "account_id": "1",
    "persistent": True, "options": {}, "started_at": "2026-01-01T00:00:00+00:00",
}  # fmt: skip


@pytest.fixture(autouse=True)
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    for name in ("SUDO_UID", "LOOM_HOME", "LOOM_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project" / "notebooks"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def make_home(parent: Path) -> Path:
    home = parent / ".loom"
    home.mkdir(mode=0o700)
    return home


def make_settings(parent: Path) -> Path:
    file = parent / "loom.toml"
    file.write_text('[loom]\nregion = "eu-west-1"\n[alerts]\nops = "file:alerts.jsonl"\n')
    file.chmod(0o644)
    return file


@needs_root
@pytest.mark.parametrize("make", [make_home, make_settings])
def test_what_another_user_owns_in_a_folder_above_is_refused(below: Path, make: Callable[[Path], Path]) -> None:
    path = make(below.parent)
    os.chown(path, ANOTHER_USER, ANOTHER_USER)
    with pytest.raises(UntrustedError) as caught:
        Settings.load({})
    assert "belongs to another user (uid 54321)" in caught.value.what
    assert caught.value.on == str(path)
    assert f"loom trust {path if path.is_dir() else path.parent}" in caught.value.try_


@needs_root
def test_a_table_of_another_users_settings_file_is_refused(below: Path) -> None:
    os.chown(make_settings(below.parent), ANOTHER_USER, ANOTHER_USER)
    with pytest.raises(UntrustedError):
        read_table("alerts", {})


@pytest.mark.parametrize(("mode", "reason"), [(0o777, "every user can write"), (0o1777, "every user can write")])
@pytest.mark.parametrize("make", [make_home, make_settings])
def test_what_every_user_can_write_to_is_refused(
    below: Path, make: Callable[[Path], Path], mode: int, reason: str
) -> None:
    make(below).chmod(mode)
    with pytest.raises(UntrustedError, match=reason):
        Settings.load({})


@needs_root
@pytest.mark.parametrize("make", [make_home, make_settings])
def test_what_a_shared_group_can_write_to_is_refused(below: Path, make: Callable[[Path], Path]) -> None:
    path = make(below)
    os.chown(path, 0, 54_321)
    path.chmod(0o770)
    with pytest.raises(UntrustedError, match="the group 54321 can write to it"):
        Settings.load({})


@needs_root
def test_a_link_of_another_user_to_an_own_folder_is_refused(below: Path, tmp_path: Path) -> None:
    home = make_home(tmp_path)
    (below / ".loom").symlink_to(home)
    assert default_home() == below / ".loom"
    os.chown(below / ".loom", ANOTHER_USER, ANOTHER_USER, follow_symlinks=False)
    with pytest.raises(UntrustedError, match="belongs to"):
        default_home()


def test_an_own_folder_and_file_need_no_trust(below: Path) -> None:
    make_home(below)
    make_settings(below.parent)
    settings = Settings.load({})
    assert (settings.home, settings.region) == (below / ".loom", "eu-west-1")


@needs_root
def test_who_called_sudo_owns_what_is_used(below: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_home(below)
    os.chown(home, ANOTHER_USER, ANOTHER_USER)
    monkeypatch.setenv("SUDO_UID", str(ANOTHER_USER))
    assert Settings.load({}).home == home


@needs_root
def test_a_path_that_the_user_names_is_not_refused(below: Path) -> None:
    home, file = make_home(below), make_settings(below)
    for path in (home, file):
        os.chown(path, ANOTHER_USER, ANOTHER_USER)
    settings = Settings.load({"LOOM_HOME": str(home), "LOOM_CONFIG": str(file)})
    assert (settings.home, settings.region) == (home, "eu-west-1")


@needs_root
def test_the_service_of_another_user_is_not_called(below: Path) -> None:
    home = make_home(below)
    (home / "service.json").write_text(json.dumps(STATE))
    os.chown(home / "service.json", ANOTHER_USER, ANOTHER_USER)
    with pytest.raises(UntrustedError, match=r"belongs to .*service\.json.*loom trust"):
        local.start(home, persistent=False)


@needs_root
def test_a_folder_is_refused_until_loom_trust_accepts_it_and_after_it_is_revoked(below: Path) -> None:
    home, file = make_home(below.parent), make_settings(below.parent)
    for path in (home, file):
        os.chown(path, ANOTHER_USER, ANOTHER_USER)
    run = CliRunner().invoke
    assert isinstance(run(cli, ["status"]).exception, UntrustedError)

    trusted = run(cli, ["trust", str(below.parent)])
    assert trusted.exit_code == 0, trusted.output
    assert run(cli, ["trust"]).output == f"{below.parent}\n"
    assert (Settings.load({}).home, Settings.load({}).region) == (home, "eu-west-1")

    revoked = run(cli, ["trust", "--revoke", str(below.parent)])
    assert revoked.exit_code == 0, revoked.output
    with pytest.raises(UntrustedError):
        Settings.load({})


def test_the_list_of_trusted_folders_is_readable_by_its_user_only(below: Path, tmp_path: Path) -> None:
    CliRunner().invoke(cli, ["trust", str(below)], catch_exceptions=False)
    CliRunner().invoke(cli, ["trust", str(below)], catch_exceptions=False)
    file = tmp_path / "configuration" / "loom" / "trusted-folders"
    assert file.read_text() == f"{below}\n"
    assert file.stat().st_mode & 0o777 == 0o600


@needs_root
def test_a_list_of_trusted_folders_that_another_user_wrote_is_refused(below: Path, tmp_path: Path) -> None:
    os.chown(make_home(below), ANOTHER_USER, ANOTHER_USER)
    CliRunner().invoke(cli, ["trust", str(below)], catch_exceptions=False)
    os.chown(tmp_path / "configuration" / "loom" / "trusted-folders", ANOTHER_USER, ANOTHER_USER)
    with pytest.raises(SettingsError, match="The list of trusted folders is not used"):
        Settings.load({})


def test_a_folder_that_does_not_exist_cannot_be_trusted(below: Path) -> None:
    failed = CliRunner().invoke(cli, ["trust", str(below / "missing")])
    assert isinstance(failed.exception, SettingsError)
