"""Lesson 2, why is it slow: a trace, a prediction, the cause, the fix, and the proof that it helped."""

from __future__ import annotations

from typing import Final

from ..errors import LoomError
from ..latency import StudyResult
from ..presentation.formats import exact, milliseconds, percent
from ..telemetry.diagnosis import LatencyFinding
from ..workbench import Agent, Workbench
from ..workbench.trace_view import TraceView
from .exercise import Exercise, NotSolvedError, a_number, an, expect, several

SLOW: Final = "harbour"
QUESTION: Final = "What is the weather in Paris, in London, in Rome and in Oslo?"
_CLOSE_ENOUGH: Final = 0.3
_SECONDS: Final = 5


def _slow_trace(bench: Workbench) -> TraceView:
    """Find the newest warm trace of the slow agent in which its tools ran."""
    if all(row.name != SLOW for row in bench.context.catalog.list()):
        raise NotSolvedError(f"there is no agent called {SLOW} yet; run the cells above.")
    for view in bench.agent(SLOW).telemetry.traces(last=10):
        if len(view.tool_calls()) > 1 and not view.breakdown()["cold_start"].duration_ns:
            return view
    raise NotSolvedError(f"the agent {SLOW} has no warm call about four towns yet; run the cells above.")


def _where(answer: object, bench: Workbench) -> str:
    trace = an(answer, TraceView, "a trace, which is what an invocation's .trace() returns")
    expect(trace.state == "found", f"the spans of this trace are {trace.state}; wait a moment and call .trace() again.")
    expect(len(trace.tool_calls()) >= 4, "this trace has fewer than four tool calls. Ask about four towns.")
    parts = trace.breakdown()
    expect(
        not parts["cold_start"].duration_ns,
        f"this call started its session, and {percent(parts['cold_start'].share)} of it is the cold start. Take the "
        "second call of a session: the cold start would hide the cause.",
    )
    largest = max(parts.parts, key=lambda part: part.duration_ns)
    of_all = f"{percent(largest.share)} of {milliseconds(parts.total_ms)}"
    return f"in a warm call the largest part is {largest.name}: {of_all}."


def _largest(answer: object, bench: Workbench) -> str:
    parts = _slow_trace(bench).breakdown()
    part_names = ", ".join(part.name for part in parts.parts)
    name = an(answer, str, f"the name of a part, as a string: one of {part_names}")
    chosen_part = next((part for part in parts.parts if part.name == name.strip().casefold()), None)
    if chosen_part is None:
        raise NotSolvedError(f"the breakdown has no part with this name; its parts are {part_names}.")
    largest = max(parts.parts, key=lambda part: part.duration_ns)
    took = f"the part {chosen_part.name} took {milliseconds(chosen_part.duration_ms)}"
    expect(chosen_part is largest, f"{took}, but another part took longer.")
    return f"{took} of {milliseconds(parts.total_ms)}: no other part is worth optimizing first."


def _could_be(answer: object, bench: Workbench) -> str:
    predicted = a_number(answer, "a number of milliseconds")
    expect(
        predicted <= 0 or predicted >= _SECONDS,
        f"{exact(predicted)} looks like seconds; in milliseconds it is {exact(predicted * 1000)}.",
    )
    trace = _slow_trace(bench)
    calls = [float(tool_call) for tool_call in trace.tool_calls()["duration_ms"]]
    at_once, one_by_one = max(calls), sum(calls)
    expect(
        abs(predicted - one_by_one) > _CLOSE_ENOUGH * at_once,
        f"one after the other, they take about {milliseconds(one_by_one)}. How long do they take in parallel?",
    )
    expect(
        abs(predicted - at_once) <= _CLOSE_ENOUGH * at_once,
        f"{milliseconds(predicted)} is not right. Parallel calls end when the slowest one ends.",
    )
    return (
        f"the slowest of the {len(calls)} calls takes {milliseconds(at_once)}; "
        f"one after the other, they take {milliseconds(one_by_one)}."
    )


def _cause(answer: object, bench: Workbench) -> str:
    finding = an(answer, LatencyFinding, "a finding: one of trace.findings().findings")
    largest = _slow_trace(bench).findings().first
    if largest is None:
        raise NotSolvedError("the trace has no finding; is it a warm call about four towns?")
    expect(
        finding.rule == largest.rule,
        f"“{finding.title}” has {milliseconds(finding.ms_at_stake)} at stake; another finding of a warm call has more.",
    )
    return f"“{finding.title}”: {milliseconds(finding.ms_at_stake)} would be saved. The fix: {finding.try_[0]}."


def _faster(answer: object, bench: Workbench) -> str:
    agent = an(answer, Agent, "your faster agent, which is what bench.deploy(…) returns")
    expect(
        agent.name != SLOW,
        "this is the slow agent; write the faster one to a folder of its own.",
    )
    first = agent.invoke(QUESTION)
    if not first.ok:
        raise LoomError(
            "Your agent failed", on=str(first.error), try_="agent.telemetry.logs(), the log lines of your agent"
        )
    cycles = first.trace().cycles()
    calls, at_once = int(cycles["tools"].sum()), int(cycles["most_at_once"].max() if len(cycles) else 0)
    expect(calls >= 4, f"it called its tool {calls} times for four towns. It should still call the tool for each town.")
    slowest = min(float(tool_call) for tool_call in first.trace().tool_calls()["duration_ms"])
    expect(
        slowest >= 100, "its tool is faster than the slow agent's: leave the tool unchanged, and change how it is run."
    )
    expect(at_once >= 4, f"at most {at_once} of its {calls} calls ran at the same time.")
    return f"all {calls} calls ran at the same time, and each of them still takes at least {milliseconds(slowest)}."


def _proof(answer: object, bench: Workbench) -> str:
    slow, fast = several(answer, StudyResult, 2, "a list of two study results, [slow, fast]; .run() returns one")
    expect(slow.agent_arn != fast.agent_arn, "both studies are of the same agent.")
    expect(min(slow.answered, fast.answered) >= 4, "fewer than four calls are too few: make four or more.")
    before, after = (sorted(result.measurements()["duration_ms"].dropna()) for result in (slow, fast))
    middle, now = before[len(before) // 2], after[len(after) // 2]
    expect(
        now < middle,
        f"the second took {milliseconds(now)} and the first {milliseconds(middle)}: put the slow agent first.",
    )
    expect(
        max(after) < min(before),
        "the two overlap: a slow call of the new agent took as long as a fast call of the old one. "
        "Is a cold call among them? Use the calls of one long session.",
    )
    return (
        f"from {milliseconds(middle)} to {milliseconds(now)} at the median, "
        "and the slowest new call is faster than the fastest old one."
    )


EXERCISES: Final = (
    Exercise(
        id="2.1",
        title="A trace that shows what is slow every time",
        hints=(
            "An invocation has .trace().",
            "The first call of a session includes the cold start. Which call does not?",
            "answer = second.trace(), if second is the second call of its session",
        ),
        judge=_where,
    ),
    Exercise(
        id="2.2",
        title="Which part is the largest?",
        hints=(
            "trace.parts() is the breakdown as a table.",
            'trace.parts().sort_values("duration_ms") has the largest part last; the answer is its name, as a string.',
            'answer = "tools"',
        ),
        judge=_largest,
    ),
    Exercise(
        id="2.3",
        title="Predict: how long would they take in parallel?",
        hints=(
            "trace.tool_calls() lists each tool call with its duration_ms.",
            "Calls that start together end when the slowest one ends.",
            'answer = float(trace.tool_calls()["duration_ms"].max())',
        ),
        judge=_could_be,
    ),
    Exercise(
        id="2.4",
        title="Find the cause",
        hints=(
            "trace.findings() lists what costs time, the costliest first.",
            "trace.findings().first is one finding: its title, the milliseconds at stake, and what to try.",
            "answer = trace.findings().first",
        ),
        judge=_cause,
    ),
    Exercise(
        id="2.5",
        title="Make it faster",
        hints=(
            "Strands runs the tools of one turn in parallel unless it is configured otherwise.",
            "Look at the arguments of Agent(…) other than the model and the tools.",
            "Remove tool_executor=SequentialToolExecutor() and its import; run both cells again.",
        ),
        judge=_faster,
    ),
    Exercise(
        id="2.6",
        title="Prove it",
        hints=(
            "One call proves nothing. loom.LatencyStudy(agent, …).run() makes several.",
            "Compare like with like: sticky calls belong to one long session, so they contain no cold start.",
            "study = dict(cold=0, warm=0, sticky=4, prompt=question, find_starts=False); answer = "
            "[loom.LatencyStudy(slow, **study).run(), loom.LatencyStudy(fast, **study).run()]",
        ),
        judge=_proof,
    ),
)
