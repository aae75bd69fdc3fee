"""The folder of a hub: `loom hub init` creates it, and `loom hub check` and JupyterHub read it."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import fields
from pathlib import Path
from typing import Final

from ..errors import LoomError
from ..toml_files import read_toml
from .certificate import make_certificate
from .settings import HubSettings

_SETTINGS: Final = "hub.toml"
_CONFIGURATION: Final = '''\
"""JupyterHub's configuration of this hub; `loom hub up` starts it. Its settings are in hub.toml beside this file."""

from pathlib import Path

from loomlib.hub import configure, read_settings

configure(c, read_settings(Path(__file__).parent))  # noqa: F821 - JupyterHub defines c
# Further lines override what `configure` sets, such as: c.JupyterHub.subdomain_host = "https://hub.example.org"
'''
_README: Final = """\
The shared catalog of this hub: users can read it and not change it.

blueprints/NAME/agent.py      bench.deploy("NAME")
eval_sets/NAME.evalset.json   EvalSet.read("NAME")
"""


def prepare_folder(settings: HubSettings) -> list[Path]:
    """Create a hub's missing files; existing files are not changed.

    Returns:
        The new files.

    Raises:
        LoomError: The folder cannot be written.
    """
    new_files: list[Path] = []
    try:
        for folder, mode in (
            (settings.folder, 0o755),
            (settings.state, 0o700),
            (settings.certificates, 0o755),
            (settings.run, 0o711),
            (settings.databases, 0o700),
            *((settings.catalog / part, 0o755) for part in ("", "blueprints", "eval_sets")),
            *(() if settings.has_system_users else ((settings.homes, 0o700),)),
        ):
            if not folder.is_dir():
                folder.mkdir(parents=True)
                folder.chmod(mode)
        if not (settings.certificates / "certificate.pem").exists():
            new_files.append(make_certificate(settings.certificates, settings.host).certificate)
        texts = {
            settings.configuration: _CONFIGURATION,
            settings.folder / _SETTINGS: _toml(settings),
            settings.catalog / "README.txt": _README,
        }
        if not settings.has_system_users:
            texts[settings.password_file] = f"{secrets.token_urlsafe(12)}\n"
        for file, text in texts.items():
            if not file.exists():
                mode = 0o600 if file == settings.password_file else 0o644
                with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as output:
                    os.fchmod(output.fileno(), mode)
                    output.write(text)
                new_files.append(file)
    except OSError as error:
        raise LoomError(
            f"The hub's folder cannot be written ({error.strerror or error})",
            on=str(settings.folder),
            try_="a folder that is yours, such as /srv/hub for root",
        ) from error
    return new_files


def read_settings(folder: Path | str) -> HubSettings:
    """Read the settings of the hub in a folder from its `hub.toml`.

    Raises:
        LoomError: The folder is not a hub's, a setting is wrong, or users other than its owner and root can change the
            settings.
    """
    folder = Path(folder)
    file = folder.absolute() / _SETTINGS
    try:
        status = file.stat()
    except OSError as error:
        raise LoomError("This is not the folder of a hub", on=str(folder), try_=f"loom hub init {folder}") from error
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        raise LoomError(
            "Others can change the hub's settings", on=str(file), try_=f"chown root {file}; chmod go-w {file}"
        )
    values = read_toml(file, "settings of the hub", try_="loom hub init in another folder shows the format")
    defaults = HubSettings(folder=folder)
    kinds: dict[str, str] = {item.name: type(getattr(defaults, item.name)).__name__ for item in fields(HubSettings)}
    for name, value in values.items():
        if name == "folder" or name not in kinds:
            raise LoomError("Unknown setting of the hub", on=f"{name} in {file}", try_=", ".join(sorted(kinds)))
        if type(value).__name__ != kinds[name]:
            raise LoomError("A setting of the hub has the wrong type", on=f"{name} in {file}", try_=kinds[name])
    try:
        return HubSettings(folder=folder, **values)
    except ValueError as error:
        raise LoomError(f"A setting of the hub is wrong: {error}", on=str(file), try_="another value") from error


def _toml(settings: HubSettings) -> str:
    values = {item.name: getattr(settings, item.name) for item in fields(HubSettings) if item.name != "folder"}
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
