"""The calls of a load step: the offered calls, and the outcome of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

COMPLETE: Final = "complete"
FAILED: Final = "failed"
INTERRUPTED: Final = "interrupted"
NOT_SENT: Final = "not_sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedCall:
    """One call that a load step intends to make.

    Attributes:
        index: Its number within the step, from 0; the call's identity.
        session_id: The runtime session, 33 to 256 characters.
        body: The request's body.
        at_s: The intended start, in seconds from the start of the step. None in a closed loop: the call starts
            `think_s` after the end of its user's previous call.
        user: The user of a closed loop, or the conversation of a replay. The calls of one user are made one after
            another in the order of their indexes, by one process: a call with `at_s` waits until the previous call has
            ended, and its latency includes the wait. None for a call that does not wait for another.
        think_s: Seconds between the end of the user's previous call and the intended start of this one.
    """

    index: int
    session_id: str
    body: bytes = field(repr=False)
    at_s: float | None = None
    user: int | None = None
    think_s: float = 0.0

    def __post_init__(self) -> None:
        if self.at_s is None and self.user is None:
            raise ValueError("a call without at_s belongs to a closed loop and needs its user")
        if (self.at_s or 0) < 0 or self.think_s < 0 or self.index < 0:
            raise ValueError("index, at_s and think_s must be 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCall:
    """One call that a load step has made.

    Times are seconds from the start of the step on one monotonic clock, taken where bytes enter and leave the socket.

    Attributes:
        index: Its number within the step.
        session_id: The runtime session.
        state: "complete", "failed", "interrupted" when the engine ended before its end was known, or "not_sent" when
            the step was stopped before it was sent.
        intended_s: Its intended start. In a closed loop: when its user was ready to send.
        waited_ms: Time from `intended_s` to the end of the user's previous call, in milliseconds; 0 in a closed loop.
        sent_s: When the request was handed to the socket; None when it never was.
        first_byte_s: When the first byte of the response's body arrived.
        done_s: When the last byte arrived, or when the call failed.
        connect_ms: Time to open the connection, 0 for a reused one. It lies between `sent_s` and `first_byte_s`.
        status: HTTP status; None without a response.
        failure: Class of the failure, as in `loomlib.agents.FAILURES`.
        error_message: The failure's message, at most 200 characters.
        bytes_received: Bytes of the body.
        chunks: Number of socket reads that returned bytes of the body.
        longest_gap_ms: The longest time between two of them.
        arrivals_s: The time of each of these reads, when the engine stores them.
    """

    index: int
    session_id: str
    state: str
    intended_s: float
    waited_ms: float = 0.0
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
    arrivals_s: tuple[float, ...] = field(default=(), repr=False)

    @property
    def is_complete(self) -> bool:
        """True when the whole response arrived."""
        return self.state == COMPLETE

    @property
    def lag_ms(self) -> float | None:
        """How late the engine sent the call: schedule lag, the engine's own error.

        Waiting for the user's previous call is not included.
        """
        return None if self.sent_s is None else (self.sent_s - self.intended_s) * 1e3 - self.waited_ms

    @property
    def ttft_ms(self) -> float | None:
        """Time to first byte from the intended start, so that a late sender hides no waiting."""
        return None if self.first_byte_s is None else (self.first_byte_s - self.intended_s) * 1e3

    @property
    def duration_ms(self) -> float | None:
        """Time from the intended start to the last byte of a complete call."""
        return None if self.done_s is None or not self.is_complete else (self.done_s - self.intended_s) * 1e3
