"""What runs JavaScript and TypeScript: Node.js of this machine, where the boundary shows it."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from ..wire import invalid

_VISIBLE = ("/usr/", "/bin/")  # what every session sees of this machine
_STRIPS_TYPES = (22, 6)  # --experimental-strip-types; by default from 23.6 on
_STRIPS_BY_DEFAULT = (23, 6)


def node_program(language: str, runtime: str | None) -> str:
    """Return the command that runs a file of a language.

    Args:
        language: javascript or typescript.
        runtime: nodejs, deno, or None for what there is.

    Raises:
        RefusedError: Nothing on this machine runs it.
    """
    if runtime not in (None, "nodejs"):
        raise invalid(f"The local AgentCore runs {language} with nodejs, not with {runtime}")
    version = _node_version()
    if version is None:
        raise invalid(f"The local AgentCore runs {language} with Node.js, which is not installed in /usr")
    if language == "javascript":
        return "node"
    if version < _STRIPS_TYPES:
        installed_version = ".".join(map(str, version))
        raise invalid(
            f"The local AgentCore runs typescript with Node.js 22.6 or newer; this machine has {installed_version}"
        )
    return "node" if version >= _STRIPS_BY_DEFAULT else "node --experimental-strip-types"


@cache
def _node_version() -> tuple[int, int] | None:
    program = shutil.which("node", path="/usr/local/bin:/usr/bin:/bin")
    if program is None or not str(Path(program).resolve()).startswith(_VISIBLE):
        return None
    try:
        ran = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"v(\d+)\.(\d+)", ran.stdout)
    return (int(match[1]), int(match[2])) if match else None
