"""A user's server: puts the lessons into the home folder and becomes JupyterHub's single-user server.

JupyterHub runs `python -m loomlib.hub.user_server` as the user.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .user_files import copy_lessons


def main() -> None:
    """Prepare the home folder and replace this process with the server."""
    os.umask(0o077)
    if not os.environ.get("DATABASE_URL"):
        os.environ.pop("DATABASE_URL", None)
    try:
        copy_lessons(Path.home())
    except OSError as error:
        # A full disk must not keep its user from deleting files.
        sys.stderr.write(f"loom  the lessons could not be copied into {Path.home()}: {error}\n")
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "jupyterhub.singleuser", *sys.argv[1:]])  # noqa: S606


if __name__ == "__main__":
    main()
