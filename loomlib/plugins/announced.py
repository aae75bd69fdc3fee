"""The entry points of installed distributions, read again only after a change.

importlib.metadata reads the files of every installed distribution, which takes 0.1 s of processor time for three
hundred; to see whether one has changed takes a few milliseconds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

from .hooks import GROUP

_METADATA = (".dist-info", ".egg-info", ".egg")
_State = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """The plugins that the installed distributions declare.

    Attributes:
        entry_points: The entry points of plugins, in no particular order.
        failure: Why a distribution's `entry_points.txt` cannot be read; empty when all can.
    """

    entry_points: tuple[metadata.EntryPoint, ...]
    failure: str


_last: tuple[_State, Announced] | None = None


def announced() -> Announced:
    """Return the entry points of the plugins that are installed now."""
    global _last
    state = tuple(_files())
    if (last := _last) is not None and last[0] == state:
        return last[1]
    current = _read()
    _last = state, current
    return current


def _read() -> Announced:
    try:
        return Announced(entry_points=tuple(metadata.entry_points(group=GROUP)), failure="")
    except Exception as error:  # noqa: BLE001 -- one malformed entry_points.txt spoils the whole listing
        return Announced(entry_points=tuple(_one_by_one()), failure=f"{type(error).__name__}: {error}")


def _one_by_one() -> Iterator[metadata.EntryPoint]:
    for distribution in metadata.distributions():
        try:
            yield from distribution.entry_points.select(group=GROUP)
        except Exception:  # noqa: BLE001, S112 -- the malformed one, which is noted already
            continue


def _files() -> Iterator[tuple[str, int, int, int]]:
    """Yield the state of every file with entry points, and of every other item of `sys.path`, in its order."""
    for folder in dict.fromkeys(sys.path):
        try:
            with os.scandir(folder or ".") as entries:
                names = sorted(entry.name for entry in entries if entry.name.endswith(_METADATA))
        except OSError:  # an archive, or nothing
            yield _state(folder)
            continue
        yield os.path.abspath(folder), 0, 0, 0
        for name in names:
            yield _state(os.path.join(folder, name, "entry_points.txt"))


def _state(path: str) -> tuple[str, int, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return path, 0, 0, 0
    return path, status.st_ino, status.st_size, status.st_mtime_ns
