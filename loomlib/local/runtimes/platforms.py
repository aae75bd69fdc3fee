"""The platform of a runtime's version, V1 or V2, and its warm-up hook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..protocols import served
from ..wire import invalid

V1, V2 = "V1", "V2"
PLATFORMS = (V1, V2)

_HEALTH_PATH = "/ping"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """The request that warms up a version: `POST path`, sent to a port of the agent's."""

    path: str
    port: int


def with_platform(
    document: Mapping[str, Any], former: Mapping[str, Any] | None, *, default: str, created: bool
) -> dict[str, Any]:
    """Return the members of a runtime with its platform.

    An update that does not specify a platform keeps that of the previous version; a runtime stored without one is V1.

    Args:
        document: The members in the request.
        former: The members of the previous version.
        default: The platform of new runtimes.
        created: Whether the runtime is new.

    Raises:
        RefusedError: The platform does not exist or does not support the requested hooks.
    """
    fallback = default if created else platform_of(former or {})
    platform = str(document.get("platformVersion") or fallback)
    if platform not in PLATFORMS:
        raise invalid(f"platformVersion {platform!r} is not one of {', '.join(PLATFORMS)}")
    if document.get("hooksConfiguration"):
        if platform != V2:
            raise invalid("hooksConfiguration requires platformVersion V2; this runtime uses V1")
        if document.get("capacityProviderConfiguration"):
            raise invalid("hooksConfiguration cannot be combined with capacityProviderConfiguration")
        if document.get("filesystemConfigurations"):
            raise invalid("The local AgentCore does not combine hooksConfiguration with filesystemConfigurations")
        warm_up_of(document)
    return {**document, "platformVersion": platform}


def platform_of(document: Mapping[str, Any]) -> str:
    """Return a stored version's platform."""
    return str(document.get("platformVersion") or V1)


def warm_up_of(document: Mapping[str, Any]) -> WarmUp | None:
    """Return a version's build hook, if it has one."""
    hooks: Mapping[str, Any] = document.get("hooksConfiguration") or {}
    build: Mapping[str, Any] = hooks.get("build") or {}
    warmup: Mapping[str, Any] = build.get("warmup") or {}
    if not warmup:
        return None
    action: Mapping[str, Any] = warmup["action"]
    post: Mapping[str, Any] = action.get("httpPost") or {}
    if not post:
        raise invalid("The warm-up hook must have the action httpPost; the local AgentCore does not support any other")
    path = str(post["path"])
    if not path.startswith("/"):
        raise invalid(f"The path of the warm-up hook must begin with /, not {path!r}")
    server = served(document)
    port = int(post.get("port") or server.port)
    if port == server.port and path in (server.path, _HEALTH_PATH):
        raise invalid(f"The warm-up hook must not be {path} at port {port}, which the agent serves for AgentCore")
    return WarmUp(path=path, port=port)
