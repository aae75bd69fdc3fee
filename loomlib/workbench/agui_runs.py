"""Single AG-UI runs of an agent; `Agent.protocols.agui` keeps a whole conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..agents.agui import answer_to, run_input
from ..aws.bearer import Bearer
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

        ask_agui(agent, "Add 2 lamps to the cart.").protocols.agui().state

    Args:
        agent: An agent that answers with AG-UI events.
        prompt: Becomes the last user message.
        session_id: The runtime session (33 to 256 characters); a new one by default.
        thread_id: AG-UI's conversation; a new one by default.
        state: The state that agent and client share, any JSON value.
        messages: The conversation so far (`agui_conversation`); an agent without a memory knows nothing else.
        tools: The tools that the client offers, as in `loomlib.agents.agui.run_input`.
        resume: The answer to a question of the previous run (`answer_to`).
        timeout_s: Seconds without a byte after which the request fails; the settings' by default.
    """
    payload = run_input(
        prompt, thread_id=thread_id, state=state, messages=messages, tools=tools,
        resume=() if resume is None else (resume,),
    )  # fmt: skip
    return agent.invoke(prompt, payload=payload, session_id=session_id, timeout_s=timeout_s)


def confirm(
    inv: Invocation,
    confirmation_id: str,
    *,
    approved: bool | None = None,
    payload: Any = None,
    bearer: Bearer | None = None,
) -> Invocation:
    """Answer a question of a run and continue it in the same session, thread and state.

        confirm(inv, inv.protocols.agui().confirmations[0].id, approved=True)

    Args:
        inv: The invocation whose run asked.
        confirmation_id: The question's id, from `inv.protocols.agui().confirmations`.
        approved: The answer to a yes-or-no question. Without it and without a `payload`, the question is cancelled.
        payload: The answer to any other question, as JSON.
        bearer: A token that the runtime's authorizer accepts, sent instead of a signature, or a function that returns
            it.
    """
    run = inv.protocols.agui().run
    return ask_agui(
        Agent(inv.entry, inv.context, qualifier=inv.record.qualifier, bearer=bearer),
        session_id=inv.session_id,
        thread_id=run.thread_id or None,
        state=run.state,
        resume=answer_to(confirmation_id, approved=approved, payload=payload),
    )
