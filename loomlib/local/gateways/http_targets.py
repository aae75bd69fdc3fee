"""HTTP targets of gateways: agents on AgentCore Runtime, and other servers, which receive requests unchanged.

Source: AgentCore developer guide, "HTTP targets" and the pages below it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from ..gateway_paths import CONTROL_PATHS
from ..protocols import SESSION_HEADER
from ..resources import ResourceRecord
from ..resources.store import ResourceStore
from ..wire import invalid, not_found
from .requests import check_target
from .resources import GATEWAY_TARGET
from .tools import TargetError

RESERVED_NAMES: Final = frozenset({"mcp", "a2a", "responses", "converse"})
"""Names that a target cannot have, because gateways use these paths themselves."""

_RUNTIME_CREDENTIALS: Final = ("GATEWAY_IAM_ROLE", "OAUTH", "JWT_PASSTHROUGH")
_PASSTHROUGH_CREDENTIALS: Final = ("", "GATEWAY_IAM_ROLE", "OAUTH", "JWT_PASSTHROUGH", "API_KEY")
_NOT_HERE: Final = ("metadataConfiguration", "privateEndpoint", "certificateConfigurations")
_SESSION_S: Final = 15 * 86_400.0  # "Session stickiness for weighted rules": 15 days of inactivity
_LEAST_SESSION_CHARACTERS: Final = 33
_IDENTIFIER: Final = re.compile(
    r"(?:\$\.AMZN_AC_GW_CONTEXT\.headers\.|\$context\.header\.)?([!#%&'*+^_`|~0-9A-Za-z-]+)"
)
_AGENT_CARD: Final = "invocations/.well-known/agent-card.json"
_SDK_PATH: Final = re.compile(r"runtimes/[^/]+/(.+)")


def http_target(store: ResourceStore, gateway: ResourceRecord, name: str) -> ResourceRecord | None:
    """Return an HTTP target of a gateway by its name; None if it does not exist."""
    target = store.find(GATEWAY_TARGET.noun, gateway.place, name, parent=gateway.arn, by_name=True)
    return target if target is not None and "http" in target.document["targetConfiguration"] else None


def check_new_target(gateway: ResourceRecord, name: str, configuration: Mapping[str, Any]) -> None:
    """Refuse an HTTP target that its gateway cannot have.

    Raises:
        RefusedError: The gateway supports MCP only, or the name is reserved for a path of the gateway.
    """
    if "http" not in configuration:
        return
    if gateway.document.get("protocolType") == "MCP":
        raise invalid(
            "A gateway with protocolType MCP cannot have HTTP targets; create a gateway without a protocolType"
        )
    if name in RESERVED_NAMES:
        raise invalid(f"The path /{name} is reserved for the gateway, so an HTTP target cannot be named {name}")
    if name in CONTROL_PATHS:
        raise invalid(
            f"The path /{name} is reserved for the local AgentCore, so an HTTP target cannot be named {name} here"
        )


def check_http_target(target: ResourceRecord, runtimes: ResourceStore) -> None:
    """Refuse an HTTP target that cannot be called.

    Args:
        target: The target.
        runtimes: The resources, with the runtimes.

    Raises:
        TargetError: The message says why.
    """
    kind, config = http_configuration(target)
    for member in _NOT_HERE:
        if target.document.get(member):
            raise TargetError(f"The local AgentCore does not apply {member} to HTTP targets yet")
    providers = target.document.get("credentialProviderConfigurations") or ()
    credentials = str(providers[0]["credentialProviderType"]) if providers else ""
    allowed = _RUNTIME_CREDENTIALS if kind == "agentcoreRuntime" else _PASSTHROUGH_CREDENTIALS
    if credentials not in allowed:
        names = ", ".join(name for name in allowed if name)
        raise TargetError(
            f"The local AgentCore calls a target of the kind http.{kind} with {names}, not with {credentials or 'none'}"
        )
    if kind == "agentcoreRuntime":
        runtime = runtimes.of_arn(str(config["arn"]))
        if runtime is None or runtime.kind != "AgentRuntime" or runtime.place != target.place:
            raise TargetError(f"The runtime {config['arn']} does not exist")
        return
    check_target(str(config["endpoint"]))
    stickiness: Mapping[str, Any] = config.get("stickinessConfiguration") or {}
    for expression in [stickiness["identifier"], *(stickiness.get("compositeIdentifier") or ())] if stickiness else ():
        if not _IDENTIFIER.fullmatch(expression):
            raise TargetError(f"{expression} does not name the header that contains the session id")


def http_configuration(target: ResourceRecord) -> tuple[str, Mapping[str, Any]]:
    """Return the kind of an HTTP target and its configuration."""
    return next(iter(target.document["targetConfiguration"]["http"].items()))


def target_url(target: ResourceRecord, path: str, query: str) -> str:
    """Return the URL to which a request for a target is sent.

    Args:
        target: The target.
        path: The path below the target's name, as it was sent.
        query: The query, as it was sent.

    Raises:
        RefusedError: The target has nothing at that path.
    """
    if any(part in (".", "..") for part in re.split(r"[/\\]", unquote(path))):
        raise invalid("The path of a request to a target must not contain the segments . and ..")
    kind, config = http_configuration(target)
    if kind == "passthrough":
        parts = urlsplit(str(config["endpoint"]))
        full_path = f"{parts.path.rstrip('/')}/{path}" if path else parts.path
        full_query = "&".join(text for text in (parts.query, _merged(query, config)) if text)
        return urlunsplit((parts.scheme, parts.netloc, full_path, full_query, ""))
    path = path.rstrip("/")
    if match := _SDK_PATH.fullmatch(path):  # InvokeAgentRuntime of an SDK whose endpoint is the target's address
        path = match[1]
    if path not in ("invocations", _AGENT_CARD):
        raise not_found(f"Target {target.name} is a runtime, which accepts requests at /invocations, not at /{path}")
    arn, qualifier = str(config["arn"]), str(config.get("qualifier") or "DEFAULT")
    region = arn.split(":")[3]
    host = f"bedrock-agentcore.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"
    return f"https://{host}/runtimes/{quote(arn, safe='')}/{path}?qualifier={quote(qualifier, safe='')}"


def session_of(target: ResourceRecord, fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return the session that a request names in its header fields; empty without one."""
    _, config = http_configuration(target)
    stickiness: Mapping[str, Any] | None = config.get("stickinessConfiguration")
    if stickiness is None:
        session_id = fields.get(SESSION_HEADER.decode(), "")
        return (session_id,) if len(session_id) >= _LEAST_SESSION_CHARACTERS else ()
    values = [
        _header(text, fields) for text in (stickiness["identifier"], *(stickiness.get("compositeIdentifier") or ()))
    ]
    return tuple(values) if values[0] else ()


def session_timeout_s(target: ResourceRecord) -> float:
    """Return the idle time in seconds after which a session is routed anew."""
    _, config = http_configuration(target)
    stickiness: Mapping[str, Any] = config.get("stickinessConfiguration") or {}
    return float(stickiness.get("timeout") or _SESSION_S)


def _header(expression: str, fields: Mapping[str, str]) -> str:
    matched = _IDENTIFIER.fullmatch(expression)
    return fields.get(matched[1].lower(), "") if matched else ""


def _merged(query: str, config: Mapping[str, Any]) -> str:
    """Return a request's query with the target's static parameters."""
    static_parameters: Mapping[str, str] = config.get("staticQueryParameters") or {}
    if not static_parameters:
        return query
    pairs = parse_qsl(query, keep_blank_values=True)
    if config.get("staticQueryParameterConflictResolution") == "STATIC_OVERRIDE":
        pairs = [(name, value) for name, value in pairs if name not in static_parameters]
    query_names = {name for name, _ in pairs}
    return urlencode([*pairs, *((name, value) for name, value in static_parameters.items() if name not in query_names)])
