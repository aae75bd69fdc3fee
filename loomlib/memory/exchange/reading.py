"""Reads the file of an export line by line and validates it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from ...errors import SettingsError
from ...json_values import parse_object
from .exporting import FORMAT, VERSION
from .fields import check_line, check_manifest

_EXPECTED: Final = "a file that memory.export(path) wrote"


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the first line of an export.

    Raises:
        SettingsError: The file is not an export, or of an unknown version.
    """
    first = next(_lines(Path(path)), None)
    if first is None or first.get("kind") != "manifest" or first.get("format") != FORMAT:
        raise SettingsError("The file is not an export of a memory", on=str(path), try_=_EXPECTED)
    check_manifest(first, str(path))
    if first.get("version") != VERSION:
        raise SettingsError(
            f"The export has version {first.get('version')}; this release of Loom reads version {VERSION}",
            on=str(path),
            try_="a newer release of Loom",
        )
    return first


def read_lines(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Yield the events and records of an export in order.

    Raises:
        SettingsError: A line is malformed.
    """
    for number, line in enumerate(_lines(Path(path)), 1):
        if line.get("kind") in ("event", "record"):
            check_line(line, f"{path}, line {number}")
            yield line


def check_complete(path: str | os.PathLike[str]) -> str:
    """Verify that an export is complete, and return its checksum.

    Raises:
        SettingsError: The file was truncated or changed.
    """
    digest, last = hashlib.sha256(), b""
    with _opened(Path(path)) as file:
        for raw in file:
            digest.update(last)
            last = raw
    last_line = parse_object(last)
    if last_line.get("kind") != "end" or last_line.get("sha256") != digest.hexdigest():
        raise SettingsError(
            "The export was truncated or changed after it was written: its checksum does not match",
            on=str(path),
            try_="export again",
        )
    return digest.hexdigest()


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with _opened(path) as file:
        for number, raw in enumerate(file, 1):
            try:
                line: Any = json.loads(raw)
            except (ValueError, RecursionError) as error:
                raise SettingsError(
                    f"Line {number} of the export is not JSON: {error}", on=str(path), try_=_EXPECTED
                ) from error
            if not isinstance(line, dict):
                raise SettingsError(f"Line {number} of the export is not a JSON object", on=str(path), try_=_EXPECTED)
            yield cast("dict[str, Any]", line)


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SettingsError(f"The export cannot be read: {reason}", on=str(path), try_=_EXPECTED) from error
