"""AG-UI runs of an agent, and the tool calls of an MCP App's view."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..agents import Chunk, InvocationError
from ..agents.agui import answer_to, conversation_of, run_input
from ..agents.mcp_apps import AppView, FrameChannel, tool_call_payload, tool_result_of
from ..json_values import as_list, as_mapping, as_text
from .agent import Agent
from .invocation import Invocation


def ask_agui(
    agent: Agent,
    prompt: str | None = None,
    *,
    session_id: str | None = None,
    thread_id: str | None = None,
    state: Any = None,
    messages: Sequence[Mapping[str, Any]] = (),
    tools: Sequence[Mapping[str, Any]] = (),
    resume: Mapping[str, Any] | None = None,
    timeout_s: float | None = None,
) -> Invocation:
    """Run an AG-UI agent and wait for the end; `inv.protocols.agui()` is the run with all its events.

    `messages` are the conversation so far (`agui_conversation`), `tools` the client's tools (see `run_input`).

        ask_agui(agent, "Add 2 lamps to the cart.").protocols.agui().state
    """
    payload = run_input(
        prompt, thread_id=thread_id, state=state, messages=messages, tools=tools,
        resume=() if resume is None else (resume,),
    )  # fmt: skip
    return agent.invoke(prompt, payload=payload, session_id=session_id, timeout_s=timeout_s)


def agui_conversation(invocations: Sequence[Invocation]) -> list[dict[str, Any]]:
    """Return invocations of one session, oldest first, as the messages of the next AG-UI run.

    ask_agui(agent, "And one chair.", session_id=id, messages=agui_conversation(agent.history.conversation(id)))
    """
    return conversation_of(
        (
            f"asked-{invocation.record.id}",
            asked_in_agui(invocation.record.prompt or ""),
            invocation.protocols.agui().run,
        )
        for invocation in invocations
    )


def asked_in_agui(prompt: str) -> str:
    """Return the last user message of a stored AG-UI payload; "" for a resumed run."""
    if not prompt.startswith("{"):
        return prompt
    try:
        value: object = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    sent = as_mapping(value)
    if "threadId" not in sent:
        return prompt
    messages = as_list(sent.get("messages"))
    last = as_mapping(messages[-1] if messages else None)
    return (as_text(last.get("content")) or "") if last.get("role") == "user" else ""


def confirm(inv: Invocation, confirmation_id: str, *, approved: bool | None = None, payload: Any = None) -> Invocation:
    """Answer a question of a run and continue it in the same session, thread and state.

    `approved` or a `payload` answers the question; with neither the question is cancelled.

        confirm(inv, inv.protocols.agui().confirmations[0].id, approved=True)
    """
    run = inv.protocols.agui().run
    return ask_agui(
        Agent(inv.entry, inv.context, qualifier=inv.record.qualifier),
        session_id=inv.session_id,
        thread_id=run.thread_id or None,
        state=run.state,
        resume=answer_to(confirmation_id, approved=approved, payload=payload),
    )


def view_channel(
    agent: Agent, view: AppView, *, session_id: str, theme: str = "light", timeout_s: float = 60.0
) -> FrameChannel:
    """Return the channel of a view's frame; its tool calls go to the agent, in the view's session.

    channel = view_channel(agent, inv.protocols.views()[0], session_id=inv.session_id)
    channel.receive({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "roll_dice"}})
    """

    def call_tool(name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = tool_result_of(b"")
        payload = tool_call_payload(name, arguments)
        for event in agent.stream(payload=payload, session_id=session_id, timeout_s=timeout_s):
            if isinstance(event, Chunk) and b'"mcp"' in event.data:
                answer = tool_result_of(event.data)
            elif isinstance(event, InvocationError):
                return {"error": {"code": -32603, "message": f"The agent could not be invoked ({event.failure})"}}
        return answer

    return FrameChannel(view, call_tool, theme=theme)
