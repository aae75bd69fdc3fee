from __future__ import annotations

import contextlib
import http.client
import json
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from botocore.exceptions import ClientError
from plain_agents import PLAIN_APP
from signed_requests import signed_headers
from waiting import PATIENCE_S
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from loomlib import local

SERVING_AGENT = (
    PLAIN_APP
    + """
import http.server, json, threading
import uvicorn

app = PlainApp()

class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        seen = {"method": self.command, "path": self.path, "body": body, "headers": dict(self.headers.items())}
        answer = json.dumps(seen).encode()
        self.send_response(201)
        self.send_header("content-type", "application/json")
        self.send_header("x-own", "yes")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_HEAD = do_PUT = do_POST

async def shout(scope, receive, send):
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": scope["path"] + " " + message["text"].upper()})

def serve(port):
    threading.Thread(target=http.server.ThreadingHTTPServer(("0.0.0.0", port), Page).serve_forever, daemon=True).start()

@app.entrypoint
def answer(payload):
    serve(8501)
    serve(8600)
    server = uvicorn.Server(uvicorn.Config(shout, host="0.0.0.0", port=9002, log_level="warning", lifespan="off"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        pass
    return "ready"

if __name__ == "__main__":
    app.run()
"""
)
PORTS = [{"port": 8501}, {"portRange": {"from": 9000, "to": 9002}}]


@pytest.fixture(scope="module")
def url(aws: Any) -> str:
    """The address of a session whose servers run."""
    if "own view" not in str(local.status(aws.state.home).isolation):
        pytest.skip("allowedPorts needs bubblewrap")
    runtime = aws.deploy("serving", SERVING_AGENT, allowedPorts=PORTS)
    assert aws.control.get_agent_runtime(agentRuntimeId=runtime["agentRuntimeId"])["allowedPorts"] == PORTS
    answer, body = aws.invoke(runtime["agentRuntimeArn"], runtimeSessionId=str(uuid.uuid4()))
    assert json.loads(body) == "ready"
    return answer["sessionEndpointUrl"]


def ask(
    aws: Any, url: str, method: str = "GET", body: bytes = b"", *, timeout_s: float = 60, **signing: Any
) -> tuple[http.client.HTTPResponse, bytes]:
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    headers = signed_headers(aws.state, method, path, body, **signing)
    connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=timeout_s)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_a_request_reaches_an_allowed_port_of_the_session(aws: Any, url: str) -> None:
    response, body = ask(aws, f"{url}/8501/a/b?c=d%20e&f=", "PUT", b"content", headers={"X-Own": "1"})
    assert (response.status, response.getheader("x-own")) == (201, "yes")
    echo = json.loads(body)
    assert (echo["method"], echo["path"], echo["body"]) == ("PUT", "/a/b?c=d%20e&f=", "content")
    names = {name.lower() for name in echo["headers"]}
    assert "x-own" in names
    assert not any(name.startswith("x-amz-") or name == "authorization" for name in names)
    response, body = ask(aws, f"{url}/8501", "HEAD")
    assert (response.status, body) == (201, b"")


def test_the_serving_port_is_reached_too(aws: Any, url: str) -> None:
    response, body = ask(aws, f"{url}/8080/ping")
    assert (response.status, json.loads(body)["status"]) == (200, "Healthy")


def test_other_ports_are_refused(aws: Any, url: str) -> None:
    response, body = ask(aws, f"{url}/8600/")
    assert (response.status, response.getheader("x-amzn-errortype")) == (403, "AccessDeniedException")
    assert "does not allow port 8600" in json.loads(body)["message"]
    response, _ = ask(aws, f"{url}/9000/")
    assert (response.status, response.getheader("x-amzn-errortype")) == (424, "RuntimeClientError")
    response, _ = ask(aws, f"{url}/8501/", access_key="AKIANOBODY")
    assert response.status == 403
    response, _ = ask(aws, f"{url}/port/")
    assert (response.status, response.getheader("x-amzn-errortype")) == (400, "ValidationException")


def test_a_websocket_reaches_an_allowed_port(aws: Any, url: str) -> None:
    path = urlsplit(url).path + "/9002/chat"
    headers = signed_headers(aws.state, "GET", path)
    address = f"ws://127.0.0.1:{aws.state.port}{path}"
    with connect(address, additional_headers=headers, open_timeout=PATIENCE_S) as socket:
        socket.send("hello")
        assert socket.recv(timeout=PATIENCE_S) == "/chat HELLO"
    path = urlsplit(url).path + "/8600/chat"
    with pytest.raises(InvalidStatus) as refused:
        connect(
            f"ws://127.0.0.1:{aws.state.port}{path}",
            additional_headers=signed_headers(aws.state, "GET", path),
            open_timeout=PATIENCE_S,
        )
    assert refused.value.response.status_code == 403


def test_a_runtime_without_allowed_ports_has_no_endpoint(aws: Any, echo: dict[str, Any]) -> None:
    answer, _ = aws.invoke(echo["agentRuntimeArn"])
    assert "sessionEndpointUrl" not in answer


@pytest.mark.parametrize(
    ("ports", "message"),
    [
        ([{"port": 8443}], "8443 is reserved"),
        ([{"portRange": {"from": 8400, "to": 8500}}], "8443 is reserved"),
        ([{"portRange": {"from": 9001, "to": 9000}}], "ends before it begins"),
        ([{"port": 9000}, {"portRange": {"from": 8900, "to": 9000}}], "overlap at port 9000"),
    ],
)
def test_ports_that_cannot_be_allowed_are_refused(aws: Any, ports: list[Any], message: str) -> None:
    with pytest.raises(ClientError, match=message) as refused:
        aws.create("portless", aws.upload({"agent.py": "pass"}), allowedPorts=ports)
    assert refused.value.response["Error"]["Code"] == "ValidationException"


def test_without_a_network_of_their_own_sessions_have_no_endpoints(start_service: Callable[..., Any]) -> None:
    aws = start_service(sandbox="off")
    with pytest.raises(ClientError, match="allowedPorts requires sessions with their own networks"):
        aws.create("shared", aws.upload({"agent.py": "pass"}), allowedPorts=PORTS)


LINGERING_AGENT = (
    PLAIN_APP
    + """
import socket, struct, sys, threading

app = PlainApp()
kept = []

def hand_out(descriptor):
    channel = socket.socket(fileno=descriptor)
    channel.settimeout(None)
    channel.recv(int.from_bytes(channel.recv(8), "big"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        kept.append(socket.create_connection(listener.getsockname()))
        handed, _ = listener.accept()
    handed.setblocking(False)
    try:
        while True:
            handed.send(bytes(65_536))  # until its buffer is full
    except BlockingIOError:
        pass
    handed.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
    kept[-1].sendall(b"no answer")
    socket.send_fds(channel, [b"+"], [handed.fileno()])

def start(descriptor):
    threading.Thread(target=hand_out, args=(descriptor,), daemon=True).start()

[hook] = (hook for hook in sys.meta_path if type(hook).__name__ == "StartHook")
type(hook).find_spec.__globals__["answer_request"] = start

@app.entrypoint
def answer(payload):
    return "ready"

if __name__ == "__main__":
    app.run()
"""
)


def test_a_socket_that_lingers_when_it_is_closed_does_not_stop_the_service(start_service: Callable[..., Any]) -> None:
    aws = start_service()
    if "own view" not in str(local.status(aws.state.home).isolation):
        pytest.skip("allowedPorts needs bubblewrap")
    runtime = aws.deploy("lingering", LINGERING_AGENT, allowedPorts=PORTS)
    answer, _ = aws.invoke(runtime["agentRuntimeArn"], runtimeSessionId=str(uuid.uuid4()))
    url = answer["sessionEndpointUrl"]
    with contextlib.suppress(TimeoutError):
        assert ask(aws, f"{url}/9001/", timeout_s=3)[0].status == 424
    assert ask(aws, f"{url}/8080/ping", timeout_s=10)[0].status == 200


OFFERS_AGENT = (
    PLAIN_APP
    + """
import json, threading
import uvicorn

app = PlainApp()

async def tell(scope, receive, send):
    seen = {"headers": {n.decode(): v.decode() for n, v in scope["headers"]}, "offered": scope.get("subprotocols")}
    answer = json.dumps(seen)
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": answer})
        await send({"type": "websocket.close"})
    else:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": answer.encode()})

@app.entrypoint
def answer(payload):
    server = uvicorn.Server(uvicorn.Config(tell, host="0.0.0.0", port=9002, log_level="warning", lifespan="off"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        pass
    return "ready"

if __name__ == "__main__":
    app.run()
"""
)


def test_a_token_opens_a_session_endpoint_and_does_not_reach_its_server(aws: Any) -> None:
    if "own view" not in str(local.status(aws.state.home).isolation):
        pytest.skip("allowedPorts needs bubblewrap")
    rules = {"discoveryUrl": local.issuer_address(aws.state), "allowedClients": [local.DEFAULT_CLIENT]}
    runtime = aws.deploy(
        "protected_ports", OFFERS_AGENT, allowedPorts=PORTS, authorizerConfiguration={"customJWTAuthorizer": rules}
    )
    token = local.issue_token(aws.state, "alice")
    bearer = {"Authorization": f"Bearer {token}", "X-Amzn-Bedrock-AgentCore-Runtime-User-Id": "mallory"}

    def get(path: str, method: str, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", aws.state.port, timeout=60)
        try:
            connection.request(method, path, b"{}" if method == "POST" else None, headers)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    arn = quote(runtime["agentRuntimeArn"], safe="")
    session = {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": str(uuid.uuid4())}
    response, _ = get(f"/runtimes/{arn}/invocations", "POST", bearer | session)
    url = str(response.getheader("x-amzn-bedrock-agentcore-runtime-session-endpoint-url"))
    path = f"{urlsplit(url).path}/9002/"
    response, body = get(path, "GET", bearer)
    assert response.status == 200
    assert token not in body.decode()
    assert "mallory" not in body.decode()
    for headers, status in (({}, 401), ({"Authorization": "Bearer x"}, 403)):
        assert get(path, "GET", headers)[0].status == status
        # The service must not read a body before it has authenticated the caller.
        assert get(path, "GET", {**headers, "Content-Length": "100000000"})[0].status == status
    name = "base64UrlBearerAuthorization"
    encoded = urlsafe_b64encode(token.encode()).rstrip(b"=").decode()
    offered: list[Any] = [f"{name}.{encoded}", name]
    address = f"ws://127.0.0.1:{aws.state.port}{path}"
    with connect(address, subprotocols=offered, open_timeout=PATIENCE_S) as socket:
        message = socket.recv()
        assert socket.subprotocol == name
    assert encoded not in str(message)
