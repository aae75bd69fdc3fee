"""JupyterHub's proxy, configurable-http-proxy, which is a program of Node.js."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

from ..errors import LoomError

NAME: Final = "configurable-http-proxy"
VERSION: Final = "5.3.0"
"""The version that Loom's tests run."""


def find_proxy() -> str:
    """Return the proxy's path: beside the interpreter, else on the PATH.

    Raises:
        LoomError: It or Node.js is not installed.
    """
    program = shutil.which(NAME, path=str(Path(sys.executable).parent)) or shutil.which(NAME)
    if program is None:
        raise LoomError(
            "JupyterHub's proxy is not installed",
            on=NAME,
            try_=f"Node.js 20 or newer, and: npm install --global {NAME}@{VERSION}",
        )
    if shutil.which("node") is None:
        raise LoomError("JupyterHub's proxy needs Node.js", on=program, try_="install Node.js 20 or newer")
    return program
