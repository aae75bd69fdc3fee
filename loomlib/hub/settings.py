"""The settings of a hub, and where its files are."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|[0-9a-f:]+")
USER_NAME: Final = r"^[a-z_][a-z0-9_-]{0,31}$"
"""User names of a hub: those that `useradd` accepts on Debian. None can be a path out of a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSettings:
    """A hub's settings.

    Args:
        folder: Its folder, which belongs to whoever runs the hub.
        host: The name or address that users type into their browser; the certificate is for it.
        address: The address to listen on; `0.0.0.0` for all of the machine's addresses.
        port: The port to listen on.
        group: The group of the operating system whose members may sign in. Used by a hub that root runs.
        teachers: The group whose members administer the hub and may open the servers of others.
        idle_s: Seconds without activity after which a user's server is stopped, with its kernels and AgentCore.
        first_page: The notebook that opens first, relative to the user's home folder.
        starts_at_once: The maximum number of servers that start at the same time; others wait.
    """

    folder: Path
    host: str = "localhost"
    address: str = "127.0.0.1"
    port: int = 8443
    group: str = "loom"
    teachers: str = "loom-teachers"
    idle_s: int = 3600
    first_page: str = "workshop/1_your_first_agent.ipynb"
    starts_at_once: int = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder).absolute())
        if not _NAME.fullmatch(self.host):
            raise ValueError(
                f"host must be a name or address in lower case, such as hub.example.org, not {self.host!r}"
            )
        if not 0 < self.port < 65_536:
            raise ValueError(f"port must be between 1 and 65535, not {self.port}")
        if self.idle_s < 60 or self.starts_at_once < 1:
            raise ValueError("idle_s must be at least 60, and starts_at_once at least 1")

    @property
    def url(self) -> str:
        """The address of the hub's first page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}/"

    @property
    def has_system_users(self) -> bool:
        """Whether each user is a user of the operating system: only root can start servers as other users."""
        return os.geteuid() == 0

    @property
    def configuration(self) -> Path:
        """JupyterHub's configuration file."""
        return self.folder / "jupyterhub_config.py"

    @property
    def state(self) -> Path:
        """The folder of the hub's own database, keys and process ids; closed to all others."""
        return self.folder / "state"

    @property
    def certificates(self) -> Path:
        """The folder of the certificate and its key."""
        return self.folder / "certificates"

    @property
    def run(self) -> Path:
        """The folder with a folder per user: the certificate of their server and the sockets of their kernels."""
        return self.folder / "run"

    @property
    def internal_certificates(self) -> Path:
        """The authorities and certificates by which hub, proxy and servers authenticate each other."""
        return self.state / "internal-ssl"

    @property
    def catalog(self) -> Path:
        """The shared catalog of blueprints and eval sets, which users can read and not change."""
        return self.folder / "catalog"

    @property
    def databases(self) -> Path:
        """The folder with a file per user whose store is not an SQLite file: its content is their `DATABASE_URL`."""
        return self.folder / "databases"

    @property
    def homes(self) -> Path:
        """The home folders of a hub without system users."""
        return self.folder / "homes"

    @property
    def password_file(self) -> Path:
        """The password of a hub without system users, which all its users share."""
        return self.state / "password"
