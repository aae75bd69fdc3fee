"""The journals of a step, read while they grow: which calls were sent, and where the line of each is."""

from __future__ import annotations

import mmap
import os
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Final

from loomlib.aws.load_client import ENDED, SENT, USED, Ended, Sent, Used, read_line

PATTERN: Final = "calls-*.journal"
_AT_ONCE: Final = 2**20
_FILE_SHIFT: Final = 44
"""A place is the file's number and the offset in it: 2^44 bytes are more than a disk holds."""

_NOWHERE: Final = -1


class Journals:
    """The lines of all processes of a step, one place for each call.

    Args:
        folder: The folder of the step.
        count: The number of calls of the step.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self._folder = folder
        self._files: list[Path] = []
        self._read: list[int] = []
        self._maps: dict[int, mmap.mmap] = {}
        self._places = array("q", [_NOWHERE]) * count
        self.ended = bytearray(count)
        self.cpu_ns = 0
        self.rss_kb = 0
        self.latest_ns = 0

    def was_sent(self, index: int) -> bool:
        """Return whether a call was sent, or was about to be."""
        return self._places[index] != _NOWHERE

    def poll(self, on_end: Callable[[Ended], None] | None = None) -> None:
        """Read what the processes have written since the last time.

        Args:
            on_end: Called with each call that has ended since.
        """
        known_paths = set(self._files)
        for path in sorted(self._folder.glob(PATTERN)):
            if path not in known_paths:
                self._files.append(path)
                self._read.append(0)
        for number in range(len(self._files)):
            self._poll_file(number, on_end)

    def line(self, index: int) -> Sent | Ended | None:
        """Return what the last line of a call says; None for one that was never sent."""
        place = self._places[index]
        if place == _NOWHERE:
            return None
        number, offset = place >> _FILE_SHIFT, place & ((1 << _FILE_SHIFT) - 1)
        content = self._map(number, offset)
        line = read_line(content[offset : content.find(b"\n", offset) + 1])
        assert isinstance(line, (Sent, Ended))
        return line

    def _map(self, number: int, offset: int) -> mmap.mmap:
        content = self._maps.get(number)
        if content is None or len(content) <= offset:
            with self._files[number].open("rb") as file:
                content = self._maps[number] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return content

    def _poll_file(self, number: int, on_end: Callable[[Ended], None] | None) -> None:
        file = os.open(self._files[number], os.O_RDONLY | os.O_CLOEXEC)
        try:
            while data := os.pread(file, _AT_ONCE, self._read[number]):
                whole = data.rfind(b"\n") + 1
                if not whole:
                    break  # the line of a process that is writing, or was killed while it wrote
                offset = self._read[number]
                for line in data[:whole].splitlines(keepends=True):
                    self._note(number, offset, line, on_end)
                    offset += len(line)
                self._read[number] = offset
        finally:
            os.close(file)

    def _note(self, number: int, offset: int, line: bytes, on_end: Callable[[Ended], None] | None) -> None:
        kind = line[:1]
        if kind == USED:
            used = read_line(line)
            assert isinstance(used, Used)
            self.cpu_ns += used.cpu_ns
            self.rss_kb = max(self.rss_kb, used.rss_kb)
            return
        fields = line.split(b" ", 8)
        index = int(fields[1])
        self._places[index] = number << _FILE_SHIFT | offset
        if kind == SENT:
            self.latest_ns = max(self.latest_ns, int(fields[4]))
        elif kind == ENDED:
            self.ended[index] = 1
            self.latest_ns = max(self.latest_ns, int(fields[7]))
            if on_end is not None:
                ended = read_line(line)
                assert isinstance(ended, Ended)
                on_end(ended)


def next_number(folder: Path) -> int:
    """Return the number of the next journal of a step; a killed run may leave gaps in the numbers."""
    return max((int(path.stem.removeprefix("calls-")) + 1 for path in folder.glob(PATTERN)), default=0)
