"""The Test panel's actions as Python."""

# pyright: basic

from __future__ import annotations

from loomlib import Agent
from loomlib.workbench import Workbench

from ...kit.source import connect_code


def agent_line(agent: Agent) -> str:
    """Return the line that finds the agent."""
    at = "" if agent.qualifier == "DEFAULT" else f".at({agent.qualifier!r})"
    return f"agent = bench.agent({agent.name!r}){at}"


def asking_code(agent: Agent, prompt: str, session: str, *, agui: bool) -> str:
    """Return the lines that invoke the agent.

    Args:
        agent: The agent.
        prompt: The prompt.
        session: The session's id; "" for a new session.
        agui: Whether the agent uses AG-UI.
    """
    again = f", session_id={session!r}" if session else ""
    opening = connect_code(Workbench(agent.context))
    found = agent_line(agent)
    if agent.entry.has_authorizer:
        opening, found = "import os\n\n" + opening, f'{found}.with_bearer(os.environ["LOOM_BEARER"])'
    if agui:
        argument = f", messages=agui_conversation(agent.history.conversation({session!r}))" if session else ""
        names = "agui_conversation, ask_agui" if session else "ask_agui"
        call = f"inv = ask_agui(agent, {prompt!r}{again}{argument})\ninv.text, inv.protocols.agui().state"
        return f"{opening}from loomlib.workbench import {names}\n\n{found}\n{call}"
    call = f"inv = agent.invoke({prompt!r}{again})\ninv.text, inv.latency(), inv.trace()"
    return f"{opening}{found}\n{call}"
