"""A Bedrock agent's memory of a user's sessions; `agent.memory("ann")`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..aws.bedrock_agent_memory import delete_agent_memory, end_agent_session, list_agent_memory
from ..aws.bedrock_agents import BedrockAgent
from .context import Context
from .frames import agent_memory_frame

if TYPE_CHECKING:
    import pandas as pd


class BedrockAgentMemory:
    """The summaries of sessions with an agent that has memory.

    Args:
        context: The workbench's resources.
        agent: The agent.
        alias_id: Its alias.
        memory_id: The memory, usually one for each user.
    """

    def __init__(self, context: Context, agent: BedrockAgent, *, alias_id: str, memory_id: str) -> None:
        self._context, self._agent = context, agent
        self._alias_id, self.memory_id = alias_id, memory_id

    def __repr__(self) -> str:
        return f"Memory {self.memory_id} of the Bedrock agent {self._agent.name}"

    def table(self) -> pd.DataFrame:
        """Return the summaries, one row for each session, the newest first.

        On AWS, a summary is available after a few minutes.
        """
        summaries = list_agent_memory(
            self._context.clients, self._agent, alias_id=self._alias_id, memory_id=self.memory_id
        )
        return agent_memory_frame(summaries)

    def end_session(self, session_id: str) -> None:
        """End a session, so that the agent summarizes it.

        Args:
            session_id: `reply.session_id` of one of its answers.
        """
        end_agent_session(
            self._context.clients,
            self._agent,
            alias_id=self._alias_id,
            session_id=session_id,
            memory_id=self.memory_id,
        )

    def forget(self, session_id: str = "") -> None:
        """Delete the summaries.

        Args:
            session_id: The session whose summary is deleted; "" for all.
        """
        delete_agent_memory(
            self._context.clients,
            self._agent,
            alias_id=self._alias_id,
            memory_id=self.memory_id,
            session_id=session_id,
        )
