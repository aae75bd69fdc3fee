"""The control plane's operations on endpoints and tags, one method each, named after the operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .paging import page
from .runtimes import DEFAULT_ENDPOINT, Endpoint, Runtime, Runtimes, new_id, now
from .wire import conflict, invalid, not_found

Parameters = Mapping[str, Any]
Result = dict[str, Any]


class EndpointPlane:
    """Create, read, update, delete and list endpoints; tag whatever has an ARN."""

    def __init__(self, runtimes: Runtimes) -> None:
        self._runtimes = runtimes

    async def create_agent_runtime_endpoint(self, parameters: Parameters) -> Result:
        runtime = self._runtime(parameters)
        name, moment = parameters["name"], now()
        if self._runtimes.endpoint(runtime.id, name):
            raise conflict(f"{runtime.id} has an endpoint {name} already")
        number = self._ready_version(runtime, parameters.get("agentRuntimeVersion"))
        endpoint = Endpoint(
            runtime_id=runtime.id,
            name=name,
            id=new_id(name),
            live=number,
            target=number,
            status="READY",
            description=parameters.get("description") or "",
            created_at=moment,
            updated_at=moment,
        )
        self._runtimes.keep_endpoint(endpoint)
        self._runtimes.tag(_arn(runtime, name), parameters.get("tags") or {})
        return {
            "targetVersion": str(number),
            "agentRuntimeEndpointArn": _arn(runtime, name),
            "agentRuntimeArn": runtime.arn,
            "agentRuntimeId": runtime.id,
            "endpointName": name,
            "status": "CREATING",
            "createdAt": moment,
        }

    async def get_agent_runtime_endpoint(self, parameters: Parameters) -> Result:
        runtime = self._runtime(parameters)
        return _described(runtime, self._endpoint(runtime, parameters))

    async def update_agent_runtime_endpoint(self, parameters: Parameters) -> Result:
        runtime = self._runtime(parameters)
        endpoint = self._endpoint(runtime, parameters)
        if endpoint.name == DEFAULT_ENDPOINT:
            raise invalid("The DEFAULT endpoint follows the newest version and cannot be changed")
        if wanted := parameters.get("agentRuntimeVersion"):
            number = self._ready_version(runtime, wanted)
            endpoint = pointing_at(endpoint, number, status="READY", live=number)
        endpoint = replace(
            endpoint, description=parameters.get("description") or endpoint.description, updated_at=now()
        )
        self._runtimes.keep_endpoint(endpoint)
        described = _described(runtime, endpoint)
        names = ("liveVersion", "targetVersion", "agentRuntimeEndpointArn", "agentRuntimeArn", "createdAt")
        return {name: described[name] for name in names} | {
            "status": "UPDATING",
            "lastUpdatedAt": endpoint.updated_at,
        }

    async def delete_agent_runtime_endpoint(self, parameters: Parameters) -> Result:
        runtime = self._runtime(parameters)
        endpoint = self._endpoint(runtime, parameters)
        if endpoint.name == DEFAULT_ENDPOINT:
            raise conflict("The DEFAULT endpoint goes only with its runtime")
        arn = _arn(runtime, endpoint.name)
        self._runtimes.untag(arn, list(self._runtimes.tags(arn)))
        self._runtimes.remove_endpoint(runtime.id, endpoint.name)
        return {"status": "DELETING", "agentRuntimeId": runtime.id, "endpointName": endpoint.name}

    async def list_agent_runtime_endpoints(self, parameters: Parameters) -> Result:
        runtime = self._runtime(parameters)
        described = [_described(runtime, endpoint) for endpoint in self._runtimes.endpoints(runtime.id)]
        return page("runtimeEndpoints", described, parameters)

    async def tag_resource(self, parameters: Parameters) -> Result:
        arn = self._tagged(parameters)
        if len(self._runtimes.tags(arn) | parameters["tags"]) > 50:
            raise invalid("A resource can have at most 50 tags")
        self._runtimes.tag(arn, parameters["tags"])
        return {}

    async def untag_resource(self, parameters: Parameters) -> Result:
        self._runtimes.untag(self._tagged(parameters), parameters["tagKeys"])
        return {}

    async def list_tags_for_resource(self, parameters: Parameters) -> Result:
        return {"tags": self._runtimes.tags(self._tagged(parameters))}

    def _tagged(self, parameters: Parameters) -> str:
        arn: str = parameters["resourceArn"]
        runtime_id, _, endpoint = arn.partition(":runtime/")[2].partition("/runtime-endpoint/")
        runtime = self._runtimes.get(runtime_id)
        if runtime is None or (endpoint and self._runtimes.endpoint(runtime_id, endpoint) is None):
            raise not_found(f"No resource {arn}")
        return arn

    def _runtime(self, parameters: Parameters) -> Runtime:
        if runtime := self._runtimes.get(parameters["agentRuntimeId"]):
            return runtime
        raise not_found(f"No runtime {parameters['agentRuntimeId']}")

    def _endpoint(self, runtime: Runtime, parameters: Parameters) -> Endpoint:
        if endpoint := self._runtimes.endpoint(runtime.id, parameters["endpointName"]):
            return endpoint
        raise not_found(f"{runtime.id} has no endpoint {parameters['endpointName']}")

    def _ready_version(self, runtime: Runtime, number: str | None) -> int:
        version = (
            self._runtimes.newest(runtime.id) if number is None else self._runtimes.version(runtime.id, int(number))
        )
        if version is None:
            raise not_found(f"{runtime.id} has no version {number}")
        if not version.is_ready:
            raise conflict(f"Version {version.number} of {runtime.id} is {version.status}, not READY")
        return version.number


def pointing_at(endpoint: Endpoint, number: int, *, status: str, live: int | None) -> Endpoint:
    """The endpoint on its way to version `number`, still serving `live`."""
    return replace(endpoint, target=number, live=live, status=status, failure="", updated_at=now())


def _arn(runtime: Runtime, name: str) -> str:
    return f"{runtime.arn}/runtime-endpoint/{name}"


def _described(runtime: Runtime, endpoint: Endpoint) -> Result:
    optional = {
        "liveVersion": str(endpoint.live) if endpoint.live else "",
        "description": endpoint.description,
        "failureReason": endpoint.failure,
    }
    return {
        "name": endpoint.name,
        "id": endpoint.id,
        "targetVersion": str(endpoint.target),
        "agentRuntimeEndpointArn": _arn(runtime, endpoint.name),
        "agentRuntimeArn": runtime.arn,
        "status": endpoint.status,
        "createdAt": endpoint.created_at,
        "lastUpdatedAt": endpoint.updated_at,
    } | {name: value for name, value in optional.items() if value}
