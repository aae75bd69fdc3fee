"""A runtime's `protocolConfiguration`: which protocol its server speaks, on which port and path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..wire import invalid

# The defaults of ProtocolConfiguration in the service model.
_PORTS: Final = {"HTTP": 8080, "MCP": 8000, "A2A": 9000, "AGUI": 8080}
_PATHS: Final = {"HTTP": "/invocations", "MCP": "/mcp", "A2A": "/", "AGUI": "/invocations"}
_RESERVED_PORT: Final = 8443


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a runtime's server speaks, and where."""

    protocol: str
    port: int
    path: str


def served(document: Mapping[str, Any]) -> Served:
    """Return what the server of a runtime with these members speaks, with the protocol's defaults."""
    configured: Mapping[str, Any] = document.get("protocolConfiguration") or {}
    protocol = str(configured.get("serverProtocol") or "HTTP")
    return Served(
        protocol=protocol,
        port=int(configured.get("port") or _PORTS[protocol]),
        path=str(configured.get("path") or _PATHS[protocol]),
    )


def check_protocol(document: Mapping[str, Any]) -> None:
    """Refuse a port that AgentCore keeps for itself; the service model checks the rest."""
    if served(document).port == _RESERVED_PORT:
        raise invalid(
            f"protocolConfiguration.port must not be {_RESERVED_PORT}, which is reserved: use another port "
            "between 8000 and 12000"
        )
