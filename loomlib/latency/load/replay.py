"""Replay: stored invocations of an agent as the traffic of a load step, with their sessions and think times."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from loomlib.agents.payloads import make_payload
from loomlib.errors import StudyError
from loomlib.store import InvocationRow
from loomlib.store.invocations import NEVER_BEGAN

from .bodies import Bodies
from .calls import OfferedCall
from .plans import LoadPlan, load_session_id

FIRST: Final = "first of its session"
LATER: Final = "later in its session"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficCall:
    """One call of recorded traffic.

    Attributes:
        session: Number of its session, from 0.
        turn: Its number in the session, from 0.
        at_s: Seconds from the first call of the traffic to this one.
        think_s: Seconds from the end of the session's previous call; 0 for its first call, and when the two overlapped.
        prompt: The prompt; None for a call that has only a body.
        body: The body of a call without a prompt; otherwise None.
    """

    session: int
    turn: int
    at_s: float
    think_s: float
    prompt: str | None = field(repr=False)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTraffic:
    """Recorded traffic that can be replayed.

    Examples:
        >>> traffic = StoredTraffic.of(bench.store.invocations.list(agent.id, limit=None))
        >>> plan = traffic.plan(run="replay-1", bodies=lambda prompt: SameBody(prompt=prompt), speed=2)

    Attributes:
        calls: The calls, in the order in which they were sent.
        left_out: Number of invocations that cannot be replayed, by reason.
    """

    calls: tuple[TrafficCall, ...]
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of(cls, invocations: Iterable[InvocationRow]) -> Self:
        """Return the traffic of stored invocations, in any order.

        An invocation that failed is replayed like any other: it was part of the load. One that the service refused,
        that was never sent, or whose body is not stored is left out and counted.

        Args:
            invocations: The invocations of one agent.

        Raises:
            StudyError: None of them can be replayed.
        """
        left_out: Counter[str] = Counter()
        entries: list[tuple[float, InvocationRow, str | None, bytes | None]] = []
        for row in invocations:
            if row.client_invoke_time is None:
                left_out["never sent"] += 1
            elif row.failure in NEVER_BEGAN:
                left_out["refused by the service"] += 1
            elif (content := _content(row)) is None:
                left_out["the body is not stored"] += 1
            else:
                entries.append((row.client_invoke_time, row, *content))
        if not entries:
            raise StudyError(
                "No stored invocation can be replayed",
                on="; ".join(f"{count} {reason}" for reason, count in left_out.items()) or "there is none",
                try_="invoke the agent with prompts first",
            )
        entries.sort(key=lambda entry: (entry[0], entry[1].id))
        sessions: dict[str, int] = {}
        turns: Counter[int] = Counter()
        ended: dict[int, float] = {}
        calls: list[TrafficCall] = []
        for sent_s, row, prompt, body in entries:
            session = sessions.setdefault(row.session_id, len(sessions))
            calls.append(
                TrafficCall(
                    session=session,
                    turn=turns[session],
                    at_s=max(0.0, sent_s - entries[0][0]),
                    think_s=max(0.0, sent_s - ended.get(session, sent_s)),
                    prompt=prompt,
                    body=body,
                )
            )
            turns[session] += 1
            ended[session] = max(row.client_done_time or sent_s, ended.get(session, 0.0))
        return cls(calls=tuple(calls), left_out=dict(left_out))

    @property
    def seconds(self) -> float:
        """Seconds from the first to the last call."""
        return max((call.at_s for call in self.calls), default=0.0)

    def plan(
        self,
        *,
        run: str,
        bodies: Callable[[str], Bodies],
        speed: float = 1.0,
        until_s: float = math.inf,
    ) -> LoadPlan:
        """Return the step that repeats the traffic in new sessions.

        A later call of a session starts one think time after the previous call has ended, as in the recording.

        Args:
            run: A unique name of the run, such as a study's id: session ids depend on it.
            bodies: Makes the request of a prompt, in the agent's own format.
            speed: The factor of speed: 2 halves all intervals and think times.
            until_s: Calls that were recorded later, at this speed, are left out.
        """
        if not (math.isfinite(speed) and speed > 0):
            raise ValueError("speed must be finite and above 0")
        calls: list[OfferedCall] = []
        for index, call in enumerate(self.calls):
            if call.at_s / speed > until_s:
                break
            session_id = load_session_id(run, 0, call.session)
            is_later = call.turn > 0
            body = call.body or bodies(call.prompt or "").body(index, call.turn, session_id).content
            calls.append(
                OfferedCall(
                    index=index,
                    session_id=session_id,
                    body=body,
                    at_s=None if is_later else call.at_s / speed,
                    user=call.session,
                    think_s=call.think_s / speed if is_later else 0.0,
                )
            )
        return LoadPlan(
            before=(),
            calls=tuple(calls),
            labels=tuple(FIRST if call.turn == 0 else LATER for call in self.calls[: len(calls)]),
            measured=tuple(range(len(calls))),
            is_open_loop=False,
            seconds=None,
        )


def _content(row: InvocationRow) -> tuple[str | None, bytes | None] | None:
    """Return an invocation's prompt or body; None when neither is exactly what was sent.

    The store has the prompt, or the text of a body without one, and the digest of the bytes that were sent.
    """
    if row.prompt is None:
        return None
    if row.payload_digest in (None, make_payload(row.prompt).digest):
        return row.prompt, None
    body = row.prompt.encode("utf-8", "surrogatepass")
    return (None, body) if hashlib.sha256(body).hexdigest() == row.payload_digest else None
