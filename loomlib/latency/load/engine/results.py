"""The outcomes of the calls of a step, read from its journals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any, Final, cast, overload

from loomlib.agents.answers import reader_for
from loomlib.agents.outcome import failure_of, refusal
from loomlib.agents.protocols.jsonrpc import failure_of_code
from loomlib.aws.load_client import CANCELLED, HTTP_ERROR, Ended, Sent, call_trace_id
from loomlib.aws.load_client import COMPLETE as WHOLE
from loomlib.errors import MalformedResponseError
from loomlib.json_values import as_mapping, as_text, number_or_none

from ..calls import COMPLETE, FAILED, INTERRUPTED, NOT_SENT, LoadCall
from .journals import Journals

_MESSAGE_LIMIT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStep:
    """A load step that was run.

    Attributes:
        calls: The calls, one for every offered call, in the order of their indexes. They are read from the journal on
            access, so that many calls take no memory; its folder must not be deleted.
        cpu_s: Processor time of the engine's processes while they made calls, in seconds; without processes that were
            killed.
        started_at: Start of the step; of a continued step, its first start.
        processes: Number of processes that made the calls, in the last run.
        origins: For each run of the step, its start on the step's time scale, and the time 0 of that scale in Unix
            seconds.
        rss_mb: The largest resident set of one of the processes, in MB.
    """

    calls: Sequence[LoadCall] = field(repr=False)
    cpu_s: float
    started_at: datetime
    processes: int = 0
    origins: tuple[tuple[float, float], ...] = ()
    rss_mb: float = 0.0

    def unix_s(self, at_s: float) -> float:
        """Convert a time, in seconds from the step's start, to Unix seconds.

        Args:
            at_s: Seconds from the start of the step, such as a call's `sent_s`.
        """
        begun = [unix_s for base_s, unix_s in self.origins if base_s <= at_s]
        return (begun[-1] if begun else self.started_at.timestamp()) + at_s

    def trace_id(self, call: LoadCall) -> str:
        """Return the id of the trace that a call of this step sent in its trace context, 32 hex digits."""
        return call_trace_id(int(self.started_at.timestamp()), call.session_id, call.index)


class StoredCalls(Sequence[LoadCall]):
    """The calls of a step in the order of their indexes, each read from the journal on access.

    Args:
        journals: The journals of the step.
        count: The number of calls.
        unsent: Session and intended start in seconds of the calls that were never sent.
    """

    def __init__(self, journals: Journals, count: int, unsent: Mapping[int, tuple[str, float]]) -> None:
        self._journals, self._count, self._unsent = journals, count, unsent

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> LoadCall: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[LoadCall]: ...

    def __getitem__(self, index: int | slice) -> LoadCall | Sequence[LoadCall]:
        if isinstance(index, slice):
            return [self._call(number) for number in range(*index.indices(self._count))]
        number = index + self._count if index < 0 else index
        if not 0 <= number < self._count:
            raise IndexError(index)
        return self._call(number)

    def __iter__(self) -> Iterator[LoadCall]:
        return map(self._call, range(self._count))

    def _call(self, index: int) -> LoadCall:
        line = self._journals.line(index)
        if line is None:
            session_id, intended_s = self._unsent[index]
            return LoadCall(index=index, session_id=session_id, state=NOT_SENT, intended_s=intended_s)
        return load_call(line)


def load_call(line: Sent | Ended) -> LoadCall:
    """Return the call that the last line of a journal describes; without an end it was interrupted."""
    if isinstance(line, Sent):
        return LoadCall(
            index=line.index,
            session_id=line.session_id,
            state=INTERRUPTED,
            intended_s=line.intended_ns / 1e9,
            sent_s=line.sent_ns / 1e9,
            failure="interrupted",
            error_message="The load engine ended before the response was complete",
        )
    failure, message = _failure(line)
    return LoadCall(
        index=line.index,
        session_id=line.session_id,
        state=COMPLETE if failure is None else INTERRUPTED if failure == CANCELLED else FAILED,
        intended_s=line.intended_ns / 1e9,
        waited_ms=line.waited_ns / 1e6,
        sent_s=_or_none(line.sent_ns, 1e9),
        first_byte_s=_or_none(line.first_ns, 1e9),
        done_s=_or_none(line.done_ns, 1e9),
        connect_ms=_or_none(line.connect_ns, 1e6),
        status=None if line.status < 0 else line.status,
        failure=failure,
        error_message=None if message is None else message[:_MESSAGE_LIMIT],
        bytes_received=line.bytes,
        chunks=line.chunks,
        longest_gap_ms=_or_none(line.gap_ns, 1e6),
        arrivals_s=tuple(at / 1e9 for at in line.arrivals_ns),
    )


def _or_none(value_ns: int, unit: float) -> float | None:
    return None if value_ns < 0 else value_ns / unit


def _failure(line: Ended) -> tuple[str | None, str | None]:
    """Return the class of a call's failure and its message; both are None for a call that did not fail."""
    if (rpc := _rpc_failure(line)) is not None:
        return rpc
    if line.end == HTTP_ERROR:
        headers = {"x-amzn-errortype": line.error_type} if line.error_type else {}
        answer = cast("Any", SimpleNamespace(status=line.status, headers=headers))
        error = refusal(answer, line.evidence.encode(), what="The request failed", on="")
        return failure_of(error), error.what
    if line.end != WHOLE:
        return line.end, line.message
    if line.evidence and (reported := _reported_error(line)) is not None:
        return "agent_error", f"The agent failed while responding: {reported}"
    return None, None


def _rpc_failure(line: Ended) -> tuple[str, str] | None:
    """Return the class and the message of a JSON-RPC error; None for other calls.

    `RpcEvidence` writes the error of a response with the status 200; with another status it is the body itself, and
    more exact than the status.
    """
    if '"jsonrpc"' not in line.evidence:
        return None
    try:
        fields = as_mapping(json.loads(line.evidence))
    except (ValueError, RecursionError):
        return None
    if line.end == HTTP_ERROR:
        error = as_mapping(fields.get("error"))
        code, message = number_or_none(error.get("code")), as_text(error.get("message"))
        return (failure_of_code(int(code)), message or f"HTTP {line.status}") if code is not None else None
    if line.end != WHOLE or not isinstance(message := fields.get("error"), str):
        return None
    code = number_or_none(fields.get("jsonrpc"))
    failure = "agent_error" if code is None else failure_of_code(int(code))
    return failure, f"The agent failed while responding: {message}" if code is None else message


def _reported_error(line: Ended) -> str | None:
    """Return the error that a body with the status 200 reports; None without one."""
    reader = reader_for(line.content_type)
    try:
        pieces = [*reader.feed(line.evidence.encode()), *reader.finish()]
    except MalformedResponseError:
        return None
    return next((piece.error for piece in pieces if piece.error is not None), None)
