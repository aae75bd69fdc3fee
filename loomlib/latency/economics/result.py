"""The economics of starts: every policy on every platform version, with its latency and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from loomlib.dispatch import call
from loomlib.experiments import Gate
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import PASSED, UNCLEAR
from loomlib.telemetry.cost import PriceTable

from .assumptions import Moment, StartAssumptions
from .measured import MeasuredStarts
from .policy import StartPolicy
from .traffic import SessionTraffic

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


NEAR: Final = 0.99
"""A faster policy is on the frontier when its p90 is less than this share of the next one's."""


def policy_on(policy: StartPolicy, platform: str) -> str:
    """Return a policy and a platform version in words."""
    return f"“{policy.name}” on platform {platform}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOutcome:
    """One policy on one platform version.

    Attributes:
        platform: The platform version.
        policy: The policy.
        cold: Share of calls that are cold.
        first_cold: Share of first calls of a session that are cold.
        later_cold: Share of later calls that are cold.
        p50: Median latency, in milliseconds.
        p90: 90th percentile of the latency, in milliseconds.
        usd: Dollars a month.
        active: Of those, for calls.
        idle: Of those, for sessions that wait within the idle timeout.
        prewarm: Of those, for the pool, pings, and sessions that only pings keep.
        outcome: Whether p90 meets the limit: "passed", "missed" or "unclear"; "passed" without a limit.
    """

    platform: str
    policy: StartPolicy
    cold: Estimate
    first_cold: Estimate
    later_cold: Estimate
    p50: Estimate
    p90: Estimate
    usd: Estimate
    active: Estimate
    idle: Estimate
    prewarm: Estimate
    outcome: str

    @property
    def name(self) -> str:
        """Policy and platform version in words."""
        return policy_on(self.policy, self.platform)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOutcome:
    """Cost of the same traffic on another host.

    Attributes:
        host: Its name.
        usd: Dollars a month.
        basis: What is paid for.
        difference: How it differs from a session on AgentCore Runtime.
        as_of: The date of its prices.
    """

    host: str
    usd: Estimate
    basis: str
    difference: str
    as_of: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedAnswer:
    """The cheapest policy after one value was changed, by point estimates.

    Attributes:
        change: What was changed.
        policy: The cheapest policy that then meets the limit; "none meets the limit" without one.
        usd: Its dollars a month; None without one.
        is_other: Whether it is not the policy from before the change.
    """

    change: str
    policy: str
    usd: float | None
    is_other: bool


@dataclass(frozen=True, kw_only=True)
class StartEconomics:
    """The cost of keeping sessions warm and its effect on latency, as `compare_policies` returns it.

    Examples:
        >>> economics.sentences()[0]
        >>> economics.table()

    Attributes:
        measured: The measured calls of each platform version.
        traffic: The traffic.
        assumptions: What was assumed.
        prices: The prices.
        outcomes: Every policy on every platform version.
        hosts: Other hosts.
        changes: What would change the answer.
        max_p90_ms: The latency limit, in milliseconds; 0 for none.
        moment: The moment up to which latency is counted.
        seed: Seed of the bootstrap.
    """

    measured: tuple[MeasuredStarts, ...] = field(repr=False)
    traffic: SessionTraffic
    assumptions: StartAssumptions = field(repr=False)
    prices: PriceTable = field(repr=False)
    outcomes: tuple[PolicyOutcome, ...] = field(repr=False)
    hosts: tuple[HostOutcome, ...] = field(repr=False)
    changes: tuple[ChangedAnswer, ...] = field(repr=False)
    max_p90_ms: float
    moment: Moment
    seed: int

    @property
    def cheapest(self) -> PolicyOutcome | None:
        """The cheapest policy whose whole interval meets the limit; None when there is none."""
        return cheapest_of([outcome for outcome in self.outcomes if outcome.outcome == PASSED])

    @property
    def cheapest_unclear(self) -> PolicyOutcome | None:
        """The cheapest policy for which it is unclear whether it meets the limit; None when there is none."""
        return cheapest_of([outcome for outcome in self.outcomes if outcome.outcome == UNCLEAR])

    @property
    def cheapest_without_limit(self) -> PolicyOutcome | None:
        """The cheapest policy, whatever its latency; None when no cost is known."""
        return cheapest_of(self.outcomes)

    @property
    def frontier(self) -> tuple[PolicyOutcome, ...]:
        """The policies whose p90 no cheaper policy reaches (within 1 %), from the cheapest to the fastest."""
        known_outcomes = [outcome for outcome in self.outcomes if outcome.usd.is_known and outcome.p90.is_known]
        known_outcomes.sort(key=lambda outcome: (outcome.usd.value or 0.0, outcome.p90.value or 0.0))
        frontier: list[PolicyOutcome] = []
        for outcome in known_outcomes:
            if not frontier or (outcome.p90.value or 0.0) < NEAR * (frontier[-1].p90.value or 0.0):
                frontier.append(outcome)
        return tuple(frontier)

    @property
    def is_simulated(self) -> bool:
        """Whether measured times are simulated."""
        return any(starts.is_simulated for starts in self.measured)

    @property
    def is_disturbed(self) -> bool:
        """Whether the machine was overloaded while the times were measured."""
        return any(starts.is_disturbed for starts in self.measured)

    @property
    def labels(self) -> tuple[str, ...]:
        """Provenance labels of the measured calls."""
        return tuple(dict.fromkeys(label for starts in self.measured for label in starts.labels))

    def title(self) -> str:
        """Return traffic, platform versions and labels in one line."""
        return call("StartEconomics.title", self)

    def sentences(self) -> list[str]:
        """Return the answer: the cheapest policy that meets the limit, what the limit costs, and other hosts."""
        return call("StartEconomics.sentences", self)

    def table(self) -> pd.DataFrame:
        """Return one row for each policy on each platform version, the cheapest first."""
        return call("StartEconomics.table", self)

    def host_table(self) -> pd.DataFrame:
        """Return what the same traffic costs on Runtime, Lambda, ECS Fargate and managed agents."""
        return call("StartEconomics.host_table", self)

    def price_table(self) -> pd.DataFrame:
        """Return every price with its unit, region, date and source."""
        return call("StartEconomics.price_table", self)

    def assumption_table(self) -> pd.DataFrame:
        """Return every measured, given and assumed value, with where it comes from."""
        return call("StartEconomics.assumption_table", self)

    def change_table(self) -> pd.DataFrame:
        """Return what would change the answer."""
        return call("StartEconomics.change_table", self)

    def figure(self) -> go.Figure:
        """Return the 90th percentile of latency against dollars a month, one point for each policy."""
        return call("StartEconomics.figure", self)

    def notes(self) -> list[str]:
        """Return how the figures were computed, and what they leave out."""
        return call("StartEconomics.notes", self)

    def gate(self, max_usd_per_month: float, *, allow_overload: bool = False) -> Gate:
        """Compare the cost of the cheapest policy that meets the latency limit with a limit.

        Args:
            max_usd_per_month: The limit, in dollars a month.
            allow_overload: Whether to decide the gate also when the machine was overloaded.
        """
        return call("StartEconomics.gate", self, max_usd_per_month, allow_overload=allow_overload)

    def summary(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        return call("StartEconomics.summary", self)

    def __repr__(self) -> str:
        return "\n".join([self.title(), *self.sentences()])

    def _repr_html_(self) -> str:
        return call("StartEconomics.html", self)


def cheapest_of(outcomes: Sequence[PolicyOutcome]) -> PolicyOutcome | None:
    """Return the cheapest of some policies, of equal ones the fastest; None when no cost is known."""
    priced_outcomes = [outcome for outcome in outcomes if outcome.usd.value is not None]
    return min(
        priced_outcomes,
        key=lambda outcome: (
            outcome.usd.value or 0.0,
            float("inf") if outcome.p90.value is None else outcome.p90.value,
        ),
        default=None,
    )
