"""How a trajectory is put together from a trace: every model call repeats all that was said before it; each step once.

What a tool answered is told up to three times: by the tool's own span, by the next message to the model, and by the
span of the cycle. Whichever of them is there is taken; where one says less, the others fill it in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from .messages import Message, Said, Step, said_around
from .span import LogRecord, Span
from .steps import Trajectory
from .tool_content import call_id_of, said_by_tool, tool_error_of, tool_name_of, tool_status_of
from .values import text_of

SPEAKERS = ("chat", "cycle", "execute_tool")
"""The operations that a conversation is put together from."""


class Conversation:
    """Puts one agent's steps in order."""

    def __init__(self, records: Mapping[str, Sequence[LogRecord]]) -> None:
        self._records = records
        self._tools: dict[str, Span] = {}
        self._steps: list[Step] = []
        self._earlier: list[Step] = []
        self._told: Counter[tuple[str, str]] = Counter()
        self._calls: dict[str, str] = {}
        self._lacking: dict[str, set[str]] = {}  # by answered call: what is still to be told of the answer
        self._without_id: list[str] = []  # calls that were given an id here, until a message answers them
        self._prompt_at = 0
        self._last_words = ""

    def of(self, agent: Span | None, spans: Sequence[Span], inner: tuple[Trajectory, ...]) -> Trajectory:
        chats, cycles, tools = ([span for span in spans if span.operation == each] for each in SPEAKERS)
        self._tools = {call_id_of(span): span for span in tools}
        answer = self._speak(chats)
        if self._nothing_said():
            answer = self._speak(cycles)
        of_agent = Said() if agent is None else self._said(agent)
        if agent is not None and self._nothing_said():
            self._speak([agent])
        self._left_over()
        if self._calls.keys() - self._lacking.keys() or any(self._lacking.values()):
            self._ask(cycles)
        self._tell_errors()
        answer = self._final(answer, of_agent, agent)
        return Trajectory(
            agent_name=None if agent is None else _agent_name(agent),
            steps=tuple(self._steps),
            final_answer=answer,
            span_id="" if agent is None else agent.span_id,
            problems=tuple(self._problems(agent, chats, spans, inner)),
            history=tuple(self._earlier),
            agents=inner,
        )

    def _said(self, span: Span) -> Said:
        return said_around(span, self._records.get(span.span_id, ()))

    def _nothing_said(self) -> bool:
        return not any(step.kind != "system" for step in self._steps)

    def _speak(self, spans: Sequence[Span]) -> str | None:
        """Take what was said around each of these; the words of the last, if it asked for no tool."""
        answer: str | None = None
        for place, span in enumerate(spans):
            said = self._said(span)
            self._hear(said, span)
            if not place:
                self._begin_here()
            for message in said.outputs:
                self._say(message, span.span_id, span.end_ns, is_new=True)
            for message in said.results:  # of calls that are not known yet the next span tells in the right order
                known = tuple(step for step in message if step.call_id in self._calls)
                self._say(known, span.span_id, span.end_ns, is_new=False)
            last = said.outputs[-1] if said.outputs else ()
            self._last_words = _words(last) or self._last_words
            answer = None if any(step.kind == "tool_call" for step in last) else _words(last) or None
        return answer

    def _hear(self, said: Said, span: Span) -> None:
        """What the span was given: of it, only what was not told before."""
        for step in said.system:
            if not self._told["system", step.text]:
                self._told["system", step.text] += 1
                self._steps.append(replace(step, span_id=span.span_id, time_ns=span.start_ns))
        again: Counter[tuple[str, str]] = Counter()
        for message in said.woven():
            fresh: list[Step] = []
            for step in message:
                if not step.call_id:
                    key = _key(step)
                    again[key] += 1
                    if again[key] <= self._told[key]:
                        continue
                fresh.append(step)
            self._say(tuple(fresh), span.span_id, span.start_ns, is_new=False)

    def _begin_here(self) -> None:
        """What was said before this invocation's prompt, the last that the first model call was given, is history."""
        self._earlier = [step for step in self._steps[: self._prompt_at] if step.kind != "system"]
        system = [step for step in self._steps[: self._prompt_at] if step.kind == "system"]
        self._steps = system + self._steps[self._prompt_at :]

    def _say(self, message: Message, span_id: str, time_ns: int, *, is_new: bool) -> None:
        called: list[Step] = []
        has_asked = False
        for step in message:
            placed = replace(step, span_id=span_id, time_ns=time_ns)
            if not step.call_id:
                self._told[_key(step)] += 1
            if step.kind == "tool_result":
                self._answer(placed)
                continue
            if step.kind == "tool_call":
                if step.call_id in self._calls:
                    continue
                if not step.call_id:
                    placed = replace(placed, call_id=f"call {len(self._calls) + 1}")
                    self._without_id.append(placed.call_id)
                self._calls[placed.call_id] = placed.name
                called.append(placed)
            elif step.kind == "user" and not has_asked:
                has_asked, self._prompt_at = True, len(self._steps)
            self._steps.append(placed)
        for call in called if is_new else ():
            self._answer_by_span(call)

    def _answer(self, result: Step) -> None:
        """Place a result, or fill in what is not known yet of one that is there."""
        id = result.call_id or (self._without_id.pop(0) if self._without_id else "")
        lacking = self._lacking.get(id) if id else None
        if lacking is None:
            self._place(replace(result, call_id=id, name=self._calls.get(id, result.name)))
            return
        news = {name: value for name in lacking if (value := getattr(result, name)) not in (None, "")}
        if news:
            place = next(at for at, step in enumerate(self._steps) if step.kind == "tool_result" and step.call_id == id)
            self._steps[place] = replace(self._steps[place], **news)
            lacking -= news.keys()

    def _place(self, result: Step, at: int | None = None) -> None:
        self._steps.insert(len(self._steps) if at is None else at, result)
        if result.call_id:
            wanted = (("result", result.result is None), ("status", not result.status))
            self._lacking[result.call_id] = {name for name, is_lacking in wanted if is_lacking}

    def _answer_by_span(self, call: Step) -> None:
        """The result of a call just made, from the tool's own span, which knows its status."""
        span = self._tools.get(call.call_id)
        if span is None and call.call_id in self._without_id:
            known = (each for id, each in self._tools.items() if id.startswith("span ") and id not in self._calls)
            span = next((each for each in known if tool_name_of(each) == call.name), None)
            if span is not None:
                self._tools[call.call_id] = self._tools.pop(call_id_of(span))
        if span is not None and call.call_id not in self._lacking:
            self._place(self._result(call.call_id, span))

    def _result(self, call_id: str, span: Span) -> Step:
        return Step(
            kind="tool_result",
            name=tool_name_of(span),
            call_id=call_id,
            result=said_by_tool(span, self._records.get(span.span_id, ()))[1],
            status=tool_status_of(span),
            span_id=span.span_id,
            time_ns=span.end_ns,
        )

    def _left_over(self) -> None:
        """Tools that no message speaks of: the model's span is missing or carries no content."""
        added = False
        for call_id, span in self._tools.items():
            if call_id not in self._calls:
                arguments, _ = said_by_tool(span, self._records.get(span.span_id, ()))
                call = Step(kind="tool_call", name=tool_name_of(span), call_id=call_id, arguments=arguments)
                self._calls[call_id] = call.name
                self._steps.append(replace(call, span_id=span.span_id, time_ns=span.start_ns))
                added = True
            if call_id not in self._lacking:
                self._place(self._result(call_id, span))
                added = True
            elif self._lacking[call_id]:
                self._answer(self._result(call_id, span))
        if added:
            self._steps.sort(key=lambda step: step.time_ns)

    def _ask(self, cycles: Sequence[Span]) -> None:
        """What no other span says of results, from the cycles' spans."""
        for cycle in cycles:
            said = self._said(cycle)
            for message in (*said.inputs, *said.results, *said.outputs):
                for step in message:
                    if step.kind != "tool_result" or step.call_id not in self._calls:
                        continue
                    found = replace(step, span_id=cycle.span_id, time_ns=cycle.end_ns)
                    if step.call_id in self._lacking:
                        self._answer(found)
                    elif (at := self._after_call(step.call_id)) is not None:
                        self._place(replace(found, name=self._calls[step.call_id]), at)

    def _after_call(self, call_id: str) -> int | None:
        """Where the result of a call belongs: after the calls that were made with it, and their results."""
        places = (at for at, step in enumerate(self._steps) if step.kind == "tool_call" and step.call_id == call_id)
        at = next(places, None)
        if at is None:  # a call of earlier invocations
            return None
        while at < len(self._steps) and self._steps[at].kind in ("tool_call", "tool_result"):
            at += 1
        return at

    def _tell_errors(self) -> None:
        """Where a tool failed and left no result, its span may say why."""
        for place, step in enumerate(self._steps):
            if step.kind == "tool_result" and step.status == "error" and step.result is None:
                span = self._tools.get(step.call_id)
                if span is not None and (error := tool_error_of(span)):
                    self._steps[place] = replace(step, result=error)

    def _final(self, answer: str | None, of_agent: Said, agent: Span | None) -> str | None:
        """The model's last words; where they were none, what the agent's own span says that it answered."""
        stated = _words(of_agent.outputs[-1]) if of_agent.outputs else ""
        if answer is not None or not stated or agent is None:
            return answer
        if stated.strip() == self._last_words.strip():  # Strands ends it with a line break
            return self._last_words
        if not any(step.kind == "assistant" and step.span_id == agent.span_id for step in self._steps):
            self._steps.append(Step(kind="assistant", text=stated, span_id=agent.span_id, time_ns=agent.end_ns))
        return stated

    def _problems(
        self, agent: Span | None, chats: Sequence[Span], spans: Iterable[Span], inner: Sequence[Trajectory]
    ) -> Iterator[str]:
        if chats and not any(step.kind in ("user", "assistant") for step in self._steps):
            yield "no_content"
        if self._calls.keys() & {step.call_id for step in self._steps} - self._lacking.keys():
            yield "no_result"
        if not chats and not inner:
            yield "no_model_call"
        if (agent is not None and agent.is_failed) or (chats and chats[-1].is_failed):
            yield "failed"
        around = [*spans, *([agent] if agent is not None else [])]
        if any(
            "values_cut" in span.marks or any(each.is_cut for each in self._records.get(span.span_id, ()))
            for span in around
        ):
            yield "values_cut"


def _key(step: Step) -> tuple[str, str]:
    """What tells whether a step without a call's id was told before."""
    if step.kind == "tool_call":
        return step.kind, f"{step.name} {text_of(step.arguments)}"
    return step.kind, text_of(step.result) if step.kind == "tool_result" else step.text


def _words(message: Message) -> str:
    return "\n".join(step.text for step in message if step.kind == "assistant" and step.is_words)


def _agent_name(span: Span) -> str | None:
    return text_of(span.attributes.get("gen_ai.agent.name")) or span.name.removeprefix("invoke_agent ").strip() or None
