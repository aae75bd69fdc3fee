"""The distributions of `tests/plugins`, installed by pip into a folder of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from plugged_sites import pip_install

SOURCES = Path(__file__).resolve().parents[2] / "plugins"


@pytest.fixture(scope="session")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with one distribution each, by its name."""
    folder = tmp_path_factory.mktemp("sites")
    site_folders: dict[str, Path] = {}
    for name in ("loom-example", "loom-broken"):
        # Copied, so that building leaves nothing in the repository.
        source = shutil.copytree(SOURCES / name, folder / "sources" / name)
        site_folders[name] = folder / name
        pip_install(site_folders[name], source)
    return site_folders
