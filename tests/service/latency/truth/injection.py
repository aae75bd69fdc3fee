"""What is injected into a study's calls, and what every interval of its result should then contain.

**The truth.** A call takes what is injected into it and what it takes anyhow: the client, the connection, the service,
the start of a process, the SDK. The injected part has a known distribution. The rest is measured by calls that are no
part of the study: between the study's calls, another agent of the same code, whose injected times are constants (the
means of the study's, so that both agents wait about as long), is called through the same network by http.client, with
Python's clock read when the signed request is sent and when its answer was read (boto3's own work would add one to two
milliseconds). The agent's own clock says when the request reached it, when it had answered, and how long its model and
its tool took. So no figure of Loom's enters the truth, and a bias of its client's clock, of its start lines or of its
traces shows as lost coverage. A true percentile is that of sums of an injected time and a measured rest, by simulation.

The rest is taken from the calls during the study and during those next to it, so that a machine that becomes busier
moves both. The injected times vary by tens of milliseconds, so that an error of a millisecond in the rest matters
little to an interval; that also means that a bias of less than about a millisecond is not found here
(`tests/benchmarks/bench_truth.py` is for that).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loomlib.latency import StudyResult
from loomlib.statistics import Estimate

Draws = NDArray[np.float64]

SIMULATED = 40_000
COLD, WARM = "cold", "warm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A gamma distribution above an offset, in milliseconds."""

    offset: float
    shape: float = 2.0
    scale: float = 0.0

    def draw(self, random: np.random.Generator) -> Draws:
        return self.offset + random.gamma(self.shape, self.scale or 1e-9, SIMULATED)

    @property
    def mean(self) -> float:
        """Its mean, in milliseconds."""
        return self.offset + self.shape * self.scale

    def given(self) -> list[float]:
        """As the agent reads it."""
        return [self.offset, self.shape, self.scale]


STARTS: Mapping[str, Law] = {"V1": Law(offset=20, scale=150), "V2": Law(offset=20, scale=60)}
"""By platform: on V1 a process starts as well, whose own time varies by about 100 ms and drifts within a study."""
REQUESTS: Mapping[str, Law] = {"V1": Law(offset=2, scale=6), "V2": Law(offset=2, scale=20)}
"""By platform. On V2 this delay is the only injected part of a cold start; restoring the session adds about 60 ms."""
CALLS: Mapping[str, Law] = {
    "model": Law(offset=8, scale=12),
    "tool": Law(offset=5, scale=10),
    "response": Law(offset=2, scale=8),
}


def injected(platform: str) -> dict[str, Law]:
    """Return the injected times of a study's calls on a platform."""
    return {"start": STARTS[platform], "request": REQUESTS[platform], **CALLS}


def constant(platform: str) -> dict[str, Law]:
    """Return the constant times of the calls beside a study: the means of the injected times."""
    return {name: Law(offset=law.mean) for name, law in injected(platform).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What one call took beside its injected times, in milliseconds.

    `start` is up to the agent's start and `before` until the request reached the agent. `outside` is the time outside
    the agent, of a cold call only that after it, as in the breakdown of a trace: the time before it is its cold start.
    """

    kind: str
    whole: float
    start: float
    before: float
    outside: float
    model: float
    tool: float

    @classmethod
    def of(
        cls,
        kind: str,
        *,
        platform: str,
        sent: float,
        whole_ms: float,
        noted: Mapping[str, Any],
        answered: float,
    ) -> Rest:
        """The rest of a call to the agent whose injected times are constants.

        Args:
            kind: "cold" or "warm".
            platform: "V1", or "V2", where the agent waits for its start after the request reached it.
            sent: Unix time at which the request was sent.
            whole_ms: How long the call took, the answer's body included.
            noted: What the agent's clock says.
            answered: What it says of the moment when the agent had answered: the session's next call tells it.
        """
        offsets = {name: law.offset for name, law in constant(platform).items()}
        if kind == WARM:
            offsets["start"] = 0.0
        before = (noted["received"] - sent) * 1e3
        inside = (answered - noted["received"]) * 1e3
        return cls(
            kind=kind,
            whole=whole_ms - sum(offsets.values()),
            start=(noted["began"] - sent) * 1e3 - offsets["request"] - offsets["start"],
            before=before - offsets["request"] - (offsets["start"] if platform == "V1" else 0.0),
            outside=whole_ms - inside - offsets["response"] - (before if kind == COLD else offsets["request"]),
            model=noted["model"] - offsets["model"],
            tool=noted["tool"] - offsets["tool"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Simulated calls of one kind: the injected times and the rest, added up."""

    whole: Draws
    start: Draws
    cold_start: Draws
    network: Draws
    model: Draws
    tools: Draws

    @classmethod
    def simulate(cls, kind: str, platform: str, rests: Sequence[Rest], random: np.random.Generator) -> Sums:
        drawn = {name: law.draw(random) for name, law in injected(platform).items()}
        if kind == WARM:
            drawn["start"] = np.zeros(SIMULATED)
        pool = [rest for rest in rests if rest.kind == kind]
        picked = random.integers(len(pool), size=SIMULATED)

        def rest(name: str) -> Draws:
            return np.array([getattr(call, name) for call in pool])[picked]

        return cls(
            whole=sum(drawn.values(), rest("whole")),
            start=drawn["request"] + drawn["start"] + rest("start"),
            cold_start=drawn["request"] + (drawn["start"] if platform == "V1" else 0.0) + rest("before"),
            network=drawn["response"] + (drawn["request"] if kind == WARM else 0.0) + rest("outside"),
            model=drawn["model"] + rest("model"),
            tools=drawn["tool"] + rest("tool"),
        )


@dataclass
class Coverage:
    """For each interval of a study's result, whether it contained the truth: one entry for each run."""

    hits: dict[str, list[bool]] = field(default_factory=dict[str, list[bool]])
    misses: list[str] = field(default_factory=list[str])

    def check(self, name: str, estimate: Estimate, truth: float) -> None:
        """Note whether an interval contains the truth; one that is open above ends nowhere."""
        if estimate.low is None or estimate.high is None:
            return  # the result gives no interval: too few calls
        hit = estimate.low <= truth and (estimate.open_above or truth <= estimate.high)
        self.hits.setdefault(name, []).append(hit)
        if not hit:
            self.misses.append(f"{name}: {estimate} against {truth:.3g}")

    def add(self, other: Coverage) -> None:
        """Take over the entries of another one."""
        for name, hits in other.hits.items():
            self.hits.setdefault(name, []).extend(hits)
        self.misses.extend(other.misses)

    @property
    def pooled(self) -> tuple[int, int]:
        """How many intervals contained the truth, and how many there are."""
        entries = [hit for hits in self.hits.values() for hit in hits]
        return sum(entries), len(entries)


def check_study(result: StudyResult, inside: Any, rests: Sequence[Rest], platform: str, seed: int) -> Coverage:
    """Hold every interval of a study against the truth.

    Args:
        result: The study's result.
        inside: Its parts by its traces (`result.inside`).
        rests: The rest of the calls around the study.
        platform: "V1" or "V2".
        seed: Seed of the simulation.
    """
    random = np.random.default_rng(seed)
    cold, warm = (Sums.simulate(kind, platform, rests, random) for kind in (COLD, WARM))
    coverage, summary = Coverage(), result.estimates()

    def median(values: Draws) -> float:
        return float(np.median(values))

    def ratio(values: Draws, wholes: Draws) -> float:
        return float(values.sum() / wholes.sum())

    for scenario in summary.scenarios:
        name, sums = scenario.scenario.value, cold if scenario.scenario == COLD else warm
        for share, estimate in ((0.5, scenario.p50), (0.9, scenario.p90), (0.99, scenario.p99)):
            coverage.check(f"{name} p{share * 100:.0f}", estimate, float(np.quantile(sums.whole, share)))
        # The proxy sends an answer at once, so its first byte comes when its last one does.
        coverage.check(f"{name} first byte p50", scenario.ttft_p50, median(sums.whole))
        coverage.check(f"{name} first byte p90", scenario.ttft_p90, float(np.quantile(sums.whole, 0.9)))
        coverage.check(f"{name} start p50", scenario.start, median(sums.start))
        parts = inside.inside[scenario.scenario]
        for part, values in (("model", sums.model), ("tools", sums.tools), ("service_network", sums.network)):
            coverage.check(f"{name} {part} p50", parts[part].p50_ms, median(values))
            coverage.check(f"{name} {part} share", parts[part].share, ratio(values, sums.whole))
            coverage.check(f"{name} {part} share p50", parts[part].p50_share, median(values / sums.whole))
    if summary.session_cost is not None:
        coverage.check("cost of a new session", summary.session_cost.estimate, median(cold.start - warm.start))
    coverage.check("answers begin p90", summary.answers_begin_p90, float(np.quantile(warm.whole, 0.9)))
    coverage.check("cold cold_start p50", inside.inside[COLD]["cold_start"].p50_ms, median(cold.cold_start))
    coverage.check("cold cold_start share", inside.inside[COLD]["cold_start"].share, ratio(cold.cold_start, cold.whole))
    coverage.check("cold start, cold − warm", inside.extra["cold_start"], median(cold.cold_start))
    for part, first, second in (("model", cold.model, warm.model), ("tools", cold.tools, warm.tools)):
        coverage.check(f"{part}, cold − warm", inside.extra[part], median(first - second))
    return coverage
