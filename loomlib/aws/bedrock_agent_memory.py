"""Memory of Bedrock Agents across sessions: the summaries of a user's sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from .bedrock_agents import BedrockAgent
from .connection import Clients
from .errors import translated


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMemorySummary:
    """The summary of a session with an agent.

    Attributes:
        session_id: The session.
        text: The summary, as the agent's prompts contain it.
        started_at: When the session began.
        expires_at: When Bedrock deletes the summary.
    """

    session_id: str
    text: str
    started_at: datetime
    expires_at: datetime


def list_agent_memory(
    clients: Clients, agent: BedrockAgent, *, alias_id: str, memory_id: str
) -> Iterator[AgentMemorySummary]:
    """Yield the summaries of a memory, the newest session first (GetAgentMemory).

    Args:
        clients: The AWS clients of a connection.
        agent: The agent.
        alias_id: Its alias.
        memory_id: The memory, usually one for each user.
    """
    client, token = clients.client("bedrock-agent-runtime", agent.region), ""
    request = {"agentId": agent.id, "agentAliasId": alias_id, "memoryId": memory_id, "memoryType": "SESSION_SUMMARY"}
    while True:
        more = {"nextToken": token} if token else {}
        with translated("Reading an agent's memory", on=f"{memory_id} of {agent.name}"):
            page = client.get_agent_memory(**request, **more)
        for content in page["memoryContents"]:
            summary = content["sessionSummary"]
            yield AgentMemorySummary(
                session_id=summary["sessionId"],
                text=summary.get("summaryText") or "",
                started_at=summary["sessionStartTime"],
                expires_at=summary["sessionExpiryTime"],
            )
        if not (token := page.get("nextToken") or ""):
            return


def delete_agent_memory(
    clients: Clients, agent: BedrockAgent, *, alias_id: str, memory_id: str, session_id: str = ""
) -> None:
    """Delete a memory, or its summary of one session (DeleteAgentMemory).

    Args:
        clients: The AWS clients of a connection.
        agent: The agent.
        alias_id: Its alias.
        memory_id: The memory.
        session_id: The session; "" for all.
    """
    more = {"sessionId": session_id} if session_id else {}
    with translated("Deleting an agent's memory", on=f"{memory_id} of {agent.name}"):
        clients.client("bedrock-agent-runtime", agent.region).delete_agent_memory(
            agentId=agent.id, agentAliasId=alias_id, memoryId=memory_id, **more
        )


def end_agent_session(
    clients: Clients, agent: BedrockAgent, *, alias_id: str, session_id: str, memory_id: str = ""
) -> None:
    """End a session with an agent, which summarizes it if the agent has memory (InvokeAgent with `endSession`).

    Args:
        clients: The AWS clients of a connection.
        agent: The agent.
        alias_id: Its alias.
        session_id: The session.
        memory_id: The memory in which the summary is stored; "" for none.
    """
    more = {"memoryId": memory_id} if memory_id else {}
    with translated("Ending a session with a Bedrock agent", on=agent.name):
        answer = clients.client("bedrock-agent-runtime", agent.region).invoke_agent(
            agentId=agent.id, agentAliasId=alias_id, sessionId=session_id, endSession=True, **more
        )
        with closing(answer["completion"]) as events:
            for _ in events:  # the request is complete after the last event
                pass
