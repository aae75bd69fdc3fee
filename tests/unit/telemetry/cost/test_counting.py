"""CountTokens where a span states no usage: the port, and the real client over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest
from priced_traces import HAIKU, SONNET, T0, call, trace_of

from loomlib.aws import Clients, Connection
from loomlib.aws.token_counts import count_tokens
from loomlib.errors import RequestRejectedError
from loomlib.telemetry.cost import cost_of, usage_of
from loomlib.telemetry.traces import SpanEvent


def said(messages: list[dict[str, Any]], answer: str) -> tuple[SpanEvent, ...]:
    attributes = {
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]),
    }
    return (SpanEvent(name="gen_ai.client.inference.operation.details", time_ns=T0, attributes=attributes),)


QUESTION = said([{"role": "user", "parts": [{"type": "text", "content": "What is 2+2?"}]}], "4")


def test_missing_usage_is_counted_and_labelled() -> None:
    requests: list[tuple[str, Sequence[Mapping[str, Any]], Sequence[str]]] = []

    def counter(model: str, messages: Sequence[Mapping[str, Any]], system: Sequence[str]) -> int:
        requests.append((model, messages, system))
        return 1000

    cost = cost_of(trace_of(call(HAIKU, None, None), events=QUESTION), count_tokens=counter)
    assert cost.model.state == "known"
    assert cost.model.is_estimate
    assert {line.quantity for line in cost.lines if line.unit == "tokens"} == {1000}
    assert requests[0] == (HAIKU, [{"role": "user", "content": [{"text": "What is 2+2?"}]}], ("Be brief.",))
    assert requests[1][1] == [{"role": "user", "content": [{"text": "4"}]}]


def test_stated_usage_is_never_counted_again() -> None:
    def counter(model: str, messages: Sequence[Mapping[str, Any]], system: Sequence[str]) -> int:
        raise AssertionError("asked")

    assert usage_of(trace_of(call(HAIKU, 5, 5), events=QUESTION), count_tokens=counter)[0].state == "stated"


def test_without_messages_or_after_an_error_the_usage_stays_unknown() -> None:
    def counter(model: str, messages: Sequence[Mapping[str, Any]], system: Sequence[str]) -> int:
        raise RequestRejectedError("This model does not count")

    (silent,) = usage_of(trace_of(call(HAIKU, None, None)), count_tokens=counter)
    (failed,) = usage_of(trace_of(call(HAIKU, None, None), events=QUESTION), count_tokens=counter)
    assert (silent.state, failed.state) == ("missing", "missing")
    assert "no messages" in silent.why
    assert "does not count" in failed.why


class _Bedrock(BaseHTTPRequestHandler):
    """Answers CountTokens as bedrock-runtime does: the words of the request, or a refusal for other models."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = unquote(self.path).split("/")[2]
        is_known = model.startswith("anthropic.claude-sonnet-4")
        texts = [part["text"] for message in body["input"]["converse"]["messages"] for part in message["content"]]
        texts += [part["text"] for part in body["input"]["converse"].get("system", [])]
        count = sum(len(text.split()) for text in texts)
        answer = json.dumps({"inputTokens": count} if is_known else {"message": "No such model"}).encode()
        self.send_response(200 if is_known else 400)
        if not is_known:
            self.send_header("x-amzn-ErrorType", "ValidationException")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def clients() -> Iterator[Clients]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Bedrock)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    environment = {
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": f"http://127.0.0.1:{server.server_address[1]}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    clients = Clients(Connection(environment=environment))
    yield clients
    clients.close()
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_client_counts_over_http_for_an_inference_profile(clients: Clients) -> None:
    counter = partial(count_tokens, clients)
    (usage,) = usage_of(trace_of(call(SONNET, None, None), events=QUESTION), count_tokens=counter)
    assert (usage.state, usage.input_tokens, usage.output_tokens) == ("counted", 5, 1)


def test_a_model_that_cannot_count_is_a_translated_error(clients: Clients) -> None:
    with pytest.raises(RequestRejectedError, match="No such model"):
        count_tokens(clients, HAIKU, [{"role": "user", "content": [{"text": "hello"}]}])
