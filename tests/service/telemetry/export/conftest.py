"""Agents in session processes, and a collector that remembers the spans they export."""

from __future__ import annotations

import json
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import waiting

from loomlib.local.contract import AgentCall, RuntimeVersion
from loomlib.local.sessions import SessionPool
from loomlib.local.sessions.otel import OtlpTarget

PACED = """
import asyncio, os, sys, time
from bedrock_agentcore import BedrockAgentCoreApp
from strands import Agent, tool
from strands.models import Model

app = BedrockAgentCoreApp()


class PacedModel(Model):
    '''Calls both tools at once, then answers; each turn takes MODEL_S seconds.'''

    def update_config(self, **config): ...
    def get_config(self): return {"model_id": "paced"}
    def structured_output(self, *given, **more): raise TypeError("not asked for")

    async def stream(self, messages, tool_specs=None, system_prompt=None, **more):
        await asyncio.sleep(float(os.environ.get("MODEL_S", "0.4")))
        answers = any("toolResult" in block for block in messages[-1]["content"])
        yield {"messageStart": {"role": "assistant"}}
        if answers:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": os.environ.get("ANSWER", "done")}}}
            yield {"contentBlockStop": {}}
        else:
            for name in ("look", "search"):
                yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"use-{name}"}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"what": "looms"}'}}}}
                yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if answers else "tool_use"}}
        usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 400}}}


@tool
def look(what: str) -> str:
    '''Look at something.'''
    time.sleep(float(os.environ.get("LOOK_S", "0.12")))
    return what


@tool
def search(what: str) -> str:
    '''Search for something.'''
    time.sleep(float(os.environ.get("SEARCH_S", "0.2")))
    return what


def agent():
    return Agent(model=PacedModel(), tools=[look, search], callback_handler=None, name="paced")


@app.entrypoint
async def invoke(payload, context):
    async for event in agent().stream_async(payload["prompt"]):
        if "data" in event:
            yield event["data"]

{more}

if __name__ == "__main__":
    app.run()
"""


@dataclass(frozen=True)
class Seen:
    """A span as it came over the wire."""

    id: str
    trace: str
    parent: str | None
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    status: int
    resource: dict[str, Any]
    headers: dict[str, str]
    came_at: float

    @property
    def ms(self) -> float:
        return (self.end_ns - self.start_ns) / 1e6


@dataclass
class Collector:
    """An OTLP receiver; `answers` are the statuses it gives next, then 200."""

    spans: list[Seen] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    body: bytes = b"{}"
    url: str = ""

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        self.requests.append((path, headers, body))
        status = self.answers.pop(0) if self.answers else 200
        if status == 200 and headers["content-type"] == "application/json" and path.endswith("/v1/traces"):
            self.spans.extend(list(_read(json.loads(body), headers)))  # at once: a test must not see half a request
        return status

    def metrics(self) -> dict[str, list[dict[str, Any]]]:
        """Each metric's forms as they came, by name."""
        metrics: dict[str, list[dict[str, Any]]] = {}
        for path, _, body in self.requests:
            if path.endswith("/v1/metrics"):
                for resource in json.loads(body)["resourceMetrics"]:
                    for scope in resource["scopeMetrics"]:
                        for metric in scope["metrics"]:
                            metrics.setdefault(metric["name"], []).append(metric)
        return metrics

    def named(self, name: str) -> list[Seen]:
        return [span for span in self.spans if span.name == name]


def _read(document: dict[str, Any], headers: dict[str, str]) -> Iterator[Seen]:
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                yield Seen(
                    id=span["spanId"],
                    trace=span["traceId"],
                    parent=span.get("parentSpanId"),
                    name=span["name"],
                    kind=span["kind"],
                    start_ns=int(span["startTimeUnixNano"]),
                    end_ns=int(span["endTimeUnixNano"]),
                    attributes=_attributes(span["attributes"]),
                    events=[(event["name"], _attributes(event["attributes"])) for event in span["events"]],
                    status=span["status"]["code"],
                    resource=_attributes(resource["resource"]["attributes"]),
                    headers=headers,
                    came_at=time.time(),
                )


def _attributes(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for pair in pairs:
        [(form, value)] = pair["value"].items() or [("", None)]
        attributes[pair["key"]] = int(value) if form == "intValue" else value
    return attributes


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = collector.take(self.path, headers, self.rfile.read(int(headers["content-length"])))
            self.send_response(status)
            self.send_header("content-length", str(len(collector.body)))
            self.end_headers()
            self.wfile.write(collector.body)

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector.url = f"http://127.0.0.1:{server.server_port}/otlp"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield collector
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Lab:
    """A pool whose agents export to `collector`; `lines` are their log."""

    folder: Path
    collector: Collector
    lines: list[str] = field(default_factory=list)
    pools: list[SessionPool] = field(default_factory=list)

    def write(self, *, group: str, stream: str, timestamp_ms: int, message: str) -> None:
        self.lines.append(message)

    def pool(self, *, url: str = "") -> SessionPool:
        pool = SessionPool(
            home=self.folder / f"home{len(self.pools)}",
            sink=self,
            environment={"AWS_REGION": "us-east-1"},
            admit=lambda *_: None,
            start_timeout_s=waiting.PATIENCE_S,
            answer_timeout_s=waiting.PATIENCE_S,
            otlp=OtlpTarget(url=url or self.collector.url, access_key="KEY"),
        )
        self.pools.append(pool)
        return pool

    def runtime(
        self, source: str, *, entry_point: tuple[str, ...] = ("agent.py",), **environment: str
    ) -> RuntimeVersion:
        code = self.folder / "code"
        code.mkdir(exist_ok=True)
        (code / "agent.py").write_text(textwrap.dedent(source), "utf-8")
        return RuntimeVersion(
            runtime_id="one-AbC123dEf4",
            arn="arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/one-AbC123dEf4",
            version="1",
            code=code,
            entry_point=entry_point,
            environment={"MODEL_S": "0.02", "LOOK_S": "0.01", "SEARCH_S": "0.02", **environment},
        )

    def paced(self, more: str = "", **options: Any) -> RuntimeVersion:
        return self.runtime(PACED.replace("{more}", textwrap.dedent(more)), **options)


@pytest.fixture
async def lab(tmp_path: Path, collector: Collector) -> AsyncIterator[Lab]:
    lab = Lab(tmp_path, collector)
    yield lab
    for pool in lab.pools:
        await pool.close()


@pytest.fixture
def ask() -> Callable[..., Any]:
    """Invoke and read the whole answer."""

    async def ask(pool: SessionPool, runtime: RuntimeVersion, prompt: object = "hi", **more: Any) -> bytes:
        headers = {"content-type": "application/json", **more.pop("headers", {})}
        values: dict[str, Any] = {"qualifier": "DEFAULT", "session_id": "s" * 33, **more}
        body = json.dumps({"prompt": prompt}).encode()
        answer = await pool.invoke(AgentCall(runtime=runtime, body=body, headers=headers, **values))
        return b"".join([chunk async for chunk in answer.chunks])

    return ask


@pytest.fixture
def eventually() -> Callable[..., Any]:
    return waiting.eventually
