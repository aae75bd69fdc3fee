"""Which requests are for a gateway's own endpoint, which authorizes its callers itself."""

from __future__ import annotations

import re
from typing import Final

from .wire import AsgiScope

METADATA_PATH: Final = "/.well-known/oauth-protected-resource"
"""The path at which a gateway names the authorization server that it trusts (RFC 9728)."""

MCP_PATHS: Final = ("/mcp", "/mcp/")
"""The path of a gateway's MCP endpoint."""

CONTROL_PATHS: Final = frozenset({"rate-limits", "rules", "synchronizeTargets", "targets"})
"""First parts of paths below a gateway that belong to the control plane, which has the same address here."""

_LOCAL: Final = re.compile(r"/gateways/([a-z0-9-]+)(/.+)\Z", re.DOTALL)
_HOST: Final = re.compile(r"([a-z0-9-]{1,63})\.gateway\.bedrock-agentcore\.")
_TARGET: Final = re.compile(r"/([0-9a-zA-Z][0-9a-zA-Z-]*)(?:/(.*))?\Z", re.DOTALL)


def gateway_path(scope: AsgiScope) -> tuple[str, str] | None:
    """Return the gateway's id and the path below it, from the local address or from AWS's host name of the gateway.

    Returns:
        None for any other request.
    """
    if scope["type"] != "http":
        return None
    path: str = scope["raw_path"].decode("latin-1")
    if local_match := _LOCAL.match(path):
        is_own = _is_own(local_match[2]) and local_match[2].split("/")[1] not in CONTROL_PATHS
        return (local_match[1], local_match[2]) if is_own else None
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    host_match = _HOST.match(host.lower())
    return (host_match[1], path) if host_match and _is_own(path) else None


def target_path(path: str) -> tuple[str, str]:
    """Return the name of the target that a path below a gateway addresses, and the path below the target.

    Examples:
        >>> target_path("/assistant/invocations")
        ('assistant', 'invocations')
    """
    matched = _TARGET.match(path)
    return (matched[1], matched[2] or "") if matched else ("", "")


def _is_own(path: str) -> bool:
    return path in (*MCP_PATHS, METADATA_PATH) or bool(target_path(path)[0])
