"""How many calls a latency study needs, from the spread of an earlier study of the same agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from loomlib.errors import StudyError
from loomlib.experiments import StudyLedger
from loomlib.presentation.formats import number, percent, plural
from loomlib.statistics.percentile_power import (
    ASSURANCE,
    MOST_CALLS,
    calls_for_percentile_difference,
    calls_for_width,
)
from loomlib.statistics.percentiles import SMALLEST_N

from .design import StudyDesign
from .measurements import Measurement, of_scenario
from .scenarios import Scenario

if TYPE_CHECKING:
    from loomlib.store import Store, StudyRow

_MOST_EARLIER = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsAdvice:
    """The number of calls that each scenario of a study needs.

    Attributes:
        aim: The purpose of the calls, such as "p90 within 10 %".
        assurance: Share of studies of that size that reach the aim.
        pilot: Id of the study whose spread the numbers are based on.
        needed: Calls by scenario; None when more than 10,000 are needed.
        unknown: Scenarios with fewer than six answered calls in the pilot, so that the number is unknown.
    """

    aim: str
    assurance: float
    pilot: str
    needed: Mapping[Scenario, int | None]
    unknown: tuple[Scenario, ...] = ()

    def counts(self) -> dict[str, int]:
        """Return the numbers as arguments of a study: `LatencyStudy(agent, **advice.counts())`.

        Raises:
            StudyError: A scenario's number is not known, or above 10,000.
        """
        if missing := [str(scenario) for scenario, needed in self.needed.items() if needed is None]:
            raise StudyError(
                f"More than {plural(MOST_CALLS, 'call')} are needed ({', '.join(missing)})", try_="a wider margin"
            )
        if self.unknown:
            raise StudyError(
                f"The pilot has too few answered calls ({', '.join(map(str, self.unknown))})",
                on=self.pilot,
                try_=f"a pilot with at least {SMALLEST_N} calls in each scenario",
            )
        return {scenario.value: needed for scenario, needed in self.needed.items() if needed is not None}

    def sentence(self) -> str:
        """Return the numbers and the study that they are based on."""
        parts = [
            f"about {plural(needed, f'{scenario} call')}"
            if needed is not None
            else f"more than {plural(MOST_CALLS, f'{scenario} call')}"
            for scenario, needed in self.needed.items()
        ]
        parts += [f"an unknown number of {scenario} calls" for scenario in self.unknown]
        return (
            f"For {self.aim}: {', '.join(parts)}. At least {percent(self.assurance)} of studies of that size reach "
            f"this, if calls vary as in the study {self.pilot}."
        )

    def __str__(self) -> str:
        return self.sentence()


def advise(
    store: Store,
    design: StudyDesign,
    *,
    agent_arn: str,
    scope: str,
    qualifier: str,
    p: float,
    within: float,
    difference: float | None,
    pilot: str | None,
) -> CallsAdvice:
    """Return how many calls a study needs.

    Args:
        store: The store with earlier studies.
        design: The planned study; scenarios without calls are left out.
        agent_arn: The agent.
        scope: Where it runs.
        qualifier: Its endpoint.
        p: The percentile, 0 to 1.
        within: The wanted margin of its interval, as a share of its value; not used with `difference`.
        difference: The difference between two studies that must be detectable, as a share; None for a margin.
        pilot: Id of the earlier study; None for the newest of the same agent, endpoint and prompt.

    Raises:
        StudyError: No such study is stored.
    """
    study = StudyLedger(store, pilot).stored if pilot else _newest(store, design, agent_arn, scope, qualifier)
    calls = [Measurement.read(row) for row in StudyLedger(store, study.id).rows()]
    scenarios = [scenario for scenario, count in design.counts.items() if count]
    durations = {scenario: _durations(calls, scenario) for scenario in scenarios}
    usable_durations = {scenario: values for scenario, values in durations.items() if len(values) >= SMALLEST_N}
    name = f"p{number(100 * p)}"
    return CallsAdvice(
        aim=f"{name} within {percent(within)}"
        if difference is None
        else f"a difference of {percent(abs(difference))} at {name} between two studies",
        assurance=ASSURANCE,
        pilot=study.id,
        needed={
            scenario: needed_for_width(tuple(values), p, within)
            if difference is None
            else calls_for_percentile_difference(values, p, difference=difference)
            for scenario, values in usable_durations.items()
        },
        unknown=tuple(scenario for scenario in scenarios if scenario not in usable_durations),
    )


@lru_cache(maxsize=64)
def needed_for_width(durations_ms: tuple[float, ...], p: float, within: float) -> int | None:
    """Return `calls_for_width`, cached because every view of a result needs it."""
    return calls_for_width(durations_ms, p, within=within)


def _newest(store: Store, design: StudyDesign, agent_arn: str, scope: str, qualifier: str) -> StudyRow:
    for study in store.studies.list(agent=agent_arn, scope=scope, limit=_MOST_EARLIER):
        same = study.design.get("kind") == "latency" and study.design.get("prompt") == design.prompt
        if same and study.environment.get("qualifier") == qualifier and study.state == "complete":
            return study
    raise StudyError(
        "No complete latency study of this agent, endpoint and prompt is stored, so the spread of its times is unknown",
        on=agent_arn,
        try_="a pilot first, such as LatencyStudy(agent, cold=10, warm=10, sticky=10).run()",
    )


def _durations(calls: Sequence[Measurement], scenario: Scenario) -> list[float]:
    return [call.duration_ms for call in of_scenario(calls, scenario) if call.is_done and call.duration_ms]
