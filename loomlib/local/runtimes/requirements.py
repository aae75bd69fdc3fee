"""The requirements of a package, and those of them that the package and the interpreter lack."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from .packages import InvalidPackageError

_REPLACED = "aws-opentelemetry-distro"
"""The package that records agents' spans on AWS; sessions of the workbench's interpreter use Loom's recorder."""


def lacking(code: Path, *, of_workbench: bool = True) -> list[str]:
    """Return pip's options and the requirements in requirements.txt that the package and the interpreter lack.

    Args:
        code: The extracted package.
        of_workbench: Whether the interpreter has the workbench's packages; without them it lacks all requirements.
    """
    file = code / "requirements.txt"
    if not file.is_file():
        return []
    options: list[str] = []
    missing: list[str] = []
    for line in _lines(file, code, set()):
        if line.startswith("-") and not line.startswith(("-e", "--editable")):
            options.append(line)
        elif not (of_workbench and is_satisfied(line)) and not _is_packaged(line, code):
            missing.append(line)
    return options + missing if missing else []


def _lines(file: Path, code: Path, seen_files: set[Path]) -> Iterator[str]:
    """Yield logical lines: continuations joined, comments removed, `-r other.txt` included."""
    seen_files.add(file)
    text = file.read_text("utf-8-sig", errors="replace").replace("\\\n", " ")
    for raw in text.splitlines():
        line = raw.split(" #")[0].strip()
        if not line or line.startswith("#"):
            continue
        flag, _, rest = line.partition(" ")
        if flag in ("-r", "--requirement"):
            other = (file.parent / rest.strip()).resolve()
            if not other.is_relative_to(code.resolve()) or not other.is_file():
                raise InvalidPackageError(f"requirements.txt names a file that is not in the package: {rest.strip()}")
            if other not in seen_files:
                yield from _lines(other, code, seen_files)
        else:
            yield line


def _is_packaged(line: str, code: Path) -> bool:
    """Return whether the package contains a required distribution, as packages for AWS do."""
    try:
        requirement = Requirement(line.split(" --hash")[0].strip())
    except InvalidRequirement:
        return False
    if requirement.extras:
        return False
    for folder in code.glob("*.dist-info"):
        name, _, version = folder.name.removesuffix(".dist-info").rpartition("-")
        if canonicalize_name(name) == canonicalize_name(requirement.name):
            return requirement.specifier.contains(version, prereleases=True)
    return False


def is_satisfied(line: str) -> bool:
    """Return whether the interpreter satisfies a requirement."""
    # Hashes apply to downloads; for installed packages only the name and the version can be compared.
    try:
        requirement = Requirement(line.split(" --hash")[0].strip())
    except InvalidRequirement:
        return False  # a path or a URL, which only pip can resolve
    if canonicalize_name(requirement.name) == _REPLACED:
        return True
    return _holds(requirement, "", set())


def _holds(requirement: Requirement, extra: str, seen_extras: set[str]) -> bool:
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
        return True
    if requirement.url is not None:
        return False
    try:
        distribution = importlib.metadata.distribution(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return False
    if not requirement.specifier.contains(distribution.version, prereleases=True):
        return False
    for extra_name in requirement.extras:
        mark = f"{requirement.name.lower()}[{extra_name}]"
        if mark in seen_extras:
            continue
        seen_extras.add(mark)
        for text in distribution.requires or ():
            needed = Requirement(text)
            # Only what the extra adds: a distribution that is installed has its plain requirements.
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                continue
            if not _holds(needed, extra_name, seen_extras):
                return False
    return True
