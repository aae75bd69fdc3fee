"""Remove an agent and the resources that Loom created for it; everything else is kept, and the plan states why."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..agents import AgentEntry, Catalog
from ..aws import Clients
from ..aws.buckets import delete_object
from ..aws.deploy import code_bucket
from ..aws.endpoints import DEFAULT_ENDPOINT, EndpointDescription, describe_endpoints
from ..aws.roles import delete_role, describe_role
from ..aws.runtimes import delete_runtime, find_runtime, wait_until_gone
from ..aws.tags import read_tags
from ..aws.versions import CodeLocation, describe_versions, list_packages
from ..deploy.names import AGENT_TAG, role_name
from ..errors import AwsError, LoomError, ResourceNotFoundError
from ..json_values import as_text
from ..presentation.formats import join, plural
from ..store import Store
from .ab_tests import AbTests
from .deployed import BUILDS, TRIGGERS, DeploymentResources
from .endpoints import EndpointReleases
from .removal_plan import FOREIGN, MADE, RemovalPlan, RemovalStep

Report = Callable[[str], None]


class Removal:
    """The removal of one agent.

    Resources that Loom created have the tag `loom:agent`. Runtimes of earlier releases do not have tags: they are
    recognized by their packages in Loom's bucket, under the runtime's name.

    Args:
        clients: The AWS clients of a connection.
        store: The database.
        catalog: The catalog.
        entry: The agent.

    Raises:
        LoomError: The agent is in another region than the connection.
    """

    def __init__(self, clients: Clients, store: Store, catalog: Catalog, entry: AgentEntry) -> None:
        if entry.region != clients.region:
            raise LoomError(
                f"The agent is in {entry.region}, and this workbench in {clients.region}",
                on=entry.name,
                try_=f'loom.connect("aws", region="{entry.region}")',
            )
        self._clients, self._store, self._catalog, self._entry = clients, store, catalog, entry
        self._endpoints = EndpointReleases(clients, store, catalog.scope, entry.arn)
        self._tests = AbTests(self._endpoints, store, catalog.scope)
        self._beside = DeploymentResources(clients, entry.name)

    def plan(self) -> RemovalPlan:
        """Return the resources that would be deleted and kept; changes nothing."""
        return RemovalPlan(agent=self._entry.name, where=self._catalog.scope, steps=tuple(self._steps()))

    def apply(self, report: Report) -> RemovalPlan:
        """Carry out the plan, and return it.

        Each call reads the state again, so after a failure or a killed process the next call deletes the rest. The
        catalog entry is deleted last.

        Args:
            report: Called with a line for each step.

        Raises:
            AwsError: A resource cannot be deleted.
        """
        plan = self.plan()
        for step in plan.deleted:
            report(f"deleting the {step.kind} {step.name}")
            self._delete(step)
        return plan

    def _steps(self) -> Iterator[RemovalStep]:
        for row in self._tests.list():
            if row.state == "running":
                yield RemovalStep(
                    kind="A/B test", name=row.id, action="delete", reason="it is stopped; its data is kept"
                )
        try:
            endpoints = describe_endpoints(self._clients, self._entry.runtime_id, region=self._entry.region)
        except ResourceNotFoundError:
            endpoints = None
        steps = [] if endpoints is None else self._runtime_steps(endpoints)
        user = self._user(goes=endpoints is None or steps[-1].action == "delete")
        yield from self._beside.steps(TRIGGERS, user)  # first, because they call the runtime
        yield from steps
        yield from self._beside.steps(BUILDS, user)
        yield from self._rest(user)
        yield from self._logs(endpoints or ())
        yield RemovalStep(
            kind="catalog entry",
            name=self._entry.name,
            action="delete",
            reason="the agent is removed from the catalog; its stored invocations, studies and evaluations are kept",
        )

    def _runtime_steps(self, endpoints: list[EndpointDescription]) -> list[RemovalStep]:
        """Return the steps of the endpoints and, last, of the runtime."""
        named_endpoints = [endpoint for endpoint in endpoints if endpoint.name != DEFAULT_ENDPOINT]
        is_own = self._is_own_runtime()
        foreign = [endpoint.name for endpoint in named_endpoints if not self._is_own_endpoint(endpoint)]
        steps = [
            RemovalStep(
                kind="endpoint",
                name=endpoint.name,
                action="keep" if endpoint.name in foreign else "delete",
                reason=FOREIGN if endpoint.name in foreign else MADE,
            )
            for endpoint in named_endpoints
        ]
        action = "delete" if is_own and not foreign else "keep"
        reason = f"{MADE}; its versions and the endpoint DEFAULT are deleted with it"
        if not is_own:
            reason = FOREIGN
        elif foreign:
            reason = (
                f"it has {plural(len(foreign), 'endpoint')} of another tool: {join(foreign)}. To delete the runtime, "
                "delete them first: agent.releases.delete(…)"
            )
        return [*steps, RemovalStep(kind="runtime", name=self._entry.runtime_id, action=action, reason=reason)]

    def _user(self, *, goes: bool) -> str:
        """Return why the runtime's resources are kept; empty if they are no longer used."""
        if not goes:
            return "the runtime, which is kept, uses it"
        other = find_runtime(self._clients, self._entry.name, region=self._entry.region)
        if other not in (None, self._entry.runtime_id):
            return f"the runtime {other} of the same name uses it"
        return ""

    def _rest(self, user: str) -> Iterator[RemovalStep]:
        """Yield the packages and the role."""
        name, region = self._entry.name, self._entry.region
        for place in list_packages(self._clients, name, region=region):
            yield RemovalStep(kind="package", name=str(place), action="keep" if user else "delete", reason=user or MADE)
        yield RemovalStep(
            kind="bucket",
            name=code_bucket(self._clients, self._entry.region),
            action="keep",
            reason="all agents share it",
        )
        role = as_text(self._entry.raw_metadata.get("roleArn")).rpartition("/")[2] or role_name(name, region)
        if (reason := self._role_reason(role)) is not None:
            is_own = reason == MADE and not user
            yield RemovalStep(kind="role", name=role, action="delete" if is_own else "keep", reason=user or reason)

    def _role_reason(self, name: str) -> str | None:
        """Return who created the role; None if there is no role, such as on the local AgentCore."""
        try:
            role = describe_role(self._clients, name)
        except AwsError as error:
            return f"it is not known whether Loom created it: {error.what}"
        if role is None:
            return None
        return MADE if role.tags.get(AGENT_TAG) == self._entry.name else FOREIGN

    def _logs(self, endpoints: list[EndpointDescription] | tuple[()]) -> Iterator[RemovalStep]:
        for name in [endpoint.name for endpoint in endpoints] or self._entry.qualifiers:
            yield RemovalStep(
                kind="log group",
                name=self._entry.log_group(name),
                action="keep",
                reason="it contains the logs of past sessions, which CloudWatch bills until they are deleted",
            )

    def _is_own_endpoint(self, endpoint: EndpointDescription) -> bool:
        if self._endpoints.is_made_by_loom(endpoint.name):
            return True
        try:
            return read_tags(self._clients, endpoint.arn, region=self._entry.region).get(AGENT_TAG) == self._entry.name
        except AwsError:
            return False  # unknown: kept

    def _is_own_runtime(self) -> bool:
        if read_tags(self._clients, str(self._entry.arn), region=self._entry.region).get(AGENT_TAG) == self._entry.name:
            return True
        bucket, folder = code_bucket(self._clients, self._entry.region), f"{self._entry.name}/"
        versions = describe_versions(self._clients, self._entry.runtime_id, region=self._entry.region, limit=20)
        places = [version.place for version in versions]
        return bool(places) and all(place.bucket == bucket and place.key.startswith(folder) for place in places)

    def _delete(self, step: RemovalStep) -> None:
        clients, region, runtime_id = self._clients, self._entry.region, self._entry.runtime_id
        if self._beside.delete(step):
            return
        if step.kind == "A/B test":
            self._store.releases.stop_test(step.name)
        elif step.kind == "endpoint":
            self._endpoints.delete(step.name)  # stores the deletion too
        elif step.kind == "runtime":
            delete_runtime(clients, runtime_id, region=region)
            wait_until_gone(clients, runtime_id, region=region)
        elif step.kind == "package":
            place = CodeLocation.parse(step.name)
            delete_object(clients, place.bucket, place.key)
        elif step.kind == "role":
            delete_role(clients, step.name)
        else:
            self._catalog.remove(self._entry)
