"""What an AG-UI agent is sent: RunAgentInput, as a payload for `agent.invoke(payload=…)`."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any


def run_input(
    prompt: str | None = None,
    *,
    thread_id: str | None = None,
    run_id: str | None = None,
    state: Any = None,
    messages: Sequence[Mapping[str, Any]] = (),
    tools: Sequence[Mapping[str, Any]] = (),
    context: Sequence[Mapping[str, Any]] = (),
    resume: Sequence[Mapping[str, Any]] = (),
    forwarded: Any = None,
) -> dict[str, Any]:
    """The input of a run. `prompt` becomes the last user message; `resume` are answers made by `answer_to`.

    `messages` are what was said before (`conversation_of`): an agent that keeps no memory knows nothing else. `tools`
    are those that the asker offers, whose calls the next run answers (`tool_answer`).

    agent.invoke(payload=run_input("Add two lamps to the cart", state={"cart": []}))
    """
    said = [dict(each) for each in messages]
    if prompt is not None:
        said.append({"id": uuid.uuid4().hex, "role": "user", "content": prompt})
    found: dict[str, Any] = {
        "threadId": thread_id or f"thread-{uuid.uuid4().hex}",
        "runId": run_id or f"run-{uuid.uuid4().hex}",
        "messages": said,
        "tools": [dict(each) for each in tools],
        "context": [dict(each) for each in context],
        "state": {} if state is None else state,
        "forwardedProps": {} if forwarded is None else forwarded,
    }
    if resume:
        found["resume"] = [dict(each) for each in resume]
    return found


def answer_to(confirmation_id: str, *, approved: bool | None = None, payload: Any = None) -> dict[str, Any]:
    """The answer to a `Confirmation`: yes, no, a payload of its own, or (without either) that it is abandoned.

    agent.invoke(payload=run_input(resume=[answer_to(run.confirmations[0].id, approved=True)]), session_id=…)
    """
    if approved is None and payload is None:
        return {"interruptId": confirmation_id, "status": "cancelled"}
    given = {"approved": approved} if payload is None else payload
    return {"interruptId": confirmation_id, "status": "resolved", "payload": given}
