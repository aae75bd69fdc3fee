"""The ports of a session that can be reached through its endpoint, and the address of that endpoint.

InvokeAgentRuntime returns the address of its session's endpoint if the runtime has `allowedPorts`. The port and the
path are appended to it: `{address}/8501/index.html`. How AWS's addresses name a port is not in its service model, so
this form is the local service's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

from ..contract import AgentCall
from ..identity.inbound import USER_HEADER
from ..sandbox.isolation import Isolation
from ..wire import invalid

ENDPOINT_HEADER: Final = b"x-amzn-bedrock-agentcore-runtime-session-endpoint-url"

_SEGMENT = "session-endpoints"
_RESERVED_PORT = 8443
_NOT_PASSED = frozenset({"authorization", "host", "content-length"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PortAddress:
    """A request to a server inside a session; `path` is raw and begins with a slash."""

    arn: str
    qualifier: str
    session_id: str
    port: int
    path: str


def check_ports(document: Mapping[str, Any], isolation: Isolation) -> None:
    """Refuse ports that cannot be allowed.

    Args:
        document: The runtime's configuration.
        isolation: What separates sessions from this machine.
    """
    ranges = allowed_ports(document)
    for first, last in ranges:
        if first > last:
            raise invalid(f"allowedPorts: the range {first} to {last} ends before it begins")
        if first <= _RESERVED_PORT <= last:
            raise invalid(f"allowedPorts: port {_RESERVED_PORT} is reserved")
    for (_, last), (first, _) in zip(sorted(ranges), sorted(ranges)[1:], strict=False):
        if first <= last:
            raise invalid(f"allowedPorts: the entries overlap at port {first}")
    if ranges and not isolation.has_own_network:
        raise invalid(
            "allowedPorts requires sessions with their own networks, or the ports would be those of this machine: "
            f"{isolation.sentence}. Install bubblewrap and slirp4netns, or leave out allowedPorts"
        )


def allowed_ports(document: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """Return the first and the last port of each entry of `allowedPorts`."""
    entries: Sequence[Mapping[str, Any]] = document.get("allowedPorts") or ()
    pairs = [(entry["portRange"]["from"], entry["portRange"]["to"]) for entry in entries if "portRange" in entry]
    return (*((entry["port"], entry["port"]) for entry in entries if "port" in entry), *pairs)


def endpoint_url(service: str, call: AgentCall) -> str:
    """Return the address of a session's endpoint.

    Args:
        service: The service's address.
        call: The invocation of the session.
    """
    words = (call.runtime.arn, _SEGMENT, call.qualifier, call.session_id)
    return f"{service}/runtimes/" + "/".join(quote(word, safe="") for word in words)


def read_port_address(raw_path: str) -> PortAddress | None:
    """Return the request that a path of a session's endpoint describes; None for any other path."""
    parts = raw_path.split("/", 7)
    if len(parts) < 7 or parts[1] != "runtimes" or parts[3] != _SEGMENT:
        return None
    if not parts[6].isdecimal() or len(parts[6]) > 5:
        raise invalid(f"A session endpoint's address ends with a port and a path, not {unquote(parts[6])!r}")
    return PortAddress(
        arn=unquote(parts[2]),
        qualifier=unquote(parts[4]),
        session_id=unquote(parts[5]),
        port=int(parts[6]),
        path="/" + (parts[7] if len(parts) > 7 else ""),
    )


def passed_query(query: bytes) -> str:
    """Return a request's query without its signature."""
    return "&".join(part for part in query.decode("latin-1").split("&") if not part.lower().startswith("x-amz-"))


def passed_headers(headers: Mapping[bytes, bytes], *, names_user: bool = True) -> dict[str, str]:
    """Return the header fields of a request that a server inside a session sees.

    Args:
        headers: The request's header fields.
        names_user: Whether a header may name the user; a bearer token identifies the user itself.
    """
    left_out = _NOT_PASSED if names_user else {*_NOT_PASSED, USER_HEADER}
    fields = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.items())
    return {name: value for name, value in fields if name not in left_out and not name.startswith("x-amz-")}
