"""GET /ping: whether an agent is healthy, and whether it works in the background."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .connections import Connections
from .wire import NotHttpError

PATH = "/ping"
_BODY_LIMIT_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """An agent's response to a ping; `changed_at` is the Unix time of the last status change, 0 when unknown."""

    status: int
    is_busy: bool = False
    changed_at: float = 0.0

    @property
    def is_healthy(self) -> bool:
        """Whether the response was a success."""
        return 200 <= self.status < 300


async def ask_health(connections: Connections) -> Health:
    """Ping the agent, without a timeout. Raise `ConnectionClosedError` or `NotHttpError`."""
    connection = await connections.take()
    try:
        head = await connection.ask("GET", PATH, {})
        body = b""
        while (chunk := await connection.next_chunk()) is not None:
            body += chunk
            if len(body) > _BODY_LIMIT_BYTES:
                connection.close()
                raise NotHttpError(f"GET {PATH} answered more than {_BODY_LIMIT_BYTES:,} bytes")
    finally:
        connections.give_back(connection)
    try:
        document = json.loads(body)
        return Health(
            status=head.status,
            is_busy=document.get("status") == "HealthyBusy",
            changed_at=float(document.get("time_of_last_update", 0)),
        )
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        return Health(status=head.status)  # not the SDK's server: the status is all there is
