"""The journal of a load process: one line before a call is sent, one when it has ended.

Each line is one `write` to an append-only file: a killed process does not lose any line that it has written, and an
incomplete line lacks its end-of-line. Times are nanoseconds on the time scale of the step; -1
means "none".
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SENT: Final = b"S"
ENDED: Final = b"E"
USED: Final = b"U"

COMPLETE: Final = "complete"
HTTP_ERROR: Final = "http_error"
CANCELLED: Final = "cancelled"
"""The end of a call that the engine cancelled; it does not count as the agent's failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A call that is about to be sent.

    Attributes:
        index: Its number within the step.
        session_id: The session.
        intended_ns: Its intended start.
        sent_ns: The time of the line, some microseconds before the request is handed to the socket.
    """

    index: int
    session_id: str
    intended_ns: int
    sent_ns: int


@dataclass(slots=True, kw_only=True)
class Ended:
    """A call that has ended.

    Attributes:
        index: Its number within the step.
        session_id: The session.
        intended_ns: Its intended start.
        waited_ns: How long after the intended start the previous call of its user ended.
        sent_ns: When it was handed to the socket.
        first_ns: When the first byte of the body arrived.
        done_ns: When the last byte arrived, or when it failed.
        connect_ns: Time to open a connection, 0 for a reused one.
        status: HTTP status.
        bytes: Bytes of the body.
        chunks: Number of socket reads that returned bytes of the body.
        gap_ns: The longest time between two of them.
        end: "complete", "http_error", or a class of `loomlib.agents.FAILURES`.
        arrivals_ns: The time of each read, if recorded.
        message: What failed.
        content_type: The response's content type, with `evidence`.
        error_type: The header x-amzn-errortype, with `evidence`.
        evidence: The part of the body that describes the failure.
    """

    index: int
    session_id: str
    intended_ns: int
    waited_ns: int = 0
    sent_ns: int = -1
    first_ns: int = -1
    done_ns: int = -1
    connect_ns: int = -1
    status: int = -1
    bytes: int = 0
    chunks: int = 0
    gap_ns: int = -1
    end: str = COMPLETE
    arrivals_ns: Sequence[int] = ()
    message: str = ""
    content_type: str = ""
    error_type: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """The resources that a process has used when it ends.

    Attributes:
        cpu_ns: CPU time since its calls started.
        rss_kb: The largest resident set size.
    """

    cpu_ns: int
    rss_kb: int


class JournalWriter:
    """Appends lines to a new file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def sent(self, index: int, session_id: str, intended_ns: int, sent_ns: int) -> None:
        """Write that a call is about to be sent."""
        os.write(self._file, b"S %d %b %d %d\n" % (index, session_id.encode(), intended_ns, sent_ns))

    def ended(self, call: Ended) -> None:
        """Write that a call has ended."""
        line = "E %d %s %d %d %d %d %d %d %d %d %d %d %s" % (  # noqa: UP031 - a third of the time of an f-string's
            call.index, call.session_id, call.intended_ns, call.waited_ns, call.sent_ns, call.first_ns, call.done_ns,
            call.connect_ns, call.status, call.bytes, call.chunks, call.gap_ns, call.end,
        )  # fmt: skip
        if call.arrivals_ns or call.message or call.evidence:
            line += " " + json.dumps(
                [list(call.arrivals_ns), call.message, call.content_type, call.error_type, call.evidence]
            )
        os.write(self._file, line.encode() + b"\n")

    def used(self, cpu_ns: int, rss_kb: int) -> None:
        """Write the resources that the process has used, as its last line."""
        os.write(self._file, b"U %d %d\n" % (cpu_ns, rss_kb))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_line(line: bytes) -> Sent | Ended | Used | None:
    """Parse a line; return None if it is incomplete.

    Args:
        line: The line with its end-of-line.
    """
    if not line.endswith(b"\n"):
        return None
    fields = line[:-1].decode().split(" ", 14)
    if fields[0] == "U":
        return Used(cpu_ns=int(fields[1]), rss_kb=int(fields[2]))
    if fields[0] == "S":
        return Sent(index=int(fields[1]), session_id=fields[2], intended_ns=int(fields[3]), sent_ns=int(fields[4]))
    numbers = [int(field) for field in fields[3:13]]
    more: list[object] = json.loads(fields[14]) if len(fields) > 14 else [[], "", "", "", ""]
    arrivals, message, content_type, error_type, evidence = more
    assert isinstance(arrivals, list)
    return Ended(
        index=int(fields[1]),
        session_id=fields[2],
        intended_ns=numbers[0],
        waited_ns=numbers[1],
        sent_ns=numbers[2],
        first_ns=numbers[3],
        done_ns=numbers[4],
        connect_ns=numbers[5],
        status=numbers[6],
        bytes=numbers[7],
        chunks=numbers[8],
        gap_ns=numbers[9],
        end=fields[13],
        arrivals_ns=[int(at) for at in arrivals],  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        message=str(message),
        content_type=str(content_type),
        error_type=str(error_type),
        evidence=str(evidence),
    )
