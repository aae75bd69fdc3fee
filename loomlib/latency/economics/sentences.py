"""The answer in sentences: the cheapest policy that meets the limit, what the limit costs, and other hosts."""

from __future__ import annotations

from datetime import date

from loomlib.presentation import formats
from loomlib.presentation.formats import join, milliseconds, money, number, percent, time_limit
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import MISSED

from .measured import GIVEN
from .result import PolicyOutcome, StartEconomics


def title(economics: StartEconomics) -> str:
    """Return traffic, platform versions and labels in one line."""
    traffic = economics.traffic
    return " · ".join(
        [
            f"{number(traffic.sessions_per_day)} sessions a day of {number(traffic.calls_per_session)} calls",
            f"platform {join([starts.platform for starts in economics.measured])}",
            *economics.labels,
        ]
    )


def sentences(economics: StartEconomics) -> list[str]:
    """Return the answer in sentences, the most important one first."""
    texts = [_answer(economics), _reason(economics), _undecided(economics), _limit_costs(economics), _hosts(economics)]
    return [*(text for text in texts if text), *_warnings(economics)]


def figure_text(estimate: Estimate, kind: formats.NumberKind) -> str:
    """Format an estimate; an interval that equals the value, as for given values, is left out."""
    if estimate.value is not None and estimate.low == estimate.high:
        return formats.figure(estimate.value, kind)
    return estimate.text(kind)


def _answer(economics: StartEconomics) -> str:
    within = _within(economics)
    cheapest = economics.cheapest
    if cheapest is not None:
        return f"The cheapest policy{within} is {cheapest.name}: {_cost(economics, cheapest)}."
    cheapest_unclear = economics.cheapest_unclear
    if cheapest_unclear is not None and cheapest_unclear.p90.is_known:
        return (
            f"No policy is shown to answer 9 of 10 calls within {milliseconds(economics.max_p90_ms)}; the cheapest "
            f"that may is {cheapest_unclear.name}: {_cost(economics, cheapest_unclear)}, with a p90 whose interval "
            "contains the limit."
        )
    priced = [outcome for outcome in economics.outcomes if outcome.usd.is_known]
    if not priced:
        return f"No policy has a known cost: {economics.outcomes[0].usd.reason}."
    fastest = min(
        (outcome for outcome in priced if outcome.p90.is_known), key=lambda one: one.p90.value or 0.0, default=None
    )
    if fastest is None:
        return "Too few calls were measured to tell which policy meets the limit."
    limit = milliseconds(economics.max_p90_ms)
    figures = f"has a p90 of {figure_text(fastest.p90, 'ms')} and costs {_cost(economics, fastest)}"
    if cheapest_unclear is not None:
        return (
            f"No policy is shown to answer 9 of 10 calls within {limit}: too few calls were measured to tell whether "
            f"{cheapest_unclear.name} does; of those with a known p90, the fastest, {fastest.name}, {figures}."
        )
    return f"No policy answers 9 of 10 calls within {limit}: the fastest, {fastest.name}, {figures}."


def _within(economics: StartEconomics) -> str:
    if not economics.max_p90_ms:
        return ""
    moment = "answers" if economics.moment == "answer" else "begins to answer"
    return f" that {moment} 9 of 10 calls within {milliseconds(economics.max_p90_ms)}"


def _cost(economics: StartEconomics, outcome: PolicyOutcome) -> str:
    runtime = economics.prices.runtime
    dated = f" at list prices of {formats.day(runtime.as_of)}" if isinstance(runtime.as_of, date) else ""
    simulated = ", simulated times" if economics.is_simulated else ""
    return f"{figure_text(outcome.usd, 'USD')} a month{dated}{simulated}"


def _reason(economics: StartEconomics) -> str:
    best = economics.cheapest or economics.cheapest_unclear
    if best is None or best.usd.value is None or (economics.cheapest is None and not best.p90.is_known):
        return ""
    parts = [
        f"{money(part.value)} for {name}"
        for name, part in (
            ("calls", best.active),
            ("sessions that wait", best.idle),
            ("pre-warming", best.prewarm),
        )
        if part.value
    ]
    latency = (
        f", p50 is {figure_text(best.p50, 'ms')} and p90 {figure_text(best.p90, 'ms')}" if best.p90.is_known else ""
    )
    return f"Then {percent(best.cold.value)} of the calls are cold{latency}; of the cost, {join(parts)}."


def _undecided(economics: StartEconomics) -> str:
    best, cheapest_unclear = economics.cheapest, economics.cheapest_unclear
    if best is None or cheapest_unclear is None or not cheapest_unclear.p90.is_known:
        return ""
    if best.usd.value is None or cheapest_unclear.usd.value is None or cheapest_unclear.usd.value >= best.usd.value:
        return ""
    return (
        f"A cheaper one may meet the limit too, but too few calls were measured to tell: {cheapest_unclear.name} at "
        f"{figure_text(cheapest_unclear.usd, 'USD')}, with a p90 of {figure_text(cheapest_unclear.p90, 'ms')}."
    )


def _limit_costs(economics: StartEconomics) -> str:
    best, cheapest = economics.cheapest, economics.cheapest_without_limit
    if best is None or cheapest is None or best.usd.value is None or cheapest.usd.value is None:
        return ""
    if cheapest.outcome != MISSED:
        return ""
    return (
        f"The limit costs {money(best.usd.value - cheapest.usd.value)} a month: without it, {cheapest.name} would be "
        f"the cheapest at {figure_text(cheapest.usd, 'USD')}, with a p90 of {figure_text(cheapest.p90, 'ms')}."
    )


def _hosts(economics: StartEconomics) -> str:
    costs = [f"{figure_text(host.usd, 'USD')} on {host.host}" for host in economics.hosts if host.usd.is_known]
    return f"Elsewhere the same traffic costs {join(costs)}, without the tokens of the model." if costs else ""


def _warnings(economics: StartEconomics) -> list[str]:
    texts: list[str] = []
    if economics.is_simulated:
        texts.append(
            "Simulated: the times were measured on the local AgentCore with a simulated model, so these "
            "times and the costs that follow from them are not those of AWS."
        )
    if economics.is_disturbed:
        texts.append("The machine was overloaded while the times were measured.")
    if any(starts.source == GIVEN for starts in economics.measured):
        texts.append("Latencies were given, not measured by Loom.")
    idle = [outcome for outcome in economics.outcomes if outcome.policy.idle_timeout_s < 60]
    if idle:
        texts.append(f"AgentCore's minimum idle timeout is {time_limit(60)}: shorter ones are not possible there.")
    return texts
