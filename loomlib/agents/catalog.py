"""The catalog: the agents that Loom knows, stored in its database and described by AWS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loomlib.errors import AgentNotFoundError, ResourceNotFoundError

from .arn import RuntimeArn
from .entry import DELETED, AgentEntry, entry_from_row

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients
    from loomlib.aws.runtimes import RuntimeDescription
    from loomlib.store import Store


class Catalog:
    """The agents of one scope: registered by ARN, found by id, name, runtime id or ARN.

    Args:
        store: The database.
        clients: The connection.
        scope: "local" or "aws".
    """

    def __init__(self, store: Store, clients: Clients, scope: str) -> None:
        self._store, self._clients, self.scope = store, clients, scope

    def register(self, arn: str | RuntimeArn) -> AgentEntry:
        """Register the agent with this ARN, as AWS describes it in the ARN's region; registering again refreshes it.

        Raises:
            InvalidArnError: The ARN is not a runtime's.
            AwsError: The runtime cannot be described (`ResourceNotFoundError`, `AccessDeniedError` and so on).
        """
        from loomlib.aws.runtimes import describe_runtime

        parsed = arn if isinstance(arn, RuntimeArn) else RuntimeArn.parse(arn)
        return self.add(describe_runtime(self._clients, parsed.runtime_id, region=parsed.region))

    def add(self, description: RuntimeDescription) -> AgentEntry:
        """Add the agent of a runtime that the caller has already described, with its endpoints."""
        from loomlib.aws.runtimes import list_endpoints

        arn = RuntimeArn.parse(description.arn)
        qualifiers = list_endpoints(self._clients, arn.runtime_id, region=arn.region)
        row = self._store.agents.upsert(
            scope=self.scope,
            arn=str(arn),
            runtime_id=arn.runtime_id,
            region=arn.region,
            account_id=arn.account_id,
            name=description.name or arn.name,
            status=description.status,
            log_group=arn.log_group(qualifiers[0]),
            available_qualifiers=qualifiers,
            raw_metadata=description.raw,
        )
        return entry_from_row(row)

    def list(self) -> tuple[AgentEntry, ...]:
        """Return all agents, in order of registration."""
        return tuple(entry_from_row(row) for row in self._store.agents.list(self.scope))

    def get(self, key: str | int | AgentEntry) -> AgentEntry:
        """Return the agent whose id, ARN, runtime id or name is `key`.

        Raises:
            AgentNotFoundError: There is none; the message lists the existing ones.
        """
        row = self._store.agents.get(self.scope, key.id if isinstance(key, AgentEntry) else key)
        if row is not None:
            return entry_from_row(row)
        names = sorted({entry.name for entry in self.list()})
        known = f"one of {', '.join(names[:10])}" if names else 'bench.deploy("calculator")'
        raise AgentNotFoundError("The catalog has no such agent", on=repr(key), try_=known)

    def refresh(self, key: str | int | AgentEntry) -> AgentEntry:
        """Return the agent as AWS describes it now; one whose runtime is gone stays, with the status DELETED."""
        entry = self.get(key)
        try:
            return self.register(entry.arn)
        except ResourceNotFoundError:
            row = self._store.agents.upsert(
                scope=self.scope,
                arn=str(entry.arn),
                runtime_id=entry.runtime_id,
                region=entry.region,
                account_id=entry.arn.account_id,
                name=entry.name,
                status=DELETED,
                log_group=entry.log_group(entry.qualifiers[0]),
                available_qualifiers=entry.qualifiers,
                raw_metadata=entry.raw_metadata,
            )
            return entry_from_row(row)

    def remove(self, key: str | int | AgentEntry) -> bool:
        """Remove the agent from the catalog (its runtime and invocations stay); return False when it was not there."""
        try:
            entry = self.get(key)
        except AgentNotFoundError:
            return False
        return self._store.agents.remove(entry.id)
