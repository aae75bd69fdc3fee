"""An endpoint's processes, by log stream: one stream is one microVM, from its first line to its last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from loomlib.errors import ResourceNotFoundError
from loomlib.presentation.formats import number, percent, plural

from .log_events import LogEvent, log_event
from .log_streams import LogStreamReader
from .sources import RuntimeSource
from .start_lines import start_lines

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients

COLD_BOOT_LINE: Final = "Connection failed out to container health check"
"""AWS's sidecar logs it once per cold boot: its first probe, before the agent's server listens. The local AgentCore
logs it once for each process that it starts."""

_ANSWERED: Final = ("Invocation completed", "Returning streaming response", "Invocation failed")
_FAILED: Final = "Invocation failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecord:
    """One process, by its log lines.

    Attributes:
        process_id: The id in the stream's name.
        stream: The log stream.
        first_line: Time of the first line.
        last_line: Time of the last line.
        lines: The number of lines.
        invocations: How many requests the lines name.
        failed: How many of them failed.
        session_ids: The sessions that the lines name.
        boots: How many lines report a cold boot.
    """

    process_id: str
    stream: str
    first_line: datetime
    last_line: datetime
    lines: int
    invocations: int
    failed: int
    session_ids: tuple[str, ...]
    boots: int

    @property
    def seconds(self) -> float:
        """Seconds from the first line to the last: a lower bound of how long the process ran."""
        return (self.last_line - self.first_line).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessList:
    """The processes of an endpoint in a time range, newest first.

    Attributes:
        state: "found", "empty" or "no_group".
        processes: The processes.
    """

    state: str
    processes: tuple[ProcessRecord, ...] = ()

    @property
    def invocations(self) -> int:
        """How many requests the lines name."""
        return sum(process.invocations for process in self.processes)

    @property
    def sessions(self) -> int:
        """How many sessions the lines name."""
        return len({id for process in self.processes for id in process.session_ids})

    @property
    def reuse(self) -> float | None:
        """The share of invocations served by a process that had served one before; None if there are none."""
        served = [process for process in self.processes if process.invocations]
        return 1 - len(served) / self.invocations if self.invocations else None

    def sentence(self) -> str:
        """Return sessions, invocations and processes in a sentence."""
        if self.state == "no_group":
            return "The endpoint has no log group: it never ran."
        if not self.invocations or self.reuse is None:
            return "No process logged an invocation in that time."
        boots = sum(process.boots for process in self.processes)
        cold = f" Their logs report {plural(boots, 'cold boot')}." if boots else ""
        count = len(self.processes)
        processes = "1 process" if count == 1 else f"{number(count, 0)} processes"
        return (
            f"{plural(self.invocations, 'invocation')} in {plural(self.sessions, 'session')} on {processes}: "
            f"{percent(self.reuse)} were served by a warm process.{cold}"
        )


def list_processes(
    clients: Clients, source: RuntimeSource, qualifier: str, *, start: datetime, end: datetime | None = None
) -> ProcessList:
    """List the processes of an endpoint that logged a line in a time range.

    Args:
        clients: The AWS clients of a connection.
        source: The agent's runtime.
        qualifier: The endpoint.
        start: Start of the range, timezone-aware.
        end: End of the range, timezone-aware; None for now.
    """
    try:
        stored = LogStreamReader(clients).read(
            source,
            source.log_group(qualifier),
            start_ms=int(start.timestamp() * 1000),
            end_ms=None if end is None else int(end.timestamp() * 1000),
        )
    except ResourceNotFoundError:
        return ProcessList(state="no_group")
    processes = processes_of(map(log_event, stored))
    return ProcessList(state="found" if processes else "empty", processes=tuple(processes))


def processes_of(events: Iterable[LogEvent]) -> list[ProcessRecord]:
    """Return the processes that logged these lines, the latest start first."""
    streams: dict[str, list[LogEvent]] = {}
    for event in events:
        streams.setdefault(event.stream, []).append(event)
    processes = [
        _process(stream, sorted(lines, key=lambda line: line.timestamp_ms)) for stream, lines in streams.items()
    ]
    return sorted(processes, key=lambda process: (process.first_line, process.stream), reverse=True)


def _process(stream: str, lines: Sequence[LogEvent]) -> ProcessRecord:
    requests = {line.request_id for line in lines if line.request_id}
    unnamed = sum(line.request_id is None and line.message.startswith(_ANSWERED) for line in lines)
    return ProcessRecord(
        process_id=stream.rpartition("]")[2] or stream,
        stream=stream,
        first_line=lines[0].timestamp,
        last_line=lines[-1].timestamp,
        lines=len(lines),
        invocations=len(requests) + unnamed or len(start_lines(lines)),
        failed=sum(line.message.startswith(_FAILED) for line in lines),
        session_ids=tuple(dict.fromkeys(line.session_id for line in lines if line.session_id)),
        boots=sum(COLD_BOOT_LINE in line.message for line in lines),
    )
