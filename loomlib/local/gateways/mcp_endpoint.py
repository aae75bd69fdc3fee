"""The MCP endpoint of gateways: stateless JSON-RPC over HTTP, with JSON responses."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Mapping
from typing import Any, Final, cast

from ..otlp.caller_spans import CallerSpans
from ..resources import ResourceRecord
from ..resources.store import ResourceStore
from ..wire import AsgiScope, Receive, Send, read_body, send_body, send_json
from .callers import GatewayCaller, child_trace
from .interceptors import GatewayReply, InterceptedRequest, InterceptorError, Interceptors
from .rate_limits import LimitedRequest, RateLimits, Throttled
from .resources import GATEWAY_TARGET, shown_cause
from .search import ToolSearch
from .targets import Targets
from .tools import SEPARATOR, GatewayTool, TargetError, ToolResult

VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Versions of MCP, the newest first (AgentCore developer guide, "Use an AgentCore gateway")."""

SEARCH: Final = "x_amz_bedrock_agentcore_search"
_LARGEST_BYTES: Final = 6_000_000
_PAGE: Final = 100
_METHOD_NOT_FOUND, _INVALID_PARAMS, _INVALID_REQUEST, _PARSE_ERROR = -32601, -32602, -32600, -32700
_INTERNAL_ERROR: Final = -32603
_log = logging.getLogger(__name__)


class McpEndpoint:
    """Answers MCP messages of gateways.

    Args:
        store: The resources.
        targets: Calls tools.
        interceptors: Runs the interceptors of gateways.
        limits: Counts requests.
        spans: Receives a span of each tool call.
    """

    def __init__(
        self,
        store: ResourceStore,
        targets: Targets,
        interceptors: Interceptors,
        limits: RateLimits,
        spans: CallerSpans,
    ) -> None:
        self._store, self._targets, self._search, self._spans = store, targets, ToolSearch(), spans
        self._interceptors, self._limits = interceptors, limits

    async def answer(
        self,
        gateway: ResourceRecord,
        caller: GatewayCaller,
        scope: AsgiScope,
        receive: Receive,
        send: Send,
        request_id: str,
    ) -> None:
        """Answer one request, whose caller may call the gateway."""
        headers = ((b"x-amzn-requestid", request_id.encode()),)
        if scope["method"] != "POST":
            await send_body(send, b"", 405, [(b"allow", b"POST"), *headers])
            return
        body = await read_body(receive, _LARGEST_BYTES, caller.fields.get("content-length"))
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            await send_json(send, _error(None, _PARSE_ERROR, "The request is not JSON"), 400, headers)
            return
        if not isinstance(message, dict):
            await send_json(send, _error(None, _INVALID_REQUEST, "The request is not a JSON-RPC request"), 400, headers)
            return
        document = cast("dict[str, Any]", message)
        if "id" in document and (throttled := self._limits.throttled(gateway, _limited(document, caller))):
            self._write_throttled(gateway, document, caller, throttled)
            await send_json(send, throttled.error(document["id"]), 429, headers)
            return
        reply = await self._intercepted(gateway, document, caller, body.decode("utf-8", "replace"))
        headers = (*headers, *((name.encode("latin-1"), text.encode()) for name, text in reply.headers.items()))
        if reply.body is None or reply.status in (204, 205, 304):  # which have no body
            await send_body(send, b"", reply.status, headers)
        else:
            await send_json(send, reply.body, reply.status, headers)

    async def _intercepted(
        self, gateway: ResourceRecord, message: Mapping[str, Any], caller: GatewayCaller, raw: str
    ) -> GatewayReply:
        """Process a message between the gateway's interceptors; a failed interceptor yields an error response."""
        headers = {name.title(): text for name, text in caller.fields.items()}
        request = InterceptedRequest(raw=raw, headers=headers, body=message)
        try:
            outcome = await self._interceptors.request(gateway, request)
            reply = outcome if isinstance(outcome, GatewayReply) else await self._reply(gateway, outcome.body, caller)
            return await self._interceptors.response(gateway, request, reply) if reply.body is not None else reply
        except InterceptorError as error:
            _log.warning("Gateway %s: an interceptor failed: %s", gateway.id, error)
            return GatewayReply(body=_error(message.get("id"), _INTERNAL_ERROR, shown_cause(gateway, error)))

    async def _reply(self, gateway: ResourceRecord, message: Mapping[str, Any], caller: GatewayCaller) -> GatewayReply:
        if "id" not in message:
            return GatewayReply(status=202, body=None)  # a notification
        version = caller.fields.get("mcp-protocol-version")
        if version and version not in _versions(gateway):
            text = f"Unsupported protocol version {version}; supported: {', '.join(_versions(gateway))}"
            return GatewayReply(status=400, body=_error(message["id"], _INVALID_REQUEST, text))
        return GatewayReply(body=await self._result(gateway, message, caller))

    async def _result(
        self, gateway: ResourceRecord, message: Mapping[str, Any], caller: GatewayCaller
    ) -> dict[str, Any]:
        identity, method = message["id"], message.get("method")
        raw_parameters: Any = message.get("params")
        parameters = cast("dict[str, Any]", raw_parameters) if isinstance(raw_parameters, dict) else {}
        if method == "initialize":
            result = self._initialized(gateway, parameters)
        elif method == "ping":
            result = {}
        elif method == "tools/list":
            try:
                result = self._listed(gateway, parameters.get("cursor"))
            except ValueError:
                return _error(identity, _INVALID_PARAMS, "Invalid cursor")
        elif method == "tools/call":
            name, arguments = parameters.get("name"), cast("Any", parameters.get("arguments") or {})
            if not isinstance(name, str) or not isinstance(arguments, dict):
                return _error(
                    identity, _INVALID_PARAMS, "tools/call requires a name, and its arguments must be an object"
                )
            tool_result = await self._traced(
                gateway, name, cast("dict[str, Any]", arguments), caller, _trace_given(parameters, caller)
            )
            if tool_result is None:
                return _error(identity, _INVALID_PARAMS, f"Unknown tool: {name}")
            result = tool_result.listing()
        else:
            return _error(identity, _METHOD_NOT_FOUND, f"Method not found: {method}")
        return {"jsonrpc": "2.0", "id": identity, "result": result}

    def _initialized(self, gateway: ResourceRecord, parameters: Mapping[str, Any]) -> dict[str, Any]:
        versions = _versions(gateway)
        requested_version = parameters.get("protocolVersion")
        result: dict[str, Any] = {
            "protocolVersion": requested_version if requested_version in versions else versions[0],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": gateway.name, "version": "1.0.0"},
        }
        if instructions := _mcp(gateway).get("instructions"):
            result["instructions"] = instructions
        return result

    def _listed(self, gateway: ResourceRecord, cursor: Any) -> dict[str, Any]:
        entries = [tool.listing(target.name) for target, tool in self._tools(gateway)]
        if _mcp(gateway).get("searchType") == "SEMANTIC":
            entries.insert(0, _SEARCH_TOOL)
        if _mcp(gateway).get("disableMcpListToolsPagination"):
            return {"tools": entries}
        if not isinstance(cursor, str | None):
            raise ValueError(cursor)
        start = int(cursor) if cursor is not None else 0
        if not 0 <= start <= len(entries):
            raise ValueError(cursor)
        result: dict[str, Any] = {"tools": entries[start : start + _PAGE]}
        if start + _PAGE < len(entries):
            result["nextCursor"] = str(start + _PAGE)
        return result

    async def _traced(
        self,
        gateway: ResourceRecord,
        name: str,
        arguments: Mapping[str, Any],
        caller: GatewayCaller,
        trace: Mapping[str, str],
    ) -> ToolResult | None:
        """Call a tool within a span of the caller's trace, if it sent one; the target's spans are its children."""
        began_ns, span_id = time.time_ns(), secrets.token_hex(8)
        result = await self._call_tool(gateway, name, arguments, caller.bearer, child_trace(trace, span_id))
        if result is not None:
            self._spans.write(
                "InvokeGateway",
                trace,
                gateway.place,
                gateway.arn,
                began_ns=began_ns,
                attributes={"gateway.id": gateway.id, "gateway.name": gateway.name, "tool.name": name},
                is_error=result.is_error,
                span_id=span_id,
            )
        return result

    def _write_throttled(
        self, gateway: ResourceRecord, message: Mapping[str, Any], caller: GatewayCaller, throttled: Throttled
    ) -> None:
        """Write the span of a tool call that a rate limit has refused, with AWS's attributes."""
        raw_parameters: Any = message.get("params")
        parameters = cast("dict[str, Any]", raw_parameters) if isinstance(raw_parameters, dict) else {}
        if message.get("method") == "tools/call":
            self._spans.write(
                "InvokeGateway",
                _trace_given(parameters, caller),
                gateway.place,
                gateway.arn,
                began_ns=time.time_ns(),
                attributes={
                    "gateway.id": gateway.id,
                    "gateway.name": gateway.name,
                    "tool.name": str(parameters.get("name")),
                    **throttled.attributes(),
                },
                is_error=True,
            )

    async def _call_tool(
        self,
        gateway: ResourceRecord,
        name: str,
        arguments: Mapping[str, Any],
        bearer: str,
        trace: Mapping[str, str],
    ) -> ToolResult | None:
        """Return the result of a tool; None for a tool that the gateway does not have."""
        if name == SEARCH and _mcp(gateway).get("searchType") == "SEMANTIC":
            query = arguments.get("query")
            if not isinstance(query, str):
                return ToolResult.of_text("The argument query is missing", is_error=True)
            entries = [tool.listing(target.name) for target, tool in self._tools(gateway)]
            matches = {"tools": await asyncio.to_thread(self._search.nearest, query, entries)}
            return ToolResult(content=[{"type": "text", "text": json.dumps(matches)}], structured=matches)
        target_name, _, tool_name = name.partition(SEPARATOR)
        for target, tool in self._tools(gateway):
            if target.name == target_name and tool.name == tool_name:
                break
        else:
            return None
        try:
            return await self._targets.call(gateway, target, tool, arguments, bearer=bearer, trace=trace)
        except TargetError as error:
            _log.warning("Gateway %s: %s failed: %s", gateway.id, name, error)
            return ToolResult.of_text(shown_cause(gateway, error), is_error=True)

    def _tools(self, gateway: ResourceRecord) -> list[tuple[ResourceRecord, GatewayTool]]:
        return [
            (target, GatewayTool(**stored))
            for target in self._store.records(GATEWAY_TARGET.noun, parent=gateway.arn)
            for stored in target.internal.get("tools") or ()
        ]


_SEARCH_TOOL: Final = {
    "name": SEARCH,
    "description": "Finds the tools of this gateway that fit a query in natural language",
    "inputSchema": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What the tool should do"}},
        "required": ["query"],
    },
}


def _trace_given(parameters: Mapping[str, Any], caller: GatewayCaller) -> dict[str, str]:
    """Return the trace context of a call.

    MCP clients send it in the request's `_meta` (OpenTelemetry's conventions for MCP), others in a header.
    """
    meta: Any = parameters.get("_meta")
    return caller.trace(_text(cast("dict[str, Any]", meta).get("traceparent")) if isinstance(meta, dict) else "")


def _limited(message: Mapping[str, Any], caller: GatewayCaller) -> LimitedRequest:
    """Return the properties of a message for rate limits; those of its caller are verified by the gateway."""
    raw_parameters: Any = message.get("params")
    name: Any = cast("dict[str, Any]", raw_parameters).get("name") if isinstance(raw_parameters, dict) else None
    tool = name if message.get("method") == "tools/call" and isinstance(name, str) else ""
    return LimitedRequest(
        target=tool.partition(SEPARATOR)[0] if SEPARATOR in tool else "",
        tool=tool,
        principal=caller.principal,
        claims=caller.claims,
        headers=caller.fields,
        body=message,
    )


def _mcp(gateway: ResourceRecord) -> Mapping[str, Any]:
    configuration: Mapping[str, Any] = gateway.document.get("protocolConfiguration") or {}
    return configuration.get("mcp") or {}


def _versions(gateway: ResourceRecord) -> tuple[str, ...]:
    """Return the versions of MCP that a gateway accepts: those of its configuration that are supported here."""
    configured = [version for version in _mcp(gateway).get("supportedVersions") or () if version in VERSIONS]
    return tuple(sorted(configured, reverse=True)) or VERSIONS


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _error(identity: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}
