"""GET /ping: whether an agent serves, and whether it works in the background."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .connections import Connections

PATH = "/ping"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """An agent's answer to a ping. `changed_at` is the Unix time of its last change, 0 when it does not say."""

    status: int
    is_busy: bool = False
    changed_at: float = 0.0

    @property
    def is_healthy(self) -> bool:
        return 200 <= self.status < 300


async def ask_health(connections: Connections) -> Health:
    """Ping the agent. Raises `ConnectionClosedError` or `NotHttpError`; waiting for ever is the caller's to prevent."""
    connection = await connections.take()
    try:
        head = await connection.ask("GET", PATH, {})
        body = b""
        while (chunk := await connection.next_chunk()) is not None:
            body += chunk
    finally:
        connections.give_back(connection)
    try:
        said = json.loads(body)
        return Health(
            status=head.status,
            is_busy=said.get("status") == "HealthyBusy",
            changed_at=float(said.get("time_of_last_update", 0)),
        )
    except (ValueError, TypeError, AttributeError):
        return Health(status=head.status)  # a server of another make: 200 is all it has to say
