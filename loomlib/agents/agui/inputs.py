"""The input of an AG-UI agent: RunAgentInput, as a payload for `agent.invoke(payload=…)`."""

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
    """Return the input of a run.

    Args:
        prompt: Becomes the last user message.
        thread_id: The conversation; a new one by default.
        run_id: The run; a new one by default.
        state: The shared state.
        messages: The conversation so far (`conversation_of`); an agent without a memory knows nothing else.
        tools: The tools that the client offers; the next run answers their calls (`tool_answer`).
        context: The context of the run.
        resume: Answers to interrupts, created by `answer_to`.
        forwarded: Properties to forward to the agent.

    Examples:
        >>> agent.invoke(payload=run_input("Add two lamps to the cart", state={"cart": []}))
    """
    all_messages = [dict(item) for item in messages]
    if prompt is not None:
        all_messages.append({"id": uuid.uuid4().hex, "role": "user", "content": prompt})
    input_: dict[str, Any] = {
        "threadId": thread_id or f"thread-{uuid.uuid4().hex}",
        "runId": run_id or f"run-{uuid.uuid4().hex}",
        "messages": all_messages,
        "tools": [dict(item) for item in tools],
        "context": [dict(item) for item in context],
        "state": {} if state is None else state,
        "forwardedProps": {} if forwarded is None else forwarded,
    }
    if resume:
        input_["resume"] = [dict(item) for item in resume]
    return input_


def answer_to(confirmation_id: str, *, approved: bool | None = None, payload: Any = None) -> dict[str, Any]:
    """Return the answer to a `Confirmation`: approved, rejected, a payload of its own, or (without either) cancelled.

    Args:
        confirmation_id: The confirmation.
        approved: The decision.
        payload: An answer in the form that the run requests.

    Examples:
        >>> decision = answer_to(run.confirmations[0].id, approved=True)
        >>> agent.invoke(payload=run_input(resume=[decision]), session_id=session_id)
    """
    if approved is None and payload is None:
        return {"interruptId": confirmation_id, "status": "cancelled"}
    answer = {"approved": approved} if payload is None else payload
    return {"interruptId": confirmation_id, "status": "resolved", "payload": answer}
