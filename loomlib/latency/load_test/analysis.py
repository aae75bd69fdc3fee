"""The views on a load test: the answer, the table of steps, the charts, the method, and the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from loomlib.experiments import Gate, StudyFinding, StudyMethod, StudyTable
from loomlib.presentation.formats import exact, milliseconds, number, percent, plural, seconds
from loomlib.presentation.html import fragment
from loomlib.statistics import CONFIDENCE, Estimate
from loomlib.statistics.gates import MISSED, PASSED, UNCLEAR
from loomlib.telemetry.traces import PARTS
from loomlib.telemetry.traces.part_styles import PART_NAMES

from ..load.slo import DOES_NOT_HOLD, HOLDS
from ..method import timeout_argument
from .charts import latency_chart, parts_chart
from .design import LoadDesign
from .limit import load_limit
from .result import FoundLoad, LoadResult
from .sentences import cost_text, load_text, sentences
from .steps import stored_figures
from .traffic import read_value, requests_sentence, scenario_sentence

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from markupsafe import Markup

FORMAT: Final = "loom.load-test/1"
_METHOD: Final = "search with a straight line fitted to the logit of the share of calls beyond the limit"

__all__ = [
    "details", "figures", "findings", "gate", "kinds", "method", "sections", "sentences", "table", "where_time_goes",
]  # fmt: skip


def table(result: LoadResult) -> StudyTable:
    """Return one row for each step, by load. Failed calls are excluded from percentiles and counted in a column."""
    unit = "users" if result.design.is_closed_loop else "load /s"
    columns = (
        unit, "made /s", "n", "failed", "SLO", "TTFT p50 [95 %]", "TTFT p90 [95 %]", "TTFT p99 [95 %]",
        "total p50 [95 %]", "total p90 [95 %]", "total p99 [95 %]", "goodput /s [95 %]", "sent late p50 / p99",
    )  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for step in result.by_load:
        figures = step.figures
        if figures is None:
            continue
        lag = f"{milliseconds(figures.lag.p50_ms)} / {milliseconds(figures.lag.p99_ms)}"
        failed = sum(figures.failures.values())
        rows.append(
            (
                number(step.load),
                number(figures.made_per_s),
                number(figures.n),
                f"{number(failed)} ({figures.errors.estimate.text('share')})" if failed else "0",
                step.outcome,
                *(one.estimate.text("ms") for one in (*figures.ttft.values(), *figures.duration.values())),
                "–" if figures.goodput is None else figures.goodput.estimate.text("number"),
                lag,
            )
        )
    return StudyTable(columns=columns, rows=rows)


def kinds(result: LoadResult) -> StudyTable:
    """Return the figures of each kind of call at each load.

    Args:
        result: The load test.
    """
    unit = "users" if result.design.is_closed_loop else "load /s"
    heads = ("TTFT p50 [95 %]", "TTFT p90 [95 %]", "total p50 [95 %]", "total p90 [95 %]")
    rows: list[tuple[str, ...]] = []
    for step in result.by_load:
        for kind, figures in step.kinds.items():
            latencies = (figures.ttft[0.5], figures.ttft[0.9], figures.duration[0.5], figures.duration[0.9])
            failed = number(sum(figures.failures.values()))
            rows.append(
                (number(step.load), kind, number(figures.n), failed, *(one.estimate.text("ms") for one in latencies))
            )
    return StudyTable(columns=(unit, "kind of call", "n", "failed", *heads), rows=rows)


def where_time_goes(result: LoadResult) -> StudyTable:
    """Return the mean time of each part at the loads whose traces were read.

    Args:
        result: The load test.
    """
    steps = [step for step in result.traced_steps if step.position in result.parts and result.parts[step.position].n]
    if not steps:
        why = result.traces_error or "the calls' spans were not exported"
        return StudyTable(columns=("part", "mean"), rows=[(f"no traces: {why}", "–")])
    parts = [result.parts[step.position] for step in steps]
    unit = "users" if result.design.is_closed_loop else "/s"
    heads = [f"{number(step.load)} {unit}, n = {number(part.n)}" for step, part in zip(steps, parts, strict=True)]
    rows = [
        (
            PART_NAMES[name],
            *(
                f"{milliseconds(part.part_ms.get(name, 0.0))} ({percent(part.part_ms.get(name, 0.0) / part.total_ms)})"
                for part in parts
            ),
        )
        for name in PARTS
        if any(part.part_ms.get(name) for part in parts)
    ]
    rows.append(("all", *(milliseconds(part.total_ms) for part in parts)))
    limit = load_limit(result)
    if limit.span:
        rows.append((f"the span “{limit.span}”", *(milliseconds(part.span_ms.get(limit.span, 0.0)) for part in parts)))
    return StudyTable(columns=("part, mean of a call", *heads), rows=rows)


def figures(result: LoadResult) -> dict[str, go.Figure]:
    """Return the charts `latency` (percentiles and goodput over load) and `parts` (where the time went)."""
    from loomlib.presentation.charts import Chart

    return {"latency": Chart(latency_chart(result)), "parts": Chart(parts_chart(result))}


def findings(result: LoadResult) -> list[StudyFinding]:
    """Return the limit, and steps in which the client was late."""
    study_findings: list[StudyFinding] = []
    limit = load_limit(result)
    if limit.text:
        study_findings.append(
            StudyFinding(
                kind=f"limit-{limit.kind}",
                title="What limits the load",
                evidence=f"{limit.text[0].upper()}{limit.text[1:]}.",
                advice=_ADVICE.get(limit.kind, ""),
            )
        )
    doubtful = [
        step
        for step in result.by_load
        if step.figures is not None and any(one.is_doubtful for p, one in step.figures.ttft.items() if p < 0.95)
    ]
    if doubtful:
        loads = ", ".join(number(step.load) for step in doubtful)
        study_findings.append(
            StudyFinding(
                kind="late-client",
                title="The client sent calls late",
                evidence=f"At the loads {loads} one call in a hundred was sent late by more than a twentieth of p50 or "
                "p90 of the TTFT.",
                advice="Times count from the intended start, so they contain the delay; repeat on a quiet machine.",
            )
        )
    return study_findings


_ADVICE: Final = {
    "client": "Run the load test from a machine with more processors, or from several.",
    "refused": "Ask AWS for a higher quota, or offer a lower load.",
    "failed": "`agent.history` has some of the calls; their messages say why they failed. Many agents answer one call "
    "at a time in a session: set `sessions` to the number of concurrent calls.",
    "traces": "The traces of these calls are stored: `agent.history`, label `timed`.",
}


def gate(result: LoadResult, min_load: float) -> Gate:
    """Compare the highest load that holds with the required load.

    Args:
        result: The load test.
        min_load: The required load.
    """
    if min_load <= 0:
        raise ValueError("min_load must be above 0")
    highest = result.found
    unit = "users" if result.design.is_closed_loop else "calls a second"
    n = sum(step.figures.n for step in result.by_load if step.figures is not None)
    low = None if highest is None else highest.low
    high = None if highest is None else highest.high
    if highest is None:
        outcome, figure = UNCLEAR, None
        text = "Gate unclear: no step was made."
    elif highest.load is None:
        lowest = result.low_step
        is_missed = lowest is not None and (lowest.load or 0.0) <= min_load and lowest.outcome == DOES_NOT_HOLD
        outcome, figure = (MISSED if is_missed else UNCLEAR), None
        text = f"Gate {outcome}: the agent {load_text(result, highest)}, at least {exact(min_load)} {unit} are needed."
    else:
        outcome = UNCLEAR
        if low is not None and low >= min_load and _is_certain(result, highest, low, HOLDS):
            outcome = PASSED
        elif high is not None and high < min_load and _is_certain(result, highest, high, DOES_NOT_HOLD):
            outcome = MISSED
        text = f"Gate {outcome}: the agent {load_text(result, highest)}, at least {exact(min_load)} are needed."
        figure = Estimate(
            value=highest.load,
            low=min(low if low is not None else highest.load, highest.load),
            high=max(high if high is not None else highest.load, highest.load),
            n=n,
            confidence=CONFIDENCE,
            method=_METHOD,
            open_above=high is None,
        )
    figure = figure or Estimate.missing("no load holds", n=n, confidence=CONFIDENCE, method=_METHOD)
    data = {"min_load": min_load, "highest_load": figure.summary()}
    return Gate(outcome=outcome, limit=min_load, figure=figure, text=text, data=data)


def _is_certain(result: LoadResult, highest: FoundLoad, load: float, outcome: str) -> bool:
    """Whether the end of the range is that of an interval, or of a step that had enough calls."""
    if not highest.is_between_steps:
        return True
    return any(step.outcome == outcome for step in result.by_load if step.load == load)


def method(result: LoadResult) -> StudyMethod:
    """Return how the load test was made."""
    design = result.design
    arrivals = {
        "poisson": "Calls arrive at random (Poisson process), independently of answers",
        "constant": "Calls arrive at equal intervals, independently of answers",
        "bursty": "Calls arrive in bursts, independently of answers",
        "closed": "Each user sends the next call as soon as the last is answered, so slow answers lower the load",
        "ramp": "Calls arrive at random at a rate that grows linearly from 0 to twice the load, which is its mean",
        "recorded": "Stored invocations are repeated with their prompts and sessions, sped up or slowed down so that "
        "their mean rate is the load; a later call of a session follows the previous answer after its think time",
    }[design.arrivals]
    way = (
        f"the highest load is searched for in at most {seconds(design.seconds)}: doubled or halved, bisected, then "
        "fitted by a line of the logit of the share of calls beyond the limit"
        if design.is_search
        else f"{plural(len(design.loads), 'load')} of {seconds(design.seconds)} each were offered one after another"
    )
    sessions = scenario_sentence(design.session_scenario())
    if (traffic := design.traffic) is not None:
        sessions = f"They are {plural(traffic.calls, 'invocation')} of {plural(traffic.sessions, 'session')}"
    requests_text = "this prompt" if design.requests is None and traffic is None else "these requests"
    limits = [
        f"The load was offered with {requests_text} only, from this machine; other requests may have another limit.",
        "The cost of calls does not include the memory of sessions that wait between calls.",
    ]
    if design.keeps_sessions:
        limits.append("An agent that remembers its session reads a longer prompt with every call in it.")
    if result.scope == "local":
        limits.append(
            "The agent ran beside the client on this machine: AWS's network, microVMs and queues are not included."
        )
    if any("simulated" in label for label in result.labels):
        limits.append("The model is simulated: its part of the time is a setting, not a measurement.")
    loads = f", loads={list(design.loads)}" if design.loads else f", lowest={design.lowest}, highest={design.highest}"
    return StudyMethod(
        notes=[
            f"{arrivals}; {way} (seed {design.seed}).",
            f"{sessions}. Calls are made by processes of the load engine, one for each processor.",
            *([] if design.requests is None else [f"{requests_sentence(read_value(design.requests))}."]),
            "Times count from the moment at which a call was to start, so that neither a late client nor a slow answer "
            "hides waiting; every step shows how late its calls were sent.",
            "The first fifth of a step is excluded from percentiles, because the agent is idle before it. Failed calls "
            "are excluded too, and count as exceeding every limit on a latency.",
            f"Intervals ({percent(CONFIDENCE)}) are those of batches of consecutive calls, which depend on each other.",
            "Where the time went: means of the parts of traces of calls spread over a step; the parts add up.",
        ],
        limits=limits,
        run_again=f"loom.LoadStudy(agent, slo={design.slo!r}{loads}, arrivals={design.arrivals!r}, "
        f"seconds={design.seconds}, {_calls_of(design)}, seed={design.seed}{timeout_argument(design.timeout_s)}).run()",
        facts={"seed": design.seed},
    )


def _calls_of(design: LoadDesign) -> str:
    """Return the arguments that define the calls."""
    sessions = design.sessions if design.scenario is None else read_value(design.scenario)
    requests = f"prompt={design.prompt!r}" if design.requests is None else f"requests={read_value(design.requests)}"
    return requests if design.recorded is not None else f"sessions={sessions}, {requests}"


def details(result: LoadResult) -> dict[str, Any]:
    """Return this study's additions to the common JSON summary."""
    highest, limit, cost = result.found, load_limit(result), result.cost
    return {
        "format": FORMAT,
        "slo": result.design.slo,
        "highest": None
        if highest is None
        else {
            "load": highest.load,
            "low": highest.low,
            "high": highest.high,
            "is_within_tolerance": highest.is_within_tolerance,
            "reason": highest.reason,
        },
        "limit": {
            "kind": limit.kind,
            "load": limit.load,
            "part": limit.part,
            "span": limit.span,
            "grew_ms": limit.grew_ms,
            "share": limit.share,
        },
        "cost": {
            "usd_per_call": None if cost is None else cost.usd,
            "is_simulated": cost is not None and cost.is_simulated,
            "text": cost_text(result),
        },
        "steps": [
            {
                "load": step.load,
                "seconds": step.seconds,
                "outcome": step.outcome,
                "figures": None if step.figures is None else stored_figures(step.figures),
                "kinds": {kind: stored_figures(figures) for kind, figures in step.kinds.items()},
            }
            for step in result.by_load
        ],
        "parts_ms": {
            str(step.load): dict(result.parts[step.position].part_ms)
            for step in result.traced_steps
            if step.position in result.parts
        },
    }


def sections(result: LoadResult) -> list[Markup]:
    """Return the table of the kinds of calls, if calls differ."""
    kinds_table = kinds(result)
    if not kinds_table.rows:
        return []
    rows = [(row, ("", "")) for row in kinds_table.rows]
    return [fragment("loomlib.experiments:table.html.j2", columns=kinds_table.columns, rows=rows)]
