"""One gateway: its targets, its tools, its rules, and calls through it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack
from urllib.parse import quote

from ..agents.protocols import CallbackOptions, Callbacks
from ..aws import gateways
from ..aws.bearer import Bearer
from ..aws.endpoints import DEFAULT_ENDPOINT
from ..aws.signing import SESSION_HEADER
from ..closing import Closing
from ..errors import RequestRejectedError
from ..json_values import as_list, as_mapping
from .context import Context
from .frames import target_frame
from .gateway_requests import TargetResponse, send_to_target
from .gateway_rules import GatewayRules

if TYPE_CHECKING:
    import pandas as pd

    from .agent import Agent
    from .bench_functions import FunctionView
    from .mcp_client import McpClient
    from .protocol_call import ProtocolCall

_SEARCH: Final = "x_amz_bedrock_agentcore_search"
_OWN_ROLE: Final[Mapping[str, Any]] = {
    "credentialProviderType": "GATEWAY_IAM_ROLE",
    "credentialProvider": {"iamCredentialProvider": {"service": "bedrock-agentcore"}},
}


class GatewayView(Closing):
    """One gateway: its targets and its tools.

    Args:
        context: The workbench's resources.
        value: The gateway.
        bearer: A token, for a gateway with a JWT authorizer.
    """

    def __init__(self, context: Context, value: gateways.Gateway, bearer: Bearer | None = None) -> None:
        self._context, self.value, self._bearer = context, value, bearer
        self._client: McpClient | None = None

    def __repr__(self) -> str:
        """Return its name, status and address."""
        return f"Gateway {self.value.name} ({self.value.status.lower()}, {self.value.authorizer}) at {self.value.url}"

    def close(self) -> None:
        """Close the MCP session that `tools` and `call` share."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def targets(self) -> pd.DataFrame:
        """Return its targets, one row each, with the reason for each failure."""
        return target_frame(gateways.list_targets(self._context.clients, self.value))

    def tools(self) -> pd.DataFrame:
        """Return its tools, one row each, with the JSON schemas of arguments and results."""
        return self._session().tools()

    def call(self, tool: str, /, **arguments: Any) -> ProtocolCall:
        """Call a tool and wait for its result, which is stored as an invocation.

        Args:
            tool: The tool's name, `target___tool`.
            **arguments: Its arguments, checked against the schema before anything is sent.

        Raises:
            ToolNotFoundError: The gateway has no such tool.
            InvalidArgumentsError: The arguments do not match the tool's schema.
        """
        return self._session().call(tool, **arguments)

    def search(self, query: str) -> Sequence[str]:
        """Return the names of the tools that match a description, the best first.

        Args:
            query: What the tool should do.

        Raises:
            ToolNotFoundError: The gateway was created without `search=True`.
            InvocationFailedError: The search failed.
        """
        result = as_mapping(self._session().call(_SEARCH, query=query).raise_for_status().value)
        return [str(as_mapping(tool).get("name")) for tool in as_list(result.get("tools")) or ()]

    def mcp(self, *, timeout_s: float | None = None, **callbacks: Unpack[CallbackOptions]) -> McpClient:
        """Open a separate MCP session with the gateway.

        Args:
            timeout_s: Timeout of each call in seconds.
            **callbacks: As in `bench.tools.mcp`.
        """
        from .protocol_sessions import open_gateway_mcp

        return open_gateway_mcp(
            self._context,
            self.value.url,
            self.value.region,
            Callbacks(**callbacks),
            signed=self.value.authorizer == "AWS_IAM",
            bearer=self._bearer,
            timeout_s=timeout_s,
        )

    def add_openapi(
        self, name: str, document: str | Path | Mapping[str, Any], *, credentials: Mapping[str, Any] | None = None
    ) -> gateways.GatewayTarget:
        """Add an HTTP API from its OpenAPI document; each operation becomes a tool.

        Args:
            name: The target's name.
            document: The document as a mapping, its text, its `s3://` address, or its path.
            credentials: An item of AWS's `credentialProviderConfigurations`, for an API that needs a key or a token.

        Raises:
            GatewayTargetError: The document cannot be used.
            RequestRejectedError: The document cannot be read.
        """
        return self._add(name, {"openApiSchema": _schema("The OpenAPI document", document)}, credentials)

    def add_smithy(self, name: str, model: str | Path | Mapping[str, Any]) -> gateways.GatewayTarget:
        """Add an AWS service from its Smithy model; each operation becomes a tool, called with the gateway's role.

        Args:
            name: The target's name.
            model: The model in Smithy's JSON form as a mapping, its text, its `s3://` address, or its path.

        Raises:
            GatewayTargetError: The model cannot be used, for example because gateways do not support its protocol.
            RequestRejectedError: The model cannot be read.
        """
        role = {"credentialProviderType": "GATEWAY_IAM_ROLE"}
        return self._add(name, {"smithyModel": _schema("The Smithy model", model)}, role)

    def add_api(
        self,
        name: str,
        rest_api_id: str,
        *,
        stage: str,
        paths: Mapping[str, Sequence[str]],
        overrides: Sequence[Mapping[str, str]] = (),
        credentials: Mapping[str, Any] | None = None,
    ) -> gateways.GatewayTarget:
        """Add a stage of an API Gateway REST API; each selected method becomes a tool.

            gateway.add_api("pets", api_id, stage="prod", paths={"/pets/*": ["GET"]})

        Args:
            name: The target's name.
            rest_api_id: The REST API's id.
            stage: The stage's name.
            paths: Methods by path; a path that ends with `/*` selects all paths below it.
            overrides: Names and descriptions of tools in AWS's form (`toolOverrides`), for methods without an
                operation name.
            credentials: An item of AWS's `credentialProviderConfigurations`, for an API that needs a key or IAM.

        Raises:
            GatewayTargetError: The API, its stage or a method cannot be used.
        """
        tools: dict[str, Any] = {
            "toolFilters": [{"filterPath": path, "methods": list(methods)} for path, methods in paths.items()]
        }
        if overrides:
            tools["toolOverrides"] = [dict(override) for override in overrides]
        api = {"restApiId": rest_api_id, "stage": stage, "apiGatewayToolConfiguration": tools}
        return self._add(name, {"apiGateway": api}, credentials)

    def add_mcp(self, name: str, url: str, *, credentials: Mapping[str, Any] | None = None) -> gateways.GatewayTarget:
        """Add an MCP server by its address.

        Args:
            name: The target's name.
            url: Its address; AWS accepts only https, the local AgentCore also http on this machine.
            credentials: An item of AWS's `credentialProviderConfigurations`.

        Raises:
            GatewayTargetError: The server's tools cannot be read.
        """
        return self._add(name, {"mcpServer": {"endpoint": url}}, credentials)

    def add_web_search(
        self, name: str = "amazon-web-search", *, include: Sequence[str] = (), exclude: Sequence[str] = ()
    ) -> gateways.GatewayTarget:
        """Add AgentCore's web search as the tool `WebSearch`.

        The local AgentCore searches the pages of `loom up --web-search-folder FOLDER`, and refuses requests without it.

        Args:
            name: The target's name.
            include: Only pages of these domains and their subdomains; a caller can restrict them further.
            exclude: Exclude pages of these domains.

        Raises:
            GatewayTargetError: Web search is not available.
        """
        domains = {key: list(names) for key, names in (("include", include), ("exclude", exclude)) if names}
        tool = {"name": "WebSearch", "parameterValues": {"domainFilter": domains} if domains else {}}
        source = {"connectorId": "web-search"} | ({"version": "1.2.0"} if include else {})  # the first with `include`
        connector = {"source": source, "enabled": ["WebSearch"], "configurations": [tool]}
        return self._add(name, {"connector": connector}, _OWN_ROLE)

    def add_agent(self, name: str, agent: Agent) -> gateways.GatewayTarget:
        """Add an agent that speaks MCP; the gateway calls it with its own role.

        Args:
            name: The target's name.
            agent: The agent (`agent.at("prod")` for one of its endpoints); its protocol is MCP.

        Raises:
            ProtocolError: The agent speaks another protocol.
            GatewayTargetError: Its tools cannot be read, for example because the role may not invoke it.
        """
        from .agent_sessions import check_protocol

        check_protocol(agent.entry, "MCP")
        region, arn = agent.entry.region, quote(str(agent.entry.arn), safe="")
        host = f"bedrock-agentcore.{region}.amazonaws.com"  # the local AgentCore answers for AWS's name as well
        url = f"https://{host}/runtimes/{arn}/invocations?qualifier={quote(agent.qualifier, safe='')}"
        return self._add(name, {"mcpServer": {"endpoint": url}}, _OWN_ROLE)

    def add_function(
        self, name: str, function: FunctionView | str, tools: Sequence[Mapping[str, Any]]
    ) -> gateways.GatewayTarget:
        """Add a Lambda function, which the gateway calls with its own role.

            order = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
            tool = {"name": "status", "description": "Returns the status of an order", "inputSchema": order}
            gateway.add_function("orders", bench.tools.functions.get("orders"), [tool])

        Args:
            name: The target's name.
            function: The function, or its ARN. Its event is the tool's arguments; the tool's name is in
                `context.client_context.custom["bedrockAgentCoreToolName"]`.
            tools: Its tools in AWS's form: `name`, `description` and `inputSchema`.

        Raises:
            GatewayTargetError: The function or a schema cannot be used.
        """
        arn = function if isinstance(function, str) else function.value.arn
        configuration = {"lambdaArn": arn, "toolSchema": {"inlinePayload": [dict(tool) for tool in tools]}}
        return self._add(name, {"lambda": configuration}, {"credentialProviderType": "GATEWAY_IAM_ROLE"})

    def add_http(
        self,
        name: str,
        server: str | Agent,
        *,
        protocol: str = "CUSTOM",
        query: Mapping[str, str] | None = None,
        credentials: Mapping[str, Any] | None = None,
    ) -> gateways.GatewayTarget:
        """Add an agent or another server to which requests are forwarded unchanged; `send` sends a request.

        The gateway must have been created with `http=True`.

        Args:
            name: The target's name, with which the path of its requests begins.
            server: An agent (`agent.at("prod")` for one of its endpoints), or the address of a server: AWS accepts
                only https, the local AgentCore also http on this machine.
            protocol: The protocol of a server: "MCP", "A2A", "INFERENCE" or "CUSTOM".
            query: Query parameters that are added to every request to a server.
            credentials: An item of AWS's `credentialProviderConfigurations`; an agent is called with the gateway's role
                by default.

        Raises:
            GatewayTargetError: It cannot be called.
            RequestRejectedError: The gateway cannot have HTTP targets, or the name is one of the gateway's own paths.
        """
        if isinstance(server, str):
            passthrough: dict[str, Any] = {"endpoint": server, "protocolType": protocol}
            if query:
                passthrough["staticQueryParameters"] = dict(query)
            return self._add(name, {"passthrough": passthrough}, credentials, protocol="http")
        own = credentials or {"credentialProviderType": "GATEWAY_IAM_ROLE"}
        runtime = {"arn": str(server.entry.arn)}
        if server.qualifier != DEFAULT_ENDPOINT:
            runtime["qualifier"] = server.qualifier
        return self._add(name, {"agentcoreRuntime": runtime}, own, protocol="http")

    def send(
        self,
        path: str,
        payload: Any = None,
        *,
        method: str = "POST",
        session_id: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> TargetResponse:
        """Send a request to an HTTP target and return the whole answer, even if it has an error status.

            gateway.send("assistant/invocations", {"prompt": "hi"}).value

        Args:
            path: The target's name and the path below it; an agent answers at `invocations`.
            payload: Bytes and text are sent unchanged, None sends no body, anything else is sent as JSON.
            method: The HTTP method.
            session_id: The runtime session, at least 33 characters; a weighted rule decides once per session.
            headers: Further header fields.

        Raises:
            AwsError: AgentCore refused the request, or the target cannot be reached.
        """
        session = {SESSION_HEADER: session_id} if session_id else {}
        return send_to_target(
            self._context,
            self.value,
            path,
            payload,
            method=method,
            headers={**session, **(headers or {})},
            bearer=self._bearer,
        )

    @property
    def rules(self) -> GatewayRules:
        """Its rules, which choose a target and a configuration bundle for requests of HTTP targets."""
        return GatewayRules(self._context, self.value)

    def remove(self, name: str) -> None:
        """Delete a target.

        Args:
            name: The target's name.

        Raises:
            ResourceNotFoundError: It does not exist.
        """
        gateways.remove_target(self._context.clients, self.value, name)

    def _add(
        self,
        name: str,
        configuration: Mapping[str, Any],
        credentials: Mapping[str, Any] | None,
        *,
        protocol: str = "mcp",
    ) -> gateways.GatewayTarget:
        return gateways.add_target(
            self._context.clients,
            self.value,
            name,
            configuration,
            protocol=protocol,
            credentials=[credentials] if credentials else [],
        )

    def _session(self) -> McpClient:
        if self._client is None:
            self._client = self.mcp()
        return self._client


def _schema(subject: str, document: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of a target in AWS's form: inline, or in S3."""
    if isinstance(document, Mapping):
        return {"inlinePayload": json.dumps(document)}
    if isinstance(document, str) and document.startswith("s3://"):
        return {"s3": {"uri": document}}
    if isinstance(document, str) and ("\n" in document or document.lstrip().startswith("{")):
        return {"inlinePayload": document}
    try:
        return {"inlinePayload": Path(document).read_text("utf-8")}
    except (OSError, ValueError) as error:
        raise RequestRejectedError(
            f"{subject} cannot be read", on=str(document)[:200], try_="give its path, its text or a mapping"
        ) from error
