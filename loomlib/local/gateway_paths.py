"""Which requests are for a gateway's own endpoint, which authorizes its callers itself."""

from __future__ import annotations

import re
from typing import Final

from .wire import AsgiScope

METADATA_PATH: Final = "/.well-known/oauth-protected-resource"
"""Where a gateway says which authorization server it trusts (RFC 9728)."""

_PATH: Final = re.compile(r"/gateways/([a-z0-9-]+)(/mcp/?|" + re.escape(METADATA_PATH) + r")\Z")
_HOST: Final = re.compile(r"([a-z0-9-]{1,63})\.gateway\.bedrock-agentcore\.")


def gateway_path(scope: AsgiScope) -> tuple[str, str] | None:
    """Return the gateway's id and the path below it, by the local address or by AWS's name of the gateway.

    Returns:
        None for any other request.
    """
    if scope["type"] != "http":
        return None
    path: str = scope["raw_path"].decode("latin-1")
    if matched := _PATH.match(path):
        return matched[1], matched[2]
    if path not in ("/mcp", "/mcp/", METADATA_PATH):
        return None
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    named = _HOST.match(host.lower())
    return (named[1], path) if named else None
