"""Folding AG-UI events into a run: messages and tool calls are assembled, the state is patched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from loomlib.json_values import as_list, as_mapping, as_text, text_or_none

from .events import AguiEvent, read_event
from .history import History, answer_in, messages_of_run
from .json_patch import JsonDocument, PatchError
from .parts import GrowingMessage, GrowingTool, content_text
from .run import Activity, AguiRun, Confirmation, Subagent

_MAX_PROBLEMS: Final = 100
_ENDS: Final = ("RUN_FINISHED", "RUN_ERROR")
_LENIENT: Final = ("RUN_STARTED", *_ENDS, "TOOL_CALL_RESULT")
"""Events that are understood without some of their fields: agents before protocol 1.0 omit ids."""


class AguiFold:
    """Assembles events into a run; a stream may contain several runs, and no event raises an error.

    Applying an event takes time proportional to its size, whatever the size of the state; `run()` takes time
    proportional to the run so far.

    Args:
        state: The initial state.

    Examples:
        >>> fold = AguiFold()
        >>> for event in agent.stream("…"):
        ...     if isinstance(event, Chunk):
        ...         fold.feed(event.data)
        >>> fold.end()
        >>> fold.run().state
    """

    def __init__(self, state: Any = None) -> None:
        self._state = JsonDocument(state)
        self._messages: dict[str, GrowingMessage] = {}
        self._tools: dict[str, GrowingTool] = {}
        self._activities: dict[str, tuple[str, JsonDocument]] = {}
        self._subagents: dict[str, Subagent] = {}
        self._history, self._streamed, self._answer = History(), dict[str, None](), ""
        self._confirmations: list[Confirmation] = []
        self._custom: list[tuple[str, Any]] = []
        self._steps: list[str] = []
        self._running_steps: list[str] = []
        self._usage: list[Mapping[str, Any]] = []
        self._unknown: dict[str, None] = {}
        self._problems: list[str] = []
        self._status, self._thread_id, self._run_id, self._error, self._code = "not started", "", "", "", ""
        self._result: Any = None
        self._count = 0
        self._last_message = self._last_tool = ""

    def feed(self, data: bytes | str | Mapping[str, Any] | AguiEvent) -> AguiEvent | None:
        """Apply the event in the data and return it; None when the data contains no event."""
        event = data if isinstance(data, AguiEvent) else read_event(data)
        if event is None:
            return None
        self._count += 1
        if event.problem:
            self._report(event.problem)
        if not event.is_known:
            self._unknown[event.type] = None
        elif not event.problem or event.type in _LENIENT:
            self._check_order(event)
            self._apply(event)
        return event

    def end(self) -> None:
        """Mark the end of the stream; a run without its final event gets the state `cut off`."""
        if self._status == "running":
            self._status = "cut off"
            self._report("the stream ended before the run did")

    def run(self) -> AguiRun:
        """Return the run so far."""
        is_over = self._status not in ("running", "not started")
        messages = tuple(message.message() for message in self._messages.values())
        texts = [
            message.text for message in messages
            if message.id in self._streamed and message.kind == "text" and message.role == "assistant" and message.text
        ]  # fmt: skip
        return AguiRun(
            status=self._status,
            thread_id=self._thread_id,
            run_id=self._run_id,
            text="\n\n".join(texts) or self._answer,
            messages=messages,
            tools=tuple(tool.tool_use(is_over=is_over) for tool in self._tools.values()),
            state=self._state.snapshot(),
            confirmations=tuple(self._confirmations),
            custom=tuple(self._custom),
            steps=tuple(self._steps),
            running_steps=() if is_over else tuple(self._running_steps),
            activities=tuple(
                Activity(id=id, type=type, content=document.snapshot())
                for id, (type, document) in self._activities.items()
            ),
            subagents=tuple(
                Subagent(id=subagent.id, name=subagent.name, state="cut off")
                if is_over and subagent.state == "running"
                else subagent
                for subagent in self._subagents.values()
            ),
            usage=tuple(self._usage),
            history=self._history.messages(
                self._messages, self._tools, is_broken=self._status in ("failed", "cancelled", "cut off")
            ),
            is_full_history=self._history.is_full_history,
            result=self._result,
            error=self._error,
            error_code=self._code,
            unknown=tuple(self._unknown),
            problems=tuple(self._problems),
            events=self._count,
        )

    def _check_order(self, event: AguiEvent) -> None:
        if event.type == "RUN_STARTED":
            if self._status == "running":
                self._report("RUN_STARTED before the last run has ended")
        elif self._status == "not started" and event.type not in ("RAW", "CUSTOM", "RUN_ERROR"):
            self._report(f"{event.type} before RUN_STARTED")
        elif self._status not in ("running", "not started") and event.type not in ("RAW", "CUSTOM"):
            self._report(f"{event.type} after the run has ended")
        elif event.type == "RUN_FINISHED" and self._run_id and event.text("runId") not in ("", self._run_id):
            self._report("RUN_FINISHED of a run other than the one that was started")

    def _apply(self, event: AguiEvent) -> None:
        kind = event.type
        if kind.startswith(("TEXT_MESSAGE_", "REASONING_MESSAGE_")):
            self._apply_message(event)
        elif kind.startswith("TOOL_CALL_"):
            self._apply_tool(event)
        elif kind.startswith(("STATE_", "ACTIVITY_")):
            self._apply_document(event)
        elif kind.startswith("SUBAGENT_"):
            self._apply_subagent(event)
        elif kind in ("RUN_STARTED", *_ENDS):
            self._apply_run(event)
        elif kind in ("STEP_STARTED", "STEP_FINISHED"):
            self._apply_step(event)
        elif kind == "MESSAGES_SNAPSHOT":
            self._apply_messages(event)
        elif kind == "REASONING_ENCRYPTED_VALUE":
            self._history.encrypted[event.text("subtype"), event.text("entityId")] = event.text("encryptedValue")
        elif kind == "CUSTOM":
            self._custom.append((event.text("name"), event.values["value"]))

    def _apply_message(self, event: AguiEvent) -> None:
        kind = "text" if event.type.startswith("TEXT") else "reasoning"
        step = event.type.rpartition("_")[2]
        id = event.text("messageId") or (self._last_message if step == "CHUNK" else "")
        message = self._messages.get(id)
        if step in ("START", "CHUNK") and message is None:
            if not id:
                self._report(f"{event.type} without a messageId at its beginning")
                return
            message = self._messages[id] = GrowingMessage(id, event.text("role") or "assistant", kind)
            self._history.note("message", id)
        elif step == "START":
            self._report(f"{event.type} twice for one message")
        if message is None:
            self._report(f"{event.type} of a message that was not started")
            return
        self._last_message = id
        self._streamed[id] = None
        if message.ended and step in ("CONTENT", "CHUNK"):
            self._report(f"{event.type} of a message that has ended")
        message.parts.append(event.text("delta"))
        message.ended = message.ended or step == "END"

    def _apply_tool(self, event: AguiEvent) -> None:
        step = event.type.rpartition("_")[2]
        id = event.text("toolCallId") or (self._last_tool if step == "CHUNK" else "")
        tool = self._tools.get(id)
        if step in ("START", "CHUNK") and tool is None:
            if not id or not event.text("toolCallName"):
                self._report(f"{event.type} without a toolCallId and a toolCallName at its beginning")
                return
            tool = self._tools[id] = GrowingTool(id, event.text("toolCallName"), event.text("parentMessageId"))
            self._history.note("call", id)
        elif step == "START":
            self._report("TOOL_CALL_START twice for one call")
        if tool is None:
            if step != "RESULT" or not id:
                self._report(f"{event.type} of a call that was not started")
                return
            tool = self._tools[id] = GrowingTool(id, "", ended=True)  # of a call that an earlier run made
        self._last_tool = id
        if step in ("ARGS", "CHUNK"):
            if tool.ended:
                self._report(f"{event.type} of a call whose arguments have ended")
            tool.parts.append(event.text("delta"))
        elif step == "END":
            tool.ended = True
        elif step == "RESULT":
            tool.ended, tool.result = True, content_text(event.values.get("content"))
            self._history.note("result", id, event.text("messageId"))

    def _apply_document(self, event: AguiEvent) -> None:
        id, values = event.text("messageId"), event.values
        try:
            if event.type == "STATE_SNAPSHOT":
                self._state.replace(values["snapshot"])
            elif event.type == "STATE_DELTA":
                self._state.apply(values["delta"])
            elif event.type == "ACTIVITY_SNAPSHOT":
                if id not in self._activities or values.get("replace") is not False:
                    self._activities[id] = (event.text("activityType"), JsonDocument(values["content"]))
            elif id not in self._activities:
                self._report("ACTIVITY_DELTA of an activity that has no snapshot")
            else:
                self._activities[id][1].apply(values["patch"])
        except PatchError as error:
            self._report(f"{event.type} does not apply: {error}")

    def _apply_subagent(self, event: AguiEvent) -> None:
        id = event.text("subagentRunId")
        if event.type == "SUBAGENT_STARTED":
            self._subagents[id] = Subagent(id=id, name=event.text("name"), state="running")
            return
        subagent = self._subagents.get(id)
        if subagent is None:
            self._report(f"{event.type} of a subagent that was not started")
        name = subagent.name if subagent else ""
        if event.type == "SUBAGENT_ERROR":
            self._subagents[id] = Subagent(id=id, name=name, state="failed", error=event.text("message"))
        else:
            suspended = as_mapping(event.values.get("outcome")).get("type") == "suspended"
            self._subagents[id] = Subagent(id=id, name=name, state="suspended" if suspended else "finished")

    def _apply_step(self, event: AguiEvent) -> None:
        name = event.text("stepName")
        if event.type == "STEP_STARTED":
            self._steps.append(name)
            self._running_steps.append(name)
        elif name in self._running_steps:
            self._running_steps.remove(name)
        else:
            self._report("STEP_FINISHED of a step that was not started")

    def _apply_messages(self, event: AguiEvent) -> None:
        """Apply the whole conversation: what a non-streaming agent answers, and the final form of what was streamed."""
        messages = cast("list[Any]", event.values["messages"])
        self._history.replace(messages)
        self._answer = answer_in(messages)
        for entry in messages_of_run(messages):
            id, role, text = as_text(entry.get("id")), as_text(entry.get("role")), content_text(entry.get("content"))
            if role == "tool":
                tool = self._tools.get(as_text(entry.get("toolCallId")))
                if tool is not None:
                    tool.ended, tool.result = True, text
            elif id and role and role != "activity":
                kind = "reasoning" if role == "reasoning" else "text"
                self._messages.setdefault(id, GrowingMessage(id, role, kind)).parts = [text]
                self._messages[id].ended = True
                for call in map(as_mapping, as_list(entry.get("toolCalls"))):
                    function, call_id = as_mapping(call.get("function")), as_text(call.get("id"))
                    if call_id and call_id not in self._tools:
                        parts = [as_text(function.get("arguments"))]
                        self._tools[call_id] = GrowingTool(
                            call_id, as_text(function.get("name")), id, parts, ended=True
                        )

    def _apply_run(self, event: AguiEvent) -> None:
        if event.type == "RUN_STARTED":
            self._status, self._thread_id, self._run_id = "running", event.text("threadId"), event.text("runId")
            self._error, self._code, self._result = "", "", None
            self._confirmations.clear()
            self._running_steps.clear()
            return
        self._usage += [usage for usage in map(as_mapping, as_list(event.values.get("usage"))) if usage]
        if event.type == "RUN_ERROR":
            self._status, self._error, self._code = "failed", event.text("message"), event.text("code")
            self._error = self._error or self._code or "The agent did not report what failed"
            return
        self._result = event.values.get("result")
        outcome = as_mapping(event.values.get("outcome"))
        self._status = {"interrupt": "interrupted", "cancelled": "cancelled"}.get(
            str(outcome.get("type", "success")), "finished"
        )
        for outcome_interrupt in as_list(outcome.get("interrupts")):
            self._add_confirmation(as_mapping(outcome_interrupt))

    def _add_confirmation(self, interrupt: Mapping[str, Any]) -> None:
        if not isinstance(interrupt.get("id"), str) or not isinstance(interrupt.get("reason"), str):
            self._report("an interrupt without id and reason")
            return
        schema = as_mapping(interrupt.get("responseSchema"))
        self._confirmations.append(
            Confirmation(
                id=interrupt["id"],
                reason=interrupt["reason"],
                message=as_text(interrupt.get("message")),
                tool_call_id=text_or_none(interrupt.get("toolCallId")),
                response_schema=schema or None,
                expires_at=text_or_none(interrupt.get("expiresAt")),
            )
        )

    def _report(self, sentence: str) -> None:
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(f"event {self._count}: {sentence}")
