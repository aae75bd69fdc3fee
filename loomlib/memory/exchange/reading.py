"""An export's file, read line by line and never believed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from ...errors import SettingsError
from .exporting import FORMAT, VERSION
from .fields import check_line, check_manifest

_WRITTEN: Final = "a file that memory.export(path) wrote"


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The first line of an export. Raises `SettingsError` where it is none."""
    first = next(_lines(Path(path)), None)
    if first is None or first.get("kind") != "manifest" or first.get("format") != FORMAT:
        raise SettingsError("The file is no export of a memory", on=str(path), try_=_WRITTEN)
    check_manifest(first, str(path))
    if first.get("version") != VERSION:
        raise SettingsError(
            f"The export is of version {first.get('version')}, and {VERSION} is known",
            on=str(path),
            try_="a newer Loom",
        )
    return first


def read_lines(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The events and records of an export, in its order. Raises `SettingsError` where one lacks what it must have."""
    for number, line in enumerate(_lines(Path(path)), 1):
        if line.get("kind") in ("event", "record"):
            check_line(line, f"{path}, line {number}")
            yield line


def check_whole(path: str | os.PathLike[str]) -> str:
    """The export's checksum, when its last line agrees with it. Raises `SettingsError` where it was cut or changed."""
    digest, last = hashlib.sha256(), b""
    with _opened(Path(path)) as file:
        for raw in file:
            digest.update(last)
            last = raw
    try:
        end: Any = json.loads(last or b"null")
    except ValueError:
        end = None
    told = cast("dict[str, Any]", end) if isinstance(end, dict) else {}
    if told.get("kind") != "end" or told.get("sha256") != digest.hexdigest():
        raise SettingsError(
            "The export was cut short or changed after it was written: its checksum does not agree",
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
                    f"Line {number} of the export is no JSON: {error}", on=str(path), try_=_WRITTEN
                ) from error
            if not isinstance(line, dict):
                raise SettingsError(f"Line {number} of the export is no JSON object", on=str(path), try_=_WRITTEN)
            yield cast("dict[str, Any]", line)


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise SettingsError(f"The export cannot be read: {why}", on=str(path), try_=_WRITTEN) from error
