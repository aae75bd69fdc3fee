"""Agents in sessions that spell out AWS's addresses reach the service, with their session's key, and never AWS."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from loomlib import local

AGENT = """
import asyncio, os, socket, threading
import boto3, httpx, websockets
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from bedrock_agentcore import BedrockAgentCoreApp
from bedrock_agentcore.runtime import AgentCoreRuntimeClient
from bedrock_agentcore.services.identity import IdentityClient

app = BedrockAgentCoreApp()
AWS = "https://{}.us-east-1.amazonaws.com"

def client(name):
    once = Config(retries={"total_max_attempts": 1}, connect_timeout=120)
    return boto3.client(name, endpoint_url=AWS.format(name), region_name="us-east-1", config=once)

async def websocket(arn):
    url, headers = AgentCoreRuntimeClient("us-east-1").generate_ws_connection(arn)
    async with websockets.connect(url, additional_headers=headers, open_timeout=120) as socket:
        await socket.send('{"a": 1}')
        return await socket.recv()

def attempt(call):
    try:
        return call()
    except ClientError as error:
        return error.response["Error"]["Code"]
    except (BotoCoreError, httpx.HTTPError, OSError) as error:
        return type(error).__name__

def through_proxy(port):
    host, own = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
    with socket.create_connection((host, int(own)), timeout=120) as proxy:
        proxy.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n".encode())
        status = proxy.recv(12).decode()[-3:]
        if status != "200":
            return status
        proxy.sendall(b"ping")
        return status + proxy.makefile("rb").read().split(b"\\r\\n\\r\\n")[1].decode()

def own_server():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            with listener.accept()[0] as one:
                one.sendall(one.recv(4))
        threading.Thread(target=serve, daemon=True).start()
        return through_proxy(listener.getsockname()[1])

@app.entrypoint
def answer(payload):
    arn = payload["arn"]
    return {
        "identity": attempt(lambda: boto3.client("sts").get_caller_identity()["Arn"]),
        "named": attempt(lambda: client("sts").get_caller_identity()["Arn"]),
        "refused by the role": attempt(lambda: client("bedrock-agentcore-control").list_memories()),
        "the sdk": attempt(lambda: IdentityClient("us-east-1").create_workload_identity()),
        "socket": attempt(lambda: asyncio.run(websocket(arn))),
        "not served": attempt(lambda: client("s3").list_buckets()),
        "not served by httpx": attempt(lambda: httpx.get(AWS.format("ec2"), timeout=120).status_code),
        "own loopback": attempt(lambda: httpx.get("https://127.0.0.1:9/", timeout=120).status_code),
        "own server": own_server(),
        "this machine's": through_proxy(payload["port"]),
        "the owner's": attempt(
            lambda: httpx.get(os.environ["AWS_ENDPOINT_URL"] + "/_loom/status", timeout=120).status_code
        ),
    }

@app.websocket
async def echo(websocket, context):
    await websocket.accept()
    await websocket.send_json({"said": await websocket.receive_json()})
    await websocket.close()

app.run()
"""


def is_isolated(aws: Any) -> bool:
    label = local.status(aws.state.home).isolation_label
    return "bubblewrap" in label and "shared" not in label


@pytest.mark.parametrize("platform", ["V1", "V2"])
def test_aws_s_names_lead_to_the_service_and_not_to_aws(aws: Any, platform: str) -> None:
    callee = aws.deploy(f"called_{platform}", AGENT, platformVersion=platform)
    caller = aws.deploy(
        f"caller_{platform}",
        AGENT,
        platformVersion=platform,
        environmentVariables={"CALLED": callee["agentRuntimeArn"]},
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        payload = {"arn": callee["agentRuntimeArn"], "port": listener.getsockname()[1]}
        _, body = aws.invoke(caller["agentRuntimeArn"], json.dumps(payload).encode())
        if is_isolated(aws):
            with pytest.raises(TimeoutError):
                listener.accept()
    results = json.loads(body)
    assert results["named"] == results["identity"]
    assert results["named"].startswith("arn:aws:sts::123456789012:")
    assert results["refused by the role"] == "AccessDeniedException"
    assert results["the sdk"] == "AccessDeniedException"
    assert json.loads(results["socket"]) == {"said": {"a": 1}}
    assert results["not served"] == "ProxyConnectionError"
    assert results["not served by httpx"] == "ProxyError"
    assert results["own loopback"] == "ConnectError"
    assert results["own server"] == "200ping"
    assert results["this machine's"] == "502" or not is_isolated(aws)
    assert results["the owner's"] in (401, 403)
