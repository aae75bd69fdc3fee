"""JavaScript and TypeScript cells: run by this machine's Node.js, if it is visible in the sandbox."""

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
    """Return the command that runs a source file in a language.

    Args:
        language: "javascript" or "typescript".
        runtime: The requested runtime, such as "nodejs" or "deno"; None for the default.

    Raises:
        RefusedError: This machine cannot run the language with this runtime.
    """
    if runtime not in (None, "nodejs"):
        raise invalid(f"The local AgentCore runs {language} only with the runtime nodejs, not with {runtime}")
    version = _node_version()
    if version is None:
        raise invalid(f"The local AgentCore needs Node.js to run {language}; it is not installed under /usr or in /bin")
    if language == "javascript":
        return "node"
    if version < _STRIPS_TYPES:
        installed_version = ".".join(map(str, version))
        raise invalid(
            f"The local AgentCore needs Node.js 22.6 or newer to run typescript; this machine has {installed_version}"
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
