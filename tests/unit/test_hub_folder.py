"""The folder of a hub: its settings, certificate and checks."""

from __future__ import annotations

import json
import os
import ssl
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from cryptography import x509

from loomlib.cli.main import cli
from loomlib.errors import LoomError, SettingsError
from loomlib.evals import EvalSet, shipped_sets
from loomlib.hub import HubSettings, check_hub, copy_lessons, hub_environment, prepare_folder, read_settings
from loomlib.workbench.blueprints import find_blueprint


@pytest.fixture
def settings(tmp_path: Path) -> HubSettings:
    settings = HubSettings(folder=tmp_path / "hub", host="hub.example.org", port=8000, idle_s=900)
    prepare_folder(settings)
    return settings


def seen(settings: HubSettings, name: str) -> str:
    return next(f"{check.ok} {check.seen} {check.fix}" for check in check_hub(settings) if check.name == name)


def test_a_folder_keeps_its_settings_and_is_not_overwritten(settings: HubSettings) -> None:
    assert read_settings(settings.folder) == settings
    before = settings.configuration.read_bytes()
    assert prepare_folder(HubSettings(folder=settings.folder, host="other.example.org")) == []
    assert read_settings(settings.folder).host == "hub.example.org"
    assert settings.configuration.read_bytes() == before
    assert stat.S_IMODE(settings.state.stat().st_mode) == stat.S_IMODE(settings.databases.stat().st_mode) == 0o700


def test_a_second_init_shows_the_address_of_the_settings_that_stay(settings: HubSettings) -> None:
    result = CliRunner().invoke(cli, ["hub", "init", str(settings.folder)])
    assert (result.exit_code, settings.url in result.output) == (0, True), result.output


def test_the_certificate_is_for_the_host_and_its_authority_signs_for_nothing_else(settings: HubSettings) -> None:
    key = settings.certificates / "key.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(settings.certificates / "certificate.pem", key)
    authority = x509.load_pem_x509_certificate((settings.certificates / "authority.pem").read_bytes())
    limits = authority.extensions.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees
    assert limits is not None
    assert {str(limit.value) for limit in limits} == {"hub.example.org", "localhost", "127.0.0.1/32"}
    assert len(list(settings.certificates.iterdir())) == 3  # the authority's key is not kept
    assert "for hub.example.org, localhost and 127.0.0.1, until" in seen(settings, "certificate")
    moved = HubSettings(folder=settings.folder, host="new.example.org")
    assert "loom hub certificate" in seen(moved, "certificate")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('host = "Not A Host"', "host must be"),
        ("port = 0", "port must be"),
        ('port = "8443"', "wrong type"),
        ("idle_s = 5", "idle_s must be"),
        ("colour = 1", "Unknown setting of the hub"),
        ("port =", "not TOML"),
    ],
)
def test_a_wrong_setting_is_named_with_its_file(settings: HubSettings, text: str, message: str) -> None:
    (settings.folder / "hub.toml").write_text(text)
    with pytest.raises((LoomError, SettingsError), match=message) as raised:
        read_settings(settings.folder)
    assert "hub.toml" in str(raised.value)


def test_settings_that_others_can_change_are_refused(settings: HubSettings) -> None:
    (settings.folder / "hub.toml").chmod(0o666)
    with pytest.raises(LoomError, match="Others can change"):
        read_settings(settings.folder)


def test_open_files_are_named_with_the_command_that_closes_them(settings: HubSettings) -> None:
    assert seen(settings, "private files").startswith("True")
    file = settings.databases / "anna"
    file.write_text("DATABASE_URL=postgresql://secret")
    file.chmod(0o644)
    report = seen(settings, "private files")
    assert f"chmod 600 {file}" in report
    assert "secret" not in report
    (settings.catalog / "blueprints").chmod(0o777)
    assert f"chmod -R go-w {settings.catalog}" in seen(settings, "catalog")


def test_a_missing_proxy_is_one_error_with_its_installation(
    settings: HubSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert "npm install --global configurable-http-proxy@" in seen(settings, "proxy")
    result = CliRunner().invoke(cli, ["hub", "up", str(settings.folder)])
    assert isinstance(result.exception, LoomError)
    assert "JupyterHub's proxy is not installed" in str(result.exception)


def test_a_users_store_is_the_address_that_loom_tenants_printed(settings: HubSettings) -> None:
    file = settings.databases / "anna"
    file.touch(mode=0o600)
    file.write_text("DATABASE_URL=postgresql+psycopg://loom_anna:word@db/loom\n")
    database = hub_environment(settings)["DATABASE_URL"]
    assert callable(database)
    users = [SimpleNamespace(user=SimpleNamespace(name=name)) for name in ("anna", "ben")]
    assert [database(user) for user in users] == ["postgresql+psycopg://loom_anna:word@db/loom", ""]


def test_lessons_are_copied_once_and_changed_ones_stay(tmp_path: Path) -> None:
    copied = copy_lessons(tmp_path)
    assert tmp_path / "workshop" / "1_your_first_agent.ipynb" in copied
    copied[0].write_text("mine")
    copied[1].unlink()
    assert copy_lessons(tmp_path) == [copied[1]]
    assert copied[0].read_text() == "mine"


def test_the_shared_catalog_adds_names_and_replaces_none(
    settings: HubSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("class_agent", "calculator"):
        (settings.catalog / "blueprints" / name).mkdir()
        (settings.catalog / "blueprints" / name / "agent.py").touch()
    cases = {"eval_set_id": "class_set", "eval_cases": [{"eval_id": "one", "conversation": [{"user_content": {"parts": [{"text": "hi"}]}}]}]}  # fmt: skip  # noqa: E501
    (settings.catalog / "eval_sets" / "class_set.evalset.json").write_text(json.dumps(cases))
    monkeypatch.setenv("LOOM_CATALOG", str(settings.catalog))
    shared, own = find_blueprint("class_agent"), find_blueprint("calculator")
    assert shared is not None
    assert own is not None
    assert shared.folder.is_relative_to(settings.catalog)
    assert not own.folder.is_relative_to(settings.catalog)
    assert [case.id for case in EvalSet.read("class_set").cases] == ["one"]
    assert {"class_set", "calculator"} <= set(shipped_sets())
    monkeypatch.delenv("LOOM_CATALOG")
    assert find_blueprint("class_agent") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="another user than root gets a hub with one account")
def test_roots_hub_names_the_group_that_is_missing(settings: HubSettings) -> None:
    settings = HubSettings(folder=settings.folder, group="no-such-group")
    assert "groupadd no-such-group" in seen(settings, "users")
