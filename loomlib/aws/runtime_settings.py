"""Settings of a runtime that deployments pass on to AgentCore."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .authorizers import JwtAuthorizer


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """Settings of a runtime's version; None leaves a setting to AgentCore.

    AgentCore validates the values, so that values of later releases are not rejected here.

    Attributes:
        platform_version: "V1" boots each session; "V2" restores it from a snapshot of the version.
        warmup: Path that is called once, with an empty POST, before the snapshot of a version is taken (V2), such as
            "/warmup"; ":9001/warmup" uses another port of the agent (8000 to 12000).
        idle_timeout_s: Seconds after which an idle session ends.
        max_lifetime_s: Seconds after which a session ends in any case.
        protocol: The protocol of the agent's server: "HTTP", "MCP", "A2A" or "AGUI".
        storage: Folder below /mnt that persists when a session is stopped, such as "/mnt/data".
        authorizer: The issuer whose bearer tokens are accepted; None if callers sign their requests.
        subnets: Subnets of the sessions' network; empty for the public network.
        security_groups: Security groups of the sessions' network.
    """

    platform_version: str | None = None
    warmup: str | None = None
    idle_timeout_s: int | None = None
    max_lifetime_s: int | None = None
    protocol: str | None = None
    storage: str | None = None
    authorizer: JwtAuthorizer | None = None
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()

    def members(self) -> dict[str, Any]:
        """Return the members of CreateAgentRuntime and UpdateAgentRuntime."""
        members: dict[str, Any] = {"networkConfiguration": self._network()}
        if self.platform_version is not None:
            members["platformVersion"] = self.platform_version
        if self.warmup is not None:
            members["hooksConfiguration"] = {"build": {"warmup": {"action": {"httpPost": _post(self.warmup)}}}}
        lifecycle = {"idleRuntimeSessionTimeout": self.idle_timeout_s, "maxLifetime": self.max_lifetime_s}
        if configuration := {name: value for name, value in lifecycle.items() if value is not None}:
            members["lifecycleConfiguration"] = configuration
        if self.protocol is not None:
            members["protocolConfiguration"] = {"serverProtocol": self.protocol}
        if self.storage is not None:
            members["filesystemConfigurations"] = [{"sessionStorage": {"mountPath": self.storage}}]
        if self.authorizer is not None:
            members["authorizerConfiguration"] = self.authorizer.configuration()
        return members

    def _network(self) -> dict[str, Any]:
        if not self.subnets:
            return {"networkMode": "PUBLIC"}
        return {
            "networkMode": "VPC",
            "networkModeConfig": {"subnets": list(self.subnets), "securityGroups": list(self.security_groups)},
        }


def _post(warmup: str) -> dict[str, Any]:
    """Return the HttpPostLifecycleHookAction of a path, or of `:port/path`."""
    port, slash, path = warmup.partition("/")
    if port.startswith(":") and port[1:].isdigit():
        return {"path": slash + path, "port": int(port[1:])}
    return {"path": warmup}
