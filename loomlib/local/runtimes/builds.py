"""Distributions in a package that are compiled for AgentCore's machines, and that this machine cannot load.

AgentCore runs on Linux on ARM64, and a package brings its dependencies compiled for it, as AWS's guide to direct code
deployment says. Elsewhere, or under another version of Python, the same versions are installed for this machine.
"""

from __future__ import annotations

import contextlib
import csv
import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from packaging.tags import Tag, compatible_tags, cpython_tags, parse_tag, sys_tags
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from .pythons import Python

_OF_AWS: Final = re.compile(r"(manylinux|musllinux|linux)\w*_aarch64")
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def take_out_builds(code: Path, python: Python | None = None) -> list[str]:
    """Delete the distributions that are compiled for AgentCore's machines and not for this one.

    What fits neither stays, and fails here as it does on AWS.

    Args:
        code: The extracted package, in whose folder the distributions are.
        python: The Python that runs it; None for the workbench's.

    Returns:
        The deleted distributions as pip's requirements, such as `pydantic-core==2.41.5`, in order.
    """
    folders = sorted(code.glob("*.dist-info"))
    loadable = _loadable(python) if folders else frozenset[Tag]()
    deleted: list[str] = []
    for folder in folders:
        tags = frozenset(_tags(folder))
        if tags & loadable or not any(_OF_AWS.fullmatch(tag.platform) for tag in tags):
            continue
        if requirement := _requirement(folder):
            unrecorded = list(folder.rglob("*"))
            for file in (*(code / name for name in _files(folder)), *unrecorded):
                _delete(code, file)
            deleted.append(requirement)
    return deleted


def _loadable(python: Python | None) -> frozenset[Tag]:
    if python is None:
        return frozenset(sys_tags())
    version = (3, python.minor)
    return frozenset((*cpython_tags(version), *compatible_tags(version, f"cp3{python.minor}")))


def _tags(folder: Path) -> Iterator[Tag]:
    for text in _values(folder / "WHEEL", "tag"):
        if text.count("-") == 2:
            yield from parse_tag(text)


def _requirement(folder: Path) -> str | None:
    """Return a distribution's name and version as a requirement; None if its metadata are damaged."""
    name = next(_values(folder / "METADATA", "name"), "")
    with contextlib.suppress(InvalidVersion):
        version = Version(next(_values(folder / "METADATA", "version"), ""))
        return f"{canonicalize_name(name)}=={version}" if _NAME.fullmatch(name) else None
    return None


def _values(file: Path, field: str) -> Iterator[str]:
    """Yield the values of a field in the head of a file of metadata."""
    for line in _text(file).splitlines():
        if not line.strip():
            return
        name, _, value = line.partition(":")
        if name.strip().lower() == field:
            yield value.strip()


def _files(folder: Path) -> list[str]:
    try:
        return [row[0] for row in csv.reader(_text(folder / "RECORD").splitlines()) if row and "\0" not in row[0]]
    except csv.Error:
        return []


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _delete(code: Path, file: Path) -> None:
    """Delete a file of the package, its byte code, and the folders that this leaves empty."""
    file = Path(os.path.normpath(file))
    if not file.is_relative_to(code):
        return  # a script's place is outside, and a hostile record names anything
    with contextlib.suppress(OSError):
        file.unlink()
    for compiled in file.parent.glob(f"__pycache__/{glob.escape(file.stem)}.*.pyc") if file.suffix == ".py" else ():
        compiled.unlink(missing_ok=True)
    for folder in (file.parent / "__pycache__", *file.parents):
        if folder == code:
            break
        with contextlib.suppress(OSError):
            folder.rmdir()
