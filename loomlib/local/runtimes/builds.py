"""Distributions in a package that are compiled for AgentCore's machines and that this machine cannot load.

AgentCore runs on Linux on ARM64, and a package brings its dependencies compiled for it, as AWS's guide to direct code
deployment says. Elsewhere, or under another version of Python, the same versions are installed for this machine. If
they do not support the workbench's Python, because the package was built for a newer one, earlier versions are
installed.
"""

from __future__ import annotations

import contextlib
import csv
import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path
from platform import python_version
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags, parse_tag, sys_tags
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from .pythons import Python

_OF_AWS: Final = re.compile(r"(manylinux|musllinux|linux)\w*_aarch64")
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def take_out_builds(code: Path, python: Python | None = None) -> list[str]:
    """Delete the distributions that are for AgentCore's machines, or for a newer Python, and not for this machine.

    A distribution that fits neither machine stays, and fails here as on AWS.

    Args:
        code: The folder of the extracted package, which contains the distributions.
        python: The Python that runs it; None for the workbench's.

    Returns:
        Their replacements as pip requirements, in order: `pydantic-core==2.41.5`, or `numpy<2.5.0` where numpy 2.5.0
        does not support the workbench's Python.
    """
    folders = sorted(code.glob("*.dist-info"))
    loadable = _loadable(python) if folders else frozenset[Tag]()
    deleted: list[str] = []
    for folder in folders:
        tags = frozenset(_tags(folder))
        supported = python is not None or _supports_workbench(folder)
        of_aws = any(_OF_AWS.fullmatch(tag.platform) or (not supported and tag.platform == "any") for tag in tags)
        if not of_aws or (supported and tags & loadable):
            continue
        if requirement := _requirement(folder, "==" if supported else "<"):
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


def _supports_workbench(folder: Path) -> bool:
    with contextlib.suppress(InvalidSpecifier):
        return SpecifierSet(next(_values(folder / "METADATA", "requires-python"), "")).contains(python_version())
    return True


def _requirement(folder: Path, compared: str) -> str | None:
    """Return a distribution's name and version as a requirement; None if its metadata is damaged."""
    name = next(_values(folder / "METADATA", "name"), "")
    with contextlib.suppress(InvalidVersion):
        version = Version(next(_values(folder / "METADATA", "version"), ""))
        return f"{canonicalize_name(name)}{compared}{version}" if _NAME.fullmatch(name) else None
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
    """Delete a file of the package, its byte code, and the folders that become empty."""
    file = Path(os.path.normpath(file))
    if not file.is_relative_to(code):
        return  # a script lies outside, and a hostile RECORD file may list any path
    with contextlib.suppress(OSError):
        file.unlink()
    for compiled in file.parent.glob(f"__pycache__/{glob.escape(file.stem)}.*.pyc") if file.suffix == ".py" else ():
        compiled.unlink(missing_ok=True)
    for folder in (file.parent / "__pycache__", *file.parents):
        if folder == code:
            break
        with contextlib.suppress(OSError):
            folder.rmdir()
