"""Interceptors: Lambda functions before and behind a gateway's targets, whose failure ends the request."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError
from test_gateway_calls import ask, call

INTERCEPTOR = """
import json


def handle(event, context):
    mcp, output = event["mcp"], {"interceptorOutputVersion": "1.0"}
    message = mcp["gatewayRequest"]["body"]
    name = message.get("params", {}).get("name", "")
    if "gatewayResponse" in mcp:
        answer = mcp["gatewayResponse"]
        if "secret" in json.dumps(answer["body"]):
            answer["body"] = json.loads(json.dumps(answer["body"]).replace("secret", "***"))
            answer["headers"] = {"X-Redacted": "yes", "Content-Length": "3"}
        return {**output, "mcp": {"transformedGatewayResponse": answer}}
    if name == "stock___flood":
        result = {"content": [{"type": "text", "text": "secret: refused"}], "isError": True}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return {**output, "mcp": {"transformedGatewayResponse": {"statusCode": 200, "body": answer}}}
    if name == "crash":
        raise ValueError("a detail of the interceptor")
    if name == "version":
        return {"interceptorOutputVersion": "2.0", "mcp": {}}
    if name == "header":
        return {**output, "mcp": {"transformedGatewayResponse": {"headers": {"A b": "c"}, "body": {}}}}
    if name == "form":
        return {**output, "mcp": {"transformedGatewayRequest": "text"}}
    if name == "event":
        result = {"content": [{"type": "text", "text": json.dumps(event)}]}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return {**output, "mcp": {"transformedGatewayResponse": {"statusCode": 202, "body": answer}}}
    if name == "stock___readItem":
        message["params"]["arguments"]["item_id"] = "secret"
    return {**output, "mcp": {"transformedGatewayRequest": {"body": message}}}
"""


@pytest.fixture
def configured(make_function: Any) -> Any:
    arn = make_function(INTERCEPTOR)

    def configured(*points: str, **options: Any) -> dict[str, Any]:
        return {"interceptor": {"lambda": {"arn": arn}}, "interceptionPoints": list(points), **options}

    return configured


def test_interceptors_change_requests_and_answers_and_answer_themselves(
    make_gateway: Any, configured: Any, openapi: str
) -> None:
    gateway = make_gateway(interceptorConfigurations=[configured("REQUEST", "RESPONSE")])
    gateway.add("stock", {"openApiSchema": {"inlinePayload": openapi}})
    assert "stock___addItem" in json.dumps(ask(gateway.url, "tools/list"))
    read = call(gateway.url, "stock___readItem", item_id="1")
    assert json.loads(read["content"][0]["text"])["path"] == "/items/***"  # changed before and behind the target
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "stock___flood"}}
    response = requests.post(gateway.url, json=body, timeout=60)
    assert response.json()["result"]["content"][0]["text"] == "***: refused"  # the RESPONSE interceptor has run as well
    assert response.headers["X-Redacted"] == "yes"


def test_an_interceptor_gets_the_event_that_aws_documents(make_gateway: Any, configured: Any) -> None:
    body = '{"jsonrpc":  "2.0", "id": 7, "method": "tools/call", "params": {"name": "event"}}'
    events: list[dict[str, Any]] = []
    for options in ({}, {"inputConfiguration": {"passRequestHeaders": True}}):
        gateway = make_gateway(interceptorConfigurations=[configured("REQUEST", **options)])
        answer = requests.post(gateway.url, data=body, headers={"Some-Header": "a"}, timeout=60)
        assert answer.status_code == 202
        events.append(json.loads(answer.json()["result"]["content"][0]["text"]))
    without, passed = events
    assert without == {
        "interceptorInputVersion": "1.0",
        "mcp": {
            "rawGatewayRequest": {"body": body},
            "gatewayRequest": {"path": "/mcp", "httpMethod": "POST", "body": json.loads(body)},
        },
    }
    assert passed["mcp"]["gatewayRequest"]["headers"]["Some-Header"] == "a"


@pytest.mark.parametrize(
    ("tool", "cause"),
    [
        ("crash", "a detail"),
        ("version", "interceptorOutputVersion"),
        ("form", "not an object"),
        ("header", "single line"),
    ],
)
def test_an_interceptor_that_fails_ends_the_request(make_gateway: Any, configured: Any, tool: str, cause: str) -> None:
    interceptors = [configured("REQUEST")]
    quiet, debug = (
        make_gateway(interceptorConfigurations=interceptors, **more) for more in ({}, {"exceptionLevel": "DEBUG"})
    )
    quiet_error, debug_error = (ask(gateway.url, "tools/call", name=tool)["error"] for gateway in (quiet, debug))
    assert quiet_error == {"code": -32603, "message": "An internal error occurred. Please retry later."}
    assert cause in debug_error["message"]


def test_a_function_that_does_not_exist_lets_nothing_pass(make_gateway: Any, configured: Any) -> None:
    missing = configured("RESPONSE")
    missing["interceptor"]["lambda"]["arn"] += "-gone"
    assert ask(make_gateway(interceptorConfigurations=[missing]).url, "ping")["error"]["code"] == -32603


def test_a_gateway_has_one_interceptor_for_each_point(make_gateway: Any, configured: Any) -> None:
    with pytest.raises(ClientError, match="at most one REQUEST interceptor"):
        make_gateway(interceptorConfigurations=[configured("REQUEST"), configured("REQUEST", "RESPONSE")])
