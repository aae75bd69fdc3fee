"""Programs that spell out AWS's addresses reach the service through its proxy, with the variables of a shell."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import requests
from waiting import PATIENCE_S

import loomlib as loom
from loomlib import local
from loomlib.local.aws_names.hosts import is_served

AGENT = """
from bedrock_agentcore import BedrockAgentCoreApp
app = BedrockAgentCoreApp()
@app.entrypoint
def answer(payload):
    return {"said": payload["prompt"]}
@app.websocket
async def echo(websocket, context):
    await websocket.accept()
    await websocket.send_json({"said": await websocket.receive_json()})
    await websocket.close()
app.run()
"""
CALLER = """
import asyncio, json, os, sys, urllib.parse
import aiohttp, boto3, httpx, requests, websockets, yarl
from bedrock_agentcore.runtime import AgentCoreRuntimeClient
from bedrock_agentcore.services.identity import IdentityClient
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

arn = sys.argv[1]
url = f"https://bedrock-agentcore.us-east-1.amazonaws.com/runtimes/{urllib.parse.quote(arn, safe='')}/invocations"
for post in (httpx.post, requests.post):
    body = json.dumps({"prompt": "hello"})
    request = AWSRequest("POST", url, data=body, headers={"Content-Type": "application/json"})
    SigV4Auth(boto3.Session().get_credentials(), "bedrock-agentcore", "us-east-1").add_auth(request)
    print(post(url, data=request.data, headers=dict(request.headers), timeout=120).text)
client = AgentCoreRuntimeClient(region="us-east-1")

async def talk(url, headers):
    async with websockets.connect(url, additional_headers=headers, open_timeout=120) as socket:
        await socket.send(json.dumps({"a": 1}))
        return await socket.recv()

async def talk_by_aiohttp(url, headers):
    async with aiohttp.ClientSession(trust_env=True) as http:
        async with http.ws_connect(yarl.URL(url, encoded=True), headers=headers) as socket:
            await socket.send_json({"a": 1})
            return (await socket.receive()).data

print(asyncio.run(talk(*client.generate_ws_connection(arn))))
print(asyncio.run(talk_by_aiohttp(*client.generate_ws_connection(arn))))
print(asyncio.run(talk(client.generate_presigned_url(arn), {})))
print(IdentityClient("us-east-1").create_workload_identity()["name"])
"""


@pytest.fixture(scope="module")
def state(aws: Any) -> local.ServiceState:
    service_state = local.find(aws.state.home)
    assert service_state is not None
    return service_state


def variables(state: local.ServiceState, **user: str) -> dict[str, str]:
    return local.shell_environment(state, user)


@pytest.mark.parametrize("source", ["loom up --export", "bench.environment()"])
def test_spelled_out_addresses_sockets_and_the_sdk_s_clients_work_unchanged(
    source: str, aws: Any, state: local.ServiceState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = aws.create(f"spelled_out_{len(source)}", aws.upload({"agent.py": AGENT}))
    assert aws.settled(created["agentRuntimeId"])["status"] == "READY"
    base_environment = {
        name: value for name, value in os.environ.items() if "PROXY" not in name.upper() and "AWS" not in name
    }
    (tmp_path / "own.pem").write_text("# a company's certificate\n")
    own = dict.fromkeys(("AWS_CA_BUNDLE", "CURL_CA_BUNDLE"), str(tmp_path / "own.pem"))
    if source == "bench.environment()":
        for name in set(os.environ) - set(base_environment):
            monkeypatch.delenv(name)
        with loom.connect(home=state.home) as bench:
            service_environment = bench.environment()
    else:
        service_environment = variables(state, **own)
    process = subprocess.run(
        [sys.executable, "-c", CALLER, created["agentRuntimeArn"]],
        env=base_environment | own | service_environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert process.returncode == 0, process.stderr
    *answers, identity = process.stdout.splitlines()
    assert [json.loads(answer)["said"] for answer in answers] == ["hello", "hello", {"a": 1}, {"a": 1}, {"a": 1}]
    assert identity.startswith("workload-")


def test_a_bearer_call_of_an_unknown_runtime_is_refused_in_agentcore_s_form(state: local.ServiceState) -> None:
    environment = variables(state)
    arn = quote(f"arn:aws:bedrock-agentcore:us-east-1:{state.account_id}:runtime/none-AbCdEf1234", safe="")
    answer = httpx.post(
        f"https://bedrock-agentcore.us-east-1.amazonaws.com/runtimes/{arn}/invocations",
        headers={"Authorization": "Bearer none"},
        json={},
        proxy=environment["HTTPS_PROXY"],
        verify=ssl.create_default_context(cafile=environment["SSL_CERT_FILE"]),
        timeout=PATIENCE_S,
    )
    assert answer.status_code == 404
    assert "none-AbCdEf1234" in answer.json()["message"]


def test_a_refusal_under_aws_s_name_leads_to_metadata_that_can_be_read_there(
    aws: Any, state: local.ServiceState
) -> None:
    rules = {"discoveryUrl": local.issuer_address(state), "allowedClients": [local.DEFAULT_CLIENT]}
    code = aws.upload({"agent.py": AGENT})
    created = aws.create("named_by_aws", code, authorizerConfiguration={"customJWTAuthorizer": rules})
    assert aws.settled(created["agentRuntimeId"])["status"] == "READY"
    runtime = f"https://bedrock-agentcore.us-east-1.amazonaws.com/runtimes/{quote(created['agentRuntimeArn'], safe='')}"
    environment = variables(state)
    trusted = ssl.create_default_context(cafile=environment["SSL_CERT_FILE"])
    with httpx.Client(proxy=environment["HTTPS_PROXY"], verify=trusted, timeout=PATIENCE_S) as client:
        challenge = client.post(f"{runtime}/invocations", json={}).headers["www-authenticate"]
        metadata = client.get(challenge.split('"')[1])
    assert challenge.startswith(f'Bearer resource_metadata="{runtime}/')
    assert metadata.json()["resource"] == f"{runtime}/invocations?qualifier=DEFAULT"


def test_nothing_is_served_without_trust_in_the_authority(state: local.ServiceState) -> None:
    proxies = {"https": variables(state)["HTTPS_PROXY"]}
    with pytest.raises(requests.exceptions.SSLError):
        requests.get("https://bedrock-agentcore.us-east-1.amazonaws.com/", proxies=proxies, timeout=PATIENCE_S)


async def test_other_addresses_are_passed_on_unread(state: local.ServiceState) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(100))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", state.aws_names_port)
        port = server.sockets[0].getsockname()[1]
        writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"not TLS")
        assert await reader.read() == b"not TLS"
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET http://example.org/ HTTP/1.1\r\n\r\n", b"405"),
        (b"CONNECT 127.0.0.1:99999 HTTP/1.1\r\n\r\n", b"502"),
        (b"CONNECT a b HTTP/1.1\r\n\r\n", b"405"),
        (b"CONNECT s3.us-east-1.amazonaws.com:443 HTTP/1.1\r\n\r\n", b"403"),
        (b"CONNECT IAM.amazonaws.com.:443 HTTP/1.1\r\n\r\n", b"403"),
        (b"CONNECT bedrock-agentcore.us-east-1.amazonaws.com:80 HTTP/1.1\r\n\r\n", b"403"),
        (b"CONNECT a:1 HTTP/1.1\r\n" + b"x" * 40_000, b"431"),
    ],
)
async def test_what_is_no_connect_or_leads_to_aws_is_refused(
    state: local.ServiceState, sent: bytes, status: bytes
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", state.aws_names_port)
    writer.write(sent)
    assert (await reader.readexactly(12)).endswith(status)
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("host", "served"),
    [
        ("bedrock-agentcore.us-east-1.amazonaws.com", True),
        ("bedrock-agentcore-control.eu-west-1.amazonaws.com:443", True),
        ("cognito-idp.us-gov-west-1.amazonaws.com", True),
        ("shop.auth.us-east-1.amazoncognito.com", True),
        ("tools-abc.gateway.bedrock-agentcore.us-east-1.amazonaws.com", True),
        ("s3.us-east-1.amazonaws.com", False),
        ("bedrock-agentcore.us-east-1.amazonaws.com.example.org", False),
        ("example.org", False),
        ("bedrock-agentcore.us-east-1.amazonaws.com:80", False),
    ],
)
def test_only_agentcore_s_names_are_served(host: str, served: bool) -> None:
    assert is_served(host) is served


def test_a_shell_keeps_its_own_proxy_and_its_own_certificates(state: local.ServiceState, tmp_path: Path) -> None:
    assert "HTTPS_PROXY" not in variables(state, HTTPS_PROXY="http://proxy.example.org:3128")
    first = variables(state)
    assert variables(state, **first) == first
    own = tmp_path / "own.pem"
    own.write_text("# a company's certificate\n")
    environment = variables(state, SSL_CERT_FILE=str(own), NO_PROXY="intranet")
    assert b"# a company's certificate" in Path(environment["SSL_CERT_FILE"]).read_bytes()
    assert environment["NO_PROXY"] == "intranet,127.0.0.1,localhost"


def test_the_authority_s_key_is_readable_by_its_owner_only(state: local.ServiceState) -> None:
    variables(state)
    assert {file.stat().st_mode & 0o077 for file in (state.home / "aws-names").iterdir()} == {0}
