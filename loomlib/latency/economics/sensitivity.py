"""What would change the answer: the cheapest policy by point estimates, after one value at a time was changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from loomlib.presentation.formats import milliseconds, money, number
from loomlib.telemetry.cost import PriceTable

from .assumptions import Moment, StartAssumptions
from .hosts import other_hosts
from .measured import MeasuredStarts, MeteredCall
from .mixture import mixture_percentile
from .policy import StartPolicy
from .replicates import StartReplicates, ThinkReplicates, replicate_starts
from .result import ChangedAnswer, policy_on
from .runtime_cost import runtime_cost
from .shares import policy_shares
from .think_times import ThinkTimes
from .traffic import SessionTraffic

_MOST_TIMES: Final = 10_000.0
"""The largest multiple of the traffic in the search for a break-even."""
_NEAR: Final = 1.01


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    measured: tuple[MeasuredStarts, ...]
    traffic: SessionTraffic
    policies: tuple[StartPolicy, ...]
    prices: PriceTable
    assumptions: StartAssumptions
    limit_ms: float
    moment: Moment

    def starts(self) -> dict[str, StartReplicates]:
        return {
            one.platform: replicate_starts(one, self.assumptions, moment=self.moment, resamples=0)
            for one in self.measured
        }

    def answer(self) -> tuple[str, float] | None:
        """Return the name and the cost of the cheapest policy that meets the limit."""
        think = ThinkReplicates(self.traffic.think, resamples=0)
        candidates: list[tuple[float, str]] = []
        for platform, starts in self.starts().items():
            for policy in self.policies:
                shares = policy_shares(policy, self.traffic, starts, think)
                cost = runtime_cost(
                    policy, self.traffic, starts, shares, self.prices.runtime, ping_usd=self.assumptions.ping_usd
                )
                if cost is None:
                    continue
                cold, warm = starts.cold.latency_ms, starts.warm.latency_ms
                p90 = mixture_percentile(cold, warm, float(shares.cold[0]), 0.9)
                if not self.limit_ms or p90 <= self.limit_ms:
                    candidates.append((float(cost.total[0]), policy_on(policy, platform)))
        return (min(candidates)[1], min(candidates)[0]) if candidates else None

    def fargate_usd(self) -> float | None:
        newest = self.starts()[max(one.platform for one in self.measured)]
        usd = next(
            host.usd
            for host in other_hosts(self.traffic, newest, self.prices, self.assumptions)
            if host.host == "ECS Fargate"
        )
        return None if usd is None else float(usd[0])


def changed_answers(
    measured: tuple[MeasuredStarts, ...],
    traffic: SessionTraffic,
    policies: tuple[StartPolicy, ...],
    prices: PriceTable,
    assumptions: StartAssumptions,
    limit_ms: float,
    moment: Moment,
) -> list[ChangedAnswer]:
    """Return the cheapest policy that meets the limit after each of several changes; the unchanged case comes first.

    Args:
        measured: The measured calls.
        traffic: The traffic.
        policies: The policies.
        prices: The prices.
        assumptions: What is assumed.
        limit_ms: The latency limit, in milliseconds; 0 for none.
        moment: The moment up to which latency is counted.
    """
    base = _Case(
        measured=measured, traffic=traffic, policies=policies, prices=prices, assumptions=assumptions,
        limit_ms=limit_ms, moment=moment,
    )  # fmt: skip
    before = base.answer()
    answers = [_changed("nothing", base, before)]
    answers += [_changed(change, case, before) for change, case in _changes(base)]
    if (times := _break_even(base)) is not None:
        sessions = number(round(traffic.sessions_per_day * times, -1) if times > 1 else traffic.sessions_per_day)
        usd = _times(base, times).fargate_usd()
        answers.append(
            ChangedAnswer(
                change=f"{sessions} sessions a day or more",
                policy=f"ECS Fargate costs less, {money(usd)}",
                usd=usd,
                is_other=True,
            )
        )
    return answers


def _changed(change: str, case: _Case, before: tuple[str, float] | None) -> ChangedAnswer:
    answer = case.answer()
    if answer is None:
        return ChangedAnswer(change=change, policy="none meets the limit", usd=None, is_other=before is not None)
    name, usd = answer
    return ChangedAnswer(change=change, policy=name, usd=usd, is_other=before is None or before[0] != name)


def _changes(base: _Case) -> Sequence[tuple[str, _Case]]:
    traffic, assumed = base.traffic, base.assumptions
    cases = [
        ("a tenth of the sessions", _times(base, 0.1)),
        ("10 times the sessions", _times(base, 10.0)),
        ("think times a quarter as long", replace(base, traffic=_more(traffic, think=0.25))),
        ("think times 4 times as long", replace(base, traffic=_more(traffic, think=4.0))),
        (
            "the client ends every session after its last call",
            replace(base, traffic=replace(traffic, ended_share=1.0)),
        ),
        ("starts half as long", replace(base, measured=_with_scaled_starts(base.measured, 0.5))),
        ("starts twice as long", replace(base, measured=_with_scaled_starts(base.measured, 2.0))),
    ]
    newest = base.starts()[max(one.platform for one in base.measured)]
    if newest.idle_gb is not None and any(one.platform == "V2" for one in base.measured):
        quarter = replace(assumed, idle_memory_gb=float(newest.idle_gb[0]) / 4)
        cases.append(("a quarter of the memory while a session waits (V2)", replace(base, assumptions=quarter)))
    if any(policy.pings or policy.pool for policy in base.policies):
        cent = replace(assumed, ping_usd=assumed.ping_usd + 0.01)
        cases.append(("each ping costs a cent more", replace(base, assumptions=cent)))
    if base.limit_ms:
        cases += [
            (f"a limit of {milliseconds(base.limit_ms * times)}", replace(base, limit_ms=base.limit_ms * times))
            for times in (0.5, 2.0)
        ]
    return cases


def _more(traffic: SessionTraffic, *, sessions: float = 1.0, think: float = 1.0) -> SessionTraffic:
    times = traffic.think
    changed = (
        ThinkTimes.observed([value * think for value in times.observed_s])
        if times.observed_s
        else ThinkTimes.exponential(times.mean_s * think)
    )
    return replace(traffic, sessions_per_day=traffic.sessions_per_day * sessions, think=changed)


def _with_scaled_starts(measured: Sequence[MeasuredStarts], times: float) -> tuple[MeasuredStarts, ...]:
    """Return the calls with longer starts (time beyond the median of warm calls). CPU time does not change."""
    changed: list[MeasuredStarts] = []
    for one in measured:
        warm = float(np.median([call.duration_ms for call in one.warm]))
        changed.append(replace(one, cold=tuple(_with_longer_start(call, warm, times) for call in one.cold)))
    return tuple(changed)


def _with_longer_start(call: MeteredCall, warm_ms: float, times: float) -> MeteredCall:
    """Return a cold call with its start (time beyond a warm call) scaled by `times`; mean memory stays the same."""
    more_ms = max(0.0, call.duration_ms - warm_ms) * (times - 1)
    ratio = (call.duration_ms + more_ms) / call.duration_ms if call.duration_ms else 1.0
    return replace(
        call,
        duration_ms=call.duration_ms + more_ms,
        first_byte_ms=None if call.first_byte_ms is None else max(0.0, call.first_byte_ms + more_ms),
        memory_gb_s=None if call.memory_gb_s is None else call.memory_gb_s * ratio,
    )


def _times(base: _Case, times: float) -> _Case:
    return replace(base, traffic=_more(base.traffic, sessions=times))


def _break_even(base: _Case) -> float | None:
    """Return the multiple of the traffic from which ECS Fargate costs less; None when it is not within 10,000."""

    def is_cheaper(times: float) -> bool:
        case = _times(base, times)
        answer, fargate = case.answer(), case.fargate_usd()
        return answer is not None and fargate is not None and fargate < answer[1]

    if is_cheaper(1.0):
        return None  # the table of hosts already shows it
    high = 1.0
    while not is_cheaper(high):
        high *= 2
        if high > _MOST_TIMES:
            return None
    low = high / 2
    while high / low > _NEAR:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if is_cheaper(middle) else (middle, high)
    return high
