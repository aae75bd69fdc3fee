"""Settings: arguments before environment before file before defaults, and an error that names the culprit."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loomlib.errors import SettingsError
from loomlib.settings import VARIABLES, Settings, default_home


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_defaults_are_the_specifications(tmp_path: Path) -> None:
    settings = Settings.load({})
    assert settings.home == tmp_path / ".loom"
    assert settings.database_url == f"sqlite:///{tmp_path}/.loom/loom.db"
    assert (settings.region, settings.profile, settings.log_level) == (None, None, "info")
    assert (settings.log_poll_attempts, settings.log_poll_interval_s) == (12, 5.0)


def test_arguments_win_over_the_environment_which_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "loom.toml").write_text('[loom]\nregion = "file"\nprofile = "file"\nlog_level = "debug"\n')
    settings = Settings.load({"AWS_REGION": "environment", "AWS_PROFILE": "environment"}, region="argument")
    assert (settings.region, settings.profile, settings.log_level) == ("argument", "environment", "debug")


def test_the_specifications_variables_are_read(tmp_path: Path) -> None:
    settings = Settings.load(
        {
            "AWS_REGION": "eu-central-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_PROFILE": "team",
            "DATABASE_URL": "postgresql+psycopg://me:secret@db/loom",
            "LOG_LEVEL": "WARNING",
            "LOOM_HOME": "~/loom-home",
            "LOOM_LOG_POLL_ATTEMPTS": "3",
            "LOOM_LOG_POLL_INTERVAL_S": "0.5",
            "LOOM_READ_TIMEOUT_S": "60",
        }
    )
    assert (settings.region, settings.profile, settings.log_level) == ("eu-central-1", "team", "warning")
    assert settings.database_url == "postgresql+psycopg://me:secret@db/loom"
    assert settings.home == Path("~/loom-home").expanduser()
    assert (settings.log_poll_attempts, settings.log_poll_interval_s, settings.read_timeout_s) == (3, 0.5, 60.0)


def test_the_second_region_variable_counts_when_the_first_is_empty() -> None:
    assert Settings.load({"AWS_REGION": "", "AWS_DEFAULT_REGION": "us-east-1"}).region == "us-east-1"


def test_every_setting_has_a_variable() -> None:
    assert {field.name for field in fields(Settings)} == set(VARIABLES)


def test_an_argument_of_none_counts_as_not_given() -> None:
    assert Settings.load({"AWS_REGION": "us-east-1"}, region=None).region == "us-east-1"


def test_a_database_may_be_given_as_the_path_of_a_file() -> None:
    assert Settings.load({"DATABASE_URL": "./loom.db"}).database_url == "sqlite:///./loom.db"


def test_a_password_in_the_database_address_is_not_shown() -> None:
    assert "secret" not in repr(Settings.load({"DATABASE_URL": "postgresql://me:secret@db/loom"}))


def test_the_file_of_a_folder_above_counts_and_its_paths_are_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loom.toml").write_text('[loom]\nhome = "state"\nread_timeout_s = 30\n')
    below = tmp_path / "notebooks" / "reports"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    settings = Settings.load({})
    assert settings.home == tmp_path / "state"
    assert settings.read_timeout_s == 30.0


def test_a_file_for_something_else_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "loom.toml").write_text('[weaving]\nyarn = "red"\n')
    assert replace(Settings.load({}), user="") == Settings(home=tmp_path / ".loom")


def test_the_nearest_home_here_or_above_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".loom").mkdir()
    below = tmp_path / "notebooks"
    below.mkdir()
    monkeypatch.chdir(below)
    assert default_home() == tmp_path / ".loom"


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"LOOM_LOG_POLL_ATTEMPTS": "often"}, r"log_poll_attempts is not a whole number \('often' from LOOM_LOG_POLL"),
        ({"LOOM_LOG_POLL_ATTEMPTS": "2.5"}, "log_poll_attempts is not a whole number"),
        ({"LOOM_READ_TIMEOUT_S": "soon"}, "read_timeout_s is not a number"),
        ({"LOOM_READ_TIMEOUT_S": "0"}, "above zero .*from LOOM_READ_TIMEOUT_S"),
        ({"LOOM_READ_TIMEOUT_S": "-1"}, "above zero"),
        ({"LOOM_READ_TIMEOUT_S": "nan"}, "above zero"),
        ({"LOOM_READ_TIMEOUT_S": "inf"}, "finite"),
        ({"LOG_LEVEL": "loud"}, r"Unknown log level \(loud; log_level from LOG_LEVEL\)\. Try: debug"),
        ({"LOOM_CONFIG": "nowhere.toml"}, "cannot be read"),
    ],
)
def test_a_wrong_value_is_reported_with_its_source(environment: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings.load(environment)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[loom\n", "not TOML"),
        (b"\xff\xfe", "not TOML"),
        (b"loom = 3\n", "not a table"),
        (b'[loom]\nregoin = "us-east-1"\n', r"Unknown setting \(regoin in .*loom.toml\)\. Try: home, region"),
        (b'[loom]\nregion = ["us-east-1"]\n', "region cannot be a list"),
        (b"[loom]\nlog_poll_attempts = true\n", "not a whole number"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "loom.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=message):
        Settings.load({})


def test_an_unknown_argument_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"Unknown setting \(regoin\)\. Try: home, region"):
        Settings.load({}, regoin="us-east-1")


def test_the_password_of_a_malformed_database_address_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "loom.toml").write_text('[loom]\ndatabase_url = ["postgresql://me:hunter2@db/loom"]\n')
    with pytest.raises(SettingsError, match=r"database_url cannot be a list .*loom.toml") as raised:
        Settings.load({"LOOM_CONFIG": str(tmp_path / "loom.toml")})
    assert "hunter2" not in str(raised.value)


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings.load({}).region = "elsewhere"  # type: ignore[misc]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(environment=st.fixed_dictionaries({}, optional={name: st.text(max_size=8) for (name, *_) in VARIABLES.values()}))
def test_any_environment_gives_settings_or_a_settings_error(environment: dict[str, str]) -> None:
    try:
        settings = Settings.load(environment)
    except SettingsError:
        return
    assert settings.home.is_absolute()
    assert "://" in settings.database_url
