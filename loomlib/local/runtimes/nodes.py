"""This machine's Node.js, for `codeConfiguration.runtime` NODE_22."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..sandbox.isolation import Isolation
from ..wire import invalid

_PREFIX = "NODE_"
_ASKED_WITHIN_S = 10.0


def wanted_node(document: Mapping[str, Any]) -> int:
    """Return the major version of Node.js that a runtime's configuration names; 0 for another language."""
    code: Mapping[str, Any] = document["agentRuntimeArtifact"].get("codeConfiguration") or {}
    major = str(code.get("runtime") or "").removeprefix(_PREFIX)
    return int(major) if major.isdecimal() else 0


def check_node(document: Mapping[str, Any], isolation: Isolation) -> None:
    """Refuse code for a Node.js that this machine does not have.

    Args:
        document: The runtime's configuration.
        isolation: What separates sessions from this machine.
    """
    major = wanted_node(document)
    if not major:
        return
    if find_node(major) is None:
        raise invalid(
            f"{_PREFIX}{major} needs Node.js {major} or newer on the path of the local AgentCore; found: "
            f"{installed_nodes()}. "
            "Install it and start the service again with it first on PATH"
        )
    if not isolation.has_own_network:
        raise invalid(
            f"{_PREFIX}{major} requires sessions with their own network namespaces, so that each agent has its port: "
            f"{isolation.sentence}. Install bubblewrap and slirp4netns"
        )


def find_node(major: int) -> Path | None:
    """Return the first program `node` on the path that has this major version or a newer one."""
    return next((program for program, version in _installed() if int(version.partition(".")[0]) >= major), None)


def installed_nodes() -> str:
    """Return the versions of Node.js on the path, with their programs, for a message."""
    return ", ".join(f"{version} ({program})" for program, version in _installed()) or "none"


def _installed() -> Iterator[tuple[Path, str]]:
    """Yield each program `node` on the path with its version."""
    for program in dict.fromkeys(Path(folder, "node").resolve() for folder in os.get_exec_path()):
        if os.access(program, os.X_OK) and (version := _version(program)):
            yield program, version


@cache
def _version(program: Path) -> str:
    try:
        result = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ASKED_WITHIN_S
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    match = re.fullmatch(r"v(\d+\.\d+\.\d+)\s*", result.stdout)
    return match[1] if match else ""
