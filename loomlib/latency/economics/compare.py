"""Comparison of policies: latency and cost of each on each platform version, and what would change the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import PASSED, outcome_at_most
from loomlib.statistics.percentiles import estimate_share
from loomlib.telemetry.cost import PriceTable, price_table

from .assumptions import Moment, StartAssumptions
from .hosts import other_hosts
from .measured import GIVEN, MeasuredStarts
from .mixture import estimate_mixture
from .policy import StartPolicy, usual_policies
from .replicates import (
    RESAMPLES,
    FloatArray,
    StartReplicates,
    ThinkReplicates,
    estimate_from,
    replicate_starts,
    unknown_cost,
)
from .result import HostOutcome, PolicyOutcome, StartEconomics
from .runtime_cost import runtime_cost
from .sensitivity import changed_answers
from .shares import policy_shares
from .traffic import SessionTraffic


def compare_policies(
    measured: MeasuredStarts | Sequence[MeasuredStarts],
    traffic: SessionTraffic,
    *,
    policies: Iterable[StartPolicy] | None = None,
    assumptions: StartAssumptions | None = None,
    prices: PriceTable | None = None,
    max_p90_ms: float = 0.0,
    moment: Moment = "answer",
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> StartEconomics:
    """Compare policies that keep sessions warm, by latency and by dollars a month.

    Examples:
        >>> traffic = SessionTraffic(sessions_per_day=2000, calls_per_session=5, think=ThinkTimes.exponential(45))
        >>> compare_policies(measured_starts(result), traffic, max_p90_ms=1000).sentences()[0]

    Args:
        measured: The measured calls, of one platform version or of both.
        traffic: The traffic.
        policies: The policies; by default those of `usual_policies`.
        assumptions: Assumptions besides measurements and prices.
        prices: The prices, in dollars; the shipped ones by default.
        max_p90_ms: The latency that 9 of 10 calls must not exceed, in milliseconds; 0 for no limit.
        moment: The moment up to which latency is counted.
        seed: Seed of the bootstrap.
        resamples: Number of resamples.

    Raises:
        ValueError: A platform version is given twice, there is no policy, or the prices are not in dollars.
    """
    platforms = (measured,) if isinstance(measured, MeasuredStarts) else tuple(measured)
    chosen = usual_policies() if policies is None else tuple(dict.fromkeys(policies))
    if not platforms or len({starts.platform for starts in platforms}) < len(platforms):
        raise ValueError("give the measured calls of each platform version once")
    if not chosen:
        raise ValueError("there is no policy to compare")
    if max_p90_ms < 0:
        raise ValueError(f"max_p90_ms must be at least 0, not {max_p90_ms}")
    table = price_table() if prices is None else prices
    if table.currency != "USD":
        raise ValueError(f"the prices must be in USD, in which every amount is shown, not in {table.currency}")
    assumed = assumptions or StartAssumptions()
    think = ThinkReplicates(traffic.think, seed=seed, resamples=resamples)
    replicates = {
        starts.platform: replicate_starts(starts, assumed, moment=moment, seed=seed, resamples=resamples)
        for starts in platforms
    }
    outcomes = [
        _outcome(starts, policy, replicates[starts.platform], traffic, think, table, assumed, max_p90_ms)
        for starts in platforms
        for policy in chosen
    ]
    # Durations of the newest platform version: the other hosts run the same code, started once for many calls.
    newest = max(platforms, key=lambda starts: starts.platform)
    return StartEconomics(
        measured=platforms,
        traffic=traffic,
        assumptions=assumed,
        prices=table,
        outcomes=tuple(outcomes),
        hosts=tuple(_hosts(newest, replicates[newest.platform], traffic, table, assumed)),
        changes=tuple(changed_answers(platforms, traffic, chosen, table, assumed, max_p90_ms, moment)),
        max_p90_ms=max_p90_ms,
        moment=moment,
        seed=seed,
    )


def _outcome(
    measured: MeasuredStarts,
    policy: StartPolicy,
    starts: StartReplicates,
    traffic: SessionTraffic,
    think: ThinkReplicates,
    prices: PriceTable,
    assumptions: StartAssumptions,
    limit_ms: float,
) -> PolicyOutcome:
    is_given = measured.source == GIVEN
    shares = policy_shares(policy, traffic, starts, think)
    cost = runtime_cost(policy, traffic, starts, shares, prices.runtime, ping_usd=assumptions.ping_usd)
    p90 = estimate_mixture(starts, shares.cold, 0.9, is_given=is_given)

    def usd(values: FloatArray | None) -> Estimate:
        return unknown_cost(starts) if values is None else estimate_from(values, starts.n, is_given=is_given)

    # Only the pool's part depends on how long measured starts take; the rest is computed from the traffic.
    first = estimate_from(np.clip(shares.first_cold, 0.0, 1.0), starts.n, is_given=is_given or not policy.pool)
    later = _later_cold(policy, traffic, shares.later_cold, starts.n)
    return PolicyOutcome(
        platform=measured.platform,
        policy=policy,
        cold=_all_cold(first, later, traffic.calls_per_session),
        first_cold=first,
        later_cold=later,
        p50=estimate_mixture(starts, shares.cold, 0.5, is_given=is_given),
        p90=p90,
        usd=usd(cost.total if cost else None),
        active=usd(cost.active if cost else None),
        idle=usd(cost.idle if cost else None),
        prewarm=usd(cost.prewarm if cost else None),
        outcome=outcome_at_most(p90, limit_ms) if limit_ms else PASSED,
    )


def _later_cold(policy: StartPolicy, traffic: SessionTraffic, values: FloatArray, n: int) -> Estimate:
    observed = traffic.think.observed_s
    if not observed:
        return estimate_from(values, n, is_given=True)
    return estimate_share(sum(value > policy.kept_s for value in observed), len(observed))


def _all_cold(first: Estimate, later: Estimate, calls: float) -> Estimate:
    """Return the share of all calls that are cold. Its interval adds both intervals, so it is rather too wide."""
    if first.value is None or first.low is None or first.high is None:
        return first
    if later.value is None or later.low is None or later.high is None:
        return later
    return Estimate(
        value=(first.value + (calls - 1) * later.value) / calls,
        low=(first.low + (calls - 1) * later.low) / calls,
        high=(first.high + (calls - 1) * later.high) / calls,
        n=min(first.n, later.n),
        confidence=first.confidence,
        method=f"{first.method}; {later.method}",
    )


def _hosts(
    measured: MeasuredStarts,
    starts: StartReplicates,
    traffic: SessionTraffic,
    prices: PriceTable,
    assumptions: StartAssumptions,
) -> list[HostOutcome]:
    is_given = measured.source == GIVEN
    return [
        HostOutcome(
            host=host.host,
            usd=unknown_cost(starts) if host.usd is None else estimate_from(host.usd, starts.n, is_given=is_given),
            basis=host.basis,
            difference=host.difference,
            as_of=host.as_of,
        )
        for host in other_hosts(traffic, starts, prices, assumptions)
    ]
