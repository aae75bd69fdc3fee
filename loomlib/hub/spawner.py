"""JupyterHub's spawner of a hub with system users: each server has its own certificate, in a folder of the hub's.

The connections between proxy, hub and servers are encrypted and both sides are known by certificate (`internal_ssl`): a
user who binds the port of another user's stopped server receives nothing. JupyterHub's own LocalProcessSpawner puts the
certificates into the user's home folder as root, and follows links that the user made there; this one does not enter
the home folder.
"""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyterhub.spawner import LocalProcessSpawner  # pyright: ignore[reportMissingTypeStubs]
from traitlets import Unicode


class UserSpawner(LocalProcessSpawner):
    """Starts a server as its user, with its certificate in a folder of the hub's."""

    run_folder: Any = Unicode(help="The folder with a folder per user, which only root can write.").tag(config=True)

    async def move_certs(self, paths: Mapping[str, str]) -> dict[str, str]:
        """Hand a server's certificate over to its user.

        Args:
            paths: The files of the key, the certificate and the authorities, by `keyfile`, `certfile` and `cafile`.

        Returns:
            The files that the user can read, by the same names.
        """
        account = pwd.getpwnam(str(self.user.name))  # pyright: ignore
        folder = Path(self.run_folder) / account.pw_name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        moved: dict[str, str] = {}
        for name, path in paths.items():
            target = folder / Path(path).name
            shutil.copyfile(path, target)
            target.chmod(0o400)
            os.chown(target, account.pw_uid, account.pw_gid)
            moved[name] = str(target)
        os.chown(folder, account.pw_uid, account.pw_gid)
        return moved
