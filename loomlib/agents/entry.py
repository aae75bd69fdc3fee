"""An agent in the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .arn import RuntimeArn

if TYPE_CHECKING:
    from loomlib.store import AgentRow

DELETED = "DELETED"
"""The status of an agent whose runtime no longer exists (Loom's own; AWS has none for it)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEntry:
    """An entry of the catalog.

    Attributes:
        id: Its id in the catalog.
        arn: The runtime's ARN.
        name: The runtime's name.
        status: AWS's status as of `last_refreshed_at`, or `DELETED`.
        qualifiers: The names of the runtime's endpoints.
        raw_metadata: AWS's description, without the values of environment variables, which may be secrets.
        registered_at: When it was registered.
        last_refreshed_at: When it was last described by AWS.
    """

    id: int
    arn: RuntimeArn
    name: str
    status: str
    qualifiers: tuple[str, ...] = ("DEFAULT",)
    raw_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    registered_at: datetime
    last_refreshed_at: datetime | None = None

    @property
    def region(self) -> str:
        """The runtime's region, whatever the connection's is."""
        return self.arn.region

    @property
    def runtime_id(self) -> str:
        """The runtime's id."""
        return self.arn.runtime_id

    @property
    def is_deleted(self) -> bool:
        """Whether the runtime was gone at the last refresh."""
        return self.status == DELETED

    def log_group(self, qualifier: str = "DEFAULT") -> str:
        """Return the log group of one of its endpoints."""
        return self.arn.log_group(qualifier)


def entry_from_row(row: AgentRow) -> AgentEntry:
    """Return the entry of a stored row."""
    arn = RuntimeArn.parse(row.arn)
    return AgentEntry(
        id=row.id,
        arn=arn,
        name=row.name or arn.name,
        status=row.status or "UNKNOWN",
        qualifiers=row.available_qualifiers or ("DEFAULT",),
        raw_metadata=row.raw_metadata,
        registered_at=row.registered_at,
        last_refreshed_at=row.last_refreshed_at,
    )
