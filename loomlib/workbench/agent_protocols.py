"""What an agent is asked in a protocol of its own: AG-UI's runs, and the tools that the frame of a view calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..agents import Chunk, InvocationError
from ..agents.agui import answer_to, conversation_of, run_input
from ..agents.mcp_apps import FrameChannel, tool_call_payload, tool_result_of
from ..json_values import as_list, as_mapping, as_text
from .agent import Agent

if TYPE_CHECKING:
    from ..agents.mcp_apps import AppView
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
    """One run of an agent that speaks AG-UI, waited for; `inv.protocols.agui()` has its events put together.

    `messages` are what was said before (`agui_conversation`), `tools` what the asker offers (see `run_input`).

        ask_agui(agent, "Add 2 lamps to the cart.").protocols.agui().state
    """
    payload = run_input(
        prompt, thread_id=thread_id, state=state, messages=messages, tools=tools,
        resume=() if resume is None else (resume,),
    )  # fmt: skip
    return agent.invoke(prompt, payload=payload, session_id=session_id, timeout_s=timeout_s)


def agui_conversation(invocations: Sequence[Invocation]) -> list[dict[str, Any]]:
    """What was said in invocations of one session, oldest first, as the messages of AG-UI's next run.

    ask_agui(agent, "And one chair.", session_id=id, messages=agui_conversation(agent.history.conversation(id)))
    """
    return conversation_of(
        (f"asked-{each.record.id}", asked_in_agui(each.record.prompt or ""), each.protocols.agui().run)
        for each in invocations
    )


def asked_in_agui(prompt: str) -> str:
    """What the person wrote: of a payload that was stored as it went out, its last user message; "" for a resume."""
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
    """The run that goes on after a question to a person is answered: the same session, thread and state.

    `approved` or a `payload` of its own answers it; with neither it is abandoned.

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
    """The channel of a view's frame: what it may call goes to the agent, in the session that the view came from.

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
                return {"error": {"code": -32603, "message": f"The agent could not be asked ({event.failure})"}}
        return answer

    return FrameChannel(view, call_tool, theme=theme)
