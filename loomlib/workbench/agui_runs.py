"""Single AG-UI runs of an agent; `Agent.agui` keeps a whole conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..agents.agui import answer_to, run_input
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
