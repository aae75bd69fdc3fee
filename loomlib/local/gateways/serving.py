"""The endpoint of each gateway: it admits the caller, then passes the request to MCP or to an HTTP target."""

from __future__ import annotations

from ..access.resource_policies import ResourcePolicies
from ..aws_names.hosts import address_of
from ..functions import FunctionPool
from ..gateway_paths import MCP_PATHS, METADATA_PATH, gateway_path
from ..guard import Caller
from ..identity.inbound import InboundAuthorizer
from ..otlp.caller_spans import CallerSpans
from ..resources.store import ResourceStore
from ..wire import AsgiScope, Receive, Send, not_found
from .callers import GatewayCallers
from .http_endpoint import HttpEndpoint
from .http_interceptors import HttpInterceptors
from .interceptors import Interceptors
from .mcp_endpoint import McpEndpoint
from .rate_limits import RateLimits
from .resources import GATEWAY
from .targets import Targets


class Gateways:
    """Answers calls of gateways.

    Args:
        store: The resources.
        targets: The targets of all gateways.
        inbound: Verifies tokens.
        policies: The resource-based policies of gateways.
        functions: Runs Lambda functions as interceptors.
        spans: Receives a span of each call.
    """

    def __init__(
        self,
        store: ResourceStore,
        targets: Targets,
        inbound: InboundAuthorizer,
        policies: ResourcePolicies,
        functions: FunctionPool,
        spans: CallerSpans,
    ) -> None:
        self._store, self._callers, limits = store, GatewayCallers(inbound, policies), RateLimits(store)
        self._mcp = McpEndpoint(store, targets, Interceptors(functions), limits, spans)
        self._http = HttpEndpoint(store, targets, HttpInterceptors(functions), limits, spans)

    async def answer(self, caller: Caller, scope: AsgiScope, receive: Receive, send: Send, request_id: str) -> None:
        """Answer one request.

        Raises:
            RefusedError: The gateway does not exist, or the caller may not call it.
        """
        path = gateway_path(scope)
        gateway = self._store.of_id(GATEWAY.noun, path[0]) if path else None
        if (
            path is None
            or gateway is None
            or (caller.region and caller.region != gateway.region)
            or not self._callers.sees(caller, gateway)
        ):
            raise not_found(f"Gateway not found: {path[0] if path else ''}")
        address = f"{address_of(caller.header('host'))}/gateways/{gateway.id}"
        if path[1] == METADATA_PATH:
            await self._callers.send_metadata(gateway, address, send)
            return
        admitted = await self._callers.admit(caller, gateway, address)
        if path[1] in MCP_PATHS:
            await self._mcp.answer(gateway, admitted, scope, receive, send, request_id)
        else:
            await self._http.answer(gateway, admitted, path[1], scope, receive, send, request_id)
