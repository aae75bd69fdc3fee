"""The Python versions of this machine, for `codeConfiguration.runtime`."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from ..wire import invalid

MINORS: Final = (10, 11, 12, 13, 14)
"""Minor versions that AgentCore runs (botocore's model of AgentManagedRuntimeType)."""

_ASKED_WITHIN_S = 10.0
_QUESTION = "import json, sys; print(json.dumps([sys.version_info[1], sys.executable, sys.base_prefix]))"


@dataclass(frozen=True, slots=True)
class Python:
    """A Python other than the workbench's: its minor version, its interpreter, and its folders."""

    minor: int
    executable: Path
    folders: tuple[Path, ...]


def check_python(document: Mapping[str, Any], *, exact: bool) -> None:
    """Refuse code for a Python that this machine does not have.

    Args:
        document: The runtime's configuration.
        exact: Whether the version must match; otherwise the workbench's Python runs code for any version.
    """
    code: Mapping[str, Any] = document["agentRuntimeArtifact"].get("codeConfiguration") or {}
    runtime_name = str(code.get("runtime") or "")
    if (
        exact
        and runtime_name.startswith("PYTHON_3_")
        and runtime_name != own_runtime()
        and find_python(runtime_name) is None
    ):
        available = ", ".join(runtime for runtime in map("PYTHON_3_{}".format, MINORS) if _is_there(runtime))
        raise invalid(
            f"This machine has no Python for {runtime_name}; it has {available}. Install it, "
            "or let the workbench's Python run the code (loom up --python workbench)"
        )


def own_runtime() -> str:
    """Return the workbench's Python as AgentCore names it."""
    return "PYTHON_" + "_".join(platform.python_version_tuple()[:2])


@cache
def find_python(runtime: str) -> Python | None:
    """Return the Python of a runtime such as PYTHON_3_12; None without one.

    The path and the versions that pyenv and uv have installed are searched for it.
    """
    minor = int(runtime.removeprefix("PYTHON_3_"))
    for candidate in _candidates(f"python3.{minor}"):
        try:
            result = subprocess.run(
                [candidate, "-I", "-c", _QUESTION],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_ASKED_WITHIN_S,
                check=True,
            )
            version, executable, prefix = json.loads(result.stdout)
        except (OSError, ValueError, subprocess.SubprocessError):
            continue  # such as a shim of a version that is not installed
        if version == minor:
            real = Path(executable)
            folders = {real.parent, real.resolve().parent, Path(prefix)}
            return Python(minor, real, tuple(sorted(folder for folder in folders if not folder.is_relative_to("/usr"))))
    return None


def _is_there(runtime: str) -> bool:
    return runtime == own_runtime() or find_python(runtime) is not None


def _candidates(name: str) -> Iterator[str]:
    if program := shutil.which(name):
        yield program
    home, number = Path.home(), name.removeprefix("python")
    for folder in (home / ".pyenv" / "versions", home / ".local" / "share" / "uv" / "python"):
        for path in sorted(folder.glob(f"*{number}*/bin/{name}"), reverse=True):
            if os.access(path, os.X_OK) and str(path) != sys.executable:
                yield str(path)
