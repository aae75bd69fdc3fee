"""The headers of an invocation that reach the agent: the platform's, and those that the runtime allows."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..wire import invalid

SESSION_HEADER: Final = b"x-amzn-bedrock-agentcore-runtime-session-id"
MCP_SESSION: Final = "mcp-session-id"
TRACE_HEADERS: Final = ("traceparent", "tracestate", "baggage", "x-amzn-trace-id")
_CUSTOM_PREFIX: Final = "x-amzn-bedrock-agentcore-runtime-custom-"
_PASSED: Final = frozenset(
    {"x-amzn-bedrock-agentcore-runtime-user-id", *TRACE_HEADERS, "content-type", "accept"}
    | {MCP_SESSION, "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"}
    | {"a2a-version", "a2a-extensions", "x-a2a-extensions"}
)
_VALUE_LIMIT_BYTES: Final = 4_096  # developer guide, "Pass custom headers to Amazon Bedrock AgentCore Runtime"

# The same page, "Restricted headers".
_RESTRICTED_NAMES: Final = """
    proxy-authorization www-authenticate
    accept accept-charset accept-encoding accept-language content-type content-length content-encoding content-language
    content-location content-range
    cache-control etag expires if-match if-modified-since if-none-match if-range if-unmodified-since last-modified
    pragma vary
    connection keep-alive proxy-connection upgrade
    host user-agent referer from
    range accept-ranges transfer-encoding te trailer
    server date location retry-after
    set-cookie cookie
    content-security-policy content-security-policy-report-only strict-transport-security x-content-type-options
    x-frame-options x-xss-protection referrer-policy permissions-policy cross-origin-embedder-policy
    cross-origin-opener-policy cross-origin-resource-policy
    access-control-allow-origin access-control-allow-methods access-control-allow-headers
    access-control-allow-credentials access-control-expose-headers access-control-max-age
    access-control-request-method access-control-request-headers origin
    accept-ch accept-ch-lifetime dpr width viewport-width downlink ect rtt save-data
    clear-site-data feature-policy expect-ct public-key-pins public-key-pins-report-only
    via forwarded x-forwarded-for x-forwarded-host x-forwarded-proto x-real-ip x-requested-with x-csrf-token
    true-client-ip x-client-ip x-cluster-client-ip x-originating-ip x-source-ip x-original-url x-original-host
    x-rewrite-url
    cf-ray cf-connecting-ip x-amz-cf-id x-cache x-served-by
    link
    sec-websocket-key sec-websocket-accept sec-websocket-version sec-websocket-protocol sec-websocket-extensions
"""
_RESTRICTED: Final = frozenset(_RESTRICTED_NAMES.split())


def check_header_allowlist(document: Mapping[str, Any]) -> None:
    """Refuse an allowlist with a header that AgentCore never passes on, or with the same header twice."""
    configured: Mapping[str, Any] = document.get("requestHeaderConfiguration") or {}
    names: Sequence[str] = configured.get("requestHeaderAllowlist") or ()
    lower = [name.lower() for name in names]
    if repeated := sorted({name for name in lower if lower.count(name) > 1}):
        listed = ", ".join(repeated)
        raise invalid(f"requestHeaderAllowlist contains {listed} more than once; header names are case-insensitive")
    for name in lower:
        reserved = name.startswith(("x-amz-", "x-amzn-")) and not name.startswith(_CUSTOM_PREFIX)
        if name in _RESTRICTED or reserved:
            raise invalid(f"The header {name} is restricted and cannot be in requestHeaderAllowlist")
        authorizer: Mapping[str, Any] = document.get("authorizerConfiguration") or {}
        if name == "authorization" and "customJWTAuthorizer" not in authorizer:
            raise invalid("requestHeaderAllowlist can contain Authorization only with a customJWTAuthorizer")


def agent_headers(
    headers: Mapping[bytes, bytes], allowlist: Sequence[str], *, session_id: str, request_id: str
) -> dict[str, str]:
    """Return the request headers that the agent receives, with session, request and trace ids.

    Args:
        headers: The request's headers, by lower-case names.
        allowlist: The runtime's `requestHeaderAllowlist`, in lower case.
        session_id: The runtime session id.
        request_id: Id of the request.

    Raises:
        RefusedError: An allowed header's value is longer than 4 KB.
    """
    fields = {
        SESSION_HEADER.decode(): session_id,
        "x-amzn-bedrock-agentcore-runtime-request-id": request_id,
    }
    for raw, value in headers.items():
        name = raw.decode("latin-1")
        if name in allowlist and len(value) > _VALUE_LIMIT_BYTES:
            raise invalid(f"The header {name} has {len(value):,} bytes; at most {_VALUE_LIMIT_BYTES:,} are passed on")
        if name in _PASSED or name in allowlist:
            fields[name] = value.decode("latin-1")
    if fields.get("authorization", "").startswith("AWS4-"):
        del fields["authorization"]  # SigV4's, which stays with the service
    if "traceparent" not in fields:
        fields["traceparent"] = f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"
    if "x-amzn-trace-id" not in fields:
        # X-Ray's form of the same trace id separates the first 8 hex digits, a time.
        trace_id = (
            fields["traceparent"].split("-")[1] if fields["traceparent"].count("-") >= 3 else secrets.token_hex(16)
        )
        fields["x-amzn-trace-id"] = f"Root=1-{trace_id[:8]}-{trace_id[8:]};Sampled=1"
    return fields
