"""The Test panel's actions as Python."""

# pyright: basic

from __future__ import annotations

from loomlib import Agent
from loomlib.workbench import Workbench

from ...kit.source import connect_code

BEARER_CODE = 'os.environ["LOOM_BEARER"]'
"""The token in shown code, which never contains a token itself; `opening_code` imports `os`."""


def agent_line(agent: Agent) -> str:
    """Return the line that finds the agent."""
    at = "" if agent.qualifier == "DEFAULT" else f".at({agent.qualifier!r})"
    return f"agent = bench.agent({agent.name!r}){at}"


def opening_code(agent: Agent, *, calls: bool = True) -> str:
    """Return the lines before an action: the workbench and the agent.

    Args:
        agent: The agent.
        calls: Whether the action calls the agent, so that one with an authorizer needs a token.
    """
    opening, agent_code = connect_code(Workbench(agent.context)), agent_line(agent)
    if calls and agent.entry.has_authorizer:
        return f"import os\n\n{opening}{agent_code}.at(bearer={BEARER_CODE})"
    return f"{opening}{agent_code}"


def asking_code(agent: Agent, prompt: str, session: str, *, agui: bool) -> str:
    """Return the lines that invoke the agent.

    Args:
        agent: The agent.
        prompt: The prompt.
        session: The session's id; "" for a new session.
        agui: Whether the agent uses AG-UI.
    """
    again = f", session_id={session!r}" if session else ""
    opening, _, agent_code = opening_code(agent).rpartition("\n")
    if agui:
        argument = f", messages=agui_conversation(agent.history.conversation({session!r}))" if session else ""
        names = "agui_conversation, ask_agui" if session else "ask_agui"
        call = f"inv = ask_agui(agent, {prompt!r}{again}{argument})\ninv.text, inv.protocols.agui().state"
        return f"{opening}\nfrom loomlib.workbench import {names}\n\n{agent_code}\n{call}"
    call = f"inv = agent.invoke({prompt!r}{again})\ninv.text, inv.latency(), inv.trace()"
    return f"{opening}\n{agent_code}\n{call}"
