"""One frozen `Settings`: arguments, then environment, then a file, then the defaults.

The file is `loom.toml` in the working folder (or where `LOOM_CONFIG` points), table `[loom]`. Reading happens only in
`Settings.load`, never at import.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .errors import SettingsError

_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "home": ("LOOM_HOME",),
    "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "profile": ("AWS_PROFILE",),
    "database_url": ("DATABASE_URL",),
    "log_level": ("LOG_LEVEL",),
    "log_poll_attempts": ("LOOM_LOG_POLL_ATTEMPTS",),
    "log_poll_interval_s": ("LOOM_LOG_POLL_INTERVAL_S",),
    "read_timeout_s": ("LOOM_READ_TIMEOUT_S",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What Loom was told, resolved once.

    `home` holds the local service's state and the default database. `log_poll_attempts` × `log_poll_interval_s`
    bounds the wait for an agent's start line (12 × 5 s by default, the specification's figures).
    """

    home: Path
    region: str | None = None
    profile: str | None = None
    database_url: str = ""
    log_level: str = "info"
    log_poll_attempts: int = 12
    log_poll_interval_s: float = 5.0
    read_timeout_s: float = 900.0

    def __post_init__(self) -> None:
        if not self.database_url:
            object.__setattr__(self, "database_url", f"sqlite:///{self.home / 'loom.db'}")
        for name in ("log_poll_attempts", "log_poll_interval_s", "read_timeout_s"):
            if getattr(self, name) <= 0:
                raise SettingsError(f"{name} must be above zero", on=f"{name} = {getattr(self, name)}")
        if self.log_level.lower() not in ("debug", "info", "warning", "error", "critical"):
            raise SettingsError("Unknown log level", on=self.log_level, try_="debug, info, warning or error")

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None, **arguments: object) -> Settings:
        """Settings from `arguments`, else the environment, else the file, else the defaults.

        Arguments that are None count as not given. Raises `SettingsError` naming the setting and where it came from.
        """
        environment = os.environ if environ is None else environ
        known = {field.name for field in fields(cls)}
        if unknown := set(arguments) - known:
            raise SettingsError("Unknown setting", on=", ".join(sorted(unknown)), try_=", ".join(sorted(known)))
        found: dict[str, tuple[object, str]] = {"home": (default_home(), "default")}
        file = _config_file(environment)
        for name, value in _read_file(file, known).items():
            found[name] = (value, str(file))
        for name, variables in _VARIABLES.items():
            for variable in variables:
                if environment.get(variable):
                    found[name] = (environment[variable], variable)
                    break
        for name, value in arguments.items():
            if value is not None:
                found[name] = (value, "argument")
        resolved: dict[str, Any] = {name: _coerce(name, value, source) for name, (value, source) in found.items()}
        return cls(**resolved)


def default_home() -> Path:
    """The nearest `.loom` folder here or above, else `.loom` in the working folder (which may not exist yet)."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / ".loom").is_dir():
            return folder / ".loom"
    return here / ".loom"


def _config_file(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("LOOM_CONFIG") or "loom.toml")


def _read_file(file: Path, known: set[str]) -> dict[str, object]:
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError("Settings file cannot be read", on=str(file), try_=error.strerror or "") from error
    try:
        table = tomllib.loads(text).get("loom", {})
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"Settings file is not TOML: {error}", on=str(file)) from error
    if unknown := set(table) - known:
        raise SettingsError(
            "Unknown setting", on=f"{', '.join(sorted(unknown))} in {file}", try_=", ".join(sorted(known))
        )
    return table


def _coerce(name: str, value: object, source: str) -> object:
    try:
        if name == "home":
            return Path(str(value)).expanduser().absolute()
        if name == "log_poll_attempts":
            return int(str(value))
        if name in ("log_poll_interval_s", "read_timeout_s"):
            return float(str(value))
    except ValueError as error:
        raise SettingsError(f"{name} is not a number", on=f"{value!r} from {source}") from error
    return str(value)
