"""The design of a load test: the loads to search or sweep, how calls arrive, and in which sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from loomlib.experiments import design_values, planned_units

from ..load.arrivals import Arrivals, BurstyArrivals, ClosedLoop, ConstantArrivals, PoissonArrivals, RampArrivals
from ..load.objectives import CostObjective
from ..load.sessions import ColdSessions, Conversations, PreWarmedPool, SessionScenario, WarmSessions
from ..load.slo import Slo
from .traffic import RecordedTraffic, read_value

KIND: Final = "load"
SEARCH: Final = "search"
POISSON, CONSTANT, BURSTY, CLOSED = "poisson", "constant", "bursty", "closed"
RAMP, RECORDED = "ramp", "recorded"
ARRIVALS: Final = (POISSON, CONSTANT, BURSTY, CLOSED, RAMP, RECORDED)
MOST_SEARCH_STEPS: Final = 60
"""Largest number of steps of a search; usually its time limit ends it earlier."""

_MOST_CALLS_OF_A_STEP: Final = 100_000
_FASTEST_S: Final = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDesign:
    """The design of a load test.

    Attributes:
        slo: The service level objective as text, such as `p90 TTFT < 800 ms, errors < 1 %`.
        arrivals: "poisson" (independent callers), "constant", "bursty", "ramp" (at a rate that grows linearly from 0 to
            twice the load, its mean), "recorded" (the agent's stored invocations, faster or slower), or "closed" (users
            who wait for each answer).
        lowest: The lowest load of a search: calls a second, users of a closed loop.
        highest: The highest load that may be offered.
        loads: The loads of a sweep, in their order; empty for a search.
        seconds: How long a search may take, or each step of a sweep lasts.
        sessions: Number of sessions that are opened in advance and used in turn; 0 for a new session with each call.
        scenario: Another scenario of sessions, as `traffic.stored_value` writes it; None for `sessions`.
        requests: The requests of the calls, likewise; None for the prompt.
        recorded: The traffic that "recorded" repeats, by the fields of `RecordedTraffic`.
        prompt: Sent with every call.
        seed: Seed of the arrivals.
        timeout_s: Seconds from sending a call until its response must be complete.
        most_calls: The most calls that the test may make; 0 for no limit.
        name: Name of the study.
    """

    slo: str
    arrivals: str = POISSON
    lowest: float = 1.0
    highest: float = 50.0
    loads: tuple[float, ...] = ()
    seconds: float = 60.0
    sessions: int = 8
    scenario: Mapping[str, Any] | None = None
    requests: Mapping[str, Any] | None = None
    recorded: Mapping[str, Any] | None = None
    prompt: str
    seed: int = 0
    timeout_s: float = 60.0
    most_calls: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "loads", tuple(float(load) for load in self.loads))
        if self.arrivals not in ARRIVALS:
            raise ValueError(f"arrivals must be one of {', '.join(ARRIVALS)}, not {self.arrivals!r}")
        if not self.prompt:
            raise ValueError("a load test needs a prompt")
        if self.seconds <= 0 or self.timeout_s <= 0:
            raise ValueError("seconds and timeout_s must be above 0")
        if self.sessions < 0 or self.most_calls < 0:
            raise ValueError("sessions and most_calls must be 0 or more")
        if not self.loads and not 0 < self.lowest <= self.highest:
            raise ValueError("loads must be above 0, and the lowest must not be above the highest")
        if any(load <= 0 for load in self.loads):
            raise ValueError("the loads of a sweep must be above 0")
        if self.is_closed_loop and any(load != int(load) for load in (*self.loads, self.lowest, self.highest)):
            raise ValueError("the load of a closed loop is a number of users and must be whole")
        if (self.arrivals == RECORDED) != (self.recorded is not None):
            raise ValueError("recorded arrivals need recorded traffic, and other arrivals must not have it")
        if self.recorded is not None and (self.is_search or self.scenario or self.requests):
            raise ValueError("recorded arrivals need loads, and they have their own sessions and requests")
        if all(isinstance(objective, CostObjective) for objective in Slo.parse(self.slo).objectives):
            raise ValueError("the SLO of a load test must limit a latency or the errors")

    @property
    def is_search(self) -> bool:
        """Whether the test searches for the highest load that holds the SLO; otherwise it sweeps the given loads."""
        return not self.loads

    @property
    def is_closed_loop(self) -> bool:
        """Whether a load is a number of users; else calls in a second."""
        return self.arrivals == CLOSED

    @property
    def limits(self) -> Slo:
        """The objectives that a step decides. The cost of calls is not known until their traces are read."""
        objectives = Slo.parse(self.slo).objectives
        return Slo(objectives=tuple(one for one in objectives if not isinstance(one, CostObjective)))

    @property
    def cost_limit_usd(self) -> float | None:
        """The limit on the mean cost of a call, in US dollars; None without one."""
        objectives = Slo.parse(self.slo).objectives
        return next((one.limit_usd for one in objectives if isinstance(one, CostObjective)), None)

    @property
    def most_load(self) -> float:
        """The highest load that is offered."""
        return max(self.loads) if self.loads else self.highest

    def planned(self) -> list[Any]:
        """Return the units to store as the study's plan."""
        count = len(self.loads) or MOST_SEARCH_STEPS
        return planned_units([(position, self.condition(position)) for position in range(count)])

    def condition(self, position: int) -> str:
        """Return the name under which a step is counted.

        Args:
            position: The step's place.
        """
        return "steps of at most" if self.is_search else "steps"

    def arrivals_at(self, load: float, seconds: float) -> Arrivals:
        """Return when the calls of a step start.

        Args:
            load: Calls a second, or users.
            seconds: How long calls are offered.
        """
        if self.arrivals == CLOSED:
            # More calls than can be made in the time; those that are left are not sent.
            steps = len(self.loads) or MOST_SEARCH_STEPS
            calls = self.most_calls // steps if self.most_calls else _MOST_CALLS_OF_A_STEP
            most = max(1, min(round(seconds / _FASTEST_S), int(calls / load)))
            return ClosedLoop(users=round(load), calls_per_user=most)
        scenario = self.session_scenario()
        if isinstance(scenario, Conversations):
            load /= scenario.turns  # each arrival begins a conversation
        if self.arrivals == RAMP:
            return RampArrivals(from_per_s=0.0, to_per_s=2 * load)
        kinds = {POISSON: PoissonArrivals, CONSTANT: ConstantArrivals, BURSTY: BurstyArrivals}
        return kinds[self.arrivals](rate_per_s=load)

    def session_scenario(self) -> SessionScenario:
        """Return the scenario that assigns a session to each call."""
        if self.scenario is not None:
            return read_value(self.scenario)
        return WarmSessions(sessions=self.sessions) if self.sessions else ColdSessions()

    @property
    def traffic(self) -> RecordedTraffic | None:
        """The recorded traffic that is repeated; None for other arrivals."""
        return None if self.recorded is None else RecordedTraffic(**self.recorded)

    @property
    def keeps_sessions(self) -> bool:
        """Whether the steps share sessions; else each step has its own."""
        return self.recorded is None and isinstance(self.session_scenario(), WarmSessions)

    def step_s(self, load: float) -> float:
        """Return the seconds for which a step of a sweep offers calls: recorded traffic may end earlier.

        Args:
            load: The load of the step.
        """
        traffic = self.traffic
        return self.seconds if traffic is None else min(self.seconds, traffic.seconds / traffic.speed(load))

    def new_sessions(self, calls: int) -> int:
        """Return the largest number of sessions that a test with this many calls opens.

        Args:
            calls: The calls of all steps.
        """
        if (traffic := self.traffic) is not None:
            return traffic.sessions * len(self.loads)
        match self.session_scenario():
            case WarmSessions() as kept:
                return kept.sessions
            case Conversations() as talks:
                return -(-calls // talks.turns)
            case PreWarmedPool() as pool:
                return calls + pool.size * (len(self.loads) or MOST_SEARCH_STEPS)
            case _:
                return calls

    def stored(self) -> dict[str, Any]:
        """Return the design as JSON-ready values."""
        return {"kind": KIND, **asdict(self), "loads": list(self.loads)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> LoadDesign:
        """Return a stored design; raise `StudyError` for one that this release cannot run."""
        return cls(**design_values(cls, stored, kind=KIND))
