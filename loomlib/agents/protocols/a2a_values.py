"""Values of the Agent2Agent protocol (0.3): what a stream of results adds up to."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.json_values import as_list, as_mapping, as_text

ENDED: Final = frozenset({"completed", "canceled", "failed", "rejected"})
"""The final task states."""

WAITING: Final = frozenset({"input-required", "auth-required"})
"""Task states in which the agent waits for another message of the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A result of a task.

    Attributes:
        id: Its id.
        name: Its name.
        parts: Its parts, in the protocol's form.
    """

    id: str
    name: str = ""
    parts: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    @property
    def text(self) -> str:
        """The text of the parts; data as JSON, files as their name."""
        return parts_text(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class A2aTask:
    """A task as of the last result.

    Attributes:
        id: The task; "" when the agent answered with a message and no task.
        context_id: The context, which a further message may continue.
        state: `submitted`, `working`, `input-required`, `auth-required`, `completed`, `canceled`, `failed` or
            `rejected`; "message" for an answer without a task.
        message: The text of the agent's last message.
        artifacts: The artifacts.
    """

    id: str = ""
    context_id: str = ""
    state: str = ""
    message: str = field(default="", repr=False)
    artifacts: tuple[Artifact, ...] = field(default=(), repr=False)

    @property
    def text(self) -> str:
        """The text of the artifacts; of the last message where there are none."""
        return "\n\n".join(filter(None, (artifact.text for artifact in self.artifacts))) or self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class A2aEvent:
    """One result of a stream.

    Attributes:
        kind: `task`, `message`, `status-update` or `artifact-update`.
        state: The task's state in it; "" where it has none.
        text: The text in it.
        is_final: Whether the stream ends with it.
        result: The result as it came.
    """

    kind: str
    state: str = ""
    text: str = ""
    is_final: bool = False
    result: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


def message_params(
    text: str, parts: Sequence[Mapping[str, Any]] = (), *, task_id: str | None = None, context_id: str | None = None
) -> dict[str, Any]:
    """Return the parameters of message/send and message/stream.

    Args:
        text: The text; "" for parts only.
        parts: Further parts, in the protocol's form.
        task_id: The task that the message continues.
        context_id: The context that it belongs to.
    """
    message: dict[str, Any] = {
        "kind": "message",
        "role": "user",
        "messageId": uuid.uuid4().hex,
        "parts": [*([{"kind": "text", "text": text}] if text else []), *(dict(part) for part in parts)],
    }
    message |= {"taskId": task_id} if task_id else {}
    message |= {"contextId": context_id} if context_id else {}
    return {"message": message}


def read_event(result: Mapping[str, Any]) -> A2aEvent:
    """Return a result as an event."""
    kind = as_text(result.get("kind")) or ("task" if "status" in result else "message")
    status = as_mapping(result.get("status"))
    state = as_text(status.get("state"))
    if kind == "artifact-update":
        text = parts_text(as_list(as_mapping(result.get("artifact")).get("parts")))
    elif kind == "message":
        text = parts_text(as_list(result.get("parts")))
    else:
        text = parts_text(as_list(as_mapping(status.get("message")).get("parts")))
    is_final = kind == "message" or result.get("final") is True or (kind == "task" and state in ENDED | WAITING)
    return A2aEvent(kind=kind, state=state, text=text, is_final=is_final, result=result)


def fold_task(results: Iterable[Mapping[str, Any]]) -> A2aTask:
    """Return what results add up to: a task with its artifacts, or a message."""
    id, context, state, message = "", "", "", ""
    artifacts: dict[str, Artifact] = {}
    for result in results:
        event = read_event(result)
        context = as_text(result.get("contextId")) or context
        if event.kind == "message":
            state, message = state or "message", event.text
            id = as_text(result.get("taskId")) or id
            continue
        id = as_text(result.get("id" if event.kind == "task" else "taskId")) or id
        state = event.state or state
        if event.kind == "artifact-update":
            new_artifact = _artifact(as_mapping(result.get("artifact")))
            previous = artifacts.get(new_artifact.id)
            if previous is not None and result.get("append") is True:
                new_artifact = Artifact(
                    id=new_artifact.id, name=previous.name, parts=(*previous.parts, *new_artifact.parts)
                )
            artifacts[new_artifact.id] = new_artifact
        else:
            message = event.text or message
        for one in as_list(result.get("artifacts")):
            artifact = _artifact(as_mapping(one))
            artifacts[artifact.id] = artifact
    return A2aTask(id=id, context_id=context, state=state, message=message, artifacts=tuple(artifacts.values()))


def parts_text(parts: Sequence[Any]) -> str:
    """Return the text of parts; data as JSON, files as their name in square brackets."""
    return "".join(_part_text(as_mapping(part)) for part in parts)


def _part_text(part: Mapping[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if "data" in part:
        return json.dumps(part["data"], ensure_ascii=False)
    file = as_mapping(part.get("file"))
    return (
        f"[file {as_text(file.get('name')) or as_text(file.get('uri')) or as_text(file.get('mimeType'))}]"
        if file
        else ""
    )


def _artifact(value: Mapping[str, Any]) -> Artifact:
    return Artifact(
        id=as_text(value.get("artifactId")),
        name=as_text(value.get("name")),
        parts=tuple(as_mapping(part) for part in as_list(value.get("parts"))),
    )
