"""The calls of one process as an unnamed temporary file: columns of numbers, then sessions and bodies.

The process reads a body when it prepares its request, so that a long plan does not take memory.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

_COLUMNS: Final = ("index", "at_ns", "think_ns", "chain", "offset", "size")
_HEAD: Final = 16
NONE: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledCall:
    """One call of a process.

    Attributes:
        index: Its number within the step.
        session_id: The session.
        body: The request's body.
        at_ns: The intended start on the time scale of the step; None to start when the chain's previous call has ended.
        think_ns: The pause after the chain's previous call.
        chain: Calls of one chain are made one after another; None for a call that does not wait for another.
    """

    index: int
    session_id: str
    body: bytes = field(repr=False)
    at_ns: int | None
    think_ns: int = 0
    chain: int | None = None


def write_plan(calls: Iterable[ScheduledCall], folder: Path) -> IO[bytes]:
    """Return an open file with the calls; it has no name, and is deleted when the last process closes it.

    Args:
        calls: The calls; those of a chain in their order.
        folder: A folder on a disk with enough space for all bodies.
    """
    file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - the caller passes it on to the process
    columns = [array("q") for _ in _COLUMNS]
    offset = _HEAD
    file.seek(offset)
    for call in calls:
        session = call.session_id.encode()
        record = len(session).to_bytes(2, "little") + session + call.body
        at = NONE if call.at_ns is None else call.at_ns
        chain = NONE if call.chain is None else call.chain
        for column, value in zip(columns, (call.index, at, call.think_ns, chain, offset, len(record)), strict=True):
            column.append(value)
        file.write(record)
        offset += len(record)
    for column in columns:
        file.write(column.tobytes())
    file.seek(0)
    file.write(len(columns[0]).to_bytes(8, "little") + offset.to_bytes(8, "little"))
    file.flush()
    return file


class Plan:
    """The calls of a process, numbered from 0 in their order in the file.

    Args:
        file: The file that `write_plan` returned.
        base_ns: Start of the chains whose first call has no intended start.

    Attributes:
        index: The number of each call within the step.
        at_ns: The intended start, -1 for none.
        think_ns: The pause after the chain's previous call.
        next: The chain's next call, -1 for the last.
        first: The calls that do not wait for another, in the order of their intended start.
    """

    def __init__(self, file: int, base_ns: int = 0) -> None:
        self._file, self._base_ns = file, base_ns
        head = _read(file, _HEAD, 0)
        count, begin = int.from_bytes(head[:8], "little"), int.from_bytes(head[8:], "little")
        columns: list[array[int]] = []
        for number in range(len(_COLUMNS)):
            column = array("q")
            column.frombytes(_read(file, 8 * count, begin + number * 8 * count))
            columns.append(column)
        self.index, self.at_ns, self.think_ns, chains, self._offset, self._size = columns
        self.next = array("q", [NONE]) * count
        self.first = array("q", sorted(self._link(chains), key=self.due_ns))

    def __len__(self) -> int:
        return len(self.index)

    def read(self, call: int) -> tuple[str, bytes]:
        """Return the session and the body of a call."""
        record = _read(self._file, self._size[call], self._offset[call])
        end = 2 + int.from_bytes(record[:2], "little")
        return record[2:end].decode(), record[end:]

    def _link(self, chains: Sequence[int]) -> list[int]:
        first: list[int] = []
        last: dict[int, int] = {}
        for call, chain in enumerate(chains):
            if chain == NONE:
                first.append(call)
                continue
            if chain in last:
                self.next[last[chain]] = call
            else:
                first.append(call)
            last[chain] = call
        return first

    def due_ns(self, call: int) -> int:
        """Return the intended start of a call that does not wait for another."""
        return self._base_ns + self.think_ns[call] if self.at_ns[call] == NONE else self.at_ns[call]


def _read(file: int, size: int, offset: int) -> bytes:
    data = os.pread(file, size, offset)
    while len(data) < size:
        more = os.pread(file, size - len(data), offset + len(data))
        if not more:
            raise EOFError("the plan is incomplete")
        data += more
    return data
