"""An estimate of a load test's calls and their cost, before the first call."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from loomlib.errors import StudyError
from loomlib.presentation.formats import money, number, plural, seconds

from ..load.arrivals import BurstyArrivals
from ..load.sessions import Conversations, PreWarmedPool, WarmSessions
from .design import MOST_SEARCH_STEPS, LoadDesign
from .subject import LoadTestAgent

NEW_SESSIONS_PER_MINUTE: Final = 100
"""New sessions per minute for each endpoint (Amazon Bedrock AgentCore quotas, adjustable)."""
CALLS_PER_S: Final = 50
"""Calls per second for each endpoint (Amazon Bedrock AgentCore quotas, adjustable)."""
MOST_CALLS_ON_AWS: Final = 5_000
"""Largest number of calls of a test on AWS without `most_calls`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadEstimate:
    """Upper bounds on the calls, time, sessions and cost of a load test.

    Attributes:
        calls: The most calls, with those that open sessions or keep them alive.
        seconds: The longest time that calls are offered.
        new_sessions: The most sessions that are opened.
        usd_per_call: Mean cost of the agent's last calls; None when no stored call has a known cost.
        of_calls: Number of calls in that mean.
        is_limited: Whether the schedule of an open loop limits the calls; users of a closed loop call as fast as they
            are answered.
        warnings: Quotas of AWS that the highest load exceeds, one sentence each.
    """

    calls: int
    seconds: float
    new_sessions: int
    usd_per_call: float | None
    of_calls: int
    is_limited: bool
    warnings: tuple[str, ...]

    @property
    def usd(self) -> float | None:
        """The most that the calls may cost, in US dollars; None when unknown."""
        return None if self.usd_per_call is None else self.usd_per_call * self.calls

    def sentences(self) -> list[str]:
        """Return the estimate in sentences."""
        most = f"at most {plural(self.calls, 'call')}" if self.is_limited else "as many calls as are answered"
        cost = (
            "their cost is unknown: no stored call of this agent has a known cost"
            if self.usd is None or not self.is_limited
            else f"at most {money(self.usd)} at the mean cost of its last {plural(self.of_calls, 'call')}"
        )
        return [
            f"The load test makes {most} in {plural(self.new_sessions, 'new session')} and offers calls for at most "
            f"{seconds(self.seconds)}; {cost}.",
            *self.warnings,
        ]

    def __str__(self) -> str:
        return " ".join(self.sentences())


def estimate_load(design: LoadDesign, agent: LoadTestAgent) -> LoadEstimate:
    """Return the estimate of a load test; no call is made.

    Args:
        design: The design.
        agent: The agent.
    """
    if design.is_search:
        lasts_s, calls = design.seconds, design.seconds * design.highest
    else:
        steps_s = [design.step_s(load) for load in design.loads]
        lasts_s, calls = sum(steps_s), sum(load * s for load, s in zip(design.loads, steps_s, strict=True))
    if (traffic := design.traffic) is not None:
        most = traffic.calls * len(design.loads)
    else:
        # Arrivals are random: three standard deviations above the mean.
        most = round(calls + 3 * (_dispersion(design) * calls) ** 0.5)
    new_sessions = design.new_sessions(most)
    most += _untimed_calls(design, most, lasts_s)
    usual = agent.mean_cost()
    return LoadEstimate(
        calls=most,
        seconds=lasts_s,
        new_sessions=new_sessions,
        usd_per_call=None if usual is None else usual[0],
        of_calls=0 if usual is None else usual[1],
        is_limited=not design.is_closed_loop,
        warnings=tuple(_warnings(design)) if agent.scope == "aws" else (),
    )


def _dispersion(design: LoadDesign) -> float:
    """Return the variance of the number of calls over its mean: 1 for a Poisson process."""
    arrivals, scenario = design.arrivals_at(design.most_load, design.seconds), design.session_scenario()
    variance = arrivals.variation**2 if isinstance(arrivals, BurstyArrivals) else 1.0
    return variance * (scenario.turns if isinstance(scenario, Conversations) else 1)


def _untimed_calls(design: LoadDesign, calls: int, lasts_s: float) -> int:
    """Return the most calls that open sessions before the steps or keep them alive."""
    if design.traffic is not None:
        return 0
    match design.session_scenario():
        case WarmSessions(sessions=sessions, keep_alive_s=keep_alive_s):
            return sessions + (0 if keep_alive_s is None else math.ceil(sessions * lasts_s / keep_alive_s))
        case PreWarmedPool(size=size):
            return min(size * (len(design.loads) or MOST_SEARCH_STEPS), calls)
        case _:
            return 0


def _warnings(design: LoadDesign) -> list[str]:
    texts: list[str] = []
    if not design.keeps_sessions and design.most_load * 60 > NEW_SESSIONS_PER_MINUTE:
        texts.append(
            f"With a new session for each call, the quota of {number(NEW_SESSIONS_PER_MINUTE)} new sessions a minute "
            f"is exceeded above {number(NEW_SESSIONS_PER_MINUTE / 60)} calls a second: further calls are refused."
        )
    if design.most_load > CALLS_PER_S and not design.is_closed_loop:
        texts.append(f"Calls above an endpoint's quota of {number(CALLS_PER_S)} calls a second are refused.")
    return texts


def check_allowed(estimate: LoadEstimate, design: LoadDesign, agent: LoadTestAgent) -> None:
    """Raise `StudyError` when a test may make more calls than its design allows; on AWS a default limit applies.

    Args:
        estimate: The estimate of the test.
        design: The design.
        agent: The agent.

    Raises:
        StudyError: It may make more calls.
    """
    if agent.scope == "aws" and design.is_closed_loop and not design.most_calls:
        raise StudyError(
            "Users of a closed loop call as fast as they are answered, so a load test of them on AWS needs a limit",
            on=agent.name,
            try_=f"most_calls={MOST_CALLS_ON_AWS}, which the steps share",
        )
    most = design.most_calls or (MOST_CALLS_ON_AWS if agent.scope == "aws" else 0)
    if most and estimate.is_limited and estimate.calls > most:
        raise StudyError(
            f"The load test may make more than the allowed {plural(most, 'call')}",
            on=f"{agent.name}: {estimate.sentences()[0]}",
            try_=f"most_calls={estimate.calls}, a lower highest load, or fewer seconds",
        )
