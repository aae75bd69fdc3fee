"""The answer of a load test in sentences: the load that holds, what limits it, and what it costs."""

from __future__ import annotations

from loomlib.experiments import pending_count
from loomlib.presentation.formats import exact, interval, milliseconds, money, number, percent, plural, seconds

from ..load.search import HIGHEST_HOLDS
from ..load.slo import NOT_ENOUGH_CALLS
from .limit import CLIENT, NONE, LoadLimit, at_load, load_limit
from .result import FoundLoad, LoadResult

_CALLS = 1_000


def sentences(result: LoadResult) -> list[str]:
    """Return the answer in one sentence, then its qualifications."""
    texts = [_answer(result), _unfinished(result), _precision(result), _client(result), _failures(result)]
    return [text for text in [*texts, _traced(result), _cost_limit(result), _simulated(result)] if text]


def load_text(result: LoadResult, load_found: FoundLoad) -> str:
    """Return what holds: `holds 14 calls a second [13–15]`, or `holds 8 calls a second but not 16`.

    Args:
        result: The load test.
        load_found: The load that was found.
    """
    lowest = result.design.lowest if result.low_step is None else result.low_step.load
    load = lowest if load_found.load is None else load_found.load
    noun = "user" if result.design.is_closed_loop else "call"
    unit = f"{noun if load == 1 else f'{noun}s'}{'' if result.design.is_closed_loop else ' a second'}"
    if load_found.load is None:
        return f"does not sustain even {number(load)} {unit}"
    bounds = ""
    if load_found.is_between_steps and load_found.high is not None:
        bounds = f" but not {number(load_found.high)}"
    elif load_found.low is not None and load_found.high is not None and load_found.low < load_found.high:
        bounds = f" [{interval(load_found.low, load_found.high, of=load_found.load)}]"
    return f"sustains {number(load_found.load)} {unit}{bounds}"


def cost_text(result: LoadResult) -> str:
    """Return what 1,000 calls cost: `at 14 a second 1 000 calls cost $0.42 (simulated, not billed)`."""
    cost, count = result.cost, number(_CALLS)
    step = result.cost_step
    at = "" if step is None else f"{at_load(result, step)}, "
    if cost is None:
        return f"the cost of {count} calls is unknown: {result.traces_error or 'their traces were not read'}"
    if cost.usd is None:
        return f"the cost of {count} calls is unknown: {cost.why_unknown or 'no span states what they used'}"
    least = "at least " if cost.usd_is_partial else ""
    marks = "simulated, not billed" if cost.is_simulated else "estimated" if cost.is_estimate else ""
    if result.scope == "local" and not cost.is_simulated:
        marks = "measured here at list prices, not billed"
    return f"{at}{count} calls cost {least}{money(_CALLS * cost.usd)}{f' ({marks})' if marks else ''}"


def _answer(result: LoadResult) -> str:
    highest, slo = result.found, result.design.slo
    if highest is None:
        return f"The load that the agent sustains with {slo} is unknown: no step was run."
    limit = load_limit(result)
    where = ""
    if highest.load is not None and highest.high is None:
        where = ", the highest load that was offered" if limit.kind == NONE else ""
    parts = [f"{_subject(result, limit)} {load_text(result, highest)} with {slo}{where}"]
    if limit.text:
        parts.append(limit.text)
    parts.append(cost_text(result))
    return f"{'; '.join(parts)}."


def _subject(result: LoadResult, limit: LoadLimit) -> str:
    """Return the agent as subject, qualified when the client or too few calls leave open whether it holds the load."""
    if limit.kind == CLIENT:
        return "As far as this client can tell, the agent"
    step = result.held_step
    if result.design.is_search or step is None or step.figures is None or step.outcome != NOT_ENOUGH_CALLS:
        return "The agent"
    return f"As far as {plural(step.figures.n, 'call')} can tell, the agent"


def _unfinished(result: LoadResult) -> str:
    if result.state == "complete":
        return ""
    steps = f"{plural(len(result.by_load), 'step')} measured"
    rest = "" if result.design.is_search else f", {plural(pending_count(result.steps), 'step')} pending"
    return f"This load test is not finished: {steps}{rest}."


def _precision(result: LoadResult) -> str:
    highest = result.found
    if highest is None or not result.design.is_search or highest.is_within_tolerance or result.state != "complete":
        return ""
    if highest.reason == HIGHEST_HOLDS:
        return f"The agent may sustain more: no load above {exact(result.design.highest)} was allowed."
    longer = f"more than {seconds(result.design.seconds)} would narrow its interval"
    return f"The search ended early: {highest.reason}; {longer}."


def _client(result: LoadResult) -> str:
    worst = [
        (step.figures.lag.p99_ms, step)
        for step in result.by_load
        if step.figures is not None and step.figures.lag.p99_ms is not None
    ]
    if not worst:
        return ""
    lag_ms, step = max(worst, key=lambda one: one[0])
    cpu = (
        ""
        if step.figures is None or step.figures.cpu_share is None
        else (f", and its processors were busy {percent(step.figures.cpu_share)} of the time")
    )
    return f"In its worst step, the client sent 99 of 100 calls at most {milliseconds(lag_ms)} late{cpu}."


def _failures(result: LoadResult) -> str:
    counts: dict[str, int] = {}
    n = 0
    for step in result.by_load:
        if step.figures is not None:
            n += step.figures.n
            for name, count in step.figures.failures.items():
                counts[name] = counts.get(name, 0) + count
    if not counts:
        return f"No failures in {plural(n, 'call')}." if n else ""
    listed = ", ".join(f"{number(count)} {name}" for name, count in sorted(counts.items(), key=lambda one: -one[1]))
    return f"{plural(sum(counts.values()), 'call')} failed: {listed}; a failed call counts as exceeding every limit."


def _traced(result: LoadResult) -> str:
    parts = [result.parts[step.position] for step in result.traced_steps if step.position in result.parts]
    if result.traces_error:
        return f"No traces: {result.traces_error}."
    if not parts:
        return ""
    traced_calls, calls = sum(one.n for one in parts), sum(one.calls for one in parts)
    if not traced_calls:
        return "No traces: the calls' spans were not exported."
    return f"Where the time went is known from the traces of {number(traced_calls)} of {plural(calls, 'call')}."


def _cost_limit(result: LoadResult) -> str:
    limit, cost = result.design.cost_limit_usd, result.cost
    if limit is None:
        return ""
    if cost is None or cost.usd is None:
        return f"It is unclear whether a call costs less than {money(limit)}."
    verb = "costs more" if cost.usd > limit else "costs less"
    return f"A call {verb} than the limit of {money(limit)}: {money(cost.usd)} on average."


def _simulated(result: LoadResult) -> str:
    if any("simulated" in label for label in result.labels):
        return "The model of this environment is simulated: its times are settings, and its tokens are not billed."
    return ""
