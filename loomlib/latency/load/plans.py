"""The plan of a load step: arrivals, sessions and bodies, combined into the calls for the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from .arrivals import Arrivals
from .bodies import Bodies
from .calls import OfferedCall
from .sessions import ColdSessions, SessionScenario


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """The calls of a load step.

    Attributes:
        before: Calls that open sessions before the step, in a separate step whose times are not a result.
        calls: The calls of the step.
        labels: The kind of each call, such as "cold", or "turn 2, 250 words".
        measured: The indexes of the calls whose times are a result, without those that keep sessions alive.
        is_open_loop: Whether the calls start by a schedule.
        seconds: How long calls arrive; None in a closed loop.
    """

    before: tuple[OfferedCall, ...] = field(repr=False)
    calls: tuple[OfferedCall, ...] = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    measured: tuple[int, ...] = field(repr=False)
    is_open_loop: bool
    seconds: float | None

    @property
    def is_scheduled(self) -> bool:
        """Whether all calls start at scheduled times; otherwise answers determine when and how many calls follow."""
        return all(call.at_s is not None for call in self.calls)


def plan_load(
    arrivals: Arrivals,
    bodies: Bodies,
    *,
    seconds: float,
    run: str,
    seed: int,
    sessions: SessionScenario | None = None,
    session_seed: int | None = None,
) -> LoadPlan:
    """Return the plan of a step. The same arguments give the same calls, so that an interrupted step can continue.

    Args:
        arrivals: The arrival process of the calls.
        bodies: The bodies of the calls.
        seconds: How long calls arrive; without effect in a closed loop.
        run: A unique name of the run, such as a study's id: session ids depend on it, and a session that an earlier run
            opened would be warm.
        seed: Seed of the arrivals.
        sessions: Assigns a session to each call; a new one for each by default.
        session_seed: Seed of the session ids: steps with the same seed share their sessions. `seed` by default.
    """
    session_seed = seed if session_seed is None else session_seed
    assignment = (sessions or ColdSessions()).assign(arrivals.starts(seconds, seed=seed))
    calls: list[OfferedCall] = []
    labels: list[str] = []
    for index, call in enumerate(assignment.calls):
        session_id = load_session_id(run, session_seed, call.session)
        body = bodies.body(index, call.turn, session_id)
        calls.append(
            OfferedCall(
                index=index,
                session_id=session_id,
                body=body.content,
                at_s=call.start.at_s,
                user=call.start.user,
                think_s=call.start.think_s,
            )
        )
        labels.append(", ".join(filter(None, (call.label, body.label))))
    return LoadPlan(
        before=_opening(assignment.opened_before, bodies, run, session_seed),
        calls=tuple(calls),
        labels=tuple(labels),
        measured=tuple(index for index, call in enumerate(assignment.calls) if call.is_measured),
        is_open_loop=arrivals.is_open_loop,
        seconds=seconds if arrivals.is_open_loop else None,
    )


def load_session_id(run: str, seed: int, session: int) -> str:
    """Return the id of a session of a load step, of 42 characters (AWS requires 33 to 256).

    Args:
        run: The run's name.
        seed: The step's seed.
        session: The session's number in the step.
    """
    return f"loom-load-{hashlib.sha256(f'{run}/{seed}/{session}'.encode()).hexdigest()[:32]}"


def _opening(numbers: Sequence[int], bodies: Bodies, run: str, seed: int) -> tuple[OfferedCall, ...]:
    calls: list[OfferedCall] = []
    for index, number in enumerate(numbers):
        session_id = load_session_id(run, seed, number)
        calls.append(
            OfferedCall(index=index, session_id=session_id, body=bodies.body(index, 0, session_id).content, at_s=0.0)
        )
    return tuple(calls)
