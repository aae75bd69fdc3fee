"""JupyterHub's configuration for a hub of Loom's.

Defaults of JupyterHub 6 that fit stay as they are. What is set, and why:

- HTTPS at the public address.
- Root's hub: users of the operating system (PAM), members of one group; a server runs as its user, so that files,
  processes and secrets are apart. Anybody else's hub: one account, home folders that are separate and not protected.
- A user's server knows its own home folder, the shared catalog, and its own store. The hub's variables (credentials of
  AWS, keys) do not reach it: JupyterHub passes on those in `Spawner.env_keep` only.
- Idle servers are stopped (jupyterhub-idle-culler), with the least rights that this takes.
"""

from __future__ import annotations

import os
import pwd
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ..errors import LoomError
from ..settings import JUPYTER_CONFIG
from .proxy import find_proxy
from .settings import USER_NAME, HubSettings

CULL_EVERY_S: Final = 300
"""Seconds between two checks for idle servers."""
_START_WITHIN_S: Final = 300
_PROGRAMS: Final = ("/usr/local/bin", "/usr/bin", "/bin")
_CULLER: Final = "idle-culler"


def configure(config: Any, settings: HubSettings) -> None:
    """Set JupyterHub's configuration; lines after the call in `jupyterhub_config.py` override it.

    Args:
        config: The configuration object, `c` in `jupyterhub_config.py`.
        settings: The hub's settings.

    Raises:
        LoomError: The proxy is not installed.
    """
    hub = config.JupyterHub
    host = f"[{settings.address}]" if ":" in settings.address else settings.address
    hub.bind_url = f"https://{host}:{settings.port}"
    hub.ssl_cert = str(settings.certificates / "certificate.pem")
    hub.ssl_key = str(settings.certificates / "key.pem")
    hub.db_url = f"sqlite:///{settings.state / 'jupyterhub.sqlite'}"
    hub.cookie_secret_file = str(settings.state / "cookie_secret")
    hub.concurrent_spawn_limit = settings.starts_at_once
    config.ConfigurableHTTPProxy.command = [find_proxy()]
    config.ConfigurableHTTPProxy.pid_file = str(settings.state / "proxy.pid")
    culler = [sys.executable, "-m", "jupyterhub_idle_culler", f"--timeout={settings.idle_s}"]
    culler += [f"--cull-every={min(CULL_EVERY_S, settings.idle_s)}"]
    if settings.has_system_users:
        culler += ["--ssl-enabled=true", f"--internal-certs-location={settings.internal_certificates}"]
    hub.services = [{"name": _CULLER, "command": culler}]
    hub.load_roles = [
        {
            "name": _CULLER,
            "services": [_CULLER],
            "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        }
    ]
    config.Authenticator.username_pattern = USER_NAME
    spawner = config.Spawner
    spawner.cmd = [sys.executable, "-m", "loomlib.hub.user_server"]
    spawner.environment = hub_environment(settings)
    spawner.default_url = f"/lab/tree/{settings.first_page}"
    spawner.start_timeout = spawner.http_timeout = _START_WITHIN_S
    if settings.has_system_users:
        _use_system_users(config, settings)
    else:
        _use_folders(config, settings)


def hub_environment(settings: HubSettings) -> dict[str, str | Callable[[Any], str]]:
    """Return the environment variables of users' servers: strings, or functions that take JupyterHub's spawner."""

    def home(spawner: Any) -> str:
        return str(_home_of(str(spawner.user.name), settings) / ".loom")

    def database(spawner: Any) -> str:
        return read_database_url(settings, str(spawner.user.name))

    programs = [str(Path(sys.executable).parent), *_PROGRAMS]
    variables: dict[str, str | Callable[[Any], str]] = {
        "LOOM_HOME": home,
        "LOOM_CATALOG": str(settings.catalog),
        "DATABASE_URL": database,
        "JUPYTER_CONFIG_PATH": str(JUPYTER_CONFIG),
        "PATH": os.pathsep.join(programs),
    }
    if settings.has_system_users:
        variables["JUPYTER_RUNTIME_DIR"] = lambda spawner: str(settings.run / str(spawner.user.name))
    return variables


def read_database_url(settings: HubSettings, user: str) -> str:
    """Return the address of a user's store from the hub's folder `databases`; "" for an SQLite file in their home.

    The file is what `loom tenants add USER` prints, with or without `DATABASE_URL=`.

    Raises:
        LoomError: Others than the hub's owner can read the file.
    """
    file = settings.databases / user
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise LoomError("Others can read the address of a user's store", on=str(file), try_=f"chmod 600 {file}")
        return file.read_text("utf-8").strip().removeprefix("DATABASE_URL=")
    except FileNotFoundError:
        return ""


def check_home(folder: Path, user: int) -> None:
    """Check that a home folder is its user's and closed to others.

    Raises:
        LoomError: It is missing, belongs to somebody else, or others can open it.
    """
    try:
        status = folder.stat()
    except OSError as error:
        raise LoomError(
            f"The home folder cannot be opened ({error.strerror})",
            on=str(folder),
            try_="ask the administrator of the hub to create it: useradd -m",
        ) from error
    if status.st_uid != user:
        raise LoomError("The home folder belongs to somebody else", on=str(folder), try_="chown it to its user")
    if mode := stat.S_IMODE(status.st_mode) & 0o077:
        raise LoomError(
            f"Others can open the home folder (mode {mode:03o} for group and others)",
            on=str(folder),
            try_=f"chmod 700 {folder}; then start the server again",
        )


def _use_system_users(config: Any, settings: HubSettings) -> None:
    config.JupyterHub.authenticator_class = "pam"
    config.PAMAuthenticator.allowed_groups = {settings.group, settings.teachers}
    config.PAMAuthenticator.admin_groups = {settings.teachers}
    config.JupyterHub.spawner_class = "loomlib.hub.spawner.UserSpawner"
    config.UserSpawner.run_folder = str(settings.run)
    config.JupyterHub.internal_ssl = True
    config.JupyterHub.internal_certs_location = str(settings.internal_certificates)
    config.Spawner.notebook_dir = "~"
    # Kernels communicate through sockets in a folder of the user's: at a port of loopback, any user could read their
    # output.
    config.Spawner.args = ["--KernelManager.transport=ipc"]
    config.Spawner.pre_spawn_hook = _check_user


def _check_user(spawner: Any) -> None:
    account = pwd.getpwnam(str(spawner.user.name))
    try:
        check_home(Path(account.pw_dir), account.pw_uid)
    except LoomError as error:
        # JupyterHub shows this attribute on the page that the user sees.
        error.jupyterhub_message = str(error)  # pyright: ignore[reportAttributeAccessIssue]
        raise


def _use_folders(config: Any, settings: HubSettings) -> None:
    config.JupyterHub.authenticator_class = "shared-password"
    config.SharedPasswordAuthenticator.user_password = settings.password_file.read_text("utf-8").strip()
    config.SharedPasswordAuthenticator.allow_all = True
    config.JupyterHub.spawner_class = "simple"
    config.SimpleLocalProcessSpawner.home_dir_template = str(settings.homes / "{username}")


def _home_of(user: str, settings: HubSettings) -> Path:
    return Path(pwd.getpwnam(user).pw_dir) if settings.has_system_users else settings.homes / user
