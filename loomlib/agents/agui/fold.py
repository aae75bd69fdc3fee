"""Events in, the run so far out: messages and tool calls put together, the state folded by its patches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from .events import AguiEvent, read_event
from .history import History, answer_in, said_last
from .json_patch import Document, PatchFailed
from .parts import GrowingMessage, GrowingTool, as_list, as_mapping, as_text, content_text
from .run import Activity, AguiRun, Confirmation, Subagent

_KEPT_PROBLEMS: Final = 100
_ENDS: Final = ("RUN_FINISHED", "RUN_ERROR")
_TAKEN_ANYWAY: Final = ("RUN_STARTED", *_ENDS, "TOOL_CALL_RESULT")
"""Events that mean what they say without some of their fields: agents of before 1.0 leave ids out."""


class AguiFold:
    """Takes events one by one, in any number of runs of one stream; nothing that they hold can make it raise.

    An event costs what it holds, however large the state is; `run()` costs what there is by then.

        fold = AguiFold()
        for event in agent.stream("…"):
            if isinstance(event, Chunk):
                fold.feed(event.data)
        fold.end()
        fold.run().state
    """

    def __init__(self, state: Any = None) -> None:
        self._state = Document(state)
        self._messages: dict[str, GrowingMessage] = {}
        self._tools: dict[str, GrowingTool] = {}
        self._activities: dict[str, tuple[str, Document]] = {}
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
        """The event that the data holds, None for what is none; the run takes it in."""
        event = data if isinstance(data, AguiEvent) else read_event(data)
        if event is None:
            return None
        self._count += 1
        if event.problem:
            self._complain(event.problem)
        if not event.is_known:
            self._unknown[event.type] = None
        elif not event.problem or event.type in _TAKEN_ANYWAY:
            self._check_order(event)
            self._take(event)
        return event

    def end(self) -> None:
        """The stream is over: a run that has not ended by itself was cut off."""
        if self._status == "running":
            self._status = "cut off"
            self._complain("the stream ended before the run did")

    def run(self) -> AguiRun:
        """Everything so far."""
        is_over = self._status not in ("running", "not started")
        messages = tuple(each.message() for each in self._messages.values())
        texts = [
            each.text for each in messages
            if each.id in self._streamed and each.kind == "text" and each.role == "assistant" and each.text
        ]  # fmt: skip
        return AguiRun(
            status=self._status,
            thread_id=self._thread_id,
            run_id=self._run_id,
            text="\n\n".join(texts) or self._answer,
            messages=messages,
            tools=tuple(each.tool_use(is_over=is_over) for each in self._tools.values()),
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
                Subagent(id=each.id, name=each.name, state="cut off") if is_over and each.state == "running" else each
                for each in self._subagents.values()
            ),
            usage=tuple(self._usage),
            history=self._history.messages(
                self._messages, self._tools, is_broken=self._status in ("failed", "cancelled", "cut off")
            ),
            is_whole=self._history.is_whole,
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
                self._complain("RUN_STARTED before the last run has ended")
        elif self._status == "not started" and event.type not in ("RAW", "CUSTOM", "RUN_ERROR"):
            self._complain(f"{event.type} before RUN_STARTED")
        elif self._status not in ("running", "not started") and event.type not in ("RAW", "CUSTOM"):
            self._complain(f"{event.type} after the run has ended")
        elif event.type == "RUN_FINISHED" and self._run_id and event.text("runId") not in ("", self._run_id):
            self._complain("RUN_FINISHED of another run than the one that was started")

    def _take(self, event: AguiEvent) -> None:
        kind = event.type
        if kind.startswith(("TEXT_MESSAGE_", "REASONING_MESSAGE_")):
            self._take_message(event)
        elif kind.startswith("TOOL_CALL_"):
            self._take_tool(event)
        elif kind.startswith(("STATE_", "ACTIVITY_")):
            self._take_document(event)
        elif kind.startswith("SUBAGENT_"):
            self._take_subagent(event)
        elif kind in ("RUN_STARTED", *_ENDS):
            self._take_run(event)
        elif kind in ("STEP_STARTED", "STEP_FINISHED"):
            self._take_step(event)
        elif kind == "MESSAGES_SNAPSHOT":
            self._take_messages(event)
        elif kind == "REASONING_ENCRYPTED_VALUE":
            self._history.encrypted[event.text("subtype"), event.text("entityId")] = event.text("encryptedValue")
        elif kind == "CUSTOM":
            self._custom.append((event.text("name"), event.values["value"]))

    def _take_message(self, event: AguiEvent) -> None:
        kind = "text" if event.type.startswith("TEXT") else "reasoning"
        step = event.type.rpartition("_")[2]
        id = event.text("messageId") or (self._last_message if step == "CHUNK" else "")
        known = self._messages.get(id)
        if step in ("START", "CHUNK") and known is None:
            if not id:
                self._complain(f"{event.type} without a messageId to begin with")
                return
            known = self._messages[id] = GrowingMessage(id, event.text("role") or "assistant", kind)
            self._history.note("message", id)
        elif step == "START":
            self._complain(f"{event.type} twice for one message")
        if known is None:
            self._complain(f"{event.type} of a message that was not started")
            return
        self._last_message = id
        self._streamed[id] = None
        if known.ended and step in ("CONTENT", "CHUNK"):
            self._complain(f"{event.type} of a message that has ended")
        known.parts.append(event.text("delta"))
        known.ended = known.ended or step == "END"

    def _take_tool(self, event: AguiEvent) -> None:
        step = event.type.rpartition("_")[2]
        id = event.text("toolCallId") or (self._last_tool if step == "CHUNK" else "")
        known = self._tools.get(id)
        if step in ("START", "CHUNK") and known is None:
            if not id or not event.text("toolCallName"):
                self._complain(f"{event.type} without a toolCallId and a toolCallName to begin with")
                return
            known = self._tools[id] = GrowingTool(id, event.text("toolCallName"), event.text("parentMessageId"))
            self._history.note("call", id)
        elif step == "START":
            self._complain("TOOL_CALL_START twice for one call")
        if known is None:
            if step != "RESULT" or not id:
                self._complain(f"{event.type} of a call that was not started")
                return
            known = self._tools[id] = GrowingTool(id, "", ended=True)  # of a call that an earlier run made
        self._last_tool = id
        if step in ("ARGS", "CHUNK"):
            if known.ended:
                self._complain(f"{event.type} of a call whose arguments have ended")
            known.parts.append(event.text("delta"))
        elif step == "END":
            known.ended = True
        elif step == "RESULT":
            known.ended, known.result = True, content_text(event.values.get("content"))
            self._history.note("result", id, event.text("messageId"))

    def _take_document(self, event: AguiEvent) -> None:
        id, values = event.text("messageId"), event.values
        try:
            if event.type == "STATE_SNAPSHOT":
                self._state.replace(values["snapshot"])
            elif event.type == "STATE_DELTA":
                self._state.apply(values["delta"])
            elif event.type == "ACTIVITY_SNAPSHOT":
                if id not in self._activities or values.get("replace") is not False:
                    self._activities[id] = (event.text("activityType"), Document(values["content"]))
            elif id not in self._activities:
                self._complain("ACTIVITY_DELTA of an activity that has no snapshot")
            else:
                self._activities[id][1].apply(values["patch"])
        except PatchFailed as error:
            self._complain(f"{event.type} does not apply: {error}")

    def _take_subagent(self, event: AguiEvent) -> None:
        id = event.text("subagentRunId")
        if event.type == "SUBAGENT_STARTED":
            self._subagents[id] = Subagent(id=id, name=event.text("name"), state="running")
            return
        known = self._subagents.get(id)
        if known is None:
            self._complain(f"{event.type} of a subagent that was not started")
        name = known.name if known else ""
        if event.type == "SUBAGENT_ERROR":
            self._subagents[id] = Subagent(id=id, name=name, state="failed", error=event.text("message"))
        else:
            suspended = as_mapping(event.values.get("outcome")).get("type") == "suspended"
            self._subagents[id] = Subagent(id=id, name=name, state="suspended" if suspended else "finished")

    def _take_step(self, event: AguiEvent) -> None:
        name = event.text("stepName")
        if event.type == "STEP_STARTED":
            self._steps.append(name)
            self._running_steps.append(name)
        elif name in self._running_steps:
            self._running_steps.remove(name)
        else:
            self._complain("STEP_FINISHED of a step that was not started")

    def _take_messages(self, event: AguiEvent) -> None:
        """The whole conversation: what an agent says that streams nothing, and the last word on what was streamed."""
        messages = cast("list[Any]", event.values["messages"])
        self._history.replace(messages)
        self._answer = answer_in(messages)
        for each in said_last(messages):
            id, role, text = as_text(each.get("id")), as_text(each.get("role")), content_text(each.get("content"))
            if role == "tool":
                known = self._tools.get(as_text(each.get("toolCallId")) or "")
                if known is not None:
                    known.ended, known.result = True, text
            elif id and role and role != "activity":
                kind = "reasoning" if role == "reasoning" else "text"
                self._messages.setdefault(id, GrowingMessage(id, role, kind)).parts = [text]
                self._messages[id].ended = True
                for call in map(as_mapping, as_list(each.get("toolCalls"))):
                    called, name = as_mapping(call.get("function")), as_text(call.get("id"))
                    if name and name not in self._tools:
                        parts = [as_text(called.get("arguments")) or ""]
                        self._tools[name] = GrowingTool(name, as_text(called.get("name")) or "", id, parts, ended=True)

    def _take_run(self, event: AguiEvent) -> None:
        if event.type == "RUN_STARTED":
            self._status, self._thread_id, self._run_id = "running", event.text("threadId"), event.text("runId")
            self._confirmations.clear()
            self._running_steps.clear()
            return
        self._usage += [each for each in map(as_mapping, as_list(event.values.get("usage"))) if each]
        if event.type == "RUN_ERROR":
            self._status, self._error, self._code = "failed", event.text("message"), event.text("code")
            self._error = self._error or self._code or "The agent did not say what failed"
            return
        self._result = event.values.get("result")
        outcome = as_mapping(event.values.get("outcome"))
        self._status = {"interrupt": "interrupted", "cancelled": "cancelled"}.get(
            str(outcome.get("type", "success")), "finished"
        )
        for each in as_list(outcome.get("interrupts")):
            self._ask(as_mapping(each))

    def _ask(self, found: Mapping[str, Any]) -> None:
        if not isinstance(found.get("id"), str) or not isinstance(found.get("reason"), str):
            self._complain("an interrupt without id and reason")
            return
        schema = as_mapping(found.get("responseSchema"))
        self._confirmations.append(
            Confirmation(
                id=found["id"],
                reason=found["reason"],
                message=as_text(found.get("message")) or "",
                tool_call_id=as_text(found.get("toolCallId")),
                response_schema=schema or None,
                expires_at=as_text(found.get("expiresAt")),
            )
        )

    def _complain(self, sentence: str) -> None:
        if len(self._problems) < _KEPT_PROBLEMS:
            self._problems.append(f"event {self._count}: {sentence}")
