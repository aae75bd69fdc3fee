"""Event filters as SQL. Each event has indexed terms: its branch, and the keys and values of its metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loomlib.local.wire import invalid

from .branches import MAIN, BranchSegment

Condition = tuple[str, list[Any]]


def terms_of(branch: str | None, metadata: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the terms of an event: `b` its branch, `k` a key of its metadata, `v` a key with its value."""
    terms = [f"b{branch or MAIN}"]
    for key, value in metadata.items():
        terms += [f"k{key}", _valued(key, value["stringValue"])]
    return terms


def newest_matching(
    session_number: int,
    metadata_filters: Sequence[Mapping[str, Any]],
    segments: Sequence[BranchSegment] | None,
    after: Sequence[int] | None,
    now_ms: int,
    limit: int,
    columns: str,
) -> Condition:
    """Build the SQL for the newest events that match and have not expired.

    Args:
        session_number: The session.
        metadata_filters: The `eventMetadata` filters of ListEvents.
        segments: The branches to read; all if None.
        after: Only events older than this position (milliseconds, seq).
        now_ms: The time, in unix milliseconds.
        limit: The largest number of events.
        columns: The columns to select.

    Returns:
        The statement and its values.
    """
    required_terms, excluded_terms = _terms_asked(metadata_filters)
    conditions: list[Condition] = [("e.expires_at > ?", [now_ms])]
    if segments is not None and len(segments) == 1:
        required_terms.append(f"b{segments[0].branch}")
    elif segments is not None:
        within = "(coalesce(e.branch, ?) = ? AND (e.timestamp_ms, e.seq) <= (?, ?))"
        values = [value for segment in segments for value in (MAIN, segment.branch, *segment.until)]
        conditions.append((f"({' OR '.join([within] * len(segments))})", values))
    if required_terms:
        # The first term selects the events, newest first, by their rowid, until the page is full.
        source = "event_terms t CROSS JOIN events e ON e.seq = t.seq"
        alias, source_conditions = "t", [("t.session_number = ? AND t.term = ?", [session_number, required_terms[0]])]
    else:
        source, alias, source_conditions = "events e", "e", [("e.session_number = ?", [session_number])]
    if after is not None:
        source_conditions.append((f"({alias}.timestamp_ms, {alias}.seq) < (?, ?)", list(after)))
    has_term = (
        f"EXISTS (SELECT 1 FROM event_terms o WHERE o.session_number = ? AND o.term = ? "  # noqa: S608 - the texts are ours
        f"AND o.timestamp_ms = {alias}.timestamp_ms AND o.seq = {alias}.seq)"
    )
    source_conditions += [(has_term, [session_number, term]) for term in required_terms[1:]]
    source_conditions += [(f"NOT {has_term}", [session_number, term]) for term in excluded_terms]
    where = " AND ".join(text for text, _ in (*source_conditions, *conditions))
    order = f"ORDER BY {alias}.timestamp_ms DESC, {alias}.seq DESC LIMIT ?"
    values = [value for _, values in (*source_conditions, *conditions) for value in values]
    return f"SELECT {columns} FROM {source} WHERE {where} {order}", [*values, limit]  # noqa: S608 - the texts are ours


def _terms_asked(metadata_filters: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the terms that an event must have, the most selective first, and those it must not have."""
    equal: list[str] = []
    existing: list[str] = []
    missing: list[str] = []
    for expression in metadata_filters:
        key, operator, right = expression["left"]["metadataKey"], expression["operator"], expression.get("right")
        if operator == "EQUALS_TO":
            if right is None:
                raise invalid(f"EQUALS_TO on the metadata key {key} needs the right side's metadataValue")
            equal.append(_valued(key, right["metadataValue"]["stringValue"]))
        elif right is not None:
            raise invalid(f"{operator} on the metadata key {key} takes no right side")
        else:
            (existing if operator == "EXISTS" else missing).append(f"k{key}")
    return equal + existing, missing


def _valued(key: str, value: str) -> str:
    return f"v{key}\0{value}"  # neither keys nor values can contain a zero character
