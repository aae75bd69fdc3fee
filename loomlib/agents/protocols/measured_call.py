"""One request of a protocol, from the stored request to the stored outcome, with every message and its time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..invocation_writer import InvocationWriter
from ..outcome import record_of
from ..record import InvocationRecord
from ..requests import InvocationRequest
from ..timeline import Timeline
from .transcript import RECEIVED, SENT, TranscriptEntry

if TYPE_CHECKING:
    from loomlib.aws.transport import HttpResponse


class MeasuredCall:
    """A request that is stored as an invocation; started by `begin`, ended by `finish`. For the engine's loop only.

    Args:
        request: What is stored as the request.
        writer: Stores it.

    Attributes:
        request: What is stored as the request.
        line: What was measured.
        id: The id of the stored invocation.
        run_in_caller: Runs a function in the thread that waits for this call; None when none waits.
        is_sent: Whether a message of the call was handed to the network.
        is_answered: Whether an answer, good or failed, was received; the call then ended when it was read.
    """

    def __init__(self, request: InvocationRequest, writer: InvocationWriter) -> None:
        self.request, self._writer = request, writer
        self.line = Timeline.begin()
        self.id = 0
        self.run_in_caller: Callable[[Callable[[], None]], None] | None = None
        self.is_sent = self.is_answered = False
        self._broke_off_ns: int | None = None

    async def begin(self) -> None:
        """Store the request.

        Raises:
            StoreError: It could not be stored; nothing may be sent then.
        """
        storing = asyncio.ensure_future(self._writer.begin(self.request))
        try:
            self.id = await asyncio.shield(storing)
        except asyncio.CancelledError:
            self.id = await storing  # a row without an owner would stay pending forever
            raise
        finally:
            self.line = Timeline.begin()

    def record_sent(self, message: Mapping[str, Any], at_ns: int, size: int) -> None:
        """Record a message that was sent. The time of the first one is the start of the request.

        Args:
            message: The JSON-RPC message.
            at_ns: When it was handed to the network, by the monotonic clock.
            size: Its length in bytes.
        """
        if not self.is_sent:
            self.is_sent, self.line.sent_ns = True, at_ns
        self._note(SENT, message, at_ns, size)

    def received(self, message: Mapping[str, Any], at_ns: int, size: int) -> None:
        """Note a received message.

        Args:
            message: The JSON-RPC message.
            at_ns: When its last byte was read, by the monotonic clock.
            size: Its length in bytes.
        """
        if self.line.first_byte_ns is None:
            self.line.first_byte_ns = at_ns
        self.line.offsets_ms.append(self.line.offset_ms(at_ns))
        self.line.done_ns = at_ns
        self._note(RECEIVED, message, at_ns, size)

    def count(self, size: int, at_ns: int) -> None:
        """Count bytes that have arrived."""
        if self.line.first_byte_ns is None:
            self.line.first_byte_ns = at_ns
        self.line.bytes_received += size

    def head(self, answer: HttpResponse) -> None:
        """Note the first response's headers and connection."""
        if not self.line.headers:
            self.line.headers = answer.headers
            self.line.connect_ms, self.line.connection_reused = answer.connect_ms, answer.connection_reused

    def broke_off(self, at_ns: int) -> None:
        """Record when a response broke off. What follows, such as reading the reason, is not counted in the call."""
        self._broke_off_ns = at_ns

    def fail(self, failure: str, message: str) -> None:
        """Record a failure; only the first one is stored."""
        self.line.fail(failure, message)

    async def finish(self, text: str = "") -> InvocationRecord:
        """Store the outcome and return its record.

        Args:
            text: The text of the answer.
        """
        if text:
            self.line.texts.append(text)
        done_ns = self.line.done_ns if self.is_answered or self.line.failure is None else self._broke_off_ns
        done_ns = done_ns or time.perf_counter_ns()
        record = record_of(self.request, self.line, id=self.id, done_ns=done_ns, was_sent=self.is_sent)
        stored = await self._writer.finish(record, self.line.events)
        return replace(record, stored=stored)

    def _note(self, direction: str, message: Mapping[str, Any], at_ns: int, size: int) -> None:
        entry = TranscriptEntry(direction=direction, at_ms=self.line.offset_ms(at_ns), size=size, message=message)
        # JSON allows a lone surrogate ("\\ud83d"), which UTF-8 cannot encode.
        self.line.store_event(entry.to_event().encode("utf-8", "replace"))
