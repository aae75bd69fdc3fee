"""Endpoints of an agent as environments: create, promote, roll back, delete, with a stored history."""

from __future__ import annotations

from collections.abc import Callable

from ..agents import RuntimeArn
from ..aws import Clients
from ..aws.endpoints import (
    DEFAULT_ENDPOINT,
    EndpointDescription,
    create_endpoint,
    delete_endpoint,
    describe_endpoint,
    describe_endpoints,
    point_endpoint,
)
from ..aws.versions import VersionDescription, describe_versions, wait_for_version
from ..deploy.names import AGENT_TAG
from ..errors import LoomError, ResourceNotFoundError
from ..presentation.formats import join
from ..store import EndpointChangeRow, Store
from .served import CREATED, DELETED, OBSERVED, PROMOTED, ROLLED_BACK, served_versions

Progress = Callable[[str], None] | None


class EndpointReleases:
    """The endpoints of one agent.

    AgentCore does not store a history of an endpoint. Loom stores its own changes in its database, with the version
    that the endpoint served before: rollbacks need it. Changes by other tools are detected the next time that Loom
    reads the endpoint.

    Args:
        clients: The AWS clients of a connection.
        store: The database.
        scope: The environment: "local" or "aws".
        arn: The runtime's ARN.
    """

    def __init__(self, clients: Clients, store: Store, scope: str, arn: RuntimeArn) -> None:
        self._clients, self._store, self._scope, self.arn = clients, store, scope, arn

    def list(self) -> list[EndpointDescription]:
        """Return the endpoints, DEFAULT first."""
        return describe_endpoints(self._clients, self.arn.runtime_id, region=self.arn.region)

    def get(self, name: str) -> EndpointDescription:
        """Return an endpoint.

        Raises:
            ResourceNotFoundError: The agent has no such endpoint; the message lists its endpoints.
        """
        endpoint = self._find(name)
        if endpoint is None:
            names = join([other.name for other in self.list()])
            raise ResourceNotFoundError(
                "The agent has no such endpoint",
                on=f"{name} of {self.arn.runtime_id}",
                try_=f"one of {names}, or agent.releases.create({name!r})",
            )
        return endpoint

    def versions(self, limit: int | None = None) -> list[VersionDescription]:
        """Return the agent's versions, newest first, at most `limit`."""
        return describe_versions(self._clients, self.arn.runtime_id, region=self.arn.region, limit=limit)

    def create(
        self, name: str, version: str | int | None = None, *, description: str = "", progress: Progress = None
    ) -> EndpointDescription:
        """Create an endpoint.

        Args:
            name: Its name.
            version: The version that it serves; the newest one that is READY by default.
            description: Its purpose.
            progress: Called with a line at each poll.

        Raises:
            ConflictError: The agent already has this endpoint, or the version is not READY.
            ResourceNotFoundError: There is no such version.
        """
        target_version = self._newest_ready() if version is None else self._ready(str(version), progress)
        return create_endpoint(
            self._clients,
            self.arn.runtime_id,
            name,
            target_version,
            description=description,
            tags={AGENT_TAG: self.arn.name},
            region=self.arn.region,
            progress=progress,
            on_accepted=lambda: self._note(name, CREATED, target_version),  # an interrupted wait must not lose it
        )

    def promote(self, name: str, version: str | int, *, progress: Progress = None) -> EndpointDescription:
        """Point an endpoint at a version, and wait until it serves it; create the endpoint if it does not exist.

        If the version is still being created, wait for it. The endpoint never serves a version that is not READY.

        Args:
            name: The endpoint's name.
            version: The version.
            progress: Called with a line at each poll.

        Raises:
            ConflictError: The version is not READY and will not become READY, or the endpoint is being changed.
            ResourceNotFoundError: There is no such version.
            LoomError: The endpoint is DEFAULT.
        """
        _check_movable(name)
        current = self._find(name)
        if current is None:
            return self.create(name, version, progress=progress)
        return self._move(current, self._ready(str(version), progress), PROMOTED, progress)

    def rollback(self, name: str, *, progress: Progress = None) -> EndpointDescription:
        """Point an endpoint at the version that it served before, and wait until it serves it.

        A second rollback goes back to the version before that one.

        Args:
            name: The endpoint's name.
            progress: Called with a line at each poll.

        Raises:
            LoomError: No earlier version is known, or the endpoint is DEFAULT.
            ConflictError: The earlier version is not READY.
            ResourceNotFoundError: The earlier version was deleted.
        """
        _check_movable(name)
        current = self.get(name)
        served = served_versions(self.changes(name), current.version)
        if len(served) < 2:
            raise LoomError(
                "The database does not contain an earlier version of the endpoint",
                on=f"{name} of {self.arn.runtime_id}",
                try_=f"agent.releases.promote({name!r}, version=…)",
            )
        return self._move(current, self._ready(served[-2], progress), ROLLED_BACK, progress)

    def delete(self, name: str) -> bool:
        """Delete an endpoint; return False if it did not exist.

        Raises:
            LoomError: The endpoint is DEFAULT, which is deleted with its runtime.
        """
        if name == DEFAULT_ENDPOINT:
            raise LoomError(
                "The endpoint DEFAULT is deleted only with the runtime",
                on=self.arn.runtime_id,
                try_="agent.releases.removal_plan()",
            )
        current = self._find(name)
        is_deleted = delete_endpoint(self._clients, self.arn.runtime_id, name, region=self.arn.region)
        if is_deleted:
            self._note(name, DELETED, current.version if current else "")
        return is_deleted

    def changes(self, name: str | None = None) -> tuple[EndpointChangeRow, ...]:
        """Return the stored changes of an endpoint, or of all, oldest first."""
        return self._store.releases.changes(self._scope, str(self.arn), name)

    def served(self, name: str) -> tuple[str, ...]:
        """Return the versions that an endpoint served, oldest first, as far as known; the last one is served now.

        Raises:
            ResourceNotFoundError: The agent has no such endpoint.
        """
        return served_versions(self.changes(name), self.get(name).version)

    def is_made_by_loom(self, name: str) -> bool:
        """Return whether Loom created the endpoint, as its database says."""
        actions = [change.action for change in self.changes(name) if change.action in (CREATED, DELETED)]
        return bool(actions) and actions[-1] == CREATED

    def _move(self, current: EndpointDescription, version: str, action: str, progress: Progress) -> EndpointDescription:
        before = served_versions(self.changes(current.name), "")
        if current.version and (not before or before[-1] != current.version):
            self._note(current.name, OBSERVED, current.version)  # the version that a rollback restores
        if current.status == "READY" and current.version == version:
            return current
        moved = point_endpoint(
            self._clients, self.arn.runtime_id, current, version, region=self.arn.region, progress=progress
        )
        self._note(current.name, action, version)
        return moved

    def _find(self, name: str) -> EndpointDescription | None:
        return describe_endpoint(self._clients, self.arn.runtime_id, name, region=self.arn.region)

    def _ready(self, version: str, progress: Progress) -> str:
        try:
            return wait_for_version(
                self._clients, self.arn.runtime_id, version, region=self.arn.region, progress=progress
            ).version
        except ResourceNotFoundError as error:
            versions = join([item.version for item in self.versions(limit=12)], "or")
            raise ResourceNotFoundError(
                f"The agent has no version {version}",
                on=self.arn.runtime_id,
                try_=f"version {versions}",
                code=error.code,
                status=error.status,
            ) from error

    def _newest_ready(self) -> str:
        for version in self.versions(limit=20):
            if version.status == "READY":
                return version.version
        raise LoomError("No version is READY", on=self.arn.runtime_id, try_="agent.versions() says why")

    def _note(self, name: str, action: str, version: str) -> None:
        self._store.releases.add_change(self._scope, str(self.arn), name, action=action, version=version)


def _check_movable(name: str) -> None:
    if name == DEFAULT_ENDPOINT:
        raise LoomError(
            "The endpoint DEFAULT always serves the newest version",
            on=name,
            try_='an endpoint of your own, such as agent.releases.promote("prod", version=…)',
        )
