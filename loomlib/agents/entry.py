"""An agent in the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from loomlib.json_values import as_mapping, as_text

from .arn import RuntimeArn
from .message_format import MessageFormat, read_message_format

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
        tags: Its tags, as they were last read or set.
        message_format: How it takes a prompt and where its answer is; None for AgentCore's usual form.
    """

    id: int
    arn: RuntimeArn
    name: str
    status: str
    qualifiers: tuple[str, ...] = ("DEFAULT",)
    raw_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    registered_at: datetime
    last_refreshed_at: datetime | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    message_format: MessageFormat | None = None

    @property
    def region(self) -> str:
        """The runtime's region, whatever the connection's is."""
        return self.arn.region

    @property
    def runtime_id(self) -> str:
        """The runtime's id."""
        return self.arn.runtime_id

    @property
    def protocol(self) -> str:
        """The protocol that the runtime speaks: HTTP, MCP, A2A or AGUI (GetAgentRuntime's protocolConfiguration)."""
        return as_text(as_mapping(self.raw_metadata.get("protocolConfiguration")).get("serverProtocol")) or "HTTP"

    @property
    def has_authorizer(self) -> bool:
        """Whether the runtime takes bearer tokens instead of signed requests, as of `last_refreshed_at`."""
        configuration: Mapping[str, Any] = self.raw_metadata.get("authorizerConfiguration") or {}
        return "customJWTAuthorizer" in configuration

    @property
    def own_tags(self) -> dict[str, str]:
        """The tags by name, without those that Loom and AWS set for themselves."""
        return {name: value for name, value in sorted(self.tags.items()) if not name.startswith(("loom:", "aws:"))}

    @property
    def is_deleted(self) -> bool:
        """Whether the runtime was gone at the last refresh."""
        return self.status == DELETED

    def log_group(self, qualifier: str = "DEFAULT") -> str:
        """Return the log group of one of its endpoints."""
        return self.arn.log_group(qualifier)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """A server outside AgentCore, such as an MCP server, whose requests are stored like an agent's.

    Attributes:
        id: Its id in the database.
        name: Its name in tables and cards.
        arn: Its address, without credentials and arguments; it takes the place of an ARN in records.
        region: Always empty.
    """

    id: int
    name: str
    arn: str
    region: str = ""


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
        tags=row.tags,
        message_format=read_message_format(row.message_format),
    )
