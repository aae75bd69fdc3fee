"""The nights of an agent: its stored latency studies by day, with their conditions and what changed between them.

`evaluations` reads its evaluation runs into nights of the same kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from loomlib.experiments import StudyConditions

from ..design import StudyDesign
from ..measurements import Measurement, of_scenario
from ..scenarios import Scenario

if TYPE_CHECKING:
    from loomlib.store import EndpointChangeRow, Store, StudyRow

Group: TypeAlias = "tuple[str, ...]"
"""The key of figures that have the same conditions: the kind, and the scenario, or the eval set and the evaluator."""
CALLS: Final = "calls"
CALLS_COST: Final = "cost of calls"
ANSWERS: Final = "answers"
ANSWERS_COST: Final = "cost of answers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean or a share of a night, and its number of calls or attempts."""

    value: float
    n: int

    def joined(self, other: Mean) -> Mean:
        """Return the mean of both samples."""
        n = self.n + other.n
        return Mean(value=(self.value * self.n + other.value * other.n) / n if n else self.value, n=n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """The studies, or the evaluation runs, of one day under the same conditions and with the same facts, together.

    Attributes:
        at: Time of the first study.
        study_ids: The studies or runs.
        facts: What can explain a change: the agent's version, code and platform, provenance labels, releases.
        conditions: By `WatchedFigure.group`, what must be the same for two nights to be compared; groups without calls
            are left out.
        calls: The calls of latency studies.
        means: Values that are only known as means, by group and metric: costs of a call in US dollars, and results of
            evaluators.
    """

    at: datetime
    study_ids: tuple[str, ...]
    facts: Mapping[str, str]
    conditions: Mapping[Group, Mapping[str, str]] = field(repr=False)
    calls: tuple[Measurement, ...] = field(default=(), repr=False)
    means: Mapping[tuple[Group, str], Mean] = field(default_factory=dict[tuple[Group, str], Mean], repr=False)

    def of(self, scenario: Scenario) -> list[Measurement]:
        """Return the calls of one scenario."""
        return of_scenario(self.calls, scenario)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNights:
    """The stored nights of an agent's endpoint.

    Attributes:
        nights: The nights, oldest first.
        disturbed: Times of the studies that an overloaded machine disturbed.
        unfinished: Number of studies that are not complete; they are left out.
    """

    nights: tuple[Night, ...]
    disturbed: tuple[datetime, ...] = ()
    unfinished: int = 0


def read_nights(
    store: Store, *, scope: str, arn: str, qualifier: str, since: datetime, allow_overload: bool = False
) -> StoredNights:
    """Read the nights of an endpoint of an agent from its latency studies.

    Args:
        store: The store.
        scope: The environment: "local" or "aws".
        arn: The runtime's ARN.
        qualifier: The endpoint.
        since: Studies before this moment are not read.
        allow_overload: Whether to read studies that an overloaded machine disturbed.
    """
    changes = store.releases.changes(scope, arn, qualifier)
    disturbed: list[datetime] = []
    unfinished = 0
    nights: list[Night] = []
    for study in sorted(store.studies.list(agent=arn, scope=scope, limit=None), key=lambda row: row.created_at):
        if study.created_at < since or study.design.get("kind") != "latency":
            continue
        if study.environment.get("qualifier", "DEFAULT") != qualifier:
            continue
        if study.state != "complete":
            unfinished += 1
            continue
        is_disturbed = StudyConditions.read(study.environment.get("machine")).is_disturbed
        if is_disturbed:
            disturbed.append(study.created_at)
        if allow_overload or not is_disturbed:
            nights.append(_night(store, study, changes))
    return StoredNights(nights=join_days(nights), disturbed=tuple(disturbed), unfinished=unfinished)


def join_days(nights: Iterable[Night]) -> tuple[Night, ...]:
    """Combine the nights of one day with the same conditions and facts; oldest first.

    Results before and after a release on the same day remain separate.

    Args:
        nights: One night per study or run.
    """
    groups: dict[tuple[Any, ...], list[Night]] = {}
    for night in nights:
        key = (night.at.astimezone(UTC).date(), _frozen(night.facts), _frozen_all(night.conditions))
        groups.setdefault(key, []).append(night)
    return tuple(sorted((_joined(group) for group in groups.values()), key=lambda night: night.at))


def _night(store: Store, study: StudyRow, changes: Sequence[EndpointChangeRow]) -> Night:
    rows = store.measurements.list(study.id)
    conditions, means = _conditions(study), dict[tuple[Group, str], Mean]()
    costs = store.measurements.costs(study.id)
    for scenario in [name for name in Scenario if (CALLS, name.value) in conditions]:
        known_costs = [costs[row.position] for row in rows if row.scenario == scenario and row.position in costs]
        if known_costs:
            group, kinds = (CALLS_COST, scenario.value), {(cost.currency, cost.is_whole) for cost in known_costs}
            kind = " and ".join(sorted(f"{name}, {'all' if whole else 'in part'}" for name, whole in kinds))
            conditions[group] = {**conditions[CALLS, scenario.value], "known part of the cost": kind}
            if len({currency for currency, _ in kinds}) == 1:
                means[group, "cost"] = Mean(value=fmean(cost.amount for cost in known_costs), n=len(known_costs))
    return Night(
        at=study.created_at,
        study_ids=(study.id,),
        calls=tuple(Measurement.read(row) for row in rows),
        facts=_facts(study, changes),
        conditions=conditions,
        means=means,
    )


def _joined(nights: Sequence[Night]) -> Night:
    first = nights[0]
    means: dict[tuple[Group, str], Mean] = {}
    for night in nights:
        for key, mean in night.means.items():
            means[key] = means[key].joined(mean) if key in means else mean
    return Night(
        at=first.at,
        study_ids=tuple(id for night in nights for id in night.study_ids),
        calls=tuple(call for night in nights for call in night.calls),
        facts=first.facts,
        conditions=first.conditions,
        means=means,
    )


def _conditions(study: StudyRow) -> dict[Group, dict[str, str]]:
    design = StudyDesign.read(study.design)
    client: Mapping[str, Any] = study.environment.get("client") or {}
    name, _, kind = _system(client)
    processors = str(client.get("processors") or "")
    machine = ", ".join(part for part in (name, kind, processors) if part)
    conditions: dict[Group, dict[str, str]] = {}
    for scenario, count in design.counts.items():
        if count:
            length = str(design.sticky_length or "all") if scenario is Scenario.STICKY else ""
            conditions[CALLS, scenario.value] = {
                "prompt": design.prompt,
                "number of calls": str(count),
                "stopping rule": design.until or "",
                "calls in a session": length,
                "measuring machine": machine,
            }
    return conditions


def _facts(study: StudyRow, changes: Sequence[EndpointChangeRow]) -> dict[str, str]:
    environment = study.environment
    client: Mapping[str, Any] = environment.get("client") or {}
    releases: Mapping[str, Any] = client.get("versions") or {}
    others = ", ".join(f"{name} {releases[name]}" for name in sorted(releases) if name != "loomlib")
    served = [change.version for change in changes if change.at <= study.created_at and change.action != "deleted"]
    facts = {
        "version": str(environment.get("agent_version") or (served[-1] if served else "")),
        "code": str(environment.get("agent_code") or ""),
        "platform": str(environment.get("platform_version") or ""),
        "labels": " · ".join(study.labels),
        "Loom": str(releases.get("loomlib") or ""),
        "the system of the client": _system(client)[1],
        "Python of the client": str(client.get("python") or ""),
        "libraries of the client": others,
    }
    return {name: value for name, value in facts.items() if value}


def _system(client: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return name, release and processor type of the client's system; an update changes the release alone."""
    name, _, rest = str(client.get("system") or "").partition(" ")
    release, _, kind = rest.rpartition(" ")
    return name, release, kind


def _frozen(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))


def _frozen_all(conditions: Mapping[Group, Mapping[str, str]]) -> tuple[Any, ...]:
    return tuple((group, _frozen(values)) for group, values in conditions.items())


def changed_facts(before: Night, after: Night) -> dict[str, tuple[str, str]]:
    """Return the facts that differ between two nights, each with its value before and after; unknown is no change."""
    return {
        name: (before.facts[name], after.facts[name])
        for name in before.facts
        if name in after.facts and before.facts[name] != after.facts[name]
    }


def changed_conditions(nights: Iterable[Mapping[str, str]], current: Mapping[str, str]) -> list[str]:
    """Return the names of the conditions in which any of the nights differs from the current ones."""
    return list(dict.fromkeys(name for one in nights for name in current if one.get(name) != current[name]))
