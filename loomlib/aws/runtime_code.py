"""A runtime's deployed code, and single calls of a runtime that are not stored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.errors import NotSupportedError

from .connection import Clients
from .errors import translated
from .packages import Package

_CHUNK_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedCode:
    """A runtime's package, session role, warm-up hook (see `RuntimeSettings`) and environment variables."""

    package: Package
    role_arn: str
    warmup: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


def read_code(clients: Clients, runtime_id: str, *, region: str | None = None) -> DeployedCode:
    """Return the package from which the runtime's newest version was deployed.

    Args:
        clients: The AWS clients of a connection.
        runtime_id: The runtime's id.
        region: The region, if it is not the connection's.

    Raises:
        NotSupportedError: The runtime is a container image.
        ResourceNotFoundError: There is no such runtime, or its package is no longer in S3.
    """
    with translated("Reading the runtime", on=runtime_id):
        answer: dict[str, Any] = clients.control(region).get_agent_runtime(agentRuntimeId=runtime_id)
    code: Mapping[str, Any] | None = answer["agentRuntimeArtifact"].get("codeConfiguration")
    if code is None:
        raise NotSupportedError(
            "The code of a container image cannot be read", on=runtime_id, try_="the folder of the agent's code"
        )
    place: Mapping[str, str] = code["code"]["s3"]
    request = {"Bucket": place["bucket"], "Key": place["prefix"]}
    if place.get("versionId"):
        request["VersionId"] = place["versionId"]
    with translated("Reading the agent's package", on=f"s3://{place['bucket']}/{place['prefix']}"):
        data: bytes = clients.s3(region).get_object(**request)["Body"].read()
    package = Package(data=data, digest=hashlib.sha256(data).hexdigest(), entry_point=str(code["entryPoint"][-1]))
    hooks: Mapping[str, Any] = answer.get("hooksConfiguration") or {}
    action: Mapping[str, Any] = hooks.get("build", {}).get("warmup", {}).get("action", {}).get("httpPost", {})
    port = f":{action['port']}" if "port" in action else ""
    return DeployedCode(
        package=package,
        role_arn=str(answer["roleArn"]),
        warmup=port + str(action.get("path", "")),
        environment=dict(answer.get("environmentVariables") or {}),
    )


def call_once(clients: Clients, arn: str, session_id: str, payload: bytes, *, limit_bytes: int) -> bytes:
    """Invoke a runtime and return at most `limit_bytes` of its answer; nothing is stored.

    Args:
        clients: The AWS clients of a connection.
        arn: The runtime's ARN.
        session_id: The session's id.
        payload: The request's body, JSON.
        limit_bytes: The number of bytes after which to stop reading; up to one more chunk may be returned.

    Raises:
        AgentFailedError: The agent did not start or did not answer; the message contains its last log lines.
    """
    with translated("Invoking the runtime", on=arn):
        answer = clients.data().invoke_agent_runtime(
            agentRuntimeArn=arn, runtimeSessionId=session_id, payload=payload, contentType="application/json"
        )
        data = b""
        with answer["response"] as body:
            while len(data) <= limit_bytes and (part := body.read(_CHUNK_BYTES)):
                data += part
    return data
