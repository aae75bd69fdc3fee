"""The economics of starts as tables: policies, hosts, prices, assumptions, and what would change the answer."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from loomlib.presentation import formats
from loomlib.presentation.formats import exact, milliseconds, money, number, percent, time_limit

from .measured import MeasuredStarts
from .replicates import replicate_starts
from .result import PolicyOutcome, StartEconomics
from .sentences import figure_text

if TYPE_CHECKING:
    import pandas as pd


OUTCOMES: Final = {"passed": "yes", "missed": "no", "unclear": "unclear"}


def table(economics: StartEconomics) -> pd.DataFrame:
    """Return one row for each policy on each platform version, the cheapest first."""
    rows = [_row(economics, outcome) for outcome in ordered(economics.outcomes)]
    return _frame(rows, "policy")


def ordered(outcomes: Sequence[PolicyOutcome]) -> list[PolicyOutcome]:
    """Return the outcomes by cost, those of unknown cost last."""
    return sorted(outcomes, key=lambda one: (one.usd.value is None, one.usd.value or 0.0, one.platform))


def _row(economics: StartEconomics, outcome: PolicyOutcome) -> dict[str, str]:
    return {
        "policy": outcome.policy.name,
        "platform": outcome.platform,
        "cold": percent(outcome.cold.value) if outcome.cold.is_known else figure_text(outcome.cold, "share"),
        "p50 [95 %]": figure_text(outcome.p50, "ms"),
        "p90 [95 %]": figure_text(outcome.p90, "ms"),
        **({"meets the limit": OUTCOMES[outcome.outcome]} if economics.max_p90_ms else {}),
        "$ a month [95 %]": figure_text(outcome.usd, "USD"),
        "active": money(outcome.active.value),
        "idle": money(outcome.idle.value),
        "pre-warming": money(outcome.prewarm.value),
    }


def host_table(economics: StartEconomics) -> pd.DataFrame:
    """Return what the same traffic costs on Runtime, Lambda, ECS Fargate and managed agents."""
    best = economics.cheapest or economics.cheapest_unclear or economics.cheapest_without_limit
    rows: list[dict[str, str]] = []
    if best is not None:
        rows.append(
            {
                "host": f"AgentCore Runtime {best.platform}",
                "$ a month [95 %]": figure_text(best.usd, "USD"),
                "what is paid for": best.policy.name,
                "difference": "–",
                "prices of": _day(economics.prices.runtime.as_of),
            }
        )
    rows += [
        {
            "host": host.host,
            "$ a month [95 %]": figure_text(host.usd, "USD"),
            "what is paid for": host.basis,
            "difference": host.difference,
            "prices of": _day(host.as_of),
        }
        for host in economics.hosts
    ]
    return _frame(rows, "host")


def price_table(economics: StartEconomics) -> pd.DataFrame:
    """Return every price with its unit, region, date and source."""
    prices, currency = economics.prices, economics.prices.currency
    runtime, functions, fargate, managed = prices.runtime, prices.functions, prices.fargate, prices.managed_agents
    listed: list[tuple[str, Any, Decimal | None, str]] = [
        ("AgentCore Runtime V1 and V2, CPU while it is active", runtime, runtime.cpu_per_vcpu_hour, "vCPU-hour"),
        ("AgentCore Runtime V1, highest memory so far", runtime, runtime.memory_per_gb_hour, "GB-hour"),
        ("AgentCore Runtime V2, memory in use", runtime, runtime.memory_per_gb_hour, "GB-hour"),
        ("Lambda, requests", functions, functions.per_million_requests, "million"),
        ("Lambda, duration", functions, functions.per_gb_second, "GB-second"),
        ("Lambda, provisioned concurrency", functions, functions.provisioned_per_gb_second, "GB-second"),
        ("Lambda, provisioned duration", functions, functions.provisioned_duration_per_gb_second, "GB-second"),
        ("ECS Fargate, CPU of a task", fargate, fargate.per_vcpu_hour, "vCPU-hour"),
        ("ECS Fargate, memory of a task", fargate, fargate.per_gb_hour, "GB-hour"),
        ("managed agents, while a session runs", managed, managed.per_session_hour, "session-hour"),
    ]
    rows = [
        {
            "price of": item,
            "price": "unknown" if price is None else f"{_price(price, currency)} per {per}",
            "region": " ".join(filter(None, (service.region, getattr(service, "architecture", "")))) or "–",
            "as of": _day(service.as_of),
            "source": service.source or "–",
        }
        for item, service, price, per in listed
    ]
    return _frame(rows, "price of")


def assumption_table(economics: StartEconomics) -> pd.DataFrame:
    """Return every measured, given and assumed value, with where it comes from."""
    traffic, assumed = economics.traffic, economics.assumptions
    think = traffic.think
    rows = [
        ("sessions a day", number(traffic.sessions_per_day), traffic.source),
        ("calls of a session", number(traffic.calls_per_session), traffic.source),
        ("think time, mean", f"{time_limit(round(think.mean_s, 1))}, {think.describe()}", traffic.source),
        ("hours of a day with new sessions", exact(traffic.hours_per_day), traffic.source),
        ("sessions that the client ends", percent(traffic.ended_share), traffic.source),
        *(row for starts in economics.measured for row in _measured_rows(economics, starts)),
        ("model cost of a ping", money(assumed.ping_usd), "assumed: the agent answers it without its model"),
        ("Lambda, memory", f"{exact(assumed.lambda_memory_gb)} GB", "assumed: the memory that comes with one vCPU"),
        (
            "Lambda, calls that initialize an environment",
            "the first of each session" if assumed.lambda_cold_share is None else percent(assumed.lambda_cold_share),
            "assumed: sessions do not share environments",
        ),
        ("Lambda, provisioned concurrency", number(assumed.lambda_provisioned), "assumed"),
        ("Fargate, vCPUs of a task", exact(assumed.fargate_vcpu), "assumed"),
        ("Fargate, memory of a task", f"{exact(assumed.fargate_memory_gb)} GB", "assumed"),
        ("Fargate, concurrent calls in a task", number(assumed.fargate_calls_per_task), "assumed"),
        ("Fargate, minimum number of tasks", number(assumed.fargate_least_tasks), "assumed: two availability zones"),
        ("Fargate, time with capacity for every call", percent(assumed.fargate_share), "assumed"),
    ]
    return _frame([{"value of": label, "value": value, "from": source} for label, value, source in rows], "value of")


def _measured_rows(economics: StartEconomics, starts: MeasuredStarts) -> list[tuple[str, str, str]]:
    assumed, platform = economics.assumptions, starts.platform
    replicates = replicate_starts(starts, assumed, moment=economics.moment, resamples=0)
    measured = f"{starts.source}, {starts.use_basis}" if starts.use_basis else "unknown"

    def row(label: str, values: Any, unit: str, assumption: float | None, otherwise: str) -> tuple[str, str, str]:
        value = "unknown" if values is None else f"{number(float(values[0]))} {unit}"
        return f"{platform}, {label}", value, "assumed" if assumption is not None else otherwise

    calls = f"{number(len(starts.cold))} cold, {number(len(starts.warm))} warm"
    idle = "as billed: the highest memory so far" if platform == "V1" else "assumed: as much as during calls"
    return [
        (f"{platform}, calls", calls, starts.source),
        row("CPU of a warm call", replicates.warm_vcpu_s, "vCPU-s", assumed.vcpu_s_per_call, measured),
        row("CPU of a cold call with its start", replicates.cold_vcpu_s, "vCPU-s", assumed.start_vcpu_s, measured),
        row("memory during calls", replicates.memory_gb, "GB", assumed.memory_gb, measured),
        row(
            "memory while a session waits",
            replicates.idle_gb,
            "GB",
            assumed.idle_memory_gb if platform == "V2" else None,
            idle,
        ),
    ]


def change_table(economics: StartEconomics) -> pd.DataFrame:
    """Return what would change the answer: each change, the cheapest policy then, and its cost."""
    changes = [
        (change.change, change.policy, change.usd, "another" if change.is_other else "the same")
        for change in economics.changes
    ]
    best = economics.cheapest or economics.cheapest_unclear
    changes += [
        (
            f"a limit of {milliseconds(outcome.p90.value)} or more",
            outcome.name,
            outcome.usd.value,
            "the same" if best is not None and outcome.name == best.name else "another",
        )
        for outcome in economics.frontier
    ]
    rows = [
        {"change": change, "cheapest policy": policy, "$ a month": money(usd), "answer": answer}
        for change, policy, usd, answer in changes
    ]
    return _frame(rows, "change")


def _frame(rows: Sequence[dict[str, str]], index: str) -> pd.DataFrame:
    from loomlib.presentation.text_frame import TextFrame

    return TextFrame(list(rows)).set_index(index)


def _day(moment: Any) -> str:
    return formats.day(moment) if moment is not None else "–"


def _price(price: Decimal, currency: str) -> str:
    """Format a price with all its digits, and two decimals at least."""
    if price == price.quantize(Decimal("0.01")):
        return money(price, currency)
    return f"{'$' if currency == 'USD' else f'{currency} '}{exact(price)}"
