"""Merge the messages of an agent's spans into steps, each once, although every model call repeats the history.

A tool result is recorded up to three times: by the tool's own span, by the next message to the model, and by the span
of the cycle. The first that is present counts; the others fill in what it lacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from loomlib.json_values import as_mapping, to_text

from .messages import MessageSteps, SpanMessages, Step, messages_of
from .span import LogRecord, Span
from .tool_spans import call_id_of, tool_content, tool_error_of, tool_name_of, tool_status_of
from .trajectory import Trajectory

STEP_OPERATIONS = ("chat", "cycle", "execute_tool")
"""The operations of the spans that steps are merged from."""


class StepMerger:
    """Merges the messages of one agent's spans into ordered steps."""

    def __init__(self, records: Mapping[str, Sequence[LogRecord]]) -> None:
        self._records = records
        self._tools: dict[str, Span] = {}
        self._steps: list[Step] = []
        self._history: list[Step] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._calls: dict[str, str] = {}
        self._missing_fields: dict[str, set[str]] = {}  # by answered call: the fields its result still lacks
        self._renamed: dict[str, str] = {}  # by id of a span that states no call: the call it was found to execute
        self._without_id: list[str] = []  # calls that got an id here, until a message answers them
        self._prompt_at = 0
        self._last_text = ""

    def merge(self, agent: Span | None, spans: Sequence[Span], inner: tuple[Trajectory, ...]) -> Trajectory:
        """Return the trajectory of one agent.

        Args:
            agent: The agent's span, None for spans without one.
            spans: Its model calls, cycles and tools, by start.
            inner: The trajectories of the agents it called.
        """
        chats, cycles, tools = ([span for span in spans if span.operation == name] for name in STEP_OPERATIONS)
        self._tools = {call_id_of(span): span for span in tools}
        answer = self._add_spans(chats)
        if self._is_empty():
            answer = self._add_spans(cycles)
        of_agent = SpanMessages() if agent is None else self._messages(agent)
        if agent is not None and self._is_empty():
            self._add_spans([agent])
        self._add_remaining_tools()
        if self._calls.keys() - self._missing_fields.keys() or any(self._missing_fields.values()):
            self._add_results_of_cycles(cycles)
        self._add_errors()
        answer = self._final_answer(answer, of_agent, agent)
        return Trajectory(
            agent_name=None if agent is None else _agent_name(agent),
            steps=tuple(self._steps),
            final_answer=answer,
            span_id="" if agent is None else agent.span_id,
            problems=tuple(self._problems(agent, chats, spans, inner)),
            history=tuple(self._history),
            agents=tuple(replace(one, call_id=self._renamed.get(one.call_id, one.call_id)) for one in inner),
        )

    def _messages(self, span: Span) -> SpanMessages:
        return messages_of(span, self._records.get(span.span_id, ()))

    def _is_empty(self) -> bool:
        return not any(step.kind != "system" for step in self._steps)

    def _add_spans(self, spans: Sequence[Span]) -> str | None:
        """Add the messages of these spans; return the text of the last output if it called no tool."""
        answer: str | None = None
        for index, span in enumerate(spans):
            messages = self._messages(span)
            self._add_inputs(messages, span)
            if not index:
                self._split_history()
            for message in messages.outputs:
                self._add_message(message, span.span_id, span.end_ns, is_new=True)
            for message in messages.results:  # results of calls not yet known follow in order with the next span
                known_results = tuple(step for step in message if step.call_id in self._calls)
                self._add_message(known_results, span.span_id, span.end_ns, is_new=False)
            last = messages.outputs[-1] if messages.outputs else ()
            self._last_text = _text(last) or self._last_text
            answer = None if any(step.kind == "tool_call" for step in last) else _text(last) or None
        return answer

    def _add_inputs(self, messages: SpanMessages, span: Span) -> None:
        """Add the span's input, except what was already added."""
        for step in messages.system:
            if not self._counts["system", step.text]:
                self._counts["system", step.text] += 1
                self._steps.append(replace(step, span_id=span.span_id, time_ns=span.start_ns))
        repeated: Counter[tuple[str, str]] = Counter()
        for message in messages.in_order():
            new_steps: list[Step] = []
            for step in message:
                if not step.call_id:
                    key = _key(step)
                    repeated[key] += 1
                    if repeated[key] <= self._counts[key]:
                        continue
                new_steps.append(step)
            self._add_message(tuple(new_steps), span.span_id, span.start_ns, is_new=False)

    def _split_history(self) -> None:
        """Move everything before this invocation's prompt in the first model call's input to the history."""
        self._history = [step for step in self._steps[: self._prompt_at] if step.kind != "system"]
        system = [step for step in self._steps[: self._prompt_at] if step.kind == "system"]
        self._steps = system + self._steps[self._prompt_at :]

    def _add_message(self, message: MessageSteps, span_id: str, time_ns: int, *, is_new: bool) -> None:
        new_calls: list[Step] = []
        has_prompt = False
        has_calls = any(step.kind == "tool_call" for step in message)
        for step in message:
            if has_calls and step.is_words and not step.text:  # OpenAI's streams have "" beside the calls
                continue
            placed = replace(step, span_id=span_id, time_ns=time_ns)
            if not step.call_id:
                self._counts[_key(step)] += 1
            if step.kind == "tool_result":
                self._add_result(placed)
                continue
            if step.kind == "tool_call":
                if step.call_id in self._calls:
                    continue
                if not step.call_id:
                    placed = replace(placed, call_id=f"call {len(self._calls) + 1}")
                    self._without_id.append(placed.call_id)
                self._calls[placed.call_id] = placed.name
                new_calls.append(placed)
            elif step.kind == "user" and not has_prompt:
                has_prompt, self._prompt_at = True, len(self._steps)
            self._steps.append(placed)
        for call in new_calls if is_new else ():
            self._add_result_of_span(call)

    def _add_result(self, result: Step) -> None:
        """Insert a result, or fill in what an inserted one lacks."""
        id = result.call_id or (self._without_id.pop(0) if self._without_id else "")
        missing = self._missing_fields.get(id) if id else None
        if missing is None:
            self._insert_result(replace(result, call_id=id, name=self._calls.get(id, result.name)))
            return
        added = {name: value for name in missing if (value := getattr(result, name)) not in (None, "")}
        if added:
            at = next(at for at, step in enumerate(self._steps) if step.kind == "tool_result" and step.call_id == id)
            self._steps[at] = replace(self._steps[at], **added)
            missing -= added.keys()

    def _insert_result(self, result: Step, at: int | None = None) -> None:
        self._steps.insert(len(self._steps) if at is None else at, result)
        if result.call_id:
            fields = (("result", result.result is None), ("status", not result.status))
            self._missing_fields[result.call_id] = {name for name, is_missing in fields if is_missing}

    def _add_result_of_span(self, call: Step) -> None:
        """Insert the result of a new call from the tool's own span, which states its status."""
        span = self._span_of(call)
        if span is not None and call.call_id not in self._missing_fields:
            self._insert_result(self._result(call.call_id, span))

    def _span_of(self, call: Step) -> Span | None:
        """Return the span of a call; of those that state no call, the first of its tool, with its arguments if any."""
        if (span := self._tools.get(call.call_id)) is not None:
            return span
        unused = [
            tool
            for id, tool in self._tools.items()
            if id.startswith("span ") and id not in self._calls and tool_name_of(tool) == call.name
        ]
        if not unused:
            return None
        equal = (tool for tool in unused if _is_given(call.arguments, self._content(tool)[0]))
        span = next(equal, unused[0])
        self._renamed[call_id_of(span)] = call.call_id
        self._tools[call.call_id] = self._tools.pop(call_id_of(span))
        return span

    def _content(self, span: Span) -> tuple[Any, Any]:
        return tool_content(span, self._records.get(span.span_id, ()))

    def _result(self, call_id: str, span: Span) -> Step:
        return Step(
            kind="tool_result",
            name=tool_name_of(span),
            call_id=call_id,
            result=self._content(span)[1],
            status=tool_status_of(span),
            span_id=span.span_id,
            time_ns=span.end_ns,
        )

    def _add_remaining_tools(self) -> None:
        """Add tools that no message mentions: the model's span is missing or carries no content."""
        added = False
        for step in tuple(self._steps):
            if step.kind == "tool_call":
                self._span_of(step)
        for call_id, span in self._tools.items():
            if call_id not in self._calls:
                arguments, _ = self._content(span)
                call = Step(kind="tool_call", name=tool_name_of(span), call_id=call_id, arguments=arguments)
                self._calls[call_id] = call.name
                self._steps.append(replace(call, span_id=span.span_id, time_ns=span.start_ns))
                added = True
            if call_id not in self._missing_fields:
                self._insert_result(self._result(call_id, span))
                added = True
            elif self._missing_fields[call_id]:
                self._add_result(self._result(call_id, span))
        if added:
            self._steps.sort(key=lambda step: step.time_ns)

    def _add_results_of_cycles(self, cycles: Sequence[Span]) -> None:
        """Fill in results from the cycles' spans where no other span has them."""
        for cycle in cycles:
            messages = self._messages(cycle)
            for message in (*messages.inputs, *messages.results, *messages.outputs):
                for step in message:
                    if step.kind != "tool_result" or step.call_id not in self._calls:
                        continue
                    result = replace(step, span_id=cycle.span_id, time_ns=cycle.end_ns)
                    if step.call_id in self._missing_fields:
                        self._add_result(result)
                    elif (at := self._after_call(step.call_id)) is not None:
                        self._insert_result(replace(result, name=self._calls[step.call_id]), at)

    def _after_call(self, call_id: str) -> int | None:
        """Return where the result of a call belongs: after the calls made with it, and their results."""
        places = (at for at, step in enumerate(self._steps) if step.kind == "tool_call" and step.call_id == call_id)
        at = next(places, None)
        if at is None:  # a call of earlier invocations
            return None
        while at < len(self._steps) and self._steps[at].kind in ("tool_call", "tool_result"):
            at += 1
        return at

    def _add_errors(self) -> None:
        """Where a tool failed without a result, take the error from its span."""
        for index, step in enumerate(self._steps):
            if step.kind == "tool_result" and step.status == "error" and step.result is None:
                span = self._tools.get(step.call_id)
                if span is not None and (error := tool_error_of(span)):
                    self._steps[index] = replace(step, result=error)

    def _final_answer(self, answer: str | None, of_agent: SpanMessages, agent: Span | None) -> str | None:
        """Return the model's last text, or the answer in the agent's own span if there is none."""
        output = _text(of_agent.outputs[-1]) if of_agent.outputs else ""
        if answer is not None or not output or agent is None:
            return answer
        if output.strip() == self._last_text.strip():  # Strands ends it with a line break
            return self._last_text
        if not any(step.kind == "assistant" and step.span_id == agent.span_id for step in self._steps):
            self._steps.append(Step(kind="assistant", text=output, span_id=agent.span_id, time_ns=agent.end_ns))
        return output

    def _problems(
        self, agent: Span | None, chats: Sequence[Span], spans: Iterable[Span], inner: Sequence[Trajectory]
    ) -> Iterator[str]:
        if chats and not any(step.kind in ("user", "assistant") for step in self._steps):
            yield "no_content"
        if self._calls.keys() & {step.call_id for step in self._steps} - self._missing_fields.keys():
            yield "no_result"
        if not chats and not inner:
            yield "no_model_call"
        if (agent is not None and agent.is_failed) or (chats and chats[-1].is_failed):
            yield "failed"
        all_spans = [*spans, *([agent] if agent is not None else [])]
        if any(
            "values_cut" in span.marks or any(record.is_cut for record in self._records.get(span.span_id, ()))
            for span in all_spans
        ):
            yield "values_cut"


def _is_given(arguments: object, recorded: object) -> bool:
    """Return whether a span recorded these arguments; of a single one, some libraries record the value alone."""
    values = list(as_mapping(arguments).values())
    return arguments == recorded or (len(values) == 1 and values[0] == recorded)


def _key(step: Step) -> tuple[str, str]:
    """Return the key by which a step without a call id is recognized when it is repeated."""
    if step.kind == "tool_call":
        return step.kind, f"{step.name} {to_text(step.arguments)}"
    return step.kind, to_text(step.result) if step.kind == "tool_result" else step.text


def _text(message: MessageSteps) -> str:
    return "\n".join(step.text for step in message if step.kind == "assistant" and step.is_words)


def _agent_name(span: Span) -> str | None:
    return to_text(span.facts.get("gen_ai.agent.name")) or span.name.removeprefix("invoke_agent ").strip() or None
