"""The Chromium of this machine, which browser sessions run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

INSTALL: Final = "install it (Debian, Ubuntu: apt-get install chromium) or run `playwright install chromium`"
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_DEBIAN: Final = Path("/usr/lib/chromium/chromium")  # run by Debian's start script, which reads the user's files
_PLAYWRIGHT: Final = ".cache/ms-playwright/chromium-*/chrome-linux*/chrome"


def find_chromium() -> Path | None:
    """Return this machine's browser: a Chromium or Chrome on the path, or the one that Playwright has downloaded."""
    for name in _NAMES:
        if program := shutil.which(name):
            return _DEBIAN if name == "chromium" and _DEBIAN.exists() else Path(program).resolve()
    return max(Path.home().glob(_PLAYWRIGHT), default=None)


def browser_sentence() -> str:
    """Return which browser the sessions of AgentCore Browser would run on this machine."""
    program = find_chromium()
    return str(program) if program else f"no Chromium, so browser sessions are refused; {INSTALL}"
