"""An agent's past invocations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..agents import AgentEntry, record_from_row
from ..errors import LoomError
from ..store import InvocationRow
from .context import Context
from .frames import invocation_frame, session_frame
from .invocation import Invocation

if TYPE_CHECKING:
    import pandas as pd


class AgentHistory:
    """The stored invocations and sessions of one agent; `agent.history`."""

    def __init__(self, context: Context, entry: AgentEntry) -> None:
        self._context, self._entry = context, entry

    def table(self, *, session_id: str | None = None, limit: int = 100) -> pd.DataFrame:
        """Return the stored invocations, newest first, one row each.

        Args:
            session_id: Only those of this session.
            limit: Maximum number of rows.
        """
        return invocation_frame(self._rows(session_id, limit))

    def last(self, *, session_id: str | None = None) -> Invocation:
        """Return the newest stored invocation.

        Args:
            session_id: Only invocations of this session.

        Raises:
            LoomError: No invocation is stored.
        """
        rows = self._rows(session_id, 1)
        if not rows:
            raise LoomError("No invocation is stored", on=session_id or self._entry.name, try_='agent.invoke("…")')
        return self._invocation(rows[0])

    def get(self, id: int) -> Invocation:
        """Return the stored invocation with that id.

        Raises:
            LoomError: The agent has no invocation with that id.
        """
        row = self._context.store.invocations.get(id)
        if row is None or row.agent_id != self._entry.id:
            raise LoomError(
                "The agent has no such invocation", on=f"{id} of {self._entry.name}", try_="agent.history.table()"
            )
        return self._invocation(row)

    def conversation(self, session_id: str, *, limit: int = 200) -> list[Invocation]:
        """Return the last invocations of a session, oldest first.

            for inv in agent.history.conversation(session_id):
                print(inv.record.prompt, "→", inv.text)

        Args:
            session_id: The runtime session.
            limit: Maximum number of invocations.
        """
        return [self._invocation(row) for row in reversed(self._rows(session_id, limit))]

    def sessions(self, *, limit: int | None = 100) -> pd.DataFrame:
        """Return the stored sessions, newest first, with their calls, failures and times.

        Args:
            limit: Maximum number of sessions; None for all.
        """
        return session_frame(self._context.store.invocations.sessions(self._entry.id, limit=limit))

    def _rows(self, session_id: str | None, limit: int) -> tuple[InvocationRow, ...]:
        return self._context.store.invocations.list(agent_id=self._entry.id, session_id=session_id, limit=limit)

    def _invocation(self, row: InvocationRow) -> Invocation:
        return Invocation(record_from_row(row), self._context, self._entry)
