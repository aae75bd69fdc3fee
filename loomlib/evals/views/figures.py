"""Charts of evaluations: quality by evaluator, usage by case, quality against cost, differences and changed cases.

Names of evaluators and runs are untrusted: `shown` escapes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from loomlib.presentation.formats import number
from loomlib.presentation.theme import PALETTE, SHARES, SYMBOLS, inert_text, styled
from loomlib.statistics.estimates import Estimate

from ..compare.comparison import Comparison
from ..compare.estimate_text import interval_text
from ..compare.summaries import EvaluatorSummary
from ..values.case_states import CASE_STATES, states_of_outcomes
from .usage import amount, median_usage, usage_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from ..runs.eval_run import EvalRun

MOST_DOTS: Final = 2_000
_LOST, _WON = "#D55E00", "#0072B2"
_COLOURS: Final[Mapping[str, str]] = {
    "failed": "#D55E00", "not answered": "#767b84", "not judged": "#E69F00", "scored": "#56B4E9",
    "passed": "#0072B2", "not applicable": "#b5b9c1",
}  # fmt: skip
_SYMBOL_OF: Final[Mapping[str, str]] = {
    "failed": "x", "not answered": "circle-open", "not judged": "diamond-open", "scored": "square",
    "passed": "circle", "not applicable": "line-ew-open",
}  # fmt: skip


def draw_run(run: EvalRun, baseline: EvalRun | None = None) -> dict[str, go.Figure]:
    """Return the charts of a run: `quality` by evaluator with intervals, and `taken`, the usage of cases by outcome.

    Args:
        run: The run.
        baseline: A run to show beside it.
    """
    runs = {"this run": run} if baseline is None else {"this run": run, "baseline": baseline}
    subtitle = inert_text(" · ".join((run.target.name, run.evalset.name, *run.labels)), 300)
    return {"quality": _figure(_quality(runs, subtitle)), "taken": _figure(_duration_figure(run, subtitle))}


def draw_runs(runs: Mapping[str, EvalRun], evaluator: str) -> go.Figure:
    """Draw quality against cost: one mark for each run, at the median usage per case.

    The axis is in dollars where they are known for every run, else in tokens, else in milliseconds.
    """
    usage = {name: usage_of(run) for name, run in runs.items()}
    axis = median_usage(usage)
    traces: list[dict[str, Any]] = []
    for place, (name, run) in enumerate(runs.items()):
        estimate = _measure(run.summary()[evaluator])
        x = axis.of.get(name)
        if estimate.value is None or x is None:
            continue
        traces.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": inert_text(name),
                "x": [x],
                "y": [estimate.value],
                "text": [inert_text(name, 30)],
                "textposition": "top center",
                "error_y": _bars([estimate]),
                "marker": _marker(place, size=11),
                "customdata": [[_text(run.summary()[evaluator]), inert_text(amount(x, axis.unit))]],
                "hovertemplate": f"{inert_text(name)}<br>%{{customdata[0]}}, median %{{customdata[1]}}<extra></extra>",
            }
        )
    return _figure(
        styled(
            traces,
            title="Quality against cost",
            subtitle=f"{inert_text(evaluator)}, with 95 % intervals; up and to the left is better",
            empty="No run with a known quality and cost.",
            xaxis={"title": {"text": f"{axis.label}, median per case"}, "rangemode": "tozero"},
            yaxis={"title": {"text": inert_text(evaluator)}, **_value_axis(traces, "y", -0.04, 1.12)},
        )
    )


def draw_comparison(comparison: Comparison) -> dict[str, go.Figure]:
    """Return the charts of a comparison: `differences` with intervals and margin, and `flips`, cases won and lost."""
    new, baseline = comparison.names
    subtitle = f"{inert_text(new)} against {inert_text(baseline)}"
    return {"differences": _figure(_differences(comparison, subtitle)), "flips": _figure(_flips(comparison, subtitle))}


def _quality(runs: Mapping[str, EvalRun], subtitle: str) -> dict[str, Any]:
    traces: list[dict[str, Any]] = []
    summaries = {
        label: [evaluator for evaluator in run.summary().evaluators if _measure(evaluator).value is not None]
        for label, run in runs.items()
    }
    row_of = _row_labels(evaluator.evaluator for evaluators in summaries.values() for evaluator in evaluators)
    for place, (label, evaluators) in enumerate(summaries.items()):
        rows = [(row_of[evaluator.evaluator], _measure(evaluator), _text(evaluator)) for evaluator in evaluators]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label,
                "x": [estimate.value for _, estimate, _ in rows],
                "y": [row for row, *_ in rows],
                "error_x": _bars([estimate for _, estimate, _ in rows]),
                # The baseline's mark is open and larger, so that marks at equal values do not hide each other.
                "marker": _marker(place) if not place else {**_marker(place, size=14), "symbol": "square-open"},
                "customdata": [[text] for *_, text in rows],
                "hovertemplate": f"%{{y}}: %{{customdata[0]}}<extra>{label}</extra>",
            }
        )
    traces = [trace for trace in traces if trace["x"]]
    return styled(
        traces,
        title="Quality by evaluator: pass rate, or mean score without a threshold",
        subtitle=subtitle,
        empty="No scores, or too few cases.",
        xaxis=_value_axis(traces, "x", -0.02, 1.02),
        yaxis={"categoryorder": "array", "categoryarray": list(reversed(row_of.values()))},
        height=140 + 46 * max(2, len(row_of)),
        legend_y=-0.28,
    )


def _duration_figure(run: EvalRun, subtitle: str) -> dict[str, Any]:
    states = states_of_outcomes(run.outcomes())
    usage = usage_of(run)
    cases = run.evalset.cases
    unit = usage.unit
    lanes = [state for state in reversed(CASE_STATES) if state in set(states.values())]
    dots: dict[str, list[tuple[float, float, str]]] = {state: [] for state in lanes}
    rows = [row for row in usage.rows if row.value(unit) is not None]
    step = -(-len(rows) // MOST_DOTS) if rows else 1
    for n, row in enumerate(rows[::step]):
        case, value = cases[row.position], row.value(unit)
        state = states.get((case.id, row.repeat))
        if state is not None and value is not None:
            # A fixed jitter keeps equal cases visible and pages reproducible.
            dots[state].append((value, lanes.index(state) + ((n * 0.618) % 1 - 0.5) * 0.5, inert_text(case.id)))
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": state,
            "x": [x for x, _, _ in dots[state]],
            "y": [y for _, y, _ in dots[state]],
            "text": [name for _, _, name in dots[state]],
            "customdata": [[inert_text(amount(x, unit))] for x, _, _ in dots[state]],
            "hovertemplate": f"%{{text}}: %{{customdata[0]}}<extra>{state}</extra>",
            "marker": {"color": _COLOURS[state], "symbol": _SYMBOL_OF[state], "size": 7, "opacity": 0.8},
        }
        for state in reversed(lanes)
        if dots[state]
    ]
    some = f" (every {step}th of {number(len(rows), 0)})" if step > 1 else ""
    return styled(
        traces,
        title=f"Usage of each case, by outcome{some}",
        subtitle=subtitle,
        empty="Cost, tokens and duration of the cases are unknown.",
        xaxis={"title": {"text": usage.label}, "rangemode": "tozero"},
        yaxis={"tickmode": "array", "tickvals": list(range(len(lanes))), "ticktext": lanes, "zeroline": False},
        height=170 + 60 * max(1, len(lanes)),
        legend_y=-0.3,
    )


def _differences(comparison: Comparison, subtitle: str) -> dict[str, Any]:
    evaluators = [evaluator for evaluator in comparison.evaluators if evaluator.difference.value is not None]
    row_of = _row_labels(evaluator.evaluator for evaluator in evaluators)
    tick_format = "+.0%" if all(evaluator.is_rate for evaluator in evaluators) else "+.2~f"  # points, or scores
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "difference, 95 % interval",
            "x": [evaluator.difference.value for evaluator in evaluators],
            "y": [row_of[evaluator.evaluator] for evaluator in evaluators],
            "error_x": _bars([evaluator.difference for evaluator in evaluators]),
            "text": [evaluator.verdict for evaluator in evaluators],
            "customdata": [[evaluator.change] for evaluator in evaluators],
            "hovertemplate": "%{y}: %{customdata[0]}, %{text}<extra></extra>",
            "marker": _marker(0),
        }
    ]
    chart = styled(
        traces if evaluators else [],
        title="Difference from the baseline, by evaluator",
        subtitle=subtitle,
        empty="Too few cases in common.",
        xaxis={"tickformat": tick_format, "zeroline": True, "zerolinewidth": 2},
        yaxis={"autorange": "reversed"},
        height=150 + 46 * max(2, len(evaluators)),
        legend_y=-0.35,
    )
    if evaluators and comparison.margin:
        chart["layout"]["shapes"] = [
            {
                "type": "line", "xref": "x", "yref": "paper", "y0": 0, "y1": 1,
                "x0": -comparison.margin, "x1": -comparison.margin,
                "line": {"color": _LOST, "dash": "dot", "width": 1.5},
            }
        ]  # fmt: skip
        chart["layout"]["annotations"] = [
            {
                "text": "largest accepted loss", "xref": "x", "yref": "paper", "x": -comparison.margin, "y": 1.0,
                "xanchor": "right", "yanchor": "bottom", "showarrow": False, "font": {"size": 11},
            }
        ]  # fmt: skip
    return chart


def _flips(comparison: Comparison, subtitle: str) -> dict[str, Any]:
    evaluators = comparison.evaluators
    names = list(_row_labels(evaluator.evaluator for evaluator in evaluators).values())

    def bar(word: str, counts: Sequence[int], sign: int, colour: str, pattern: str) -> dict[str, Any]:
        return {
            "type": "bar",
            "orientation": "h",
            "name": word,
            "x": [sign * count for count in counts],
            "y": names,
            "text": [f"{number(count, 0)} {word}" if count else "" for count in counts],
            "textposition": "auto",
            "hovertemplate": f"%{{y}}: %{{text}}<extra>{word}</extra>",
            "marker": {"color": colour, "pattern": {"shape": pattern, "fgcolor": "rgba(0,0,0,0.25)", "size": 6}},
        }

    most = max((max(evaluator.won, evaluator.lost) for evaluator in evaluators), default=0)
    traces = [
        bar("lost", [evaluator.lost for evaluator in evaluators], -1, _LOST, "/"),
        bar("won", [evaluator.won for evaluator in evaluators], 1, _WON, ""),
    ]
    return styled(
        traces if most else [],
        title="Changed cases",
        subtitle=subtitle,
        empty="No case changed.",
        xaxis={"range": [-most * 1.15 - 1, most * 1.15 + 1], "showticklabels": False, "zeroline": True},
        yaxis={"autorange": "reversed"},
        barmode="relative",
        height=150 + 46 * max(2, len(names)),
        legend_y=-0.2,
    )


def _row_labels(evaluators: Iterable[str]) -> dict[str, str]:
    """Return a different label for each evaluator: long names with the same beginning show their end as well."""
    names = list(dict.fromkeys(evaluators))
    counts = Counter(map(inert_text, names))
    labels = {
        name: inert_text(name if counts[inert_text(name)] == 1 else f"{name[:20]}…{name[-27:]}") for name in names
    }
    counts = Counter(labels.values())
    return {
        name: label if counts[label] == 1 else f"{label} ({position})"
        for position, (name, label) in enumerate(labels.items(), 1)
    }


def _value_axis(traces: Sequence[Mapping[str, Any]], axis: str, low: float, high: float) -> dict[str, Any]:
    """Return the settings of an axis of shares from `low` to `high`, or of numbers when a value is not a share."""
    is_share = all(0 <= value <= 1 for trace in traces for value in trace[axis])
    return {"range": [low, high], **SHARES} if is_share else {"rangemode": "tozero"}


def _measure(summary: EvaluatorSummary) -> Estimate:
    return summary.pass_rate if summary.has_threshold else summary.mean


def _text(summary: EvaluatorSummary) -> str:
    """Return the measure with its interval, as in a table."""
    return interval_text(_measure(summary), percent=summary.has_threshold)


def _bars(estimates: Sequence[Estimate]) -> dict[str, Any]:
    """Return error bars for plotly."""
    high = [0.0 if e.value is None or e.high is None else max(0.0, e.high - e.value) for e in estimates]
    low = [0.0 if e.value is None or e.low is None else max(0.0, e.value - e.low) for e in estimates]
    return {"type": "data", "symmetric": False, "array": high, "arrayminus": low, "thickness": 1.5, "width": 5}


def _marker(place: int, size: int = 9) -> dict[str, Any]:
    return {"color": PALETTE[place % len(PALETTE)], "symbol": SYMBOLS[place % len(SYMBOLS)], "size": size}


def _figure(spec: dict[str, Any]) -> go.Figure:
    from loomlib.presentation.charts import Chart

    return Chart(spec)
