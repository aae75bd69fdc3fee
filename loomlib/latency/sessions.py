"""Sessions of a study: new for cold and warm, one long-lived for sticky, opened untimed where the scenario asks."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import TYPE_CHECKING

from loomlib.errors import LoomError

if TYPE_CHECKING:
    from .ports import MeasuredAgent

_logger = logging.getLogger(__name__)


class SessionKeeper:
    """Gives each call its session and ends the ones that are done, outside any timed call."""

    def __init__(self, agent: MeasuredAgent) -> None:
        self._agent = agent
        self._kept: tuple[str, str] | None = None

    def new(self) -> str:
        """A session id that nobody has used: the first call with it is cold. 44 characters; AWS asks for 33–256."""
        return f"loom-latency{uuid.uuid4().hex}"

    async def kept(self, session_plan: str) -> str | None:
        """The open long-lived session of that plan, None when it must be opened; another plan's is ended."""
        if self._kept and self._kept[0] != session_plan:
            await self.end_kept()
        return self._kept[1] if self._kept else None

    def keep(self, session_plan: str, session_id: str) -> None:
        """Remember a session that has just been opened as the long-lived one."""
        self._kept = (session_plan, session_id)

    async def end_kept(self) -> None:
        """End the long-lived session; the next sticky call opens another."""
        if self._kept:
            _, session_id = self._kept
            self._kept = None
            await self.end(session_id)

    async def end(self, session_id: str) -> None:
        """End a session. One that is gone already, or cannot be ended, disturbs no measurement: it is logged."""
        try:
            await asyncio.to_thread(self._agent.end_session, session_id)
        except LoomError as error:
            _logger.debug("a session could not be ended: %s", error, extra={"session_id": session_id})
