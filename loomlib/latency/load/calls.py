"""The calls of a load step: what is offered, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

COMPLETE: Final = "complete"
FAILED: Final = "failed"
INTERRUPTED: Final = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedCall:
    """One call that a load step intends to make.

    Attributes:
        index: Its number within the step, from 0; the call's identity.
        session_id: The runtime session, 33 to 256 characters.
        body: The request's body.
        at_s: The intended start, in seconds from the start of the step. None in a closed loop: the call starts when its
            user's former call has ended and `think_s` have passed.
        user: The user of a closed loop, or the conversation of a replay, whose calls are made one after another.
        think_s: Seconds between the end of the user's former call and the intended start of this one.
    """

    index: int
    session_id: str
    body: bytes = field(repr=False)
    at_s: float | None = None
    user: int = 0
    think_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCall:
    """One call that a load step has made.

    Times are seconds from the start of the step on one monotonic clock, stamped where the socket takes and gives bytes.

    Attributes:
        index: Its number within the step.
        session_id: The runtime session.
        state: "complete", "failed", or "interrupted" when the engine was killed before the end was known.
        intended_s: When it was to start. In a closed loop: when its user was ready to send.
        sent_s: When the request was handed to the socket; None when it never was.
        first_byte_s: When the first byte of the response's body arrived.
        done_s: When the last byte arrived, or when the call failed.
        connect_ms: Time to open the connection, 0 for a reused one. It lies between `sent_s` and `first_byte_s`.
        status: HTTP status; None without a response.
        failure: Class of the failure, as in `loomlib.agents.FAILURES`.
        error_message: The failure's message, at most 200 characters.
        bytes_received: Bytes of the body.
        chunks: Reads of the socket that brought bytes of the body.
        longest_gap_ms: The longest time between two of them.
    """

    index: int
    session_id: str
    state: str
    intended_s: float
    sent_s: float | None = None
    first_byte_s: float | None = None
    done_s: float | None = None
    connect_ms: float | None = None
    status: int | None = None
    failure: str | None = None
    error_message: str | None = None
    bytes_received: int = 0
    chunks: int = 0
    longest_gap_ms: float | None = None

    @property
    def is_complete(self) -> bool:
        """True when the whole response arrived."""
        return self.state == COMPLETE

    @property
    def lag_ms(self) -> float | None:
        """How late the engine sent the call: schedule lag, the engine's own error."""
        return None if self.sent_s is None else (self.sent_s - self.intended_s) * 1e3

    @property
    def ttft_ms(self) -> float | None:
        """Time to first byte from the intended start, so that a late sender hides no waiting."""
        return None if self.first_byte_s is None else (self.first_byte_s - self.intended_s) * 1e3

    @property
    def duration_ms(self) -> float | None:
        """Time from the intended start to the last byte of a complete call."""
        return None if self.done_s is None or not self.is_complete else (self.done_s - self.intended_s) * 1e3
