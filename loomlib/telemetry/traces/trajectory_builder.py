"""Build the trajectories of a trace: one per agent, nested below the agent that called it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from .calls import agent_loops
from .span import Span
from .span_tree import sort_key
from .step_merger import STEP_OPERATIONS, StepMerger
from .tool_spans import call_id_of
from .trace import Trace
from .trajectory import Trajectory


def trajectory(trace: Trace) -> Trajectory:
    """Return the trajectory of the outermost agent; of several agents one after another, their steps in that order.

    Examples:
        >>> trajectory(trace).tool_names
    """
    agents = {span.span_id: span for span in trace.of_operation("invoke_agent")}
    step_spans = trace.of_operation(*STEP_OPERATIONS)
    owners = _owning_agents(trace, agents, step_spans)
    groups: dict[str, list[Span]] = {id: [] for id in agents}
    for span in step_spans:
        groups.setdefault(owners[span.span_id], []).append(span)
    records = trace.records_by_span()
    inner: dict[str, list[Trajectory]] = {}
    tops: list[Trajectory] = []
    levels = _levels(agents, owners)
    for id in sorted(groups, key=lambda key: (-levels.get(key, -1), agents[key].start_ns if key in agents else 0, key)):
        agent = agents.get(id)
        merged = StepMerger(records).merge(agent, groups[id], tuple(inner.get(id, ())))
        parent = "" if agent is None else owners[agent.span_id]
        if agent is not None and parent:
            inner.setdefault(parent, []).append(replace(merged, call_id=_tool_above(trace, agent)))
        elif agent is not None or merged.steps:
            tops.append(merged)
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


def _owning_agents(trace: Trace, agents: Mapping[str, Span], step_spans: Iterable[Span]) -> dict[str, str]:
    """Return the agent that owns each agent, model call, cycle and tool, by span id; "" where there is none.

    A span that is detached from its agent, because a span between the two is missing, belongs to the innermost agent
    that contains its time.
    """
    owners = dict(agent_loops(trace).agents)
    if "orphan" not in trace.marks:
        return owners
    detached = [
        span for span in (*agents.values(), *step_spans) if not owners[span.span_id] and _is_detached(trace, span)
    ]
    waiting = sorted(agents.values(), key=sort_key, reverse=True)
    open_agents: list[Span] = []
    for span in sorted(detached, key=sort_key):
        while waiting and sort_key(waiting[-1]) < sort_key(span):
            open_agents.append(waiting.pop())
        open_agents = [agent for agent in open_agents if agent.end_ns >= span.start_ns]
        around = (
            agent for agent in reversed(open_agents) if agent.end_ns >= span.end_ns and agent.span_id != span.span_id
        )
        owners[span.span_id] = next((agent.span_id for agent in around if not _is_below(agent, span, owners)), "")
    return owners


def _is_detached(trace: Trace, span: Span) -> bool:
    return "orphan" in span.marks or any("orphan" in above.marks for above in trace.ancestors(span))


def _is_below(agent: Span, span: Span, owners: Mapping[str, str]) -> bool:
    at = agent.span_id
    while at and at != span.span_id:
        at = owners[at]
    return bool(at)


def _levels(agents: Iterable[str], owners: Mapping[str, str]) -> dict[str, int]:
    """Return the number of agents above each agent."""
    levels: dict[str, int] = {"": -1}
    for id in agents:
        path: list[str] = []
        while id not in levels:
            path.append(id)
            id = owners[id]
        for member in reversed(path):
            levels[member] = levels[owners[member]] + 1
    return levels


def _tool_above(trace: Trace, agent: Span) -> str:
    """Return the tool call in which an agent ran that another agent called as a tool."""
    for above in trace.ancestors(agent):
        operation = trace.operation(above)
        if operation == "execute_tool":
            return call_id_of(above)
        if operation == "invoke_agent":
            break
    return ""
