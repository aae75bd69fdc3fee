"""The economics of starts as a chart, a page, a gate, notes, and JSON-ready values."""

from __future__ import annotations

from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any, Final

from loomlib.experiments import Gate
from loomlib.presentation.formats import money, percent
from loomlib.presentation.html import card
from loomlib.presentation.html import table as html_table
from loomlib.presentation.theme import PALETTE, SYMBOLS, styled
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import UNCLEAR, outcome_at_most
from loomlib.statistics.percentiles import CONFIDENCE

from .result import PolicyOutcome, StartEconomics
from .sentences import figure_text, sentences, title
from .tables import table

if TYPE_CHECKING:
    import plotly.graph_objects as go

FORMAT: Final = "loom.start-economics/1"
"""The `format` of the JSON summary."""


def figure(economics: StartEconomics) -> go.Figure:
    """Return the 90th percentile of latency against dollars a month, one point for each policy."""
    from loomlib.presentation.charts import Chart

    traces: list[dict[str, Any]] = []
    for place, starts in enumerate(economics.measured):
        points = [
            outcome
            for outcome in economics.outcomes
            if outcome.platform == starts.platform and outcome.p90.is_known and outcome.usd.is_known
        ]
        if points:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": f"platform {starts.platform}{' (simulated)' if starts.is_simulated else ''}",
                    "x": [outcome.usd.value for outcome in points],
                    "y": [outcome.p90.value for outcome in points],
                    "error_x": _error([outcome.usd for outcome in points]),
                    "error_y": _error([outcome.p90 for outcome in points]),
                    "text": [escape(outcome.policy.name) for outcome in points],
                    "hovertemplate": "%{text}<br>$%{x} a month<br>p90 %{y} ms<extra></extra>",
                    "marker": {"color": PALETTE[place], "symbol": SYMBOLS[place], "size": 10},
                }
            )
    drawn = styled(
        traces,
        title="Latency against cost, by policy",
        subtitle=escape(title(economics)),
        xaxis={"title": {"text": "dollars a month"}, "rangemode": "tozero"},
        yaxis={"title": {"text": "p90, ms"}, "rangemode": "tozero"},
        empty="No policy has a known latency and a known cost.",
    )
    if economics.max_p90_ms and traces:
        limit = {"y0": economics.max_p90_ms, "y1": economics.max_p90_ms, "x0": 0, "x1": 1, "xref": "paper"}
        drawn["layout"]["shapes"] = [{"type": "line", "line": {"dash": "dash", "color": PALETTE[1]}, **limit}]
    return Chart(drawn)


def _error(estimates: list[Estimate]) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [(one.high or 0.0) - (one.value or 0.0) for one in estimates],
        "arrayminus": [(one.value or 0.0) - (one.low or 0.0) for one in estimates],
        "thickness": 1,
    }


def html(economics: StartEconomics) -> str:
    """Return the answer and the table of policies as static HTML."""
    frame = table(economics).reset_index()
    rows = [[str(cell) for cell in row] for row in frame.itertuples(index=False)]
    return str(card(title(economics), note=" ".join(sentences(economics)), body=html_table(list(frame.columns), rows)))


def notes(economics: StartEconomics) -> list[str]:
    """Return how the figures came about, and what they leave out."""
    return [
        f"Intervals ({percent(CONFIDENCE)}) are those of the measured calls: of means by the bootstrap, of percentiles "
        "by Woodruff's method. Prices and assumptions have none, and traffic only where think times were observed.",
        "A first call is cold unless the pool has a session ready: Erlang's B formula for Poisson arrivals, whatever "
        "the distribution of the start times. A later call is cold when the person thinks for longer than the session "
        "is kept.",
        "Percentiles of all calls are those of the measured cold and warm calls, weighted by the share of cold calls.",
        "The first call on a session of the pool is taken to be as fast as a warm call, and a start for the pool to "
        "cost as much as a cold call.",
        "AgentCore bills CPU while it is active, memory from a session's start to its end, at least 0.128 GB. While a "
        "session waits, V1 bills its highest memory so far, V2 what it still uses.",
        "Left out: tokens of the model (the same on every host), load balancers, gateways, storage, transfer, logs, "
        "taxes, discounts and free tiers.",
        "If the rate of new sessions varies within a day, the busiest hour needs a larger pool: set hours_per_day.",
    ]


def judge(economics: StartEconomics, max_usd_per_month: float, *, allow_overload: bool = False) -> Gate:
    """Compare the cost of the cheapest policy that meets the latency limit with a limit.

    Args:
        economics: The comparison.
        max_usd_per_month: The limit, in dollars a month.
        allow_overload: Whether to decide the gate also when the machine was overloaded.
    """
    if max_usd_per_month <= 0:
        raise ValueError(f"max_usd_per_month must be above 0, not {max_usd_per_month}")
    best = economics.cheapest
    missing = Estimate.missing("no policy meets the limit", n=0, confidence=CONFIDENCE, method="")
    cost = missing if best is None else best.usd
    outcome = UNCLEAR if best is None else outcome_at_most(cost, max_usd_per_month)
    if economics.is_disturbed and not allow_overload:
        outcome = UNCLEAR
    subject = (
        "no policy is shown to meet the latency limit" if best is None else f"{best.name}: {figure_text(cost, 'USD')}"
    )
    return Gate(
        outcome=outcome,
        limit=max_usd_per_month,
        figure=cost,
        text=f"Gate {outcome}: {subject} a month, limit {money(max_usd_per_month)}."
        if best is not None
        else f"Gate {outcome}: {subject}.",
        data={"max_usd_per_month": max_usd_per_month, "usd": cost.summary()},
    )


def summary(economics: StartEconomics) -> dict[str, Any]:
    """Return everything as JSON-ready values."""
    traffic = economics.traffic
    best = economics.cheapest
    return {
        "format": FORMAT,
        "labels": list(economics.labels),
        "is_simulated": economics.is_simulated,
        "sentences": sentences(economics),
        "max_p90_ms": economics.max_p90_ms,
        "moment": economics.moment,
        "seed": economics.seed,
        "traffic": {
            "sessions_per_day": traffic.sessions_per_day,
            "calls_per_session": traffic.calls_per_session,
            "think_mean_s": traffic.think.mean_s,
            "think_n": len(traffic.think.observed_s),
            "hours_per_day": traffic.hours_per_day,
            "source": traffic.source,
        },
        "assumptions": asdict(economics.assumptions),
        "measured": [
            {
                "platform": starts.platform,
                "source": starts.source,
                "cold": len(starts.cold),
                "warm": len(starts.warm),
                "use": starts.use_basis,
            }
            for starts in economics.measured
        ],
        "cheapest": None if best is None else _outcome(best),
        "policies": [_outcome(outcome) for outcome in economics.outcomes],
        "hosts": [{"host": host.host, "usd": host.usd.summary(), "basis": host.basis} for host in economics.hosts],
        "changes": [asdict(change) for change in economics.changes],
        "prices": _prices(economics),
    }


def _prices(economics: StartEconomics) -> dict[str, dict[str, Any]]:
    services = {
        "runtime": economics.prices.runtime,
        "lambda": economics.prices.functions,
        "fargate": economics.prices.fargate,
        "managed_agents": economics.prices.managed_agents,
    }
    return {
        name: {key: value if value is None else str(value) for key, value in asdict(price).items()}
        for name, price in services.items()
    }


def _outcome(outcome: PolicyOutcome) -> dict[str, Any]:
    return {
        "platform": outcome.platform,
        "policy": outcome.policy.name,
        "settings": asdict(outcome.policy),
        "cold_share": outcome.cold.summary(),
        "p50_ms": outcome.p50.summary(),
        "p90_ms": outcome.p90.summary(),
        "usd_per_month": outcome.usd.summary(),
        "active_usd": outcome.active.value,
        "idle_usd": outcome.idle.value,
        "prewarm_usd": outcome.prewarm.value,
        "meets_limit": outcome.outcome,
    }
