"""Storage of groups of agents: named sets, by ARN, so that an agent that is registered again is in its groups again."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from .database import Database
from .release_tables import agent_groups


class AgentGroups:
    """The groups of all scopes. A group exists as long as it has an agent."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, scope: str, name: str, arns: Iterable[str]) -> None:
        """Put agents into a group; those that are in it stay.

        Args:
            scope: The environment: "local" or "aws".
            name: The group's name.
            arns: The runtimes' ARNs.
        """
        with self._database.write() as connection:
            for arn in arns:
                try:
                    with connection.begin_nested():
                        connection.execute(agent_groups.insert().values(scope=scope, name=name, agent_arn=arn))
                except IntegrityError:
                    continue  # it is in the group

    def remove(self, scope: str, name: str, arns: Iterable[str] | None = None) -> int:
        """Take agents out of a group, all by default; return how many were in it."""
        leaving = delete(agent_groups).where(agent_groups.c.scope == scope, agent_groups.c.name == name)
        if arns is not None:
            leaving = leaving.where(agent_groups.c.agent_arn.in_(list(arns)))
        with self._database.write() as connection:
            return connection.execute(leaving).rowcount

    def list(self, scope: str) -> dict[str, tuple[str, ...]]:
        """Return the ARNs of each group, both sorted."""
        chosen = select(agent_groups.c.name, agent_groups.c.agent_arn).where(agent_groups.c.scope == scope)
        groups: dict[str, list[str]] = {}
        with self._database.read() as connection:
            for name, arn in sorted(tuple(record) for record in connection.execute(chosen)):  # by code point
                groups.setdefault(name, []).append(arn)
        return {name: tuple(arns) for name, arns in groups.items()}
