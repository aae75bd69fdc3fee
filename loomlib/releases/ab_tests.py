"""Start, route and stop A/B tests behind an endpoint."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final

from ..aws.endpoints import EndpointDescription
from ..errors import LoomError, ResourceNotFoundError
from ..presentation.formats import join
from ..store import AbTestRow, Store
from .ab_design import CONTROL, TREATMENT, AbArm, AbDesign, check_shares
from .endpoints import EndpointReleases, Progress

_PURPOSE: Final = "The second version of an A/B test; Loom deletes it when the test ends."
"""The description of the endpoints that are created for tests."""


class AbTests:
    """The A/B tests of one agent.

    AgentCore's endpoints do not have weights: each serves one version. A test therefore uses one endpoint for each of
    its two versions, and the caller of the agent sends each session to one of them, by a hash of the session's id. Only
    the endpoints are created in AWS, and it works the same way on the local AgentCore.

    Args:
        endpoints: The agent's endpoints.
        store: The database.
        scope: The environment: "local" or "aws".
    """

    def __init__(self, endpoints: EndpointReleases, store: Store, scope: str) -> None:
        self._endpoints, self._store, self._scope = endpoints, store, scope

    def start(
        self, endpoint: str, versions: Mapping[str | int, float], *, sessions: int, progress: Progress = None
    ) -> AbTestRow:
        """Start a test behind an endpoint, which serves the control; the other version gets its own endpoint.

        Args:
            endpoint: The endpoint.
            versions: The two versions with their shares of the sessions, such as `{3: 0.9, 4: 0.1}`.
            sessions: Number of sessions after which the test is evaluated.
            progress: Called with a line at each poll.

        Raises:
            LoomError: The endpoint serves neither version, or is already used by a test, or the agent has an endpoint
                with the name of the test's second endpoint that was not created for a test.
            ConflictError: The other version is not READY.
            ValueError: The shares do not add up to 1, or there are not two versions.
        """
        shares = {str(version): share for version, share in versions.items()}
        check_shares(list(shares.values()))
        current = self._endpoints.get(endpoint)
        self.check_free(endpoint)
        if current.version not in shares:
            raise LoomError(
                f"The endpoint serves version {current.version}, but the test compares versions {join([*shares])}",
                on=endpoint,
                try_="a test that includes the version that it serves, as the control",
            )
        other = next(version for version in shares if version != current.version)
        second = f"{endpoint}_v{other}"[-48:].lstrip("_0123456789")
        id = uuid.uuid4().hex[:12]
        design = AbDesign(
            id=id,
            endpoint=endpoint,
            arms=(
                AbArm(name=CONTROL, version=current.version, endpoint=endpoint, share=shares[current.version]),
                AbArm(name=TREATMENT, version=other, endpoint=second, share=shares[other]),
            ),
            sessions=sessions,
        )
        self._serve(design.treatment, progress)
        return self._store.releases.start_test(id, self._scope, str(self._endpoints.arn), endpoint, design.summary())

    def get(self, id: str) -> AbTestRow:
        """Return a test.

        Raises:
            LoomError: The agent has no such test.
        """
        row = self._store.releases.test(id)
        if row is None or row.agent_arn != str(self._endpoints.arn) or row.scope != self._scope:
            raise LoomError("The agent has no such A/B test", on=id, try_="agent.releases.ab_tests()")
        return row

    def list(self) -> tuple[AbTestRow, ...]:
        """Return the tests, newest first."""
        return self._store.releases.tests(self._scope, str(self._endpoints.arn))

    def running(self, endpoint: str) -> AbTestRow | None:
        """Return the running test that uses an endpoint, or None."""
        for row in self.list():
            arms = AbDesign.read(row.id, row.design).arms
            if row.state == "running" and endpoint in (row.endpoint, *(arm.endpoint for arm in arms)):
                return row
        return None

    def route(self, design: AbDesign, session_id: str) -> AbArm:
        """Return the arm of a session, and store its participation.

        Args:
            design: The design of the test.
            session_id: The runtime session.
        """
        joined = self._store.releases.join_test(design.id, session_id, design.arm_of(session_id).name)
        return design.arm(joined)

    def stop(self, design: AbDesign, *, promote: str | None = None, progress: Progress = None) -> AbTestRow:
        """End a test: the endpoint serves the chosen version, and the other endpoint is deleted.

        It can be repeated, for example after a failure.

        Args:
            design: The design of the test.
            promote: The version that the endpoint serves from now on; the control by default.
            progress: Called with a line at each poll.

        Raises:
            LoomError: The version is neither of the two; or the test had ended, and its endpoints now belong to another
                test, or serve another version.
        """
        if promote not in (None, *(arm.version for arm in design.arms)):
            versions = join([arm.version for arm in design.arms], "or")
            raise LoomError(
                f"Version {promote} is not part of the test", on=design.endpoint, try_=f"version {versions}"
            )
        if self.get(design.id).state != "running":
            self._check_unchanged(design, promote)
        is_for_tests = self._is_for_tests(design.treatment.endpoint)  # before the test is stored as stopped
        row = self._store.releases.stop_test(design.id)
        if promote is not None:
            self._endpoints.promote(design.endpoint, promote, progress=progress)
        if is_for_tests:
            self._endpoints.delete(design.treatment.endpoint)
        return row

    def moved(self, design: AbDesign) -> list[EndpointDescription]:
        """Return the endpoints of a test that no longer serve the version with which it was started."""
        versions = {arm.endpoint: arm.version for arm in design.arms}
        return [
            endpoint
            for endpoint in self._endpoints.list()
            if endpoint.version != versions.get(endpoint.name, endpoint.version)
        ]

    def check_free(self, endpoint: str) -> None:
        """Reject changes of an endpoint that an A/B test uses.

        Raises:
            LoomError: A running test uses the endpoint.
        """
        if (running := self.running(endpoint)) is not None:
            raise LoomError(
                "An A/B test runs behind the endpoint",
                on=f"{endpoint}, test {running.id}",
                try_=f'agent.releases.ab_test("{running.id}").stop()',
            )

    def _serve(self, arm: AbArm, progress: Progress) -> None:
        self.check_free(arm.endpoint)
        if arm.endpoint not in [endpoint.name for endpoint in self._endpoints.list()]:
            self._endpoints.create(arm.endpoint, arm.version, description=_PURPOSE, progress=progress)
        elif self._is_for_tests(arm.endpoint):  # a test whose start or end was interrupted left it
            self._endpoints.promote(arm.endpoint, arm.version, progress=progress)
        else:
            raise LoomError(
                "The agent has an endpoint with the name that the test needs, and Loom did not create it for a test",
                on=arm.endpoint,
                try_="deleting that endpoint, or a test behind an endpoint with another name",
            )

    def _check_unchanged(self, design: AbDesign, promote: str | None) -> None:
        """Refuse to end a test again if its endpoints have been used for something else since it ended."""
        for arm in design.arms:
            self.check_free(arm.endpoint)
        if promote is None:
            return
        current = self._endpoints.get(design.endpoint).version
        if current not in [arm.version for arm in design.arms]:
            raise LoomError(
                f"The A/B test has ended, and its endpoint now serves version {current}",
                on=design.endpoint,
                try_=f"agent.releases.promote({design.endpoint!r}, version={promote})",
            )

    def _is_for_tests(self, name: str) -> bool:
        if not self._endpoints.is_made_by_loom(name):
            return False
        try:
            description = self._endpoints.get(name).description
        except ResourceNotFoundError:
            return False
        if not description:  # earlier releases did not describe the endpoints of tests
            test = self.running(name)
            return test is not None and AbDesign.read(test.id, test.design).treatment.endpoint == name
        return description == _PURPOSE
