"""Folders with installed distributions, as if they were a part of this environment."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import loomlib as loom
from loomlib import local


def pip_install(target: Path, *sources: Path) -> None:
    """Builds and installs distributions without the network: what they need is installed already."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    command += ["--disable-pip-version-check", "--root-user-action", "ignore", "--target", target, *sources]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr


def plugged_in(*sites: Path) -> Iterator[None]:
    """The folders on the path of this process and of those that it starts."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        for site in sites:
            patch.syspath_prepend(site)
        patch.setenv("PYTHONPATH", ":".join(map(str, sites)))
        importlib.invalidate_caches()
        yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("loom_example", "loom_broken"):
            del sys.modules[name]


def open_bench(home: Path, **options: str) -> Iterator[loom.Workbench]:
    with loom.connect(home=home, options=loom.ServiceOptions(**options)) as bench:
        yield bench
    local.stop(home)
