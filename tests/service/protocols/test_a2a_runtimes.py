"""Runtimes that speak A2A or AG-UI: what reaches the agent, the agent card, and the forms of errors."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import quote

import pytest
from botocore.exceptions import ClientError
from protocol_agents import PLAIN_A2A, STRANDS_A2A_SERVER
from signed_requests import signed_headers

SESSION = "a2a-session-" * 3


@pytest.fixture(scope="session")
def plain(aws: Any) -> str:
    return aws.deploy("plain_a2a", PLAIN_A2A, protocolConfiguration={"serverProtocol": "A2A"})["agentRuntimeArn"]


def rpc(method: str, number: int | str = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": {}}).encode()


def post(aws: Any, path: str, body: bytes, method: str = "POST") -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
    headers = {"Content-Type": "application/json"}
    connection.request(method, path, body, signed_headers(aws.state, method, path, body, headers=headers))
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.headers, content


def test_json_rpc_bodies_reach_the_agent_at_its_root(aws: Any, plain: str) -> None:
    answer, content = aws.invoke(plain, rpc("message/send", "req-1"), runtimeSessionId=SESSION)
    document = json.loads(content)
    assert (answer["statusCode"], document["id"]) == (200, "req-1")
    assert document["result"]["method"] == "message/send"
    assert document["result"]["headers"]["x-amzn-bedrock-agentcore-runtime-session-id"] == SESSION


def test_a_stream_of_events_is_passed_on(aws: Any, plain: str) -> None:
    answer, content = aws.invoke(plain, rpc("message/stream"), runtimeSessionId=SESSION)
    assert answer["contentType"].startswith("text/event-stream")
    assert content.count(b"data: ") == 2


def test_the_agent_card_is_the_one_that_the_agent_serves(aws: Any, plain: str) -> None:
    answer = aws.data.get_agent_card(agentRuntimeArn=plain, runtimeSessionId=SESSION)
    assert (answer["statusCode"], answer["runtimeSessionId"]) == (200, SESSION)
    assert answer["agentCard"]["name"] == "plain"
    assert answer["agentCard"]["url"] == f"{aws.state.url}/runtimes/{quote(plain, safe='')}/invocations/"


def test_the_url_of_a_card_takes_calls_although_it_ends_with_a_slash(aws: Any, plain: str) -> None:
    url = aws.data.get_agent_card(agentRuntimeArn=plain)["agentCard"]["url"]
    status, _, content = post(aws, url.removeprefix(aws.state.url), rpc("message/send"))
    assert (status, json.loads(content)["result"]["method"]) == (200, "message/send")


def test_the_server_of_the_developer_guide_runs_unchanged(aws: Any) -> None:
    runtime = aws.deploy("guide_a2a", STRANDS_A2A_SERVER, protocolConfiguration={"serverProtocol": "A2A"})
    arn = runtime["agentRuntimeArn"]
    card = aws.data.get_agent_card(agentRuntimeArn=arn, runtimeSessionId=SESSION)["agentCard"]
    assert (card["name"], card["skills"][0]["id"]) == ("Calculator Agent", "calculator")
    message = {"role": "user", "messageId": "m-1", "parts": [{"kind": "text", "text": "What is 6 * 7?"}]}
    body = {"jsonrpc": "2.0", "id": "1", "method": "message/send", "params": {"message": message}}
    _, content = aws.invoke(arn, json.dumps(body).encode(), runtimeSessionId=SESSION)
    task = json.loads(content)["result"]
    assert task["status"]["state"] == "completed"
    assert "42" in json.dumps(task["artifacts"])


def test_only_a2a_agents_have_a_card(aws: Any, echo: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match="speaks HTTP") as caught:
        aws.data.get_agent_card(agentRuntimeArn=echo["agentRuntimeArn"])
    assert caught.value.response["Error"]["Code"] == "ValidationException"


def test_a_failure_of_the_agent_is_a_json_rpc_error_with_its_status(aws: Any, plain: str) -> None:
    path = f"/runtimes/{quote(plain, safe='')}/invocations"
    status, headers, content = post(aws, path, rpc("fail", 5))
    document = json.loads(content)
    assert (status, headers["x-amzn-errortype"]) == (424, "RuntimeClientError")
    assert (document["id"], document["error"]["code"]) == (5, -32055)
    assert "answered 500: broken" in document["error"]["data"]["reason"]


def test_sdks_read_the_name_of_an_a2a_error(aws: Any, plain: str) -> None:
    with pytest.raises(ClientError) as caught:
        aws.invoke(plain, rpc("fail"))
    assert caught.value.response["Error"]["Code"] == "RuntimeClientError"


def test_an_unhealthy_server_is_reported(aws: Any) -> None:
    code = PLAIN_A2A.replace('"/ping"', '"/health"')
    served = {"serverProtocol": "A2A"}
    arn = aws.deploy("no_ping", code, platformVersion="V1", protocolConfiguration=served)["agentRuntimeArn"]
    path = f"/runtimes/{quote(arn, safe='')}/invocations"
    status, _, content = post(aws, path, rpc("message/send"))
    assert status == 424
    assert "GET /ping answered 404" in json.loads(content)["error"]["data"]["reason"]


def test_errors_of_an_agui_runtime_are_run_error_events(aws: Any) -> None:
    code = "from bedrock_agentcore import BedrockAgentCoreApp\napp = BedrockAgentCoreApp()\n"
    code += "@app.entrypoint\ndef answer(payload):\n    raise ValueError('no cart')\napp.run()\n"
    arn = aws.deploy("agui_fails", code, protocolConfiguration={"serverProtocol": "AGUI"})["agentRuntimeArn"]
    path = f"/runtimes/{quote(arn, safe='')}/invocations"
    status, headers, content = post(aws, path, b'{"messages": []}')
    event = json.loads(content.removeprefix(b"data: "))
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    assert (event["type"], event["code"]) == ("RUN_ERROR", "AGENT_ERROR")
    assert "no cart" in event["rawEvent"]["reason"]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["X-Team", "x-team"], "more than once"),
        (["Cookie"], "restricted"),
        (["X-Amz-Date"], "restricted"),
        (["X-Amzn-Trace-Id"], "restricted"),
        (["Authorization"], "customJWTAuthorizer"),
    ],
)
def test_an_allowlist_with_a_header_that_is_never_passed_on_is_refused(aws: Any, names: list[str], says: str) -> None:
    with pytest.raises(ClientError, match=says) as caught:
        aws.create(
            "wrong_headers",
            aws.upload({"agent.py": PLAIN_A2A}),
            requestHeaderConfiguration={"requestHeaderAllowlist": names},
        )
    assert caught.value.response["Error"]["Code"] == "ValidationException"


def test_a_long_value_of_an_allowed_header_is_refused(aws: Any) -> None:
    allowed = {"requestHeaderConfiguration": {"requestHeaderAllowlist": ["X-Team"]}}
    arn = aws.deploy("long_header", **allowed)["agentRuntimeArn"]
    path = f"/runtimes/{quote(arn, safe='')}/invocations"
    connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
    headers = {"X-Team": "x" * 4_097}
    connection.request("POST", path, b"{}", signed_headers(aws.state, "POST", path, b"{}", headers=headers))
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["__type"]) == (400, "ValidationException")
    connection.close()


def test_an_http_runtime_serves_at_the_port_and_path_that_it_names(aws: Any) -> None:
    code = PLAIN_A2A.replace('Route("/", rpc', 'Route("/run", rpc').replace("port=9000", "port=8200")
    where = {"serverProtocol": "HTTP", "port": 8200, "path": "/run"}
    arn = aws.deploy("http_elsewhere", code, protocolConfiguration=where)["agentRuntimeArn"]
    _, content = aws.invoke(arn, rpc("anything"))
    document = json.loads(content)
    assert document["result"]["method"] == "anything"
    assert document["result"]["headers"]["host"] == "127.0.0.1:8200"
