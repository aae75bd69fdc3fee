"""Runtimes and their endpoints as resources of the control plane."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ..identity.inbound import check_authorizer
from ..identity.outbound import linked_identity
from ..protocols import check_header_allowlist, check_protocol
from ..resources import Behaviour, Draft, ProvisioningError, Resource, ResourceRecord, new_id
from ..resources.store import ResourceStore
from ..sessions import SessionPool, SnapshotError
from ..wire import conflict, invalid, not_found
from .deployments import Deployments
from .filesystems import check_filesystems, check_resources
from .nodes import check_node
from .packages import InvalidPackageError
from .platforms import V1, platform_of, with_platform
from .ports import check_ports
from .pythons import check_python

DEFAULT_ENDPOINT: Final = "DEFAULT"
_LIFECYCLE = {"idleRuntimeSessionTimeout": 900, "maxLifetime": 28_800}

AGENT_RUNTIME = Resource(
    noun="AgentRuntime",
    arn="runtime/{id}",
    versioned=True,
    update="replace",
    # The service model requires one character, though a runtime need not have a description.
    summary_defaults={"description": " "},
)
AGENT_RUNTIME_ENDPOINT = Resource(
    noun="AgentRuntimeEndpoint",
    arn="runtime/{parent}/runtime-endpoint/{name}",
    parent=AGENT_RUNTIME,
    aliases={"endpointName": "name"},
)


class RuntimeBehaviour(Behaviour):
    """Deploys a runtime's package in the background and moves its DEFAULT endpoint to the newest version."""

    needs_provisioning = True

    def __init__(
        self, store: ResourceStore, deployments: Deployments, sessions: SessionPool, *, platform: str = V1
    ) -> None:
        self._store, self._deployments, self._sessions, self._platform = store, deployments, sessions, platform

    async def before_create(self, draft: Draft) -> None:
        """Copy the package and create the DEFAULT endpoint."""
        draft.record = self._checked(draft)
        await self._deployments.fetch(draft.record)
        runtime = draft.record
        draft.also.append(linked_identity(runtime))
        draft.also.append(
            ResourceRecord(
                kind=AGENT_RUNTIME_ENDPOINT.noun,
                region=runtime.region,
                parent=runtime.arn,
                id=new_id(DEFAULT_ENDPOINT),
                name=DEFAULT_ENDPOINT,
                arn=f"{runtime.arn}/runtime-endpoint/{DEFAULT_ENDPOINT}",
                status="CREATING",
                document={"targetVersion": "1"},
                created_at=runtime.created_at,
                updated_at=runtime.created_at,
            )
        )

    async def before_update(self, draft: Draft) -> None:
        """Copy the package and point DEFAULT at the new version."""
        draft.record = self._checked(draft)
        await self._deployments.fetch(draft.record)
        if endpoint := endpoint_of(self._store, draft.record, DEFAULT_ENDPOINT):
            document = {**endpoint.document, "targetVersion": str(draft.record.version)}
            draft.also.append(
                replace(endpoint, document=document, status="UPDATING", failure="", updated_at=draft.record.updated_at)
            )

    async def provision(self, record: ResourceRecord) -> ResourceRecord:
        """Extract the package, install its requirements, and take its snapshot on platform V2."""
        try:
            overlay_folders = await self._deployments.make(record)
        except InvalidPackageError as error:
            raise ProvisioningError(str(error)) from error
        deployed_record = replace(
            record, internal={"overlay": os.pathsep.join(map(str, overlay_folders))} if overlay_folders else {}
        )
        try:
            await self._sessions.build(self._deployments.runnable(deployed_record))
        except SnapshotError as error:
            raise ProvisioningError(str(error)) from error
        return deployed_record

    def after_provision(self, record: ResourceRecord) -> Sequence[ResourceRecord]:
        """Let the DEFAULT endpoint serve the version, or report its failure."""
        self._deployments.provisioned(record)
        endpoint = endpoint_of(self._store, record, DEFAULT_ENDPOINT)
        if endpoint is None or endpoint.document["targetVersion"] != str(record.version):
            return ()  # a newer version is being created
        document = dict(endpoint.document)
        if record.status == "READY":
            document["liveVersion"] = str(record.version)
        return [
            replace(
                endpoint,
                document=document,
                status=record.status,
                failure=record.failure,
                updated_at=record.updated_at,
            )
        ]

    async def before_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Refuse to delete a version that an endpoint uses."""
        if version is None:
            return
        users = [
            endpoint.name
            for endpoint in self._store.records(AGENT_RUNTIME_ENDPOINT.noun, parent=record.arn)
            if str(version) in (endpoint.document.get("liveVersion"), endpoint.document["targetVersion"])
        ]
        if users:
            raise conflict(f"Version {version} of {record.id} is in use by {', '.join(users)}")

    async def after_delete(self, record: ResourceRecord, version: int | None) -> None:
        """End the runtime's sessions and delete its files."""
        if version is None:
            await self._sessions.stop_runtime(record.id)
            if identity := self._store.of_arn(linked_identity(record).arn):
                await asyncio.to_thread(self._store.remove, identity)
        else:
            await self._sessions.end_version(record.id, str(version))
        await self._deployments.discard(record.id, version)

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Return the lifecycle settings with defaults, the platform, and the workload identity."""
        return {
            "platformVersion": platform_of(record.document),
            "lifecycleConfiguration": _LIFECYCLE | (record.document.get("lifecycleConfiguration") or {}),
            "workloadIdentityDetails": {"workloadIdentityArn": linked_identity(record).arn},
        }

    def _checked(self, draft: Draft) -> ResourceRecord:
        """Return the record with a network configuration and a platform; refuse a version that cannot run here."""
        record, former = draft.record, draft.former
        document = with_platform(
            record.document, former and former.document, default=self._platform, created=former is None
        )
        artifact: Mapping[str, Any] = document["agentRuntimeArtifact"]
        check_python(document, exact=self._deployments.exact_python)
        check_node(document, self._deployments.isolation)
        if container := artifact.get("containerConfiguration"):
            self._deployments.image(container["containerUri"])
        else:
            _check_code(artifact.get("codeConfiguration"))
        check_protocol(document)
        check_header_allowlist(document)
        check_filesystems(document, self._deployments.isolation)
        check_resources(document)
        check_ports(document, self._deployments.isolation)
        check_authorizer(document.get("authorizerConfiguration"))
        return replace(record, document={"networkConfiguration": {"networkMode": "PUBLIC"}, **document})


class EndpointBehaviour(Behaviour):
    """Points endpoints at versions that are READY; DEFAULT follows the newest version and cannot be changed."""

    def __init__(self, store: ResourceStore) -> None:
        self._store = store

    async def before_create(self, draft: Draft) -> None:
        """Point the endpoint at a version."""
        draft.record = self._pointed(draft, draft.parameters.get("agentRuntimeVersion"))

    async def before_update(self, draft: Draft) -> None:
        """Point the endpoint at another version, if the request specifies one."""
        if draft.record.name == DEFAULT_ENDPOINT:
            raise invalid("The DEFAULT endpoint follows the newest version and cannot be changed")
        if version_number := draft.parameters.get("agentRuntimeVersion"):
            draft.record = self._pointed(draft, version_number)

    async def before_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Refuse to delete DEFAULT."""
        if record.name == DEFAULT_ENDPOINT:
            raise conflict("The DEFAULT endpoint is deleted only together with its runtime")

    def _pointed(self, draft: Draft, version_number: str | None) -> ResourceRecord:
        runtime = draft.parent
        assert runtime is not None
        version = runtime if version_number is None else self._store.version(runtime, int(version_number))
        if version is None:
            raise not_found(f"{runtime.id} has no version {version_number}")
        if version.status != "READY":
            raise conflict(f"Version {version.version} of {runtime.id} is {version.status}, not READY")
        document = {name: value for name, value in draft.record.document.items() if name != "agentRuntimeVersion"}
        number = str(version.version)
        return replace(draft.record, document={**document, "targetVersion": number, "liveVersion": number})


def endpoint_of(store: ResourceStore, runtime: ResourceRecord, name: str) -> ResourceRecord | None:
    """Return a runtime's endpoint by its name.

    Args:
        store: The stored resources.
        runtime: The runtime.
        name: The endpoint's name.
    """
    return store.find(AGENT_RUNTIME_ENDPOINT.noun, runtime.place, name, parent=runtime.arn, by_name=True)


def _check_code(code: Mapping[str, Any] | None) -> None:
    if code is None or "s3" not in code["code"] or not code["runtime"].startswith(("PYTHON_", "NODE_")):
        raise invalid("The local AgentCore runs only Python and Node.js code (codeConfiguration)")
    endings = (".js", ".mjs", ".cjs") if code["runtime"].startswith("NODE_") else (".py",)
    if re.search(r"(^|/)\.\.(/|$)", code["entryPoint"][-1]) or not code["entryPoint"][-1].endswith(endings):
        raise invalid(f"entryPoint must end with a {', '.join(endings)} file of the package")
    if len(code["entryPoint"]) == 2 and code["entryPoint"][0] != "opentelemetry-instrument":
        raise invalid("entryPoint of two items must begin with opentelemetry-instrument")
