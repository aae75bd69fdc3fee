"""Common base of the Test panel's parts: the conversation's turns, and how an agent is invoked."""

# pyright: basic

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from loomlib import Agent

from ...kit import Cancel, Panel

if TYPE_CHECKING:
    from .turns import PanelTurn


class Conversing(Panel):
    """A panel with a conversation."""

    _turns: list[PanelTurn]

    @abstractmethod
    def _agent(self, name: str, qualifier: str) -> Agent:
        """Return the agent from the catalog."""

    @abstractmethod
    def _ask(
        self, agent: Agent, prompt: str, session: str, cancel: Cancel, *, payload: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """Invoke the agent as a new turn, streamed; `payload` is sent instead of the prompt."""

    @abstractmethod
    def _begin_turn(self, prompt: str, session: str, *, is_socket: bool = False) -> PanelTurn:
        """Add a turn to the conversation and send it to the views; that of a WebSocket blocks no other question."""

    @abstractmethod
    def _ended(self, agent: Agent, turn: PanelTurn) -> None:
        """Start what follows the end of a turn."""

    @abstractmethod
    def _open(self, session: str) -> None:
        """Show an earlier session."""

    @abstractmethod
    def _show_agent(self, name: str, qualifier: str, session: str = "") -> None:
        """Load the catalog and the sessions."""

    @abstractmethod
    def _opening(self, agent: Agent, *, calls: bool = True) -> str:
        """Return the code before an action: the workbench and the agent; with its token if the action calls it."""

    @abstractmethod
    def _put_sessions(self, name: str) -> list[dict[str, Any]]:
        """Read the agent's sessions into their table."""
