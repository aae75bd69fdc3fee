"""Changes to short-term memory, each inside a transaction of the store."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from loomlib.local.tenancy import new_tenant, own_rows, owns_row
from loomlib.local.wire import RefusedError, invalid, not_found

from ..patterns import Pattern, PatternError
from .branches import branch_of_new_event, seq_of
from .control_plane import read_memory
from .filters import terms_of

Parameters = Mapping[str, Any]
StoredRow = Mapping[str, Any] | sqlite3.Row
_DAY_MS = 86_400_000
_YEAR_10_000_S = 253_402_300_800


def add_event(connection: sqlite3.Connection, parameters: Parameters, now_ms: int) -> StoredRow:
    """Store a new event and return its row; for a client token used before, return the earlier event's row.

    Args:
        connection: A connection inside a transaction.
        parameters: The parameters of CreateEvent.
        now_ms: The time, in unix milliseconds.
    """
    memory = read_memory(connection, parameters)
    memory_id: str = memory["id"]
    token, digest = parameters.get("clientToken") or None, _digest(parameters)
    tenant = new_tenant(memory["tenant"])
    if token and tenant:
        token = f"{tenant}\0{token}"  # each tenant has client tokens of its own
    if token and (same := _made_before(connection, memory_id, token, digest, now_ms)):
        return same
    actor_id, session_id = parameters["actorId"], parameters.get("sessionId")
    if session_id is None:
        raise invalid("sessionId is missing: the local AgentCore stores every event in a session")
    if not 0 <= parameters["eventTimestamp"] < _YEAR_10_000_S:
        raise invalid("eventTimestamp must lie between the years 1970 and 9999")
    extraction = _extraction(memory, parameters)
    number = _session(connection, memory_id, actor_id, session_id, tenant, now_ms)
    branch, root_event = branch_of_new_event(connection, number, parameters.get("branch"), now_ms)
    timestamp_ms = int(parameters["eventTimestamp"] * 1000 + 0.5)
    metadata: dict[str, Any] = parameters.get("metadata") or {}
    row: dict[str, Any] = {
        "memory_id": memory_id,
        "actor_id": actor_id,
        "session_id": session_id,
        "session_number": number,
        "event_id": "",
        "timestamp_ms": timestamp_ms,
        "branch": branch,
        "root_event": root_event,
        "body": json.dumps(parameters["payload"]),
        "metadata": json.dumps(metadata) if metadata else None,
        "extraction": extraction,
        "client_token": token,
        "digest": digest if token else None,
        "created_at": now_ms,
        "expires_at": now_ms + memory["eventExpiryDuration"] * _DAY_MS,
    }
    names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
    seq = connection.execute(f"INSERT INTO events ({names}) VALUES ({marks})", row).lastrowid or 0  # noqa: S608
    row |= {"seq": seq, "event_id": f"{timestamp_ms:019d}#{seq:08x}"}
    connection.execute("UPDATE events SET event_id = ? WHERE seq = ?", (row["event_id"], seq))
    connection.executemany(
        "INSERT INTO event_terms VALUES (?, ?, ?, ?)",
        [(number, term, timestamp_ms, seq) for term in terms_of(branch, metadata)],
    )
    return row


def delete_event(connection: sqlite3.Connection, parameters: Parameters, now_ms: int) -> None:
    """Delete an event.

    Args:
        connection: A connection inside a transaction.
        parameters: The parameters of DeleteEvent.
        now_ms: The time, in unix milliseconds.
    """
    memory_id: str = read_memory(connection, parameters)["id"]
    event_id = parameters["eventId"]
    row = connection.execute(
        "SELECT * FROM events WHERE seq = ? AND event_id = ? AND session_number = ? AND expires_at > ?",
        (seq_of(event_id), event_id, find_session(connection, memory_id, parameters), now_ms),
    ).fetchone()
    if row is None:
        raise not_found(f"Event not found: {event_id}")
    remove(connection, row, now_ms)


def remove(connection: sqlite3.Connection, row: sqlite3.Row, now_ms: int) -> None:
    """Delete an event from every table, and mark its session if it is now empty.

    Args:
        connection: A connection inside a transaction.
        row: The row of the event.
        now_ms: The time, in unix milliseconds.
    """
    number, at, seq = row["session_number"], row["timestamp_ms"], row["seq"]
    terms = terms_of(row["branch"], json.loads(row["metadata"] or "{}"))
    connection.executemany(
        "DELETE FROM event_terms WHERE session_number = ? AND term = ? AND timestamp_ms = ? AND seq = ?",
        [(number, term, at, seq) for term in terms],
    )
    connection.execute("DELETE FROM events WHERE seq = ?", (seq,))
    connection.execute(
        "UPDATE sessions SET empty_since = ? WHERE number = ? "
        "AND NOT EXISTS (SELECT 1 FROM events WHERE session_number = ?)",
        (now_ms, number, number),
    )


def find_session(connection: sqlite3.Connection, memory_id: str, parameters: Parameters) -> int | None:
    """Return the number of the session that a request names; None if it does not exist or is another tenant's.

    Args:
        connection: A connection to the events.
        memory_id: The memory.
        parameters: The parameters, with `actorId` and `sessionId`.
    """
    own, values = own_rows()
    row = connection.execute(
        f"SELECT number FROM sessions WHERE memory_id = ? AND actor_id = ? AND session_id = ? AND {own}",  # noqa: S608
        (memory_id, parameters["actorId"], parameters["sessionId"], *values),
    ).fetchone()
    return row and row["number"]


def _made_before(
    connection: sqlite3.Connection, memory_id: str, token: str, digest: bytes, now_ms: int
) -> sqlite3.Row | None:
    row = connection.execute(
        "SELECT * FROM events WHERE memory_id = ? AND client_token = ?", (memory_id, token)
    ).fetchone()
    if row is not None and row["expires_at"] <= now_ms:
        remove(connection, row, now_ms)
        return None
    if row is not None and row["digest"] != digest:
        raise invalid("clientToken was used already, with other parameters", "IdempotentParameterMismatchException")
    return row


def _session(
    connection: sqlite3.Connection, memory_id: str, actor_id: str, session_id: str, tenant: str, now_ms: int
) -> int:
    """Return the number of a session; it belongs to the tenant that writes its first event."""
    row = connection.execute(
        "SELECT number, empty_since, tenant FROM sessions WHERE memory_id = ? AND actor_id = ? AND session_id = ?",
        (memory_id, actor_id, session_id),
    ).fetchone()
    if row is None:
        cursor = connection.execute(
            "INSERT INTO sessions (memory_id, actor_id, session_id, created_at, tenant) VALUES (?, ?, ?, ?, ?)",
            (memory_id, actor_id, session_id, now_ms, tenant),
        )
        return cursor.lastrowid or 0
    if not owns_row(row["tenant"]):
        raise RefusedError("AccessDeniedException", 403, "The session belongs to another tenant")
    if row["empty_since"] is not None:
        connection.execute("UPDATE sessions SET empty_since = NULL WHERE number = ?", (row["number"],))
    return row["number"]


def _extraction(memory: Mapping[str, Any], parameters: Parameters) -> str | None:
    """Return extraction options as JSON with `mode` ("SKIP") and `namespaceVariables`; None for the default."""
    config: Mapping[str, Any] = parameters.get("extractionConfig") or {}
    variables: Mapping[str, str] = config.get("namespaceVariables") or {}
    keys: Sequence[Mapping[str, Any]] = memory.get("namespaceKeys") or ()
    rules: dict[str, Mapping[str, Any]] = {entry["key"]: entry.get("validation") or {} for entry in keys}
    for key, value in variables.items():
        if key not in rules:
            raise invalid(f"extractionConfig.namespaceVariables: {key} is not one of the memory's namespaceKeys")
        rule = rules[key]
        if (allowed := rule.get("allowedValues")) and value not in allowed:
            raise invalid(f"extractionConfig.namespaceVariables: {key} must be one of {', '.join(allowed)}")
        if (pattern := rule.get("regexPattern")) and not _matches(pattern, value):
            raise invalid(f"extractionConfig.namespaceVariables: {key} must match {pattern}")
    mode = parameters.get("extractionMode")
    extraction: dict[str, Any] = {
        **({"mode": mode} if mode else {}),
        **({"namespaceVariables": dict(variables)} if variables else {}),
    }
    return json.dumps(extraction) if extraction else None


def _matches(pattern: str, value: str) -> bool:
    try:
        return Pattern(pattern).matches_whole(value)
    except PatternError as error:
        raise invalid(f"The memory's regexPattern {pattern!r} cannot be used: {error}") from error


def _digest(parameters: Parameters) -> bytes:
    """Return what must be equal when a client token is used again: a repeated call may have another timestamp."""
    content = {name: value for name, value in parameters.items() if name not in ("clientToken", "eventTimestamp")}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()
