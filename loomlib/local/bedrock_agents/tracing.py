"""The trace events of InvokeAgent."""

from __future__ import annotations

import json
import secrets
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ..models.reply import encode_event

_POLICIES: Final = ("topicPolicy", "contentPolicy", "wordPolicy", "sensitiveInformationPolicy")


class AgentTracing:
    """Creates the trace events of one agent in one turn.

    Args:
        head: The members of every event: the agent, its alias and version, the session and the callers.
    """

    def __init__(self, head: Mapping[str, Any]) -> None:
        self._head, self._mark, self._step = head, secrets.token_hex(4), 0

    @property
    def trace_id(self) -> str:
        """The id of the current step."""
        return f"{self._mark}-{self._step}"

    def next_step(self) -> None:
        """Start a step: everything that follows from one response of the model."""
        self._step += 1

    def orchestration(self, member: str, content: Mapping[str, Any]) -> bytes:
        """Return an event of the orchestration.

        Args:
            member: Such as `observation`.
            content: Its members besides the id.
        """
        return self.event("orchestrationTrace", member, content)

    def event(self, kind: str, member: str, content: Mapping[str, Any]) -> bytes:
        """Return an event of a step.

        Args:
            kind: Such as `preProcessingTrace`.
            member: Such as `modelInvocationInput`.
            content: Its members besides the id.
        """
        return self._event(kind, {member: {"traceId": self.trace_id, **content}})

    def guardrail(self, answer: Mapping[str, Any]) -> bytes | None:
        """Return the event of a guardrail, from Converse's answer; None without a trace of one."""
        answer_trace: Mapping[str, Any] = answer.get("trace") or {}
        trace: Mapping[str, Mapping[str, Any]] = answer_trace.get("guardrail") or {}
        if not trace:
            return None
        inputs = list(trace.get("inputAssessment", {}).values())
        outputs = [item for items in trace.get("outputAssessments", {}).values() for item in items]
        intervened = answer.get("stopReason") == "guardrail_intervened"
        content: dict[str, Any] = {
            "traceId": self.trace_id,
            "action": "INTERVENED" if intervened else "NONE",
            "inputAssessments": _plain(inputs),
            "outputAssessments": _plain(outputs),
        }
        return self._event("guardrailTrace", content)

    def failure(self, reason: str, code: int) -> bytes:
        """Return the event of a turn that failed."""
        return self._event("failureTrace", {"traceId": self.trace_id, "failureReason": reason, "failureCode": code})

    def _event(self, kind: str, content: Mapping[str, Any]) -> bytes:
        return encode_event("trace", {**self._head, "eventTime": time.time(), "trace": {kind: content}})


def is_blocked(answer: Mapping[str, Any]) -> bool:
    """Return whether a guardrail replaced Converse's answer; a masked answer has the same stop reason."""
    answer_trace: Mapping[str, Any] = answer.get("trace") or {}
    guardrail_trace: Mapping[str, Any] = answer_trace.get("guardrail") or {}
    reason = str(guardrail_trace.get("actionReason") or "")
    return answer.get("stopReason") == "guardrail_intervened" and not reason.startswith("Guardrail masked")


def metadata(begun: float, usage: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the member `metadata` of a timed operation.

    Args:
        begun: Start time in seconds since 1970.
        usage: The model's token counts.
    """
    ended = time.time()
    members: dict[str, Any] = {
        "startTime": begun,
        "endTime": ended,
        "totalTimeMs": round((ended - begun) * 1_000),
        "clientRequestId": str(uuid.uuid4()),
    }
    if usage is not None:
        members["usage"] = {name: usage[name] for name in ("inputTokens", "outputTokens") if name in usage}
    return members


def request_text(request: Mapping[str, Any]) -> str:
    """Return a model's request as the trace shows it."""
    tool_config: Mapping[str, Any] = request.get("toolConfig") or {}
    tools: Sequence[Any] = tool_config.get("tools") or ()
    system: Sequence[Mapping[str, str]] = request.get("system") or ()
    document = {"system": "".join(block["text"] for block in system), "messages": request["messages"]}
    return json.dumps({**document, "tools": tools} if tools else document, ensure_ascii=False)


def _plain(assessments: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return assessments with only the members that traces of agents contain, which are fewer than Converse's."""
    return [{name: _without_detected(item[name]) for name in _POLICIES if name in item} for item in assessments]


def _without_detected(value: Any) -> Any:
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        return {name: _without_detected(item) for name, item in fields.items() if name != "detected"}
    return [_without_detected(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value
