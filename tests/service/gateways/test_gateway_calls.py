"""What clients of a gateway get: its tools, their answers, and refusals in MCP's and AWS's forms."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import Context
from token_issuer import TokenIssuer
from waiting import wait_until

MCP_AGENT = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("adder")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


if __name__ == "__main__":
    server.run("streamable-http", host="0.0.0.0", stateless_http=True, json_response=True)
"""


def ask(url: str, method: str, headers: dict[str, str] | None = None, **params: Any) -> dict[str, Any]:
    """The JSON-RPC answer of a gateway."""
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = requests.post(url, json=body, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert document["id"] == 7
    return document


def call(url: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return ask(url, "tools/call", name=tool, arguments=arguments)["result"]


def test_the_mcp_sdk_lists_and_calls_tools_of_both_kinds_of_targets(
    make_gateway: Any, openapi: str, mcp_server: Any
) -> None:
    gateway = make_gateway()
    assert gateway.add("stock", {"openApiSchema": {"inlinePayload": openapi}})["status"] == "READY"
    assert gateway.add("sums", {"mcpServer": {"endpoint": mcp_server.url}})["status"] == "READY"

    async def talk() -> tuple[list[str], Any, Any]:
        async with streamable_http_client(gateway.url) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            listed = await session.list_tools()
            added = await session.call_tool("sums___add", {"a": 2, "b": 3})
            read_item = await session.call_tool("stock___readItem", {"item_id": "a/b", "fields": ["name", "price"]})
            return [tool.name for tool in listed.tools], added, read_item

    names, added, item = asyncio.run(talk())
    assert sorted(names) == ["stock___addItem", "stock___flood", "stock___readItem", "sums___add", "sums___fail"]
    assert added.content[0].text == "5"
    assert json.loads(item.content[0].text) == {
        "path": "/items/a%2Fb",
        "query": {"fields": ["name", "price"]},
        "key": None,
        "trace": None,
    }


def test_arguments_of_a_body_are_flat_and_schemas_have_no_references(make_gateway: Any, openapi: str) -> None:
    gateway = make_gateway()
    gateway.add("stock", {"openApiSchema": {"inlinePayload": openapi}})
    tools = {tool["name"]: tool for tool in ask(gateway.url, "tools/list")["result"]["tools"]}
    schema = tools["stock___addItem"]["inputSchema"]
    assert schema["required"] == ["name"]
    assert schema["properties"]["parts"] == {"type": "array", "items": {}}  # an item contains itself
    answer = call(gateway.url, "stock___addItem", name="bolt", colour="red")
    assert json.loads(answer["content"][0]["text"])["added"] == {"name": "bolt"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"openapi": "2.0"}, "only 3.0 and 3.1"),
        ({"paths": {}}, "has no paths"),
        ({"paths": {"/a": {"get": {}}}}, "GET /a has no operationId"),
        ({"servers": [{"url": "/relative"}]}, "no server with an http or https address"),
        ({"servers": [{"url": "http://10.0.0.1"}]}, "must be https"),
        ({"servers": [{"url": "https://s3.us-east-1.amazonaws.com"}]}, "does not emulate"),
    ],
)
def test_a_document_that_cannot_be_served_fails_with_its_reason(
    make_gateway: Any, openapi: str, change: dict[str, Any], message: str
) -> None:
    payload = json.dumps(json.loads(openapi) | change)
    target = make_gateway().add("stock", {"openApiSchema": {"inlinePayload": payload}})
    assert target["status"] == "FAILED"
    assert message in target["statusReasons"][0]


def test_a_document_that_grows_without_end_is_refused(make_gateway: Any, openapi: str) -> None:
    document = json.loads(openapi)
    schemas: dict[str, Any] = {"S20": {"type": "string"}}
    for number in range(20):
        below = {"$ref": f"#/components/schemas/S{number + 1}"}
        schemas[f"S{number}"] = {"type": "object", "properties": dict.fromkeys("abcd", below)}
    document["components"]["schemas"] |= {**schemas, "Item": schemas["S0"]}
    target = make_gateway().add("stock", {"openApiSchema": {"inlinePayload": json.dumps(document)}})
    assert target["status"] == "FAILED"
    assert "values" in target["statusReasons"][0]


def test_failures_are_results_and_show_their_cause_in_debug_only(
    make_gateway: Any, openapi: str, mcp_server: Any
) -> None:
    quiet, debug = make_gateway(), make_gateway(exceptionLevel="DEBUG")
    for gateway in (quiet, debug):
        gateway.add("stock", {"openApiSchema": {"inlinePayload": openapi}})
        gateway.add("sums", {"mcpServer": {"endpoint": mcp_server.url}})
    quiet_result, debug_result = (call(gateway.url, "stock___flood") for gateway in (quiet, debug))
    assert quiet_result == {
        "content": [{"type": "text", "text": "An internal error occurred. Please retry later."}],
        "isError": True,
    }
    assert debug_result["isError"] is True
    assert "returned more than 6,000,000 bytes" in debug_result["content"][0]["text"]
    missing = call(quiet.url, "stock___readItem", item_id="none")
    assert missing["isError"] is True
    assert "answered 404" in missing["content"][0]["text"]
    failed = call(quiet.url, "sums___fail")
    assert failed["isError"] is True
    assert "no luck" in failed["content"][0]["text"]


def test_line_separators_in_the_response_of_an_mcp_server_are_text(make_gateway: Any, mcp_server: Any) -> None:
    @mcp_server.server.tool()
    def quote() -> str:
        """Quotes a poem."""
        return "a\u2028b\u2029c\x85d"

    gateway = make_gateway()
    gateway.add("poems", {"mcpServer": {"endpoint": mcp_server.url}})
    assert call(gateway.url, "poems___quote")["content"][0]["text"] == "a\u2028b\u2029c\x85d"


def test_gateways_do_not_share_their_sessions_with_an_mcp_server(make_gateway: Any, mcp_server: Any) -> None:
    @mcp_server.server.tool()
    def session(context: Context) -> str:
        """Returns the id of the session."""
        return str(context.headers["mcp-session-id"])

    sessions: list[str] = []
    for gateway in (make_gateway(), make_gateway()):
        gateway.add("notes", {"mcpServer": {"endpoint": mcp_server.url}})
        first, second = (call(gateway.url, "notes___session")["content"][0]["text"] for _ in range(2))
        assert first == second
        sessions.append(first)
    assert sessions[0] != sessions[1]


def test_requests_that_are_not_mcp_have_errors_of_json_rpc(make_gateway: Any) -> None:
    url = make_gateway().url
    assert ask(url, "tools/call", name="a___b")["error"] == {"code": -32602, "message": "Unknown tool: a___b"}
    assert ask(url, "resources/subscribe")["error"]["code"] == -32601
    for cursor in ("x", {}, [1], 1, True):
        assert ask(url, "tools/list", cursor=cursor)["error"]["code"] == -32602
    assert requests.post(url, data=b"{", timeout=60).json()["error"]["code"] == -32700
    assert requests.post(url, json=[], timeout=60).status_code == 400
    assert requests.get(url, timeout=60).status_code == 405
    notification = requests.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, timeout=60)
    assert (notification.status_code, notification.content) == (202, b"")


def test_a_gateway_speaks_the_versions_of_its_configuration(make_gateway: Any) -> None:
    url = make_gateway(protocolType="MCP", protocolConfiguration={"mcp": {"supportedVersions": ["2025-03-26"]}}).url
    assert ask(url, "initialize", protocolVersion="2025-11-25")["result"]["protocolVersion"] == "2025-03-26"
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    refused = requests.post(url, json=body, headers={"MCP-Protocol-Version": "2025-11-25"}, timeout=60)
    assert refused.status_code == 400


def test_search_finds_the_tool_that_fits_a_sentence(make_gateway: Any, openapi: str, mcp_server: Any) -> None:
    gateway = make_gateway(protocolType="MCP", protocolConfiguration={"mcp": {"searchType": "SEMANTIC"}})
    gateway.add("stock", {"openApiSchema": {"inlinePayload": openapi}})
    gateway.add("sums", {"mcpServer": {"endpoint": mcp_server.url}})
    listed = [tool["name"] for tool in ask(gateway.url, "tools/list")["result"]["tools"]]
    assert listed[0] == "x_amz_bedrock_agentcore_search"
    result = call(gateway.url, "x_amz_bedrock_agentcore_search", query="sum up two numbers")
    assert result["structuredContent"]["tools"][0]["name"] == "sums___add"
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_signed_gateways_answer_signed_calls_only(make_gateway: Any, aws: Any) -> None:
    gateway = make_gateway("AWS_IAM")
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    assert requests.post(gateway.url, data=body, timeout=60).status_code == 403
    request = AWSRequest("POST", gateway.url, data=body, headers={"Content-Type": "application/json"})
    credentials = Credentials(aws.state.access_key, aws.state.secret_key)
    SigV4Auth(credentials, "bedrock-agentcore", aws.state.region).add_auth(request)
    answer = requests.post(gateway.url, data=body, headers=dict(request.headers), timeout=60)
    assert (answer.status_code, answer.json()["result"]) == (200, {})


def test_gateways_with_an_authorizer_take_tokens_of_its_issuer(make_gateway: Any) -> None:
    with closing(TokenIssuer()) as issuer:
        rules = {"discoveryUrl": issuer.discovery_url, "allowedAudience": ["tools"]}
        gateway = make_gateway("CUSTOM_JWT", authorizerConfiguration={"customJWTAuthorizer": rules})
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        refused = requests.post(gateway.url, json=body, timeout=60)
        assert refused.status_code == 401
        address = refused.headers["WWW-Authenticate"].partition('resource_metadata="')[2].rstrip('"')
        assert requests.get(address, timeout=60).json() == {
            "authorization_servers": [issuer.name],
            "resource": gateway.url,
            "bearer_methods_supported": ["header"],
        }
        for audience, status in (("tools", 200), ("others", 403)):
            headers = {"Authorization": f"Bearer {issuer.token(aud=audience)}"}
            assert requests.post(gateway.url, json=body, headers=headers, timeout=60).status_code == status
        wrong = requests.post(gateway.url, json=body, headers={"Authorization": "Bearer abc"}, timeout=60)
        assert wrong.status_code == 401


def test_an_api_key_of_the_vault_reaches_the_target_and_nobody_else(make_gateway: Any, aws: Any, openapi: str) -> None:
    gateway = make_gateway()
    provider = aws.control.create_api_key_credential_provider(name=f"key-{gateway.id}", apiKey="s3cr3t-value")
    configuration = {
        "credentialProviderType": "API_KEY",
        "credentialProvider": {
            "apiKeyCredentialProvider": {
                "providerArn": provider["credentialProviderArn"],
                "credentialParameterName": "X-Api-Key",
            }
        },
    }
    target = gateway.add(
        "stock", {"openApiSchema": {"inlinePayload": openapi}}, credentialProviderConfigurations=[configuration]
    )
    assert target["status"] == "READY"
    answer = call(gateway.url, "stock___readItem", item_id="1")
    assert json.loads(answer["content"][0]["text"])["key"] == "s3cr3t-value"
    parameters = {"name": "stock___readItem", "arguments": {"item_id": "1"}}
    unverified = ask(gateway.url, "tools/call", headers={"Authorization": "Bearer opaque"}, **parameters)["result"]
    assert unverified["content"] == answer["content"]
    assert "s3cr3t" not in json.dumps(ask(gateway.url, "tools/list"))


def test_synchronizing_finds_new_tools(make_gateway: Any, aws: Any, mcp_server: Any) -> None:
    gateway = make_gateway()
    target = gateway.add("sums", {"mcpServer": {"endpoint": mcp_server.url}})

    @mcp_server.server.tool()
    def double(a: int) -> int:
        """Doubles an integer."""
        return 2 * a

    targets = {"gatewayIdentifier": gateway.id, "targetIdList": [target["targetId"]]}
    (answer,) = aws.control.synchronize_gateway_targets(**targets)["targets"]
    assert answer["status"] == "SYNCHRONIZING"
    assert gateway.settled(target["targetId"])["status"] == "READY"
    assert call(gateway.url, "sums___double", a=4)["content"][0]["text"] == "8"
    mcp_server.stop()
    aws.control.synchronize_gateway_targets(**targets)
    failed = gateway.settled(target["targetId"])
    assert (failed["status"], "lastSynchronizedAt" in failed) == ("SYNCHRONIZE_UNSUCCESSFUL", True)
    assert "cannot be reached" in failed["statusReasons"][0]


def test_a_deleted_gateway_and_target_answer_no_more(make_gateway: Any, aws: Any, openapi: str) -> None:
    gateway = make_gateway()
    target = gateway.add("stock", {"openApiSchema": {"inlinePayload": openapi}})
    aws.control.delete_gateway_target(gatewayIdentifier=gateway.id, targetId=target["targetId"])
    assert ask(gateway.url, "tools/list")["result"]["tools"] == []
    aws.control.delete_gateway(gatewayIdentifier=gateway.id)
    assert requests.post(gateway.url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, timeout=60).status_code == 404


def test_what_a_gateway_would_not_enforce_is_refused(make_gateway: Any, aws: Any) -> None:
    engine = {"arn": "arn:aws:bedrock-agentcore:us-east-1:123456789012:policy-engine/e-1234567890", "mode": "ENFORCE"}
    with pytest.raises(ClientError, match="policy engines of gateways"):
        make_gateway(policyEngineConfiguration=engine)
    actions = [{"routeToTarget": {"staticRoute": {"targetName": "a"}}}]
    with pytest.raises(ClientError, match="CreateGatewayRule"):
        aws.control.create_gateway_rule(gatewayIdentifier=make_gateway().id, priority=1, actions=actions)


def test_a_runtime_that_speaks_mcp_is_called_with_the_gateways_role(make_gateway: Any, aws: Any) -> None:
    runtime = aws.deploy("gateway_adder", MCP_AGENT, protocolConfiguration={"serverProtocol": "MCP"})
    host = f"bedrock-agentcore.{aws.state.region}.amazonaws.com"
    address = f"https://{host}/runtimes/{quote(runtime['agentRuntimeArn'], safe='')}/invocations?qualifier=DEFAULT"
    signed = {
        "credentialProviderType": "GATEWAY_IAM_ROLE",
        "credentialProvider": {"iamCredentialProvider": {"service": "bedrock-agentcore"}},
    }
    gateway = make_gateway()
    target = gateway.add("runtime", {"mcpServer": {"endpoint": address}}, credentialProviderConfigurations=[signed])
    assert target["status"] == "READY", target["statusReasons"]
    listed = [tool["name"] for tool in ask(gateway.url, "tools/list")["result"]["tools"]]
    assert "runtime___add" in listed
    assert call(gateway.url, "runtime___add", a=20, b=22)["content"][0]["text"] == "42"


@pytest.mark.parametrize("where", ["header", "_meta"])
def test_a_call_is_a_span_below_its_caller_s_and_above_its_target_s(
    make_gateway: Any, aws: Any, openapi: str, where: str
) -> None:
    gateway = make_gateway()
    gateway.add("stock", {"openApiSchema": {"inlinePayload": openapi}})
    trace_id, parent = secrets.token_hex(16), secrets.token_hex(8)
    params: dict[str, Any] = {"name": "stock___readItem", "arguments": {"item_id": "1"}}
    context = {"traceparent": f"00-{trace_id}-{parent}-01"}
    headers = context if where == "header" else {}
    answer = ask(gateway.url, "tools/call", headers, **params, **({} if headers else {"_meta": context}))
    passed_on = json.loads(answer["result"]["content"][0]["text"])["trace"]

    def written() -> dict[str, Any] | None:
        logs = aws.client("logs")
        try:
            events = logs.filter_log_events(logGroupName="aws/spans", filterPattern=f'"{trace_id}"')["events"]
        except logs.exceptions.ResourceNotFoundException:
            return None
        return json.loads(events[0]["message"]) if events else None

    span = wait_until(written, what="the span")
    assert span is not None
    assert (span["name"], span["parentSpanId"]) == ("InvokeGateway", parent)
    assert span["attributes"]["tool.name"] == "stock___readItem"
    assert passed_on == f"00-{trace_id}-{span['spanId']}-01"


FUNCTION = """
def handle(event, context):
    tool = context.client_context.custom["bedrockAgentCoreToolName"]
    if event.get("fail"):
        raise ValueError("secret detail")
    return {"tool": tool, "event": event}
"""


def test_a_lambda_function_gets_the_arguments_and_the_tool_s_name(make_gateway: Any, make_function: Any) -> None:
    gateway, function = make_gateway(), make_function(FUNCTION)
    schema = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
    tool = {"name": "find", "description": "Finds an order", "inputSchema": schema}
    configuration = {"lambdaArn": function, "toolSchema": {"inlinePayload": [tool]}}
    role_of_gateway = [{"credentialProviderType": "GATEWAY_IAM_ROLE"}]
    gateway.add("orders", {"lambda": configuration}, credentialProviderConfigurations=role_of_gateway)
    answer = call(gateway.url, "orders___find", order="7")
    assert json.loads(answer["content"][0]["text"]) == {"tool": "orders___find", "event": {"order": "7"}}
    failed = call(gateway.url, "orders___find", order="7", fail=True)
    assert failed["isError"] is True
    assert "secret detail" not in json.dumps(failed)


@pytest.mark.parametrize("item_id", ["..", ".", ""])
def test_an_argument_does_not_lead_to_the_path_of_another_operation(
    make_gateway: Any, openapi: str, item_id: str
) -> None:
    gateway = make_gateway()
    gateway.add("stock", {"openApiSchema": {"inlinePayload": openapi}})
    refused = call(gateway.url, "stock___readItem", item_id=item_id)
    assert refused["isError"]


def test_an_optional_body_that_is_not_given_is_not_sent(make_gateway: Any, http_api: Any) -> None:
    gateway = make_gateway()
    body = {"content": {"application/json": {"schema": {"type": "array"}}}}
    document = {
        "openapi": "3.0.1",
        "info": {"title": "Echo", "version": "1"},
        "servers": [{"url": http_api.url}],
        "paths": {"/echo": {"post": {"operationId": "echo", "requestBody": body}}},
    }
    gateway.add("echo", {"openApiSchema": {"inlinePayload": json.dumps(document)}})
    assert json.loads(call(gateway.url, "echo___echo")["content"][0]["text"])["body"] == ""
    assert json.loads(call(gateway.url, "echo___echo", body=[1])["content"][0]["text"])["body"] == "[1]"


def test_an_mcp_server_that_never_ends_its_list_fails_its_target(make_gateway: Any) -> None:
    class EndlessServer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            result = {
                "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "endless"}},
                "tools/list": {"tools": [], "nextCursor": secrets.token_hex(4)},
            }.get(request["method"], {})
            content = json.dumps({"jsonrpc": "2.0", "id": request.get("id"), "result": result}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), EndlessServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        target = make_gateway().add(
            "endless", {"mcpServer": {"endpoint": f"http://127.0.0.1:{server.server_port}/mcp"}}
        )
        server.shutdown()
    assert target["status"] == "FAILED"
    assert "lists its tools in more than 200 pages" in target["statusReasons"][0]


def test_an_address_that_is_no_url_is_named(make_gateway: Any) -> None:
    target = make_gateway().add("broken", {"mcpServer": {"endpoint": "https://[::1/mcp"}})
    assert target["status"] == "FAILED"
    assert "The URL is refused: it is not a valid URL" in target["statusReasons"][0]
