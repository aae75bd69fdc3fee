"""Events in, the run so far out: messages and tool calls put together, the state folded by its patches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from .events import AguiEvent, read_event
from .json_patch import PatchFailed, apply_patch
from .run import AguiRun, Confirmation, Message, ToolUse

_KEPT_PROBLEMS: Final = 100
_ENDS: Final = ("RUN_FINISHED", "RUN_ERROR")


@dataclass(slots=True)
class _Message:
    id: str
    role: str
    kind: str
    parts: list[str] = field(default_factory=list[str])
    ended: bool = False


@dataclass(slots=True)
class _Tool:
    id: str
    name: str
    parts: list[str] = field(default_factory=list[str])
    ended: bool = False
    result: str | None = None


class AguiFold:
    """Takes events one by one, in any number of runs of one stream; nothing that they hold can make it raise.

    fold = AguiFold()
    for event in agent.stream("…"):
        if isinstance(event, Chunk):
            fold.feed(event.data)
    fold.run().state
    """

    def __init__(self, state: Any = None) -> None:
        self._state = state
        self._messages: dict[str, _Message] = {}
        self._tools: dict[str, _Tool] = {}
        self._confirmations: list[Confirmation] = []
        self._custom: list[tuple[str, Any]] = []
        self._steps: list[str] = []
        self._unknown: dict[str, None] = {}
        self._problems: list[str] = []
        self._status, self._thread_id, self._run_id, self._error = "not started", "", "", ""
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
        elif not event.is_known:
            self._unknown[event.type] = None
        else:
            self._check_order(event)
            self._take(event)
        return event

    def run(self) -> AguiRun:
        """Everything so far."""
        messages = tuple(
            Message(id=each.id, role=each.role, text="".join(each.parts), is_complete=each.ended, kind=each.kind)
            for each in self._messages.values()
        )
        return AguiRun(
            status=self._status,
            thread_id=self._thread_id,
            run_id=self._run_id,
            text="\n\n".join(each.text for each in messages if each.kind == "text" and each.text),
            messages=messages,
            tools=tuple(_tool_use(each) for each in self._tools.values()),
            state=self._state,
            confirmations=tuple(self._confirmations),
            custom=tuple(self._custom),
            steps=tuple(self._steps),
            result=self._result,
            error=self._error,
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

    def _take(self, event: AguiEvent) -> None:
        kind = event.type
        if kind.startswith(("TEXT_MESSAGE_", "REASONING_MESSAGE_")):
            self._take_message(event)
        elif kind.startswith("TOOL_CALL_"):
            self._take_tool(event)
        elif kind.startswith("STATE_"):
            self._take_state(event)
        elif kind in ("RUN_STARTED", *_ENDS):
            self._take_run(event)
        elif kind == "STEP_STARTED":
            self._steps.append(event.text("stepName"))
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
            known = self._messages[id] = _Message(id, event.text("role") or "assistant", kind)
        elif step == "START":
            self._complain(f"{event.type} twice for one message")
        if known is None:
            self._complain(f"{event.type} of a message that was not started")
            return
        self._last_message = id
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
            known = self._tools[id] = _Tool(id, event.text("toolCallName"))
        elif step == "START":
            self._complain("TOOL_CALL_START twice for one call")
        if known is None:
            if step == "RESULT":  # of a call that an earlier run made
                known = self._tools[id] = _Tool(id, "", ended=True)
            else:
                self._complain(f"{event.type} of a call that was not started")
                return
        self._last_tool = id
        if step in ("ARGS", "CHUNK"):
            known.parts.append(event.text("delta"))
        elif step == "END":
            known.ended = True
        elif step == "RESULT":
            known.ended, known.result = True, _content(event.values["content"])

    def _take_state(self, event: AguiEvent) -> None:
        if event.type == "STATE_SNAPSHOT":
            self._state = event.values["snapshot"]
            return
        try:
            self._state = apply_patch(self._state, event.values["delta"])
        except (PatchFailed, RecursionError) as error:
            self._complain(f"STATE_DELTA does not apply: {error}")

    def _take_run(self, event: AguiEvent) -> None:
        if event.type == "RUN_STARTED":
            self._status, self._thread_id, self._run_id = "running", event.text("threadId"), event.text("runId")
            self._confirmations.clear()
            return
        if event.type == "RUN_ERROR":
            self._status, self._error = "failed", event.text("message")
            return
        self._result = event.values.get("result")
        outcome = _mapping(event.values.get("outcome"))
        self._status = {"interrupt": "interrupted", "cancelled": "cancelled"}.get(
            str(outcome.get("type", "success")), "finished"
        )
        asked = outcome.get("interrupts")
        for each in cast("list[Any]", asked) if isinstance(asked, list) else ():
            self._ask(_mapping(each))

    def _ask(self, found: Mapping[str, Any]) -> None:
        if not isinstance(found.get("id"), str) or not isinstance(found.get("reason"), str):
            self._complain("an interrupt without id and reason")
            return
        schema = _mapping(found.get("responseSchema"))
        self._confirmations.append(
            Confirmation(
                id=found["id"],
                reason=found["reason"],
                message=_text(found.get("message")) or "",
                tool_call_id=_text(found.get("toolCallId")),
                response_schema=schema or None,
                expires_at=_text(found.get("expiresAt")),
            )
        )

    def _complain(self, sentence: str) -> None:
        if len(self._problems) < _KEPT_PROBLEMS:
            self._problems.append(f"event {self._count}: {sentence}")


def _tool_use(found: _Tool) -> ToolUse:
    text = "".join(found.parts)
    arguments: Any = None
    if found.ended:
        try:
            arguments = json.loads(text or "{}")
        except (ValueError, RecursionError):
            arguments = None
    state = "done" if found.result is not None else "called" if found.ended else "running"
    return ToolUse(
        id=found.id, name=found.name, arguments_text=text, arguments=arguments, result=found.result, state=state
    )


def _content(content: Any) -> str:
    """A result's text; of parts that are no text, their kind."""
    if isinstance(content, str):
        return content
    parts = [_mapping(each) for each in cast("Sequence[Any]", content)]
    return "".join(_text(each.get("text")) or f"[{each.get('type', 'part')}]" for each in parts)


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
