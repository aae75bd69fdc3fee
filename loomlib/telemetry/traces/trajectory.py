"""The trajectories of a trace: one for each agent, each below the agent that called it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from .calls import loops
from .conversation import SPEAKERS, Conversation
from .forest import place_of
from .span import Span
from .steps import Trajectory
from .tool_content import call_id_of
from .trace import Trace


def trajectory(trace: Trace) -> Trajectory:
    """The trajectory of the outermost agent; of several one after the other, their steps in that order."""
    agents = {span.span_id: span for span in trace.of_operation("invoke_agent")}
    spoken = trace.of_operation(*SPEAKERS)
    where = _agents_above(trace, agents, spoken)
    groups: dict[str, list[Span]] = {id: [] for id in agents}
    for span in spoken:
        groups.setdefault(where[span.span_id], []).append(span)
    records = trace.records_by_span()
    inner: dict[str, list[Trajectory]] = {}
    tops: list[Trajectory] = []
    levels = _levels(agents, where)
    for id in sorted(
        groups, key=lambda each: (-levels.get(each, -1), agents[each].start_ns if each in agents else 0, each)
    ):
        agent = agents.get(id)
        found = Conversation(records).of(agent, groups[id], tuple(inner.get(id, ())))
        above = "" if agent is None else where[agent.span_id]
        if agent is not None and above:
            inner.setdefault(above, []).append(replace(found, call_id=_tool_above(trace, agent)))
        elif agent is not None or found.steps:
            tops.append(found)
    if not tops:
        return Trajectory(agent_name=None, steps=(), final_answer=None, problems=("no_spans",))
    if len(tops) == 1:
        return tops[0]
    tops.sort(key=lambda top: (agents[top.span_id].start_ns if top.span_id else top.steps[0].time_ns, top.span_id))
    return Trajectory(
        agent_name=tops[0].agent_name,
        steps=tuple(step for top in tops for step in top.steps),
        final_answer=next((top.final_answer for top in reversed(tops) if top.final_answer is not None), None),
        span_id=tops[0].span_id,
        problems=tuple(sorted({problem for top in tops for problem in top.problems})),
        history=tops[0].history,
        agents=tuple(agent for top in tops for agent in top.agents),
    )


def _agents_above(trace: Trace, agents: Mapping[str, Span], spoken: Iterable[Span]) -> dict[str, str]:
    """The agent above each agent, model call, cycle and tool, by span id; "" where there is none.

    Of what was cut off from its agent, because a span between the two is missing, the innermost agent whose time it
    lies in.
    """
    where = dict(loops(trace).agents)
    if "orphan" not in trace.marks:
        return where
    lost = [span for span in (*agents.values(), *spoken) if not where[span.span_id] and _is_cut_off(trace, span)]
    waiting = sorted(agents.values(), key=place_of, reverse=True)
    begun: list[Span] = []
    for span in sorted(lost, key=place_of):
        while waiting and place_of(waiting[-1]) < place_of(span):
            begun.append(waiting.pop())
        begun = [agent for agent in begun if agent.end_ns >= span.start_ns]
        around = (agent for agent in reversed(begun) if agent.end_ns >= span.end_ns and agent.span_id != span.span_id)
        where[span.span_id] = next((each.span_id for each in around if not _is_below(each, span, where)), "")
    return where


def _is_cut_off(trace: Trace, span: Span) -> bool:
    return "orphan" in span.marks or any("orphan" in above.marks for above in trace.ancestors(span))


def _is_below(agent: Span, span: Span, where: Mapping[str, str]) -> bool:
    at = agent.span_id
    while at and at != span.span_id:
        at = where[at]
    return bool(at)


def _levels(agents: Iterable[str], where: Mapping[str, str]) -> dict[str, int]:
    """How many agents are above each."""
    levels: dict[str, int] = {"": -1}
    for id in agents:
        path: list[str] = []
        while id not in levels:
            path.append(id)
            id = where[id]
        for each in reversed(path):
            levels[each] = levels[where[each]] + 1
    return levels


def _tool_above(trace: Trace, agent: Span) -> str:
    """The call in which an agent ran that another agent called as a tool."""
    for above in trace.ancestors(agent):
        operation = trace.operation(above)
        if operation == "execute_tool":
            return call_id_of(above)
        if operation == "invoke_agent":
            break
    return ""
