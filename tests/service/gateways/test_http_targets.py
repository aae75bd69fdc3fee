"""HTTP targets of gateways: requests pass to agents and servers, and what these answer is bounded."""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from http_servers import HttpServer
from token_issuer import TokenIssuer
from waiting import wait_until

SESSION = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"
INTERCEPTOR = """
import base64
import json


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def response(answer):
    if answer["body"] is None:
        return {"headers": {"X-Seen": str(answer["statusCode"])}}
    text = base64.b64decode(answer["body"]).decode().replace("secret", "***")
    return {"body": encoded(text), "statusCode": 203, "contentType": "text/plain"}


def handle(event, context):
    http, output = event["http"], {"interceptorOutputVersion": "1.0"}
    request = http["gatewayRequest"]
    if request is None:
        return {**output, "http": {"transformedGatewayResponse": response(http["gatewayResponse"])}}
    if request["path"].endswith("/crash"):
        raise ValueError("a detail")
    if request["path"].endswith("/itself"):
        shown = {
            "path": request["path"],
            "method": request["httpMethod"],
            "headers": sorted(request.get("headers", {})),
            "custom": sorted(context.client_context.custom),
        }
        answer = {"statusCode": 202, "contentType": "application/json", "body": encoded(json.dumps(shown))}
        return {**output, "http": {"transformedGatewayResponse": answer}}
    body = base64.b64decode(request["body"]).decode().upper()
    return {**output, "http": {"transformedGatewayRequest": {"body": encoded(body), "headers": {"X-Added": "yes"}}}}
"""


def test_a_request_reaches_its_server_and_its_answer_comes_back(make_gateway: Any, http_api: HttpServer) -> None:
    gateway = make_gateway()
    target = gateway.add_server("orders", f"{http_api.url}/base")
    assert (target["status"], target["protocolType"]) == ("READY", "HTTP")
    headers = {"X-Order": "1", "Authorization": "Bearer eA", "Cookie": "a=b", "X-Amz-Meta": "c"}
    answer = requests.put(f"{gateway.base}/orders/a%20b/c?x=1&x=2&y=", data="text", headers=headers, timeout=60)
    echo = answer.json()
    assert (answer.status_code, answer.headers["X-Kind"]) == (200, "echo")
    assert (echo["method"], echo["path"], echo["body"]) == ("PUT", "/base/a%20b/c", "text")
    assert echo["query"] == [["x", "1"], ["x", "2"], ["y", ""]]
    assert echo["headers"]["x-order"] == "1"
    assert not {"authorization", "cookie", "x-amz-meta"} & set(echo["headers"])
    assert requests.get(f"{gateway.base}/orders/missing", timeout=60).status_code == 404
    assert requests.get(f"{gateway.base}/orders", timeout=60).json()["path"] == "/base"
    for path in ("orders/../secret", "orders/a/%2e%2e/b", "orders/a%2f..%2fb", "orders/..%5Cb"):
        with closing(requests.Session()) as session:
            request = requests.Request("GET", gateway.base).prepare()
            request.url = f"{gateway.base}/{path}"
            assert session.send(request, timeout=60).status_code == 400
    other = requests.get(f"{gateway.base}/none/x", timeout=60)
    assert (other.status_code, "Target not found" in other.text) == (404, True)


def test_aws_s_name_of_the_gateway_leads_to_its_targets(make_gateway: Any, aws: Any, http_api: HttpServer) -> None:
    gateway = make_gateway()
    gateway.add_server("orders", http_api.url)
    host = {"Host": f"{gateway.id}.gateway.bedrock-agentcore.{aws.state.region}.amazonaws.com"}
    assert requests.get(f"{aws.state.url}/orders/a", headers=host, timeout=60).json()["path"] == "/a"
    for path in ("/targets/", "/rules"):  # the control plane's, with its own authorization
        assert requests.get(f"{gateway.base}{path}", timeout=60).status_code == 403


def test_static_query_parameters_are_added(make_gateway: Any, http_api: HttpServer) -> None:
    gateway = make_gateway()
    static = {"staticQueryParameters": {"v": "2", "k": "a b"}}
    gateway.add_server("client", http_api.url, passthrough=static)
    strict = {**static, "staticQueryParameterConflictResolution": "STATIC_OVERRIDE"}
    gateway.add_server("static", http_api.url, passthrough=strict)
    assert requests.get(f"{gateway.base}/client/a?v=1", timeout=60).json()["query"] == [["v", "1"], ["k", "a b"]]
    assert requests.get(f"{gateway.base}/static/a?v=1", timeout=60).json()["query"] == [["v", "2"], ["k", "a b"]]


def test_an_agent_is_invoked_through_its_gateway_also_by_boto3(make_gateway: Any, aws: Any, echo: Any) -> None:
    gateway, arn = make_gateway("AWS_IAM"), echo["agentRuntimeArn"]
    assert gateway.add_runtime("assistant", arn)["status"] == "READY"
    state = aws.state
    client = boto3.client(
        "bedrock-agentcore",
        endpoint_url=f"{gateway.base}/assistant",
        region_name=state.region,
        aws_access_key_id=state.access_key,
        aws_secret_access_key=state.secret_key,
    )
    session = "a" * 40
    with closing(client):
        answer = client.invoke_agent_runtime(
            agentRuntimeArn=arn, runtimeSessionId=session, payload=b'{"prompt": "hi"}', contentType="application/json"
        )
        with answer["response"] as body:
            content = json.loads(body.read())
    assert (content["echo"], content["session"]) == ({"prompt": "hi"}, session)
    assert (answer["runtimeSessionId"], answer["contentType"]) == (session, "application/json")
    url = f"{gateway.base}/assistant/invocations"
    assert requests.post(url, json={}, timeout=60).status_code == 403
    signed = AWSRequest("POST", url, data=b'{"prompt": "hi"}', headers={"Content-Type": "application/json"})
    SigV4Auth(Credentials(state.access_key, state.secret_key), "bedrock-agentcore", state.region).add_auth(signed)
    content = requests.post(url, data=signed.data, headers=dict(signed.headers), timeout=60).json()
    assert (content["echo"], len(content["session"])) == ({"prompt": "hi"}, 36)
    signed = AWSRequest("POST", f"{gateway.base}/assistant/other", data=b"{}")
    SigV4Auth(Credentials(state.access_key, state.secret_key), "bedrock-agentcore", state.region).add_auth(signed)
    other = requests.post(signed.url, data=signed.data, headers=dict(signed.headers), timeout=60)
    assert (other.status_code, "accepts requests at /invocations" in other.text) == (404, True)


def test_a_target_gets_the_caller_s_token_or_a_key(make_gateway: Any, aws: Any, http_api: HttpServer) -> None:
    key_provider = aws.control.create_api_key_credential_provider(name=f"key-{secrets.token_hex(4)}", apiKey="k-1")
    provider = {"providerArn": key_provider["credentialProviderArn"], "credentialParameterName": "X-Api-Key"}
    key = {
        "credentialProviderType": "API_KEY",
        "credentialProvider": {"apiKeyCredentialProvider": provider},
    }
    with closing(TokenIssuer()) as issuer:
        rules = {"discoveryUrl": issuer.discovery_url, "allowedAudience": ["tools"]}
        gateway = make_gateway("CUSTOM_JWT", authorizerConfiguration={"customJWTAuthorizer": rules})
        passes = [{"credentialProviderType": "JWT_PASSTHROUGH"}]
        gateway.add_server("own", http_api.url, credentialProviderConfigurations=passes)
        gateway.add_server("keyed", http_api.url, credentialProviderConfigurations=[key])
        headers = {"Authorization": f"Bearer {issuer.token(aud='tools', sub='alice')}"}
        received_headers = requests.get(f"{gateway.base}/own/x", headers=headers, timeout=60).json()["headers"]
        assert received_headers["authorization"] == headers["Authorization"]
        received_headers = requests.get(f"{gateway.base}/keyed/x", headers=headers, timeout=60).json()["headers"]
        assert ("authorization" in received_headers, received_headers["x-api-key"]) == (False, "k-1")
        refused = requests.get(f"{gateway.base}/own/x", timeout=60)
        assert (refused.status_code, "resource_metadata" in refused.headers["WWW-Authenticate"]) == (401, True)


@pytest.mark.parametrize(
    ("configuration", "credentials", "reason"),
    [
        ({"passthrough": {"endpoint": "https://10.0.0.1", "protocolType": "MCP"}}, None, "not a public address"),
        ({"connector": {"source": {"connectorId": "c"}}}, None, "does not support targets of the kind http.connector"),
        (
            {"passthrough": {"endpoint": "https://a.example", "protocolType": "A2A"}},
            "CALLER_IAM_CREDENTIALS",
            "not with CALLER_IAM_CREDENTIALS",
        ),
        (
            {"agentcoreRuntime": {"arn": "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/none-aaaaaaaaaa"}},
            "GATEWAY_IAM_ROLE",
            "does not exist",
        ),
        (
            {"agentcoreRuntime": {"arn": "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/none-aaaaaaaaaa"}},
            None,
            "not with none",
        ),
    ],
)
def test_a_target_that_cannot_be_called_fails_with_its_reason(
    make_gateway: Any, configuration: dict[str, Any], credentials: str | None, reason: str
) -> None:
    more = {"credentialProviderConfigurations": [{"credentialProviderType": credentials}]} if credentials else {}
    target = make_gateway()._add("web", {"http": configuration}, more)
    assert target["status"] == "FAILED"
    assert reason in target["statusReasons"][0]


def test_a_gateway_that_speaks_mcp_only_and_names_of_its_own_paths_are_refused(
    make_gateway: Any, http_api: HttpServer
) -> None:
    with pytest.raises(ClientError, match="without a protocolType"):
        make_gateway(protocolType="MCP").add_server("web", http_api.url)
    for name in ("mcp", "rules"):
        with pytest.raises(ClientError, match=f"cannot be named {name}"):
            make_gateway().add_server(name, http_api.url)


def test_interceptors_see_requests_and_whole_answers(
    make_gateway: Any, make_function: Any, http_api: HttpServer
) -> None:
    arn = make_function(INTERCEPTOR)

    def configured(*points: str, **options: Any) -> dict[str, Any]:
        return {"interceptor": {"lambda": {"arn": arn}}, "interceptionPoints": list(points), **options}

    passes = {"inputConfiguration": {"passRequestHeaders": True}}
    gateway = make_gateway(interceptorConfigurations=[configured("REQUEST", "RESPONSE", **passes)])
    gateway.add_server("web", http_api.url)
    answer = requests.post(f"{gateway.base}/web/a", data="a text", headers={"X-Note": "secret"}, timeout=60)
    echo = answer.json()
    assert (echo["body"], echo["headers"]["x-added"], echo["headers"]["x-note"]) == ("A TEXT", "yes", "***")
    assert (answer.status_code, answer.headers["Content-Type"], answer.headers["X-Kind"]) == (203, "text/plain", "echo")
    itself = requests.delete(f"{gateway.base}/web/itself", timeout=60)
    assert (itself.status_code, itself.headers["Content-Type"]) == (202, "application/json")
    content = itself.json()
    assert (content["path"], content["method"], "Host" in content["headers"]) == ("/web/itself", "DELETE", True)
    assert content["custom"] == ["GATEWAY_ACCOUNT_ID", "GATEWAY_ARN", "REQUEST_ID", "SOURCE_IP"]
    crashed = requests.get(f"{gateway.base}/web/crash", timeout=60)
    assert (crashed.status_code, "a detail" in crashed.text) == (500, False)
    flood = requests.get(f"{gateway.base}/web/flood", timeout=60)  # which the interceptor would get whole
    assert flood.status_code == 502
    without = {"passRequestHeaders": False, "payloadFilter": {"exclude": [{"field": "RESPONSE_BODY"}]}}
    gateway = make_gateway(interceptorConfigurations=[configured("RESPONSE", inputConfiguration=without)])
    gateway.add_server("web", http_api.url)
    answer = requests.post(f"{gateway.base}/web/a", data="secret", timeout=60)
    assert (answer.headers["X-Seen"], answer.json()["body"]) == ("200", "secret")


def test_rate_limits_count_requests_of_http_targets(make_gateway: Any, aws: Any, http_api: HttpServer) -> None:
    gateway = make_gateway()
    gateway.add_server("web", http_api.url)
    entry = {"dimensions": {"targetName": "web"}, "requests": [{"rate": 1, "period": "minute"}]}
    aws.control.create_gateway_rate_limit(
        gatewayIdentifier=gateway.id, rateLimitId="rl-1", dimensionKeys=["targetName"], entries=[entry]
    )
    answers = [requests.get(f"{gateway.base}/web/a", timeout=60) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].headers["X-Amzn-Errortype"].startswith("ThrottlingException")
    assert answers[1].json()["limitKey"] == "rl-1/targetName=web"


def test_events_are_passed_on_as_they_come(make_gateway: Any, http_api: HttpServer) -> None:
    gateway = make_gateway()
    gateway.add_server("web", http_api.url)
    http_api.may_end.clear()
    with requests.get(f"{gateway.base}/web/events", stream=True, timeout=60) as answer:
        lines = answer.iter_lines()
        assert next(lines) == b"data: first"
        http_api.may_end.set()
        assert b"data: last" in list(lines)
        assert answer.headers["Content-Type"] == "text/event-stream"


def test_hostile_targets_are_contained(make_gateway: Any, http_api: HttpServer) -> None:
    gateway = make_gateway(exceptionLevel="DEBUG")
    gateway.add_server("web", http_api.url)
    page = requests.get(f"{gateway.base}/web/page", timeout=60)
    assert (page.text, page.headers["Content-Security-Policy"]) == ("<script>alert(1)</script>", "sandbox")
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert not {"set-cookie", "refresh", "access-control-allow-origin"} & {name.lower() for name in page.headers}
    gateway.add_server("loop", f"{gateway.base}/loop")
    assert requests.get(f"{gateway.base}/loop/a", timeout=60).status_code == 508
    redirect = requests.get(f"{gateway.base}/web/redirect", allow_redirects=False, timeout=60)
    assert (redirect.status_code, "redirects" in redirect.text) == (502, True)
    assert "Location" not in redirect.headers
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        requests.get(f"{gateway.base}/web/broken", timeout=60)
    http_api.abandoned.clear()
    http_api.sent_bytes = 0
    with requests.get(f"{gateway.base}/web/flood", stream=True, timeout=60) as flood:
        received = 0
        with contextlib.suppress(requests.exceptions.ChunkedEncodingError):
            for part in flood.iter_content(1_000_000):
                received += len(part)
    assert received <= 100_000_000
    assert http_api.abandoned.wait(60)
    assert http_api.sent_bytes < 200_000_000


def test_a_caller_that_goes_away_ends_the_request_of_a_silent_target(make_gateway: Any, http_api: HttpServer) -> None:
    gateway = make_gateway()
    gateway.add_server("web", http_api.url)
    http_api.abandoned.clear()
    parts = urlsplit(f"{gateway.base}/web/silent")
    with socket.create_connection((parts.hostname, parts.port)) as caller:
        caller.sendall(f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
        assert http_api.asked.wait(60)
    assert http_api.abandoned.wait(60)
    missing = make_gateway(exceptionLevel="DEBUG")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        missing.add_server("web", f"http://127.0.0.1:{free.getsockname()[1]}")
        answer = requests.get(f"{missing.base}/web/a", timeout=60)
    assert (answer.status_code, "cannot be reached" in answer.text) == (502, True)


def test_a_request_is_a_span_of_its_caller_s_trace(make_gateway: Any, aws: Any, http_api: HttpServer) -> None:
    gateway = make_gateway()
    gateway.add_server("web", http_api.url)
    trace_id, parent = secrets.token_hex(16), secrets.token_hex(8)
    headers = {"traceparent": f"00-{trace_id}-{parent}-01"}
    traceparent = requests.get(f"{gateway.base}/web/a", headers=headers, timeout=60).json()["headers"]["traceparent"]

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
    assert traceparent == f"00-{trace_id}-{span['spanId']}-01"
    assert (span["attributes"]["target.name"], span["attributes"]["http.response.status_code"]) == ("web", 200)
