"""One frozen `Settings`: arguments, then environment, then a file, then the defaults.

The file is the nearest `loom.toml` in the working folder or above it (or the one that `LOOM_CONFIG` names), table
`[loom]`; a relative `home` in it is relative to the file's folder. A discovered file or home that another user owns or
can write to is refused (`loomlib.trust`). Reading happens only in `Settings.load`, never at
import.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, cast

from .errors import SettingsError
from .toml_files import read_toml
from .trust import check_discovered

VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "home": ("LOOM_HOME",),
    "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "profile": ("AWS_PROFILE",),
    "database_url": ("DATABASE_URL",),
    "log_level": ("LOG_LEVEL",),
    "log_poll_attempts": ("LOOM_LOG_POLL_ATTEMPTS",),
    "log_poll_interval_s": ("LOOM_LOG_POLL_INTERVAL_S",),
    "read_timeout_s": ("LOOM_READ_TIMEOUT_S",),
    "tenant": ("LOOM_TENANT",),
    "user": ("LOOM_USER", "JUPYTERHUB_USER"),
}
"""The environment variables of each setting; of several, the first one that is set and not empty applies."""

JUPYTER_CONFIG: Final = Path(__file__).resolve().parent / "jupyter_config"
"""The folder for `JUPYTER_CONFIG_PATH` that turns off JupyterLab's news and its check for updates.

Both are defaults, which users can change in JupyterLab's settings.
"""

LOG_LEVELS: Final = ("debug", "info", "warning", "error", "critical")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Loom's settings, resolved once from arguments, the environment and `loom.toml`.

    `home` holds the local service's state and the default database. `database_url` is an SQLAlchemy address or the path
    of an SQLite file, and stays out of the repr, as it may hold a password. `log_poll_attempts` × `log_poll_interval_s`
    bounds the wait for an agent's start line (12 × 5 s by default, the specification's figures). `tenant` is the tenant
    whose rows the store reads and writes, unless the role of a PostgreSQL address belongs to a tenant. `user` is stored
    with them: the operating system's user by default.
    """

    home: Path
    region: str | None = None
    profile: str | None = None
    database_url: str = field(default="", repr=False)
    log_level: str = "info"
    log_poll_attempts: int = 12
    log_poll_interval_s: float = 5.0
    read_timeout_s: float = 900.0
    tenant: str = "default"
    user: str = ""

    def __post_init__(self) -> None:
        url = self.database_url or str(self.home / "loom.db")
        object.__setattr__(self, "database_url", url if "://" in url else f"sqlite:///{url}")
        object.__setattr__(self, "log_level", self.log_level.lower())
        if self.log_level not in LOG_LEVELS:
            raise SettingsError("Unknown log level", on=self.log_level, try_=", ".join(LOG_LEVELS))
        for name in ("log_poll_attempts", "log_poll_interval_s", "read_timeout_s"):
            value: float = getattr(self, name)
            if not 0 < value < math.inf:
                raise SettingsError(
                    f"{name} must be above zero and finite", on=f"{name} = {value}", try_="a number such as 5"
                )

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None, **arguments: object) -> Settings:
        """Load the settings: from `arguments`, else the environment, else the file, else the defaults.

        Args:
            environ: The environment variables; the process's own if None.
            arguments: Settings by name; None means that a setting is not given.

        Raises:
            SettingsError: A setting is invalid; the message names it and where it came from.
        """
        environment = os.environ if environ is None else environ
        names = [field.name for field in fields(cls)]
        if unknown := sorted(set(arguments) - set(names)):
            raise SettingsError("Unknown setting", on=", ".join(unknown), try_=", ".join(names))
        values = _from_file(environment, names)
        for name, variables in VARIABLES.items():
            for variable in variables:
                if environment.get(variable):
                    values[name] = (environment[variable], variable)
                    break
        values |= {name: (value, "argument") for name, value in arguments.items() if value is not None}
        if "home" not in values:
            values["home"] = (default_home(), "default")
        values.setdefault("user", (_login_name(), "default"))
        resolved: dict[str, Any] = {name: _coerce(name, value, source) for name, (value, source) in values.items()}
        try:
            return cls(**resolved)
        except SettingsError as error:
            sources = ", ".join(f"{name} from {source}" for name, (_, source) in values.items() if source != "default")
            raise SettingsError(error.what, on=f"{error.on}; {sources}", try_=error.try_) from error


def read_table(name: str, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the texts of another table of the settings file, such as `[alerts]`; empty if there is none."""
    file = _file(os.environ if environ is None else environ)
    table: object = {} if file is None else _document(file).get(name, {})
    if not isinstance(table, dict):
        raise SettingsError(f"{name} is not a table", on=str(file), try_=f"a line [{name}] above its settings")
    values = cast("dict[str, object]", table)
    if wrong := sorted(key for key, value in values.items() if not isinstance(value, str)):
        raise SettingsError(
            f"These settings of [{name}] are not strings", on=f"{', '.join(wrong)} in {file}", try_="values in quotes"
        )
    return {key: str(value) for key, value in values.items()}


def catalog_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the shared catalog of blueprints and eval sets that `LOOM_CATALOG` names, as on a hub; None without it.

    Its subfolders are `blueprints/NAME/agent.py` and `eval_sets/NAME.evalset.json`. Loom's own names take precedence.
    """
    path = (os.environ if environ is None else environ).get("LOOM_CATALOG")
    return Path(path).expanduser().absolute() if path else None


def default_home() -> Path:
    """Return the nearest `.loom` folder here or above, else `.loom` in the working folder (which may not exist).

    Raises:
        UntrustedError: Another user owns that folder or can write to it.
    """
    cwd = Path.cwd()
    for folder in (cwd, *cwd.parents):
        if (folder / ".loom").is_dir():
            return check_discovered(folder / ".loom")
    return cwd / ".loom"


def _login_name() -> str:
    """Return the operating system's name of the user of this process, whatever the environment says; "" without one."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return ""


def _from_file(environment: Mapping[str, str], names: list[str]) -> dict[str, tuple[object, str]]:
    file = _file(environment)
    if file is None:
        return {}
    table: object = _document(file).get("loom", {})
    if not isinstance(table, dict):
        raise SettingsError("loom is not a table", on=str(file), try_="a line [loom] above the settings")
    values = cast("dict[str, object]", table)
    if unknown := sorted(set(values) - set(names)):
        raise SettingsError("Unknown setting", on=f"{', '.join(unknown)} in {file}", try_=", ".join(names))
    if "home" in values:
        values["home"] = file.parent / Path(str(values["home"])).expanduser()
    return {name: (value, str(file)) for name, value in values.items()}


def _document(file: Path) -> dict[str, Any]:
    return read_toml(file, "settings file", try_="another LOOM_CONFIG, or none")


def _file(environment: Mapping[str, str]) -> Path | None:
    if path := environment.get("LOOM_CONFIG"):
        return Path(path).expanduser().absolute()
    cwd = Path.cwd()
    discovered = next((file for folder in (cwd, *cwd.parents) if (file := folder / "loom.toml").is_file()), None)
    return None if discovered is None else check_discovered(discovered)


def _coerce(name: str, value: object, source: str) -> object:
    if not isinstance(value, (str, int, float, os.PathLike)):
        shown = "a value" if name == "database_url" else repr(value)  # an address can contain a password
        raise SettingsError(
            f"{name} cannot be a {type(value).__name__}", on=f"{shown} from {source}", try_="one string or number"
        )
    text = str(cast("object", value))
    if name == "home":
        return Path(text).expanduser().absolute()
    convert, article = {
        "log_poll_attempts": (int, "a whole number"),
        "log_poll_interval_s": (float, "a number"),
        "read_timeout_s": (float, "a number"),
    }.get(name, (str, "text"))
    try:
        return convert(text)
    except ValueError as error:
        raise SettingsError(
            f"{name} is not {article}", on=f"{value!r} from {source}", try_=f"{article} such as 5"
        ) from error
