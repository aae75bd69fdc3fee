"""Deployed versions and endpoints of an agent, its tags, and the plan of its removal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from ..agents import AgentEntry
from ..aws.endpoints import EndpointDescription
from ..presentation.formats import percent
from ..presentation.html import card
from ..releases.ab_tests import AbTests
from ..releases.endpoints import EndpointReleases
from ..releases.served import served_versions
from ..store import AbTestRow
from .agent_endpoint import AgentEndpoint as AgentEndpoint
from .context import Context
from .frames import rows_frame
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd

    from ..latency.watch import WatchResult
    from .ab_test import AbTest
    from .agent_removal import AgentRemoval
    from .agent_tags import AgentTags
    from .version_diff import VersionDiff

_VERSIONS = ("version", "created", "description", "status", "code", "platform", "endpoints")
_ENDPOINTS = ("endpoint", "version", "status", "before", "updated", "description")
_TESTS = ("id", "endpoint", "versions", "sessions", "planned", "state", "started", "ended")
_HISTORY = ("at", "endpoint", "action", "version")


class AgentReleases:
    """The versions of an agent and the endpoints that serve them; `agent.releases`.

        agent.releases.promote("staging", version=4)
        agent.releases.promote("prod", source="staging")
        agent.releases.rollback("prod")

    Args:
        context: The workbench's resources.
        entry: The agent.
        refresh: Refreshes the agent in the catalog after its endpoints changed.
    """

    def __init__(self, context: Context, entry: AgentEntry, refresh: Callable[[], object]) -> None:
        self._context, self._entry, self._refresh = context, entry, refresh
        self._endpoints = EndpointReleases(context.clients, context.store, context.where, entry.arn)
        self._tests = AbTests(self._endpoints, context.store, context.where)

    @property
    def tags(self) -> AgentTags:
        """The tags of the runtime: read, set, remove."""
        from .agent_tags import AgentTags

        return AgentTags(self._context, self._entry)

    def versions(self, *, limit: int = 50) -> pd.DataFrame:
        """Return the versions, newest first: creation time, state, code, and the endpoints that serve each.

        `code` is the beginning of the package's SHA-256, or the equivalent in S3 or of the container image.

        Args:
            limit: Maximum number of versions; each one requires a request to AgentCore.
        """
        serving: dict[str, list[str]] = {}
        for endpoint in self._endpoints.list():
            serving.setdefault(endpoint.version, []).append(endpoint.name)
        rows = [
            {
                "version": version.version,
                "created": version.created_at,
                "description": version.description,
                "status": version.status,
                "code": version.code_digest,
                "platform": version.platform,
                "endpoints": ", ".join(serving.get(version.version, ())),
            }
            for version in self._endpoints.versions(limit)
        ]
        return rows_frame(rows, _VERSIONS)

    def endpoints(self) -> pd.DataFrame:
        """Return the endpoints: the version that each serves, and the one that it served before, if known."""
        rows = [
            {
                "endpoint": endpoint.name,
                "version": endpoint.version,
                "status": endpoint.status,
                "before": self._before(endpoint),
                "updated": endpoint.updated_at,
                "description": endpoint.description,
            }
            for endpoint in self._endpoints.list()
        ]
        return rows_frame(rows, _ENDPOINTS)

    def history(self, endpoint: str | None = None) -> pd.DataFrame:
        """Return the stored changes, newest first.

        AgentCore does not keep a history: these are the changes in Loom's database, which Loom made or detected.

        Args:
            endpoint: Only changes of this endpoint.
        """
        changes = self._endpoints.changes(endpoint)[::-1]
        rows = [{name: getattr(change, name) for name in _HISTORY} for change in changes]
        return rows_frame(rows, _HISTORY)

    def watch(
        self,
        endpoint: str = "DEFAULT",
        *,
        scenarios: Sequence[str] = (),
        metrics: Sequence[str] = (),
        days: int = 60,
        max_slower: float = 0.0,
        max_cost_increase: float = 0.0,
        max_drop: float = 0.0,
        since: date | None = None,
        allow_overload: bool = False,
        allow_empty: bool = False,
    ) -> WatchResult:
        """Return when the agent became slower, more expensive, worse or better, by how much, and with which version.

            agent.releases.watch(scenarios=["warm"], metrics=["p90"], max_slower=0.1)

        Compares the stored latency studies and evaluations of the endpoint night by night; no agent is called. A change
        is reported if its 95 % interval, which remains valid when checked every night, supports it.

        Args:
            endpoint: The endpoint whose studies are compared.
            scenarios: "cold", "warm" or "sticky"; all by default, and evaluations with them.
            metrics: "p50", "p90", "ttft_p50", "ttft_p90", "failures", "cost", "pass_rate" or "score"; all by default.
            days: Report only changes that were found within this number of most recent days.
            max_slower: How much slower is allowed, as a share.
            max_cost_increase: How much more a call may cost, as a share.
            max_drop: How much lower pass rates and mean scores may be, as a difference.
            since: Start of the history; set it to accept a change as the new level.
            allow_overload: Whether to include studies that were disturbed by an overloaded machine.
            allow_empty: Whether to return an empty result instead of raising an error if nothing is stored.

        Raises:
            StudyError: Neither a latency study nor an evaluation of this endpoint is stored for that time.
        """
        from ..latency.watch import watch_agent

        return watch_agent(
            self._context.store,
            scope=self._context.where,
            agent_arn=str(self._entry.arn),
            agent_name=self._entry.name,
            qualifier=endpoint,
            scenarios=scenarios,
            metrics=metrics,
            days=days,
            max_slower=max_slower,
            max_cost_increase=max_cost_increase,
            max_drop=max_drop,
            since=since,
            allow_overload=allow_overload,
            allow_empty=allow_empty,
        )

    def diff(self, before: str | int, after: str | int | None = None) -> VersionDiff:
        """Compare two versions: files of the code with their unified diffs, settings, and environment variables.

            agent.releases.diff(3, 4)
            agent.releases.diff("prod", "staging")

        Secrets in the code are redacted; only the names of environment variables are shown.

        Args:
            before: A version, or an endpoint for the version that it serves.
            after: The other version or endpoint; by default the version that DEFAULT serves, which is the newest.

        Raises:
            ResourceNotFoundError: There is no such version or endpoint.
        """
        from ..releases.comparing import compare_versions
        from .version_diff import VersionDiff

        versions = [self._version(name) for name in (before, "DEFAULT" if after is None else after)]
        return VersionDiff(
            compare_versions(self._context.clients, self._entry.arn, versions[0], versions[1]), self._entry.name
        )

    def get(self, endpoint: str) -> AgentEndpoint:
        """Return an endpoint.

        Raises:
            ResourceNotFoundError: The agent has no such endpoint.
        """
        return AgentEndpoint(self, self._endpoints.get(endpoint), self._entry.name)

    def create(
        self,
        endpoint: str,
        version: str | int | None = None,
        *,
        description: str = "",
        progress: Callable[[str], None] | None = None,
    ) -> AgentEndpoint:
        """Create an endpoint, and wait until it serves the version.

        Args:
            endpoint: Its name, such as "staging".
            version: The version that it serves; the newest one that is READY by default.
            description: A description of the endpoint.
            progress: Called with a line at each step; displayed in the notebook by default.

        Raises:
            ConflictError: The agent already has an endpoint with this name, or the version is not READY.
            ResourceNotFoundError: There is no such version.
        """
        new_endpoint = self._endpoints.create(
            endpoint, version, description=description, progress=progress or WaitLine()
        )
        return self._changed(new_endpoint)

    def promote(
        self,
        endpoint: str,
        version: str | int | None = None,
        *,
        source: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> AgentEndpoint:
        """Make an endpoint serve a version, and wait until it does. An endpoint that does not exist is created.

            agent.releases.promote("prod", version=4)
            agent.releases.promote("prod", source="staging")

        Args:
            endpoint: The endpoint's name.
            version: The version; if it is still being created, the call waits for it.
            source: Instead of a version: the endpoint whose version to serve.
            progress: Called with a line at each step; displayed in the notebook by default.

        Raises:
            ConflictError: The version is not READY and will not become READY.
            ResourceNotFoundError: There is no such version or source.
            LoomError: The endpoint is DEFAULT, which always serves the newest version.
        """
        if (version is None) == (source is None):
            raise ValueError('give a version, or the source endpoint to copy it from: promote("prod", version=4)')
        self._tests.check_free(endpoint)
        target_version = self._endpoints.get(source).version if source is not None else str(version)
        return self._changed(self._endpoints.promote(endpoint, target_version, progress=progress or WaitLine()))

    def rollback(self, endpoint: str, *, progress: Callable[[str], None] | None = None) -> AgentEndpoint:
        """Make an endpoint serve the version that it served before, and wait until it does.

        A second rollback goes back one version further. The earlier version is read from Loom's database.

        Args:
            endpoint: The endpoint's name.
            progress: Called with a line at each step; displayed in the notebook by default.

        Raises:
            LoomError: No earlier version is known.
            ConflictError: The earlier version is not READY.
            ResourceNotFoundError: The earlier version was deleted, or there is no such endpoint.
        """
        self._tests.check_free(endpoint)
        return self._changed(self._endpoints.rollback(endpoint, progress=progress or WaitLine()))

    def delete(self, endpoint: str) -> bool:
        """Delete an endpoint; return False if it did not exist. The version that it served is kept.

        Raises:
            LoomError: The endpoint is DEFAULT, which is deleted only with its runtime.
        """
        self._tests.check_free(endpoint)
        is_deleted = self._endpoints.delete(endpoint)
        self._refresh()
        return is_deleted

    def removal_plan(self) -> AgentRemoval:
        """Return the plan for removing this agent and everything that Loom created for it, with reasons.

            plan = agent.releases.removal_plan()
            plan.apply()

        Only resources that Loom created are deleted.
        """
        from .agent_removal import plan_removal

        return plan_removal(self._context, self._entry)

    def start_ab_test(
        self,
        endpoint: str,
        versions: Mapping[str | int, float],
        *,
        sessions: int,
        progress: Callable[[str], None] | None = None,
    ) -> AbTest:
        """Split the sessions of an endpoint between the version that it serves and another one.

            test = agent.releases.start_ab_test("prod", {3: 0.9, 4: 0.1}, sessions=400)
            test.invoke("What is 2+2?", session_id=session)
            test.result()

        AgentCore's endpoints have no weights. The other version gets an endpoint of its own, and `test.route` chooses
        the endpoint of a session by a hash of its id, both locally and on AWS.

        Args:
            endpoint: The endpoint, which serves one of the versions.
            versions: The two versions with their shares of the sessions.
            sessions: Number of sessions after which the test is evaluated, of both versions together:
                `loomlib.statistics.sessions_for_difference` computes it.
            progress: Called with a line at each step; displayed in the notebook by default.

        Raises:
            LoomError: The endpoint serves neither version, or a test is already running behind it, or the agent has an
                endpoint with the name of the test's second endpoint that was not created for a test.
            ConflictError: The other version is not READY.
            ValueError: The shares do not add up to 1, or there are not two versions.
        """
        row = self._tests.start(endpoint, versions, sessions=sessions, progress=progress or WaitLine())
        self._refresh()
        return self._test(row)

    def ab_test(self, name: str) -> AbTest:
        """Return an A/B test.

        Args:
            name: Its id, or the endpoint behind which it runs.

        Raises:
            LoomError: The agent has no such test.
        """
        return self._test(self._tests.running(name) or self._tests.get(name))

    def ab_tests(self) -> pd.DataFrame:
        """Return the A/B tests, newest first."""
        rows = [
            {
                "id": row.id,
                "endpoint": row.endpoint,
                "versions": ", ".join(f"{arm['version']}: {percent(arm['share'])}" for arm in row.design["arms"]),
                "sessions": self._context.store.releases.count_sessions(row.id),
                "planned": row.design["sessions"],
                "state": row.state,
                "started": row.started_at,
                "ended": row.ended_at,
            }
            for row in self._tests.list()
        ]
        return rows_frame(rows, _TESTS)

    def _test(self, row: AbTestRow) -> AbTest:
        from .ab_test import AbTest

        return AbTest(self._context, self._entry, self._tests, row, self._refresh)

    def _changed(self, endpoint: EndpointDescription) -> AgentEndpoint:
        self._refresh()
        return AgentEndpoint(self, endpoint, self._entry.name)

    def _version(self, name: str | int) -> str:
        text = str(name)
        return text if text.isdecimal() else self._endpoints.get(text).version

    def _before(self, endpoint: EndpointDescription) -> str:
        served = served_versions(self._endpoints.changes(endpoint.name), endpoint.version)
        return served[-2] if len(served) > 1 else ""

    def __repr__(self) -> str:
        serving = ", ".join(f"{one.name} → {one.version or '–'}" for one in self._endpoints.list())
        return f"<Releases of {self._entry.name}: {serving}>"

    def _repr_html_(self) -> str:
        facts = [(one.name, f"version {one.version or '–'}, {one.status}") for one in self._endpoints.list()]
        return card(f"{self._entry.name} · releases", labels=self._context.labels, facts=facts)
