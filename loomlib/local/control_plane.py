"""The control plane's operations on runtimes, one method each, named after the operation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from .contract import SessionRooms
from .deployments import Deployments
from .endpoints import pointing_at
from .paging import page
from .runtimes import DEFAULT_ENDPOINT, Endpoint, Runtime, Runtimes, Version, new_id, now
from .wire import conflict, invalid, not_found

Parameters = Mapping[str, Any]
Result = dict[str, Any]

_KEPT = (
    "agentRuntimeArtifact",
    "roleArn",
    "networkConfiguration",
    "description",
    "requestHeaderConfiguration",
    "protocolConfiguration",
    "lifecycleConfiguration",
    "environmentVariables",
    "metadataConfiguration",
)
_LIFECYCLE = {"idleRuntimeSessionTimeout": 900, "maxLifetime": 28_800}


class ControlPlane:
    """Create, read, update, delete and list runtimes."""

    def __init__(
        self, runtimes: Runtimes, deployments: Deployments, sessions: SessionRooms, *, account_id: str, region: str
    ) -> None:
        self._runtimes, self._deployments, self._sessions = runtimes, deployments, sessions
        self._arn = f"arn:{_partition(region)}:bedrock-agentcore:{region}:{account_id}:runtime/"
        self._changing = asyncio.Lock()

    async def create_agent_runtime(self, parameters: Parameters) -> Result:
        definition = _definition(parameters)
        name, token = parameters["agentRuntimeName"], parameters.get("clientToken")
        async with self._changing:
            if same := self._runtimes.named(name):
                if not token or same.client_token != token:
                    raise conflict(f"A runtime named {name} exists already: {same.id}")
                return self._made(same, self._runtimes.newest(same.id))
            runtime_id, moment = new_id(name), now()
            runtime = Runtime(
                id=runtime_id, name=name, arn=self._arn + runtime_id, created_at=moment, client_token=token
            )
            await self._deployments.fetch(definition, runtime_id, 1)
            version = Version(
                runtime_id=runtime_id,
                number=1,
                status="CREATING",
                definition=definition,
                created_at=moment,
                updated_at=moment,
            )
            self._runtimes.add(runtime)
            self._runtimes.keep_version(version)
            self._runtimes.keep_endpoint(
                Endpoint(
                    runtime_id=runtime_id,
                    name=DEFAULT_ENDPOINT,
                    id=new_id(DEFAULT_ENDPOINT),
                    live=None,
                    target=1,
                    status="CREATING",
                    created_at=moment,
                    updated_at=moment,
                )
            )
            self._runtimes.tag(runtime.arn, parameters.get("tags") or {})
        self._deployments.begin(version)
        return self._made(runtime, version)

    async def update_agent_runtime(self, parameters: Parameters) -> Result:
        definition = _definition(parameters)
        async with self._changing:
            runtime = self._runtime(parameters)
            newest = self._runtimes.newest(runtime.id)
            if newest.is_being_made:
                raise conflict(f"{runtime.id} is {newest.status}; wait until it is READY")
            number, moment = newest.number + 1, now()
            await self._deployments.fetch(definition, runtime.id, number)
            version = Version(
                runtime_id=runtime.id,
                number=number,
                status="UPDATING",
                definition=definition,
                created_at=moment,
                updated_at=moment,
            )
            self._runtimes.keep_version(version)
            if endpoint := self._runtimes.endpoint(runtime.id, DEFAULT_ENDPOINT):
                self._runtimes.keep_endpoint(pointing_at(endpoint, number, status="UPDATING", live=endpoint.live))
        self._deployments.begin(version)
        return self._made(runtime, version) | {"lastUpdatedAt": version.updated_at}

    async def get_agent_runtime(self, parameters: Parameters) -> Result:
        runtime = self._runtime(parameters)
        version = self._version(runtime, parameters.get("agentRuntimeVersion"))
        given = version.definition
        shown = {name: given[name] for name in _KEPT if name in given}
        return {
            **shown,
            "agentRuntimeArn": runtime.arn,
            "agentRuntimeName": runtime.name,
            "agentRuntimeId": runtime.id,
            "agentRuntimeVersion": str(version.number),
            "createdAt": runtime.created_at,
            "lastUpdatedAt": version.updated_at,
            "status": version.status,
            "lifecycleConfiguration": _LIFECYCLE | (given.get("lifecycleConfiguration") or {}),
            "workloadIdentityDetails": {"workloadIdentityArn": self._workload_identity(runtime)},
            **({"failureReason": version.failure} if version.failure else {}),
        }

    async def delete_agent_runtime(self, parameters: Parameters) -> Result:
        async with self._changing:
            runtime = self._runtime(parameters)
            if wanted := parameters.get("agentRuntimeVersion"):
                return await self._delete_version(runtime, self._version(runtime, wanted))
            number = self._runtimes.newest(runtime.id).number
            self._runtimes.remove(runtime.id)  # first, so that no call opens a new session
        await self._sessions.stop_runtime(runtime.id)
        await self._deployments.discard(runtime.id)
        return {"status": "DELETING", "agentRuntimeId": runtime.id, "agentRuntimeVersion": str(number)}

    async def list_agent_runtimes(self, parameters: Parameters) -> Result:
        newest = [(runtime, self._runtimes.newest(runtime.id)) for runtime in self._runtimes.all()]
        return page("agentRuntimes", [_summary(*pair) for pair in newest], parameters)

    async def list_agent_runtime_versions(self, parameters: Parameters) -> Result:
        runtime = self._runtime(parameters)
        versions = reversed(self._runtimes.versions(runtime.id))
        return page("agentRuntimes", [_summary(runtime, version) for version in versions], parameters)

    async def _delete_version(self, runtime: Runtime, version: Version) -> Result:
        users = [
            item.name for item in self._runtimes.endpoints(runtime.id) if version.number in (item.live, item.target)
        ]
        if users:
            raise conflict(f"Version {version.number} of {runtime.id} is in use by {', '.join(users)}")
        self._runtimes.remove_version(runtime.id, version.number)
        await self._deployments.discard(runtime.id, version.number)
        return {"status": "DELETING", "agentRuntimeId": runtime.id, "agentRuntimeVersion": str(version.number)}

    def _runtime(self, parameters: Parameters) -> Runtime:
        if runtime := self._runtimes.get(parameters["agentRuntimeId"]):
            return runtime
        raise not_found(f"No runtime {parameters['agentRuntimeId']}")

    def _version(self, runtime: Runtime, number: str | None) -> Version:
        if number is None:
            return self._runtimes.newest(runtime.id)
        if version := self._runtimes.version(runtime.id, int(number)):
            return version
        raise not_found(f"{runtime.id} has no version {number}")

    def _made(self, runtime: Runtime, version: Version) -> Result:
        return {
            "agentRuntimeArn": runtime.arn,
            "agentRuntimeId": runtime.id,
            "agentRuntimeVersion": str(version.number),
            "createdAt": runtime.created_at,
            "status": version.status,
            "workloadIdentityDetails": {"workloadIdentityArn": self._workload_identity(runtime)},
        }

    def _workload_identity(self, runtime: Runtime) -> str:
        directory = self._arn.removesuffix("runtime/") + "workload-identity-directory/default"
        return f"{directory}/workload-identity/{runtime.id}"


def _partition(region: str) -> str:
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"


def _summary(runtime: Runtime, version: Version) -> Result:
    return {
        "agentRuntimeArn": runtime.arn,
        "agentRuntimeId": runtime.id,
        "agentRuntimeVersion": str(version.number),
        "agentRuntimeName": runtime.name,
        # Required by the service model with at least one character, though a runtime need not have one.
        "description": version.definition.get("description") or " ",
        "lastUpdatedAt": version.updated_at,
        "status": version.status,
    }


def _definition(parameters: Parameters) -> dict[str, Any]:
    """What a version is made of, refused when it cannot run here."""
    code = parameters["agentRuntimeArtifact"].get("codeConfiguration")
    if code is None or "s3" not in code["code"] or not code["runtime"].startswith("PYTHON_"):
        raise invalid("The local AgentCore runs Python code deployments only (codeConfiguration with a PYTHON runtime)")
    if re.search(r"(^|/)\.\.(/|$)", code["entryPoint"][-1]) or not code["entryPoint"][-1].endswith(".py"):
        raise invalid("entryPoint must end with a .py file of the package")
    if len(code["entryPoint"]) == 2 and code["entryPoint"][0] != "opentelemetry-instrument":
        raise invalid("entryPoint of two items must begin with opentelemetry-instrument")
    configured: Mapping[str, Any] = parameters.get("protocolConfiguration") or {}
    if (protocol := configured.get("serverProtocol", "HTTP")) != "HTTP":
        raise invalid(f"The local AgentCore does not serve the {protocol} protocol yet, only HTTP")
    if parameters.get("authorizerConfiguration"):
        raise invalid("The local AgentCore knows callers by their access key only: leave out authorizerConfiguration")
    network = {"networkConfiguration": {"networkMode": "PUBLIC"}}
    return network | {name: parameters[name] for name in _KEPT if parameters.get(name) is not None}
