"""Scenarios of a load test: the runtime session of each call, and the sessions that are opened before the step.

A session that a call opens is cold: a microVM starts. The number of such calls largely determines an agent's latency,
so each call has a label ("cold", "warm", "turn 3", …), and figures of a mixture can be split by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from .arrivals import CallStart

COLD = "cold"
WARM = "warm"
STICKY = "sticky"
PRE_WARMED = "pre-warmed"
KEEP_ALIVE = "keep-alive"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCall:
    """A call and its session.

    Attributes:
        start: When the call starts.
        session: The session's number in the step, from 0.
        turn: The call's number in its session, from 0; a call that opened the session before the step is not counted.
        label: The kind of the call, such as "cold" or "warm".
        is_measured: Whether its time is a result; False for a call that only keeps a session alive.
    """

    start: CallStart
    session: int
    turn: int
    label: str
    is_measured: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAssignment:
    """The sessions of a step's calls.

    Attributes:
        calls: The calls, in the order of their indexes.
        opened_before: Sessions that a call opens before the step begins.
    """

    calls: tuple[SessionCall, ...]
    opened_before: tuple[int, ...] = ()


class SessionScenario(Protocol):
    """Assigns a session to each call of a step."""

    def assign(self, starts: Sequence[CallStart]) -> SessionAssignment:
        """Return the calls with their sessions.

        Args:
            starts: When the calls start.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdSessions:
    """Every call opens a session of its own."""

    def assign(self, starts: Sequence[CallStart]) -> SessionAssignment:
        """Return the calls, each in a new session.

        Args:
            starts: When the calls start.
        """
        return SessionAssignment(
            calls=tuple(
                SessionCall(start=start, session=number, turn=0, label=COLD) for number, start in enumerate(starts)
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmSessions:
    """Calls go in turn to sessions that were opened before the step; further calls can keep these alive.

    Attributes:
        sessions: Number of sessions; at least the number of calls in flight, so that no two calls share one at a time.
        keep_alive_s: Seconds between unmeasured calls that keep each session alive during the step; None for none.
            AgentCore ends a session after 900 idle seconds unless the runtime is configured otherwise.
    """

    sessions: int
    keep_alive_s: float | None = None

    def __post_init__(self) -> None:
        if self.sessions < 1:
            raise ValueError("sessions must be 1 or more")
        if self.keep_alive_s is not None and self.keep_alive_s <= 0:
            raise ValueError("keep_alive_s must be above 0")

    def assign(self, starts: Sequence[CallStart]) -> SessionAssignment:
        """Return the calls in the sessions in turn; users of a closed loop keep theirs if there are enough.

        Args:
            starts: When the calls start.
        """
        turns = [0] * self.sessions
        calls: list[SessionCall] = []
        for number, start in enumerate(starts):
            session = (number if start.user is None else start.user) % self.sessions
            calls.append(SessionCall(start=start, session=session, turn=turns[session], label=WARM))
            turns[session] += 1
        calls += self._keep_alive(starts)
        return SessionAssignment(calls=tuple(calls), opened_before=tuple(range(self.sessions)))

    def _keep_alive(self, starts: Sequence[CallStart]) -> Iterator[SessionCall]:
        if self.keep_alive_s is None:
            return
        if any(start.at_s is None for start in starts):
            raise ValueError("calls that keep sessions alive need an open loop, because its end is known")
        end_s = max((start.at_s or 0.0 for start in starts), default=0.0)
        for session in range(self.sessions):
            # Spread over the interval, so that they do not form a burst.
            at_s = self.keep_alive_s * (session + 1) / self.sessions
            while at_s < end_s:
                start = CallStart(at_s=at_s)
                yield SessionCall(start=start, session=session, turn=0, label=KEEP_ALIVE, is_measured=False)
                at_s += self.keep_alive_s


@dataclass(frozen=True, slots=True, kw_only=True)
class StickySessions:
    """Every user has one session, which the user's first call opens; calls of an open loop share one session."""

    def assign(self, starts: Sequence[CallStart]) -> SessionAssignment:
        """Return the calls, each in its user's session.

        Args:
            starts: When the calls start.
        """
        turns: dict[int, int] = {}
        numbers: dict[int | None, int] = {}
        calls: list[SessionCall] = []
        for start in starts:
            session = numbers.setdefault(start.user, len(numbers))
            turn = turns.get(session, 0)
            turns[session] = turn + 1
            calls.append(SessionCall(start=start, session=session, turn=turn, label=STICKY if turn else COLD))
        return SessionAssignment(calls=tuple(calls))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreWarmedPool:
    """New conversations take a session from a pool that was opened before; when it is empty, they start cold.

    Attributes:
        size: Number of sessions that are opened before the step.
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("size must be 0 or more")

    def assign(self, starts: Sequence[CallStart]) -> SessionAssignment:
        """Return the calls, each in a session that no other call uses.

        Args:
            starts: When the calls start.
        """
        return SessionAssignment(
            calls=tuple(
                SessionCall(start=start, session=number, turn=0, label=PRE_WARMED if number < self.size else COLD)
                for number, start in enumerate(starts)
            ),
            opened_before=tuple(range(min(self.size, len(starts)))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """Conversations of several turns, each in a session of its own.

    Each arrival of an open loop begins a conversation; a turn starts `think_s` after the answer to the previous one. A
    user of a closed loop has one conversation after another.

    Attributes:
        turns: Calls in a conversation.
        think_s: Seconds between an answer and the next turn, in an open loop; a closed loop has its own.
    """

    turns: int
    think_s: float = 0.0

    def __post_init__(self) -> None:
        if self.turns < 1 or self.think_s < 0:
            raise ValueError("turns must be 1 or more and think_s 0 or more")

    def assign(self, starts: Sequence[CallStart]) -> SessionAssignment:
        """Return the turns of all conversations.

        Args:
            starts: When conversations begin, in an open loop; when calls start, in a closed one.
        """
        calls: list[SessionCall] = []
        call_counts: dict[int, int] = {}
        sessions: dict[int, int] = {}
        opened = 0
        for number, start in enumerate(starts):
            if start.user is None:
                for turn in range(self.turns):
                    at_s, think_s = (start.at_s, 0.0) if turn == 0 else (None, self.think_s)
                    of_turn = CallStart(at_s=at_s, user=number, think_s=think_s)
                    calls.append(self._turn(of_turn, number, turn))
                continue
            turn = call_counts.get(start.user, 0) % self.turns
            call_counts[start.user] = call_counts.get(start.user, 0) + 1
            if turn == 0:
                sessions[start.user] = opened
                opened += 1
            calls.append(self._turn(start, sessions[start.user], turn))
        return SessionAssignment(calls=tuple(calls))

    @staticmethod
    def _turn(start: CallStart, session: int, turn: int) -> SessionCall:
        return SessionCall(start=start, session=session, turn=turn, label=f"turn {turn + 1}")
