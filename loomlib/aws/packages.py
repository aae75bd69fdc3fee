"""Packages for AWS's direct code deployment: one zip file, identical bytes for identical files."""

from __future__ import annotations

import hashlib
import io
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from loomlib.presentation.formats import join, number

PACKAGE_MAX_BYTES: Final = 250_000_000
"""Largest zipped size in bytes; AgentCore's quota for direct code deployment."""
PACKAGE_MAX_UNZIPPED_BYTES: Final = 750_000_000
"""Largest unzipped size in bytes; AgentCore's quota for direct code deployment."""

ENTRY_POINTS: Final = ("agent.py", "main.py", "app.py")
"""Default entry points of an agent: the first of these files that exists."""

_SKIPPED_FOLDERS: Final = frozenset(
    {
        "__pycache__",
        ".git",
        ".venv",
        "venv",
        ".ipynb_checkpoints",
        ".loom",
        ".loom-import",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
    }
)
_SKIPPED_SUFFIXES: Final = frozenset({".pyc", ".pyo"})
_SKIPPED_NAMES: Final = frozenset({".DS_Store", "loom-agent.toml"})
_SECRETS_FILE: Final = ".env"
"""The name of files with secrets, and the prefix of their variants, such as `.env.local`."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A zip file ready to upload, its SHA-256, its entry point, and the size of its files."""

    data: bytes = field(repr=False)
    digest: str
    entry_point: str
    unzipped_bytes: int = 0


def make_package(path: Path | str, entry_point: str | None = None, *, installed: Path | None = None) -> Package:
    """Package a folder, or a single file such as `agent.py`.

    Caches, virtual environments, version control, `.env` files (which contain secrets) and links that lead outside are
    left out.

    Args:
        path: The folder or file.
        entry_point: The file to start, relative to the folder; by default agent.py, main.py or app.py.
        installed: A folder with the installed dependencies, which are packaged beside the agent's files. If both have a
            file of the same name, the agent's own is used.

    Raises:
        ValueError: There is no file to start, or the package exceeds AgentCore's quota.
    """
    source = Path(path).expanduser()
    if not source.exists():
        raise ValueError(f"there is no file or folder {source}")
    files = dict(packaged_files(source))
    start = entry_point or _entry_point(source, files)
    if start not in files:
        raise ValueError(f"{source} has no {start} to start")
    if installed is not None:
        files = {**dict(packaged_files(installed)), **files}
    unzipped = sum(file.stat().st_size for file in files.values())
    _check_size(source, unzipped, PACKAGE_MAX_UNZIPPED_BYTES, " unzipped")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in sorted(files.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            runs = bool(file.stat().st_mode & stat.S_IXUSR)
            info.external_attr = (stat.S_IFREG | (0o755 if runs else 0o644)) << 16
            archive.writestr(info, file.read_bytes())
    data = buffer.getvalue()
    _check_size(source, len(data), PACKAGE_MAX_BYTES, "")
    return Package(data=data, digest=hashlib.sha256(data).hexdigest(), entry_point=start, unzipped_bytes=unzipped)


def _check_size(source: Path, count: int, most: int, how: str) -> None:
    if count > most:
        raise ValueError(f"the package of {source} has {number(count)} bytes{how}, above AgentCore's {number(most)}")


def runtime_name(text: str) -> str:
    """Turn `text` into a runtime name: a letter, then letters, digits and underscores, at most 48 characters."""
    cleaned = re.sub(r"_+", "_", re.sub(r"[^a-zA-Z0-9_]", "_", text)).strip("_")
    if not cleaned:
        raise ValueError(f"{text!r} has no letter or digit for a runtime name")
    return (cleaned if cleaned[0].isalpha() else f"agent_{cleaned}")[:48]


def packaged_files(source: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a folder, or a single file, that a package contains, each with its name in the package.

    Args:
        source: The folder or file.
    """
    if source.is_file():
        yield source.name, source
        return
    root = source.resolve()
    for file in sorted(source.rglob("*")):
        inside = file.relative_to(source)
        skipped = (
            _SKIPPED_FOLDERS & set(inside.parts[:-1])
            or file.suffix in _SKIPPED_SUFFIXES
            or file.name in _SKIPPED_NAMES
            or file.name == _SECRETS_FILE
            or file.name.startswith(f"{_SECRETS_FILE}.")
            or not file.is_file()
            or not file.resolve().is_relative_to(root)
        )
        if not skipped:
            yield inside.as_posix(), file


def _entry_point(source: Path, files: dict[str, Path]) -> str:
    if source.is_file():
        return source.name
    for name in ENTRY_POINTS:
        if name in files:
            return name
    raise ValueError(f"{source} has no {join(ENTRY_POINTS, 'or')}; name the file to start as entry_point")
