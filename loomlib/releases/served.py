"""The versions that an endpoint served, from the stored changes: what a rollback returns to."""

from __future__ import annotations

from collections.abc import Iterable

from ..store import EndpointChangeRow

OBSERVED = "observed"
CREATED = "created"
PROMOTED = "promoted"
ROLLED_BACK = "rolled back"
DELETED = "deleted"


def served_versions(changes: Iterable[EndpointChangeRow], live: str) -> tuple[str, ...]:
    """Return the versions that an endpoint served, oldest first; the last one is what it serves now.

    A rollback removes the versions after the one that it returned to, so that a second rollback goes further back. A
    version that another tool chose, or that was chosen by a process that ended before it stored the change, is the one
    that the endpoint serves without a stored change: it comes last.

    Args:
        changes: The stored changes of the endpoint, oldest first.
        live: The version that it serves now; empty when none answers.
    """
    served: list[str] = []
    for change in changes:
        if change.action == DELETED:
            served.clear()
        elif change.action == ROLLED_BACK and change.version in served:
            del served[len(served) - served[::-1].index(change.version) :]
        elif not served or served[-1] != change.version:
            served.append(change.version)
    if live and (not served or served[-1] != live):
        served.append(live)
    return tuple(served)
