"""The agent's package with the probe as its entry point."""

from __future__ import annotations

import io
import zipfile
from importlib.resources import files
from typing import Final

PROBE: Final = "_loom_snapshot_probe"
SCRIPT_VARIABLE: Final = "LOOM_CHECKED_SCRIPT"
"""Variable with the agent's own entry point; the probe removes it before the agent starts."""
WARMUP_VARIABLE: Final = "LOOM_CHECKED_WARMUP"
"""Variable with the path of the warm-up hook, or `:PORT/PATH`, "" for none; the probe removes it too."""
ENTRY_POINT: Final = f"{PROBE}/start.py"


def with_probe(package: bytes) -> bytes:
    """Return a deployment package (a zip file) with the probe's modules added."""
    buffer = io.BytesIO(package)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        for module in files("loomlib.snapshot_check.probe").iterdir():
            if module.name.endswith(".py"):
                archive.writestr(f"{PROBE}/{module.name}", module.read_bytes())
    return buffer.getvalue()
