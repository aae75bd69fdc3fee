"""The steps of a search, run by the load engine."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from .arrivals import Arrivals, ClosedLoop, PoissonArrivals
from .bodies import Bodies
from .calls import LoadCall
from .engine import LoadEngine
from .plans import plan_load
from .sessions import SessionScenario

_FASTEST_S: Final = 0.001


class EngineRunner:
    """Runs steps with the load engine: at a rate (Poisson arrivals), or with users who wait for each answer.

    Examples:
        >>> engine = LoadEngine(LoadTarget.http(url), folder=Path("load"), timeout_s=30)
        >>> find_highest_load(EngineRunner(engine, SameBody(prompt="hi"), run="r1"), Slo.parse("p90 TTFT < 800 ms"))

    Args:
        engine: The engine.
        bodies: The bodies of the calls.
        run: A unique name of the run: session ids depend on it.
        sessions: Assigns a session to each call; a new one for each by default.
        is_closed_loop: Whether a load is a number of users; else calls in a second.
        seed: Seed of the first step's arrivals.
    """

    def __init__(
        self,
        engine: LoadEngine,
        bodies: Bodies,
        *,
        run: str,
        sessions: SessionScenario | None = None,
        is_closed_loop: bool = False,
        seed: int = 0,
    ) -> None:
        self._engine, self._bodies, self._run, self._sessions = engine, bodies, run, sessions
        self._is_closed_loop, self._seed = is_closed_loop, seed
        self._next_number = 0

    def __call__(self, load: float, seconds: float) -> Sequence[LoadCall]:
        """Run a step.

        Args:
            load: Calls in a second, or users.
            seconds: How long calls are offered.
        """
        arrivals: Arrivals = PoissonArrivals(rate_per_s=load)
        if self._is_closed_loop:
            # More calls than can be made in the time; those that are left are not sent.
            most = max(1, min(round(seconds / _FASTEST_S), round(100_000 / load)))
            arrivals = ClosedLoop(users=round(load), calls_per_user=most)
        number, self._next_number = self._next_number, self._next_number + 1
        plan = plan_load(
            arrivals, self._bodies, seconds=seconds, run=self._run, seed=self._seed + number, sessions=self._sessions
        )
        if plan.before:
            self._engine.run(plan.before, step=f"before-{number:03d}")
        stop = threading.Event()
        timer = threading.Timer(seconds, stop.set)
        # The users' time counts from the start of the step, when the engine's processes are ready.
        on_start = timer.start if self._is_closed_loop else None
        try:
            step = self._engine.run(plan.calls, step=f"step-{number:03d}", on_start=on_start, stop=stop)
        finally:
            timer.cancel()
        return [step.calls[index] for index in plan.measured]
