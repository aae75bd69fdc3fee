"""What the agent did, step by step: messages, tool calls with arguments, results and their status, the final answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .calls import loops
from .messages import Message, Said, Step, plain_result, said_around
from .span import LogRecord, Span
from .trace import Trace
from .values import text_of, unpacked


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """What one agent did in a trace.

    `steps` are in the order in which they were said, from this invocation's prompt on (the system's words before it);
    what the conversation held before is `history`. `problems` names what is missing (`no_content`: the spans carry no
    messages; `no_result`: a call without a result). `agents` are the trajectories of agents that it called.
    """

    agent_name: str | None
    steps: tuple[Step, ...]
    final_answer: str | None
    span_id: str = ""
    problems: tuple[str, ...] = ()
    history: tuple[Step, ...] = field(default=(), repr=False)
    agents: tuple[Trajectory, ...] = field(default=(), repr=False)

    @property
    def system_prompt(self) -> str | None:
        """What the system said, if it did."""
        texts = [step.text for step in self.steps if step.kind == "system"]
        return "\n".join(texts) if texts else None

    @property
    def prompt(self) -> str | None:
        """The last thing the user said before the agent's final answer."""
        return next((step.text for step in reversed(self.steps) if step.kind == "user"), None)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools in the order in which they were called."""
        return tuple(step.name for step in self.steps if step.kind == "tool_call")

    def tool_calls(self) -> tuple[tuple[Step, Step | None], ...]:
        """Each call with its result."""
        results = {step.call_id: step for step in self.steps if step.kind == "tool_result"}
        return tuple((step, results.get(step.call_id)) for step in self.steps if step.kind == "tool_call")

    def table(self) -> list[dict[str, Any]]:
        """One row a step, ready for a DataFrame."""
        return [
            {
                "step": place,
                "kind": step.kind,
                "text": step.text,
                "tool": step.name,
                "call_id": step.call_id,
                "arguments": step.arguments,
                "result": step.result,
                "status": step.status,
                "span_id": step.span_id,
            }
            for place, step in enumerate(self.steps, 1)
        ]


def trajectory(trace: Trace) -> Trajectory:
    """The trajectory of the outermost agent; of several one after the other, their steps in that order."""
    where = loops(trace).agents
    groups = _by_agent(trace, where)
    records = trace.records_by_span()
    agents = {span.span_id: span for span in trace.of_operation("invoke_agent")}
    inner: dict[str, list[Trajectory]] = {}
    tops: list[Trajectory] = []
    depths = {span.span_id: depth for depth, span in trace.walk()}
    for id in sorted(
        groups, key=lambda each: (-depths.get(each, -1), agents[each].start_ns if each in agents else 0, each)
    ):
        agent = agents.get(id)
        found = _Conversation(records).of(agent, groups[id], tuple(inner.get(id, ())))
        above = "" if agent is None else where[agent.span_id]
        if above:
            inner.setdefault(above, []).append(found)
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


def _by_agent(trace: Trace, agents: Mapping[str, str]) -> dict[str, list[Span]]:
    """Model calls and tools under the agent that made them ("" where no agent is above them), by start."""
    groups: dict[str, list[Span]] = {span.span_id: [] for span in trace.of_operation("invoke_agent")}
    for span in trace.of_operation("chat", "execute_tool"):
        groups.setdefault(agents[span.span_id], []).append(span)
    return groups


class _Conversation:
    """Puts one agent's steps in order, each once, although every model call repeats all that was said before it."""

    def __init__(self, records: Mapping[str, Sequence[LogRecord]]) -> None:
        self._records = records
        self._steps: list[Step] = []
        self._texts: Counter[tuple[str, str]] = Counter()
        self._calls: dict[str, str] = {}
        self._results: set[str] = set()
        self._earlier: list[Step] = []

    def of(self, agent: Span | None, spans: Sequence[Span], inner: tuple[Trajectory, ...]) -> Trajectory:
        chats = [span for span in spans if span.operation == "chat"]
        tools = {_call_id(span): span for span in spans if span.operation == "execute_tool"}
        answer: str | None = None
        for chat in chats:
            said = self._said(chat)
            self._history(said, chat, tools)
            if chat is chats[0]:
                self._begin_here()
            for message in said.outputs:
                self._say(message, chat.span_id, chat.end_ns, tools, is_new=True)
                texts = [step.text for step in message if step.kind == "assistant"]
                answer = "\n".join(texts) if texts else answer
        of_agent = Said() if agent is None else self._said(agent)
        if agent is not None and not any(step.kind != "system" for step in self._steps):
            self._history(of_agent, agent, tools)
            self._begin_here()
            for message in of_agent.outputs:
                self._say(message, agent.span_id, agent.end_ns, tools, is_new=True)
        self._left_over(tools)
        if of_agent.outputs:
            texts = [step.text for step in of_agent.outputs[-1] if step.kind == "assistant"]
            answer = answer if answer is not None or not texts else "\n".join(texts)
        return Trajectory(
            agent_name=None if agent is None else _agent_name(agent),
            steps=tuple(self._steps),
            final_answer=answer,
            span_id="" if agent is None else agent.span_id,
            problems=tuple(self._problems(chats)),
            history=tuple(self._earlier),
            agents=inner,
        )

    def _said(self, span: Span) -> Said:
        return said_around(span, self._records.get(span.span_id, ()))

    def _history(self, said: Said, span: Span, tools: Mapping[str, Span]) -> None:
        for step in said.system:
            if not self._texts["system", step.text]:
                self._texts["system", step.text] += 1
                self._steps.append(replace(step, span_id=span.span_id, time_ns=span.start_ns))
        again: Counter[tuple[str, str]] = Counter()
        for message in said.woven():
            fresh: list[Step] = []
            for step in message:
                key = (step.kind, step.text)
                if step.kind in ("user", "assistant"):
                    again[key] += 1
                    if again[key] <= self._texts[key]:
                        continue
                fresh.append(step)
            self._say(tuple(fresh), span.span_id, span.start_ns, tools, is_new=False)

    def _begin_here(self) -> None:
        """What was said before this invocation's prompt, the last that the first model call was given, is history."""
        last = max((place for place, step in enumerate(self._steps) if step.kind == "user"), default=0)
        self._earlier = [step for step in self._steps[:last] if step.kind != "system"]
        self._steps = [step for step in self._steps[:last] if step.kind == "system"] + self._steps[last:]

    def _say(self, message: Message, span_id: str, time_ns: int, tools: Mapping[str, Span], *, is_new: bool) -> None:
        called: list[str] = []
        for step in message:
            placed = replace(step, span_id=span_id, time_ns=time_ns)
            if step.kind == "tool_call":
                if step.call_id in self._calls and step.call_id:
                    continue
                self._calls[step.call_id] = step.name
                called.append(step.call_id)
            elif step.kind == "tool_result":
                if step.call_id in self._results:
                    continue
                self._results.add(step.call_id)
                placed = replace(placed, name=self._calls.get(step.call_id, ""))
            else:
                self._texts[step.kind, step.text] += 1
            self._steps.append(placed)
        if is_new:
            self._answer_calls(called, tools)

    def _answer_calls(self, called: Sequence[str], tools: Mapping[str, Span]) -> None:
        """The results of calls just made, from the tools' own spans, which know their status."""
        for call_id in called:
            span = tools.get(call_id)
            if span is not None and call_id not in self._results:
                self._results.add(call_id)
                self._steps.append(self._result(call_id, span))

    def _result(self, call_id: str, span: Span) -> Step:
        return Step(
            kind="tool_result",
            name=_tool_name(span),
            call_id=call_id,
            result=self._tool_said(span)[1],
            status=_tool_status(span),
            span_id=span.span_id,
            time_ns=span.end_ns,
        )

    def _tool_said(self, span: Span) -> tuple[Any, Any]:
        """Arguments and result of a tool's span, as either convention records them."""
        get = span.attributes.get
        arguments = unpacked(get("gen_ai.tool.call.arguments"))
        result = plain_result(get("gen_ai.tool.call.result"))
        said = self._said(span)
        for message in said.inputs:
            for step in message:
                if arguments is None:
                    arguments = step.arguments if step.kind == "tool_call" else unpacked(step.text)
        for message in said.outputs:
            if result is None and message:
                results = [step.result for step in message if step.kind == "tool_result"]
                result = results[0] if results else "\n".join(step.text for step in message)
        return arguments, result

    def _left_over(self, tools: Mapping[str, Span]) -> None:
        """Tools that no message speaks of: the model's span is missing or carries no content."""
        added = False
        for call_id, span in tools.items():
            if call_id not in self._calls:
                arguments, _ = self._tool_said(span)
                call = Step(kind="tool_call", name=_tool_name(span), call_id=call_id, arguments=arguments)
                self._calls[call_id] = call.name
                self._steps.append(replace(call, span_id=span.span_id, time_ns=span.start_ns))
                added = True
            if call_id not in self._results:
                self._results.add(call_id)
                self._steps.append(self._result(call_id, span))
                added = True
        if added:
            self._steps.sort(key=lambda step: step.time_ns)

    def _problems(self, chats: Sequence[Span]) -> Iterator[str]:
        if chats and not any(step.kind in ("user", "assistant") for step in self._steps):
            yield "no_content"
        called = {step.call_id for step in self._steps if step.kind == "tool_call"}
        if called - self._results:
            yield "no_result"
        if not chats:
            yield "no_model_call"


def _call_id(span: Span) -> str:
    return text_of(span.attributes.get("gen_ai.tool.call.id")) or f"span {span.span_id}"


def _tool_name(span: Span) -> str:
    return text_of(span.attributes.get("gen_ai.tool.name")) or span.name.removeprefix("execute_tool ")


def _tool_status(span: Span) -> str:
    stated = text_of(span.attributes.get("gen_ai.tool.status"))
    return stated or {"error": "error", "ok": "success"}.get(span.status, "")


def _agent_name(span: Span) -> str | None:
    return text_of(span.attributes.get("gen_ai.agent.name")) or span.name.removeprefix("invoke_agent ").strip() or None
