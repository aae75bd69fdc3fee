"""InvokeAgent that is throttled, breaks off or hangs: each failure has its class, and only throttling is repeated."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from parity_agents import PROMPTS, WeatherScene

import loomlib as loom
from loomlib.aws import Clients, Connection
from loomlib.evals import CaseAnswer, EvalSet
from loomlib.workbench.bedrock_agent_target import BedrockAgentTarget
from loomlib.workbench.context import Context

ONE = EvalSet.from_rows([{"prompt": PROMPTS[0]}], name="one")
Fault = tuple[int, str] | None
"""The status and the error code that a request is answered with; None passes it on; the status 0 never answers."""


class Proxy:
    """Passes requests on to the service, or answers the n-th InvokeAgent (from 1) as `plan` says."""

    def __init__(self, behind: str, plan: Callable[[int], Fault]) -> None:
        self._behind, self._plan = urlsplit(behind).netloc, plan
        self.invoked, self.released = 0, threading.Event()
        proxy = self

        class Request(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                proxy.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Write nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        if b'"endSession":true' in body.replace(b" ", b""):
            fault: Fault = (400, "ValidationException")
        else:
            self.invoked += 1
            fault = self._plan(self.invoked)
        if fault is not None and fault[0] == 0:
            self.released.wait(30)
            request.close_connection = True
            return
        if fault is not None:
            status, headers = fault[0], [("x-amzn-ErrorType", fault[1])]
            content = json.dumps({"message": "on purpose"}).encode()
        else:
            with closing(http.client.HTTPConnection(self._behind, timeout=60)) as connection:
                connection.request("POST", request.path, body, dict(request.headers.items()))
                answer = connection.getresponse()
                status, headers, content = answer.status, answer.getheaders(), answer.read()
        request.send_response(status)
        for name, value in headers:
            if name.lower() not in ("transfer-encoding", "content-length", "connection", "date", "server"):
                request.send_header(name, value)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def bench(scene: WeatherScene) -> loom.Workbench:
    return scene.bench


@contextmanager
def behind_a_proxy(bench: loom.Workbench, plan: Callable[[int], Fault]) -> Iterator[tuple[BedrockAgentTarget, Proxy]]:
    context, service = bench.context, bench.context.clients.connection
    with closing(Proxy(service.environment["AWS_ENDPOINT_URL"], plan)) as proxy:
        environment = {**service.environment, "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME": proxy.url}
        with closing(Clients(Connection(region=service.region, environment=environment))) as clients:
            other = Context(
                where=context.where, settings=context.settings, store=context.store, clients=clients,
                environment=context.environment,
            )  # fmt: skip
            agent = bench.bedrock.agents.get("weather").value
            yield BedrockAgentTarget(other, agent, alias="live"), proxy


def asked(target: BedrockAgentTarget, store: object, **options: object) -> CaseAnswer:
    run = loom.evaluate(target, ONE, ["contains(texts=['degrees'])"], reuse=False, store=store, **options)
    return next(iter(run.judgements())).answer


def test_throttling_is_repeated_and_then_counted(bench: loom.Workbench) -> None:
    store = bench.context.store
    with behind_a_proxy(bench, lambda n: (429, "ThrottlingException") if n == 1 else None) as (target, proxy):
        answer = asked(target, store)
        assert (answer.failure, answer.attempts, proxy.invoked) == (None, 2, 2)
        assert "degrees" in answer.text
    with behind_a_proxy(bench, lambda _: (429, "ThrottlingException")) as (target, proxy):
        answer = asked(target, store, retries=1)
        assert answer.failure is not None
        assert (answer.failure.kind, answer.failure.attempts, proxy.invoked) == ("throttle", 2, 2)
    failures = [row.failure for row in store.invocations.list(limit=None)]
    assert failures.count("throttle") == 3, "every attempt is stored under its class"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [((500, "InternalServerException"), "service_error"), ((403, "AccessDeniedException"), "rejected")],
)
def test_other_failures_have_their_class_and_are_not_repeated(bench: loom.Workbench, fault: Fault, kind: str) -> None:
    with behind_a_proxy(bench, lambda _: fault) as (target, proxy):
        answer = asked(target, bench.context.store)
        assert answer.failure is not None
        assert (answer.failure.kind, proxy.invoked) == (kind, 1)


def test_an_agent_that_hangs_is_a_timeout(bench: loom.Workbench) -> None:
    with behind_a_proxy(bench, lambda _: (0, "")) as (target, proxy):
        answer = asked(target, bench.context.store, timeout_s=0.5)
        proxy.released.set()
        assert answer.failure is not None
        assert answer.failure.kind == "timeout"


def test_a_latency_study_measures_a_bedrock_agent(bench: loom.Workbench) -> None:
    target = bench.bedrock.agents.get("weather").study_target("live")
    result = loom.LatencyStudy(target, prompt=PROMPTS[0], cold=2, warm=2, sticky=2, find_starts=False).run()
    assert "6 answered, 0 failed" in repr(result)
