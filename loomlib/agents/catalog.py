"""The catalog: the agents that Loom knows, stored in its database and described by AWS."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from loomlib.aws.connection import Clients
from loomlib.aws.runtimes import RuntimeDescription, describe_runtime, list_endpoints
from loomlib.errors import AgentNotFoundError, LoomError, ResourceNotFoundError

from .arn import RuntimeArn
from .entry import DELETED, AgentEntry, entry_from_row

if TYPE_CHECKING:
    from loomlib.store import Store

GROUP_PREFIX: Final = "group:"
"""The beginning of a group's name where agents are named, such as `group:team-a`."""

_GROUP_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Catalog:
    """The agents of one scope: registered by ARN, found by id, name, runtime id or ARN.

    Args:
        store: The database.
        clients: The AWS clients of a connection.
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
        parsed = arn if isinstance(arn, RuntimeArn) else RuntimeArn.parse(arn)
        return self.add(describe_runtime(self._clients, parsed.runtime_id, region=parsed.region))

    def add(self, description: RuntimeDescription) -> AgentEntry:
        """Add the agent of a runtime that the caller has already described, with its endpoints."""
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
        suggestion = f"one of {', '.join(names[:10])}" if names else 'bench.deploy("calculator")'
        raise AgentNotFoundError("The catalog has no such agent", on=repr(key), try_=suggestion)

    def select(self, keys: Iterable[str]) -> tuple[AgentEntry, ...]:
        """Return the agents with these names, ids or ARNs, and those of groups (`group:team-a`), each once.

        Raises:
            AgentNotFoundError: The catalog has no such agent.
            LoomError: There is no such group.
        """
        entries: dict[int, AgentEntry] = {}
        for key in keys:
            group = key.removeprefix(GROUP_PREFIX) if key.startswith(GROUP_PREFIX) else None
            for entry in (self.get(key),) if group is None else self.group(group):
                entries.setdefault(entry.id, entry)
        return tuple(entries.values())

    def group(self, name: str) -> tuple[AgentEntry, ...]:
        """Return the agents of a group, in order of registration; those that left the catalog are not in it.

        Raises:
            LoomError: There is no such group; the message lists the existing ones.
        """
        groups = self._store.groups.list(self.scope)
        if name not in groups:
            suggestion = f"one of {', '.join(list(groups)[:10])}" if groups else 'bench.groups.add("team-a", …)'
            raise LoomError("There is no such group of agents", on=name, try_=suggestion)
        return tuple(entry for entry in self.list() if str(entry.arn) in groups[name])

    def groups(self) -> dict[str, tuple[AgentEntry, ...]]:
        """Return the agents of each group, by its name."""
        entries = {str(entry.arn): entry for entry in self.list()}
        return {
            name: tuple(entries[arn] for arn in arns if arn in entries)
            for name, arns in self._store.groups.list(self.scope).items()
        }

    def add_to_group(self, name: str, keys: Iterable[str | int | AgentEntry]) -> None:
        """Put agents into a group, which is created when it does not exist.

        Raises:
            AgentNotFoundError: The catalog has no such agent.
            ValueError: The name is not valid for a group.
        """
        if not _GROUP_NAME.fullmatch(name):
            raise ValueError(f"a group's name has letters, digits, hyphens, underscores and dots, 64 at most: {name!r}")
        self._store.groups.add(self.scope, name, [str(self.get(key).arn) for key in keys])

    def remove_from_group(self, name: str, keys: Iterable[str | int | AgentEntry] | None = None) -> int:
        """Take agents out of a group, all by default, and return how many were in it. An empty group is removed."""
        arns = None if keys is None else [str(self.get(key).arn) for key in keys]
        return self._store.groups.remove(self.scope, name, arns)

    def read_tags(self, entry: AgentEntry) -> AgentEntry:
        """Read and store the current tags of the agent's runtime, and return the agent with them."""
        from loomlib.aws.tags import read_tags

        tags = read_tags(self._clients, str(entry.arn), region=entry.region)
        self._store.agents.set_tags(entry.id, tags)
        return replace(entry, tags=tags)

    def change_tags(self, entry: AgentEntry, tags: Mapping[str, str], *, remove: Sequence[str] = ()) -> AgentEntry:
        """Add, change and remove tags of the agent's runtime (TagResource), and return the agent with all its tags.

        Args:
            entry: The agent.
            tags: The tags to add or change.
            remove: Names of the tags to remove.

        Raises:
            ValueError: A name begins with `loom:` or `aws:`, which Loom and AWS keep for themselves.
        """
        from loomlib.aws.tags import remove_tags, write_tags

        for name in (*tags, *remove):
            if name.lower().startswith(("loom:", "aws:")):
                raise ValueError(f"the tag {name} is reserved: your own tags must not begin with loom: or aws:")
        if tags:
            write_tags(self._clients, str(entry.arn), tags, region=entry.region)
        if remove:
            remove_tags(self._clients, str(entry.arn), list(remove), region=entry.region)
        return self.read_tags(entry)

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
        """Remove the agent from the catalog (its runtime and invocations stay); return False if it was not listed."""
        try:
            entry = self.get(key)
        except AgentNotFoundError:
            return False
        return self._store.agents.remove(entry.id)
