"""The measuring process and its machine, which are needed to judge or repeat a measurement."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import Any

from loomlib.jobs.machine import processor_count

_DISTRIBUTIONS = ("loomlib", "aiohttp", "botocore", "numpy", "bedrock-agentcore", "strands-agents")


def describe_client() -> dict[str, Any]:
    """Return the interpreter, the system, the processors, the load and the versions of the packages used in a call."""
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": processor_count(),
        "load_1_min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "versions": {name: version for name in _DISTRIBUTIONS if (version := _version(name))},
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
