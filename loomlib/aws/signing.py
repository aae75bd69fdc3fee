"""InvokeAgentRuntime as an HTTP request, signed as by boto3 or with a token, and plain requests to other servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from .addresses import is_loopback
from .bearer import check_may_receive_token
from .connection import Clients

SESSION_HEADER = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"
SERVICE = "bedrock-agentcore"
_JSON_RPC = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRequest:
    """A request ready to be sent.

    `endpoint` identifies its keep-alive session; `is_agentcore` is False for another server, whose errors must not
    advise the user to start the local AgentCore.
    """

    endpoint: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    method: str = "POST"
    is_agentcore: bool = True
    proxy: str | None = field(default=None, repr=False)
    ca_bundle: str | None = None


def sign_invocation(
    clients: Clients,
    *,
    arn: str,
    region: str,
    qualifier: str,
    session_id: str,
    body: bytes,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
    bearer: str | None = None,
) -> SignedRequest:
    """Build the request of one invocation, and sign it (SigV4) with the current credentials unless there is a token.

    It may use the network to refresh credentials, and it hashes the body: call it in a worker thread.

    Args:
        clients: The AWS clients of a connection.
        arn: The runtime's ARN.
        region: The runtime's region.
        qualifier: The endpoint's name.
        session_id: The runtime session, 33 to 256 characters.
        body: The request's body.
        content_type: The body's media type.
        headers: Further header fields; they replace those of the same name, in any case.
        bearer: A token to send instead of a signature.
    """
    endpoint, url = _runtime_address(clients, arn, region, "invocations", qualifier)
    fixed = {
        "Content-Type": content_type,
        "Accept": "text/event-stream, application/json",
        SESSION_HEADER: session_id,
    }
    return _signed(clients, "POST", endpoint, url, _merged(fixed, headers or {}), body, region, bearer)


def sign_get(
    clients: Clients,
    path: str,
    *,
    arn: str,
    region: str,
    qualifier: str,
    session_id: str,
    headers: Mapping[str, str],
    bearer: str | None = None,
) -> SignedRequest:
    """Build a GET below a runtime's address.

    The path "ws" opens a WebSocket, and the path of an agent card returns the card (GetAgentCard). It may use the
    network to refresh credentials: call it in a worker thread.

    Args:
        clients: The AWS clients of a connection.
        path: The path below the runtime's address.
        arn: The runtime's ARN.
        region: The runtime's region.
        qualifier: The endpoint's name.
        session_id: The runtime session, 33 to 256 characters.
        headers: Further header fields.
        bearer: A token to send instead of a signature.
    """
    endpoint, url = _runtime_address(clients, arn, region, path, qualifier)
    request_headers = _merged({SESSION_HEADER: session_id}, headers)
    return _signed(clients, "GET", endpoint, url, request_headers, b"", region, bearer)


def sign_request(
    clients: Clients,
    url: str,
    region: str,
    method: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    bearer: str | None = None,
) -> SignedRequest:
    """Build a JSON-RPC request to any address of AgentCore, signed (SigV4) unless there is a token.

    It may use the network to refresh credentials: call it in a worker thread.

    Args:
        clients: The AWS clients of a connection.
        url: The address, such as a gateway's.
        region: The region of the signature.
        method: The HTTP method.
        body: The body.
        headers: Headers of this request.
        bearer: A token to send instead of a signature.
    """
    return _signed(clients, method, _endpoint_of(url), url, _merged(_JSON_RPC, headers), body, region, bearer)


def _signed(
    clients: Clients,
    method: str,
    endpoint: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    region: str,
    bearer: str | None,
) -> SignedRequest:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    # This field is replaced below, and a signed field must not change.
    headers = {name: value for name, value in headers.items() if name.lower() != "accept-encoding"}
    if bearer is None:
        request = AWSRequest(method=method, url=url, data=body, headers=headers)
        SigV4Auth(clients.credentials(), SERVICE, region).add_auth(request)
        signed = {str(name): str(value) for name, value in request.headers.items()}
    else:
        check_may_receive_token(endpoint)
        signed = _merged(headers, {"Authorization": f"Bearer {bearer}"})
    # A compressed response would be delayed until a block of it is full.
    signed["Accept-Encoding"] = "identity"
    return SignedRequest(
        endpoint=endpoint,
        url=url,
        headers=signed,
        body=body,
        method=method,
        proxy=_proxy(endpoint, url),
        ca_bundle=clients.ca_bundle() if endpoint.startswith("https") else None,
    )


def plain_request(
    url: str, fixed: Mapping[str, str], method: str, body: bytes, headers: Mapping[str, str]
) -> SignedRequest:
    """Return an unsigned request to any server.

    Args:
        url: The address.
        fixed: The caller's own headers, such as Authorization; they take precedence over `headers`.
        method: The HTTP method.
        body: The body.
        headers: Headers of this request.
    """
    endpoint = _endpoint_of(url)
    return SignedRequest(
        endpoint=endpoint,
        url=url,
        headers=_merged(_JSON_RPC, {"Accept-Encoding": "identity"}, headers, fixed),
        body=body,
        method=method,
        is_agentcore=False,
        proxy=_proxy(endpoint, url),
    )


def _merged(*parts: Mapping[str, str]) -> dict[str, str]:
    """Return the header fields of all parts; a later one replaces an earlier one; case is ignored."""
    fields = {name.lower(): (name, value) for part in parts for name, value in part.items()}
    return dict(fields.values())


def _runtime_address(clients: Clients, arn: str, region: str, path: str, qualifier: str) -> tuple[str, str]:
    """Return AgentCore's endpoint and the address of a path below a runtime."""
    endpoint = clients.data_endpoint(region).rstrip("/")
    return endpoint, f"{endpoint}/runtimes/{quote(arn, safe='')}/{path}?qualifier={quote(qualifier, safe='')}"


def _endpoint_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _proxy(endpoint: str, url: str) -> str | None:
    """Return the environment's proxy for an address; none for this machine's own loopback."""
    from botocore.utils import get_environ_proxies

    proxies: dict[str, str] = {} if is_loopback(endpoint) else get_environ_proxies(url)
    return proxies.get(endpoint.partition(":")[0])
