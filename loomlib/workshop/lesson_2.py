"""Lesson 2, why is it slow: a trace, a prediction from it, the cause, the mend, and the proof of the mend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..errors import LoomError
from ..latency import StudyResult
from ..telemetry.diagnosis import LatencyFinding
from ..workbench import Agent
from ..workbench.trace_view import TraceView
from .exercise import Exercise, NotYet, a_number, an, expect, several

if TYPE_CHECKING:
    from ..workbench import Workbench

SLOW: Final = "harbour"
QUESTION: Final = "What is the weather in Paris, in London, in Rome and in Oslo?"
_CLOSE_ENOUGH: Final = 0.3
_SECONDS: Final = 5


def _slow_trace(bench: Workbench) -> TraceView:
    """The newest warm trace of the slow agent in which its tools ran."""
    if all(row.name != SLOW for row in bench.catalog.list()):
        raise NotYet(f"there is no agent called {SLOW} yet; run the cells above.")
    for view in bench.agent(SLOW).telemetry.traces(last=10):
        if len(view.tool_calls()) > 1 and not view.breakdown()["cold_start"].duration_ns:
            return view
    raise NotYet(
        f"the agent {SLOW} was not asked about four towns in a session that was open already; run the cells above."
    )


def _where(answer: object, bench: Workbench) -> str:
    trace = an(answer, TraceView, "a trace, which is what an invocation's .trace() returns")
    expect(trace.state == "found", f"the spans of this trace are {trace.state}; wait a moment and ask for it again.")
    expect(len(trace.tool_calls()) >= 4, "no four calls of a tool are in this trace. Ask about four towns.")
    parts = trace.breakdown()
    expect(
        not parts["cold_start"].duration_ns,
        f"this call opened its session, and {parts['cold_start'].share:.0%} of it is the cold start. Take the second "
        "call of a session: the start would hide what we are looking for.",
    )
    largest = max(parts.parts, key=lambda part: part.duration_ns)
    return f"in a warm call the largest part is {largest.name}: {largest.share:.0%} of {parts.total_ms:.0f} ms."


def _largest(answer: object, bench: Workbench) -> str:
    parts = _slow_trace(bench).breakdown()
    known = ", ".join(part.name for part in parts.parts)
    name = an(answer, str, f"the name of a part, as a text: one of {known}")
    found = next((part for part in parts.parts if part.name == name.strip().casefold()), None)
    if found is None:
        raise NotYet(f"the breakdown has no part of that name; its parts are {known}.")
    largest = max(parts.parts, key=lambda part: part.duration_ns)
    expect(found is largest, f"the part {found.name} took {found.duration_ms:.0f} ms, and another part took more.")
    took = f"the part {found.name} took {found.duration_ms:.0f} of {parts.total_ms:.0f} ms"
    return f"{took}: nothing else is worth making faster."


def _could_be(answer: object, bench: Workbench) -> str:
    said = a_number(answer, "a number of milliseconds")
    expect(said <= 0 or said >= _SECONDS, f"{said:g} looks like seconds; in milliseconds it is {said * 1000:g}.")
    trace = _slow_trace(bench)
    calls = [float(each) for each in trace.tool_calls()["duration_ms"]]
    at_once, one_by_one = max(calls), sum(calls)
    expect(
        abs(said - one_by_one) > _CLOSE_ENOUGH * at_once,
        f"about {one_by_one:.0f} ms is what they take one after the other. And if none waited for another?",
    )
    expect(
        abs(said - at_once) <= _CLOSE_ENOUGH * at_once,
        f"{said:.0f} ms is not it. Calls that run side by side are done when the slowest of them is.",
    )
    return f"the slowest of the {len(calls)} takes {at_once:.0f} ms; one after the other they take {one_by_one:.0f} ms."


def _cause(answer: object, bench: Workbench) -> str:
    found = an(answer, LatencyFinding, "a finding: one of trace.findings().findings")
    largest = _slow_trace(bench).findings().first
    if largest is None:
        raise NotYet("the trace has no finding; was it a warm call about four towns?")
    expect(
        found.rule == largest.rule,
        f"“{found.title}” has {found.ms_at_stake:.0f} ms at stake in its call; in a warm one another has more.",
    )
    return f"“{found.title}”: {found.ms_at_stake:.0f} ms would go with it. Its mend: {found.try_[0]}."


def _faster(answer: object, bench: Workbench) -> str:
    agent = an(answer, Agent, "your faster agent, which is what bench.deploy(…) returns")
    expect(agent.name != SLOW, "this is the slow one; give the faster one a folder of its own, to compare the two.")
    first = agent.invoke(QUESTION)
    if not first.ok:
        raise LoomError("Your agent failed", on=str(first.error), try_="agent.logs(), the lines that it wrote")
    cycles = first.trace().cycles()
    calls, at_once = int(cycles["tools"].sum()), int(cycles["most_at_once"].max() if len(cycles) else 0)
    expect(calls >= 4, f"it called its tool {calls} times for four towns. It should still do all of its work.")
    slowest = min(float(each) for each in first.trace().tool_calls()["duration_ms"])
    expect(slowest >= 100, "its tool is faster than the slow one's: leave the tool as it is, and change how it is run.")
    expect(at_once >= 4, f"at most {at_once} of its {calls} calls ran at the same time.")
    return f"all {calls} calls ran at the same time, and each of them still takes its {slowest:.0f} ms."


def _proof(answer: object, bench: Workbench) -> str:
    slow, fast = several(answer, StudyResult, 2, "two results of studies in a list, [slow, fast]; .run() gives one")
    expect(slow.agent_arn != fast.agent_arn, "both studies are of the same agent.")
    expect(
        min(slow.answered, fast.answered) >= 4, "of fewer than four calls one cannot say much: ask for four or more."
    )
    before, after = (sorted(each.measurements()["duration_ms"].dropna()) for each in (slow, fast))
    middle, now = before[len(before) // 2], after[len(after) // 2]
    expect(now < middle, f"the second took {now:.0f} ms and the first {middle:.0f} ms: the slow one comes first.")
    expect(
        max(after) < min(before),
        "the two overlap: one slow call of the new agent took as long as a fast one of the old. "
        "Is a cold call among them? Take those of one long session.",
    )
    return f"from {middle:.0f} to {now:.0f} ms in the middle, and the slowest new call beats the fastest old one."


EXERCISES: Final = (
    Exercise(
        id="2.1",
        title="A trace that shows what is slow every time",
        hints=(
            "An invocation has .trace().",
            "The first call of a session also pays for the start. Which one does not?",
            "answer = second.trace(), when second is the second call of its session",
        ),
        judge=_where,
    ),
    Exercise(
        id="2.2",
        title="Which part is the largest?",
        hints=(
            "trace.parts() is the breakdown as a table.",
            'trace.parts().sort_values("duration_ms") has the largest part last; the answer is its name, as a text.',
            'answer = "tools"',
        ),
        judge=_largest,
    ),
    Exercise(
        id="2.3",
        title="Predict: how long if they ran side by side?",
        hints=(
            "trace.tool_calls() lists each call of a tool with its duration_ms.",
            "Runners who start together: the race is over when the slowest is in.",
            'answer = float(trace.tool_calls()["duration_ms"].max())',
        ),
        judge=_could_be,
    ),
    Exercise(
        id="2.4",
        title="Find the cause",
        hints=(
            "trace.findings() says what costs time, the costliest first.",
            "trace.findings().first is one finding: its title, the milliseconds at stake, what to try.",
            "answer = trace.findings().first",
        ),
        judge=_cause,
    ),
    Exercise(
        id="2.5",
        title="Make it faster",
        hints=(
            "Strands runs the tools of one turn side by side, unless somebody tells it not to.",
            "Look for what is handed to Agent(…) beside the model and the tools.",
            "Take the line tool_executor=SequentialToolExecutor() out, and its import; run both cells again.",
        ),
        judge=_faster,
    ),
    Exercise(
        id="2.6",
        title="Prove it",
        hints=(
            "One call is an anecdote. loom.LatencyStudy(agent, …).run() makes several.",
            "Compare what is alike: sticky calls are those of one long session, so no cold start is in them.",
            "study = dict(cold=0, warm=0, sticky=4, prompt=question, find_starts=False); answer = "
            "[loom.LatencyStudy(slow, **study).run(), loom.LatencyStudy(fast, **study).run()]",
        ),
        judge=_proof,
    ),
)
