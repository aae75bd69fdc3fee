"""Branches of a session: every branch except `main` starts at an event, its root."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from loomlib.local.wire import invalid, not_found

MAIN: Final = "main"
"""The branch of events that do not name a branch."""
_END: Final = (2**62, 2**62)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSegment:
    """The events of one branch up to and including a position (milliseconds, seq)."""

    branch: str
    until: tuple[int, int] = _END


def branch_of_new_event(
    connection: sqlite3.Connection, session_number: int, requested: Mapping[str, str] | None, now_ms: int
) -> tuple[str | None, str | None]:
    """Return the branch and root event of a new event; the first event of a branch creates the branch.

    Args:
        connection: A connection inside a transaction.
        session_number: The session of the event.
        requested: The `branch` parameter of CreateEvent.
        now_ms: The time, in unix milliseconds.
    """
    if requested is None:
        return None, None
    name, root_event = requested["name"], requested.get("rootEventId")
    if name == MAIN:
        if root_event:
            raise invalid(f"The branch {MAIN} has no root event; leave rootEventId out")
        return MAIN, None
    branch = connection.execute(
        "SELECT root_event FROM branches WHERE session_number = ? AND name = ?", (session_number, name)
    ).fetchone()
    if branch:
        if root_event and root_event != branch["root_event"]:
            raise invalid(f"The branch {name} exists already with the root event {branch['root_event']}")
        return name, branch["root_event"]
    if not root_event:
        raise invalid(f"The branch {name} does not exist; give the rootEventId at which it starts")
    root = connection.execute(
        "SELECT session_number, timestamp_ms, seq, branch FROM events "
        "WHERE seq = ? AND event_id = ? AND expires_at > ? AND (SELECT tenant FROM sessions WHERE number = ?) = "
        "(SELECT tenant FROM sessions WHERE number = session_number)",
        (seq_of(root_event), root_event, now_ms, session_number),
    ).fetchone()
    if root is None:
        raise not_found(f"Event not found: {root_event}, the root of branch {name}")
    if root["session_number"] != session_number:
        raise invalid(f"The root event {root_event} belongs to another session", "EventInOtherSession")
    connection.execute(
        "INSERT INTO branches VALUES (?, ?, ?, ?, ?, ?)",
        (session_number, name, root["branch"] or MAIN, root_event, root["timestamp_ms"], root["seq"]),
    )
    return name, root_event


def segments(connection: sqlite3.Connection, session_number: int, name: str, *, parents: bool) -> list[BranchSegment]:
    """Return the events that a branch filter selects.

    Args:
        connection: A connection to read from.
        session_number: The session.
        name: The branch.
        parents: Whether to include its ancestors, up to its start.
    """
    selected = [BranchSegment(branch=name)]
    while parents and name != MAIN:
        row = connection.execute(
            "SELECT parent, root_timestamp_ms, root_seq FROM branches WHERE session_number = ? AND name = ?",
            (session_number, name),
        ).fetchone()
        if row is None:
            break
        name = row["parent"]
        selected.append(BranchSegment(branch=name, until=(row["root_timestamp_ms"], row["root_seq"])))
    return selected


def seq_of(event_id: str) -> int:
    """Return the journal position in which an event id ends; -1 if no event can have that id."""
    digits = event_id.rpartition("#")[2]
    return int(digits, 16) if len(digits) <= 15 else -1
