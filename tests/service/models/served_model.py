"""Serve a model over HTTP, for boto3 clients and for agents in processes of their own."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import boto3
import uvicorn
from botocore.config import Config

from loomlib.local.models import ConverseModel, ModelRefusedError
from loomlib.local.models.native import invoke_model


class ConverseApp:
    """The smallest ASGI application for Converse, ConverseStream and InvokeModel, with errors in rest-json form."""

    def __init__(self, model: ConverseModel) -> None:
        self.model = model

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                if message["type"] == "lifespan.shutdown":
                    await self.model.close()
                await send({"type": message["type"] + ".complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        _, _, model_id, operation = unquote(scope["raw_path"].decode()).split("/", 3)
        is_started = False

        async def start(status: int, content_type: str, *extra: tuple[bytes, bytes]) -> None:
            headers = [(b"content-type", content_type.encode()), *extra]
            await send({"type": "http.response.start", "status": status, "headers": headers})

        try:
            request = json.loads(body)
            if operation in ("converse", "invoke"):
                if operation == "converse":
                    answer = await self.model.converse(model_id, request)
                else:
                    answer = await invoke_model(self.model, model_id, request, "request", {})
                await start(200, "application/json")
                await send({"type": "http.response.body", "body": json.dumps(answer).encode()})
                return
            async for frame in self.model.converse_stream(model_id, request):
                if not is_started:
                    await start(200, "application/vnd.amazon.eventstream")
                    is_started = True
                await send({"type": "http.response.body", "body": frame, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except ModelRefusedError as refused:
            await start(refused.status, "application/json", (b"x-amzn-errortype", refused.code.encode()))
            await send({"type": "http.response.body", "body": json.dumps({"message": refused.message}).encode()})


@contextmanager
def serving(app: object) -> Iterator[str]:
    """Serve an ASGI application on a free loopback port, in a thread; gives its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))  # type: ignore[arg-type]
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(60)


@dataclass(frozen=True)
class ServedModel:
    """A model behind HTTP: its address, and the environment with which an agent reaches it."""

    url: str
    _clients: list[Any] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": self.url,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, **config: object):
        client = boto3.client(
            "bedrock-runtime",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
            config=Config(retries={"total_max_attempts": 1}, **config),  # type: ignore[arg-type]
        )
        self._clients.append(client)
        return client

    def close(self) -> None:
        """Close the connections of every client that was asked for."""
        for client in self._clients:
            client.close()


@dataclass(frozen=True)
class AgentProcess:
    """A blueprint that runs as its own process."""

    url: str
    log: Path

    def ask(self, payload: object, session_id: str = "s" * 33) -> tuple[int, str, str]:
        """The status, content type and body of one invocation."""
        request = urllib.request.Request(
            f"{self.url}/invocations",
            json.dumps(payload).encode(),
            {"content-type": "application/json", "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": session_id},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.headers["content-type"], response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers["content-type"], error.read().decode()

    def text(self, prompt: str, session_id: str = "s" * 33) -> str:
        """The text of a streamed answer."""
        _, content_type, body = self.ask({"prompt": prompt}, session_id)
        assert content_type.startswith("text/event-stream"), body
        events = [json.loads(line.removeprefix("data: ")) for line in body.split("\n\n") if line.strip()]
        return "".join(event for event in events if isinstance(event, str))
