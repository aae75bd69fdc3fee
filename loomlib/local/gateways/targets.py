"""Reads and calls the tools of targets of every kind."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ..functions import FunctionPool, find_version
from ..resources import ResourceRecord
from ..web_search import WebCorpus
from ..wire import RefusedError
from .connectors import call_connector, connector_tools
from .credentials import TargetCredentials
from .mcp_server import Credentials, McpServers
from .openapi import openapi_request, openapi_tools
from .requests import TargetAnswer, TargetClient, check_target
from .rest_api_calls import HttpRequest, RestApis
from .rest_apis import rest_api_tools
from .schemas import schema_text
from .smithy import smithy_tools
from .smithy_request import smithy_request
from .tools import SEPARATOR, GatewayTool, TargetError, ToolResult

CALL_TIMEOUT_S: Final = 300.0
"""Time limit of a tool call in seconds (AgentCore developer guide, "Quotas": gateway invocation timeout, 5 minutes)."""

_SHOWN_CHARACTERS: Final = 2_000


class Targets:
    """The targets of all gateways.

    Attributes:
        credentials: Authorizes requests to targets.
        client: Sends them.

    Args:
        credentials: Authorizes requests to targets.
        functions: Runs Lambda functions.
        address: The address of this service.
        corpus: The pages that web search finds.
    """

    def __init__(
        self, credentials: TargetCredentials, functions: FunctionPool, address: str, corpus: WebCorpus
    ) -> None:
        self.credentials, self.client, self._functions = credentials, TargetClient(address), functions
        self._own_address, self._corpus = address, corpus
        self._servers, self._apis = McpServers(self.client), RestApis(functions, self.client)

    async def close(self) -> None:
        """Close the connections to targets."""
        await self.client.close()

    async def read_tools(self, gateway: ResourceRecord, target: ResourceRecord) -> list[GatewayTool]:
        """Return the tools of a target.

        Raises:
            TargetError: Its tools cannot be read, or its kind is not supported here.
        """
        kind, config = _configuration(target)
        if kind == "openApiSchema":
            text = await asyncio.to_thread(schema_text, config, gateway.place)
            tools = await asyncio.to_thread(openapi_tools, text)
            for tool in tools:
                check_target(str(tool.request["server"]))
            return tools
        if kind == "smithyModel":
            if _credential_type(target) != "GATEWAY_IAM_ROLE":
                raise TargetError("A Smithy target requires the credential provider type GATEWAY_IAM_ROLE")
            if not config:
                raise TargetError("The Smithy model is missing: AWS's own models are not available on this machine")
            text = await asyncio.to_thread(schema_text, config, gateway.place)
            return await asyncio.to_thread(smithy_tools, text)
        if kind == "apiGateway":
            if _credential_type(target) not in ("", "API_KEY", "GATEWAY_IAM_ROLE"):
                raise TargetError(
                    "A stage of API Gateway requires GATEWAY_IAM_ROLE, an API key, or no credential provider"
                )
            return await asyncio.to_thread(rest_api_tools, config, gateway.place)
        if kind == "mcpServer":
            url = str(config["endpoint"])
            check_target(url)
            return await self._servers.tools(url, self._authorized(gateway, target, "", {}))
        if kind == "lambda":
            return _lambda_tools(await asyncio.to_thread(_lambda_schema, config["toolSchema"], gateway))
        if kind == "connector":
            return connector_tools(config, self._corpus)
        raise TargetError(f"The local AgentCore does not support targets of the kind {kind} yet")

    async def call(
        self,
        gateway: ResourceRecord,
        target: ResourceRecord,
        tool: GatewayTool,
        arguments: Mapping[str, Any],
        *,
        bearer: str,
        trace: Mapping[str, str],
    ) -> ToolResult:
        """Call a tool.

        Args:
            gateway: The gateway.
            target: The target that has the tool.
            tool: The tool.
            arguments: Its arguments.
            bearer: The caller's token; "" without one.
            trace: Headers with the trace context of the call.

        Raises:
            TargetError: The target cannot be called or did not answer.
        """
        kind, config = _configuration(target)
        if kind == "mcpServer":
            credentials = self._authorized(gateway, target, bearer, trace)
            # With a caller's token, each caller has its own session with the server; only the token's hash is kept.
            owner = f"{target.arn} {hashlib.sha256(bearer.encode()).hexdigest()}"
            return await self._servers.call(
                str(config["endpoint"]), credentials, tool.name, arguments, CALL_TIMEOUT_S, owner=owner
            )
        if kind == "openApiSchema":
            request = openapi_request(tool, arguments)
            return await self._http(gateway, target, tool, request, bearer=bearer, trace=trace)
        if kind == "smithyModel":
            method, path, headers, body = smithy_request(tool, arguments)
            request = method, f"{self._own_address}{path}", headers, body
            return await self._http(gateway, target, tool, request, bearer=bearer, trace=trace)
        if kind == "apiGateway":
            method, url, headers, body = openapi_request(tool, arguments)
            is_signed, added, query = _credential_type(target) == "GATEWAY_IAM_ROLE", dict[str, str](), dict[str, str]()
            if not is_signed:
                added, query = await self.credentials.of(
                    gateway, target, bearer=bearer, method=method, url=url, body=body or b""
                )
            request = method, with_query(url, query), {**trace, **headers, **added}, body
            signer = self.credentials.signer(gateway) if is_signed else False
            answer = await self._apis.answer(config, gateway.place, tool, arguments, request, signer=signer)
            return _tool_result(tool, method, answer)
        if kind == "connector":
            return await call_connector(config, arguments, self._corpus)
        return await self._function(gateway, target, tool, arguments, str(config["lambdaArn"]))

    async def _http(
        self,
        gateway: ResourceRecord,
        target: ResourceRecord,
        tool: GatewayTool,
        request: HttpRequest,
        *,
        bearer: str,
        trace: Mapping[str, str],
    ) -> ToolResult:
        """Send a request with the target's credentials; the result is the text of the response."""
        method, url, headers, body = request
        signing = {"service": str(tool.request["service"])} if "service" in tool.request else {}
        added, query = await self.credentials.of(
            gateway, target, bearer=bearer, method=method, url=url, body=body or b"", **signing
        )
        answer = await self.client.request(
            method,
            with_query(url, query),
            headers={**trace, **headers, **added},
            body=body,
            timeout_s=CALL_TIMEOUT_S,
        )
        return _tool_result(tool, method, answer)

    async def _function(
        self,
        gateway: ResourceRecord,
        target: ResourceRecord,
        tool: GatewayTool,
        arguments: Mapping[str, Any],
        arn: str,
    ) -> ToolResult:
        """Run a Lambda function: the event contains the arguments, and the client context names the tool."""
        custom = {
            "bedrockAgentCoreToolName": f"{target.name}{SEPARATOR}{tool.name}",
            "bedrockAgentCoreGatewayId": gateway.id,
            "bedrockAgentCoreTargetId": target.id,
        }
        try:
            function = await asyncio.to_thread(find_version, arn, None, gateway.place)
            result = await self._functions.call(
                function, json.dumps(dict(arguments)), client_context={"custom": custom}
            )
        except RefusedError as refused:
            raise TargetError(f"{arn} cannot be run: {refused.message}") from refused
        if result.failed:
            raise TargetError(f"{arn} failed: {result.payload[:_SHOWN_CHARACTERS]}")
        return ToolResult.of_text(result.payload)

    def _authorized(
        self, gateway: ResourceRecord, target: ResourceRecord, bearer: str, trace: Mapping[str, str]
    ) -> Credentials:
        async def headers(url: str, body: bytes) -> Mapping[str, str]:
            added, query = await self.credentials.of(gateway, target, bearer=bearer, method="POST", url=url, body=body)
            if query:
                raise TargetError("An API key can be sent to an MCP server in a header only")
            return {**trace, **added}

        return headers


def _configuration(target: ResourceRecord) -> tuple[str, Mapping[str, Any]]:
    """Return a target's kind, as the service model names it, and its configuration."""
    configuration: Mapping[str, Any] = target.document["targetConfiguration"]
    protocol = next(iter(configuration))
    kinds = cast("Mapping[str, Any]", configuration[protocol])
    kind = next(iter(kinds), protocol)
    return (kind, kinds[kind]) if protocol == "mcp" and kinds else (f"{protocol}.{kind}", {})


def _tool_result(tool: GatewayTool, method: str, answer: TargetAnswer) -> ToolResult:
    if not 200 <= answer.status < 300:
        operation = tool.request.get("path") or tool.name
        text = f"{method} {operation} answered {answer.status}: {answer.text[:_SHOWN_CHARACTERS]}"
        return ToolResult.of_text(text, is_error=True)
    return ToolResult.of_text(answer.text)


def _credential_type(target: ResourceRecord) -> str:
    configurations = target.document.get("credentialProviderConfigurations") or ()
    return str(configurations[0]["credentialProviderType"]) if configurations else ""


def _lambda_schema(schema: Mapping[str, Any], gateway: ResourceRecord) -> Any:
    if "inlinePayload" in schema:
        return schema["inlinePayload"]
    try:
        return json.loads(schema_text(schema, gateway.place))
    except (ValueError, RecursionError) as error:
        raise TargetError("The tool schema is not JSON") from error


def _lambda_tools(items: Any) -> list[GatewayTool]:
    tools: list[GatewayTool] = []
    for item in cast("list[Any]", items) if isinstance(items, list) else []:
        entry = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        if not isinstance(entry.get("name"), str) or not isinstance(entry.get("inputSchema"), dict):
            raise TargetError("A tool in the tool schema has no name or no inputSchema")
        tools.append(
            GatewayTool(
                name=entry["name"],
                description=str(entry.get("description") or ""),
                input_schema=entry["inputSchema"],
                output_schema=entry.get("outputSchema"),
                request={"kind": "lambda"},
            )
        )
    return tools


def with_query(url: str, added: Mapping[str, str]) -> str:
    """Return an address with further query parameters."""
    if not added:
        return url
    parts = urlsplit(url)
    return urlunsplit(
        parts._replace(query=urlencode([*parse_qsl(parts.query, keep_blank_values=True), *added.items()]))
    )
