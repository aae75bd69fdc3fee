"""The versions that an endpoint served, from the stored changes; used by rollbacks."""

from __future__ import annotations

from collections.abc import Iterable

from ..store import EndpointChangeRow

OBSERVED = "observed"
CREATED = "created"
PROMOTED = "promoted"
ROLLED_BACK = "rolled back"
DELETED = "deleted"


def served_versions(changes: Iterable[EndpointChangeRow], live: str) -> tuple[str, ...]:
    """Return the versions that an endpoint served, oldest first; the last one is served now.

    A rollback removes the versions after the restored one, so that a second rollback goes further back. A version that
    is served without a stored change comes last: another tool set it, or the process ended before storing the change.

    Args:
        changes: The stored changes of the endpoint, oldest first.
        live: The version that it serves now; empty if it does not serve any.
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
