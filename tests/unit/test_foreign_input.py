"""Parsers of foreign input under mutation: each reads an input or refuses it with its own error, in bounded time.

A few tenths of a second for each parser here; eleven minutes in all with `make long`.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import random
import signal
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import nbformat
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loomlib.agents import RuntimeArn
from loomlib.agents.answers import reader_for
from loomlib.aws.errors import translated
from loomlib.aws.memory_shapes import event_of, memory_of, record_of
from loomlib.errors import AwsError, InvalidEvalSetError, LoomError, MalformedResponseError
from loomlib.evals import EvalSet
from loomlib.local.gateways.openapi import openapi_request, openapi_tools
from loomlib.local.gateways.smithy import smithy_tools
from loomlib.local.gateways.smithy_request import smithy_request
from loomlib.local.gateways.tools import TargetError
from loomlib.local.insights.malformed import MalformedQueryError
from loomlib.local.insights.query import Query
from loomlib.local.insights.rows import Row
from loomlib.local.knowledge.documents import DocumentError, SourceDocument
from loomlib.local.otlp.bodies import unpacked
from loomlib.local.otlp.json_form import decode_json
from loomlib.local.otlp.json_values import MalformedTelemetryError
from loomlib.local.otlp.protobuf_form import decode_protobuf
from loomlib.local.otlp.records import Origin, Recorder
from loomlib.redaction import read_rules
from loomlib.reports.parameters import bind_parameters, read_parameters
from loomlib.settings import Settings
from loomlib.snapshot_check.reading import read_findings
from loomlib.telemetry.cost import price_table
from loomlib.telemetry.traces import read_spans

# A warning about an odd notebook or pattern is not a failure.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::nbformat.warnings.MissingIDFieldWarning")
DATA = Path(__file__).parents[1] / "data"
ROOT = Path(__file__).parents[2]
SLOW_S = 20  # an input that takes longer on a busy machine counts as a hang
QUERIES = (
    "fields @timestamp, @message | filter level = 'ERROR' and (ms > 100 or ms <= 3) | sort @timestamp desc | limit 20",
    "parse @message /user=(?<user>\\S+) took (?<ms>\\d+)/ | stats count(*), pct(ms, 95) by user, bin(5m)",
    "stats avg(a + b * -c) as x by concat(lower(trim(d)), 'é') | filter x like /a+/ | dedup x | display x",
    "filter @message in ['a', \"b\"] | fields coalesce(a, b), if(a > 1, 'x', 'y'), strlen(@message) as n | sort n",
)
ARNS = ("arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/echo-abcdefghij",)
TOML = (
    '[loom]\nregion = "eu-west-1"\nlog_poll_attempts = 3\nhome = "state"\n\n[alerts]\nops = "https://example.com"\n',
    '[[models]]\nids = ["a.b"]\ninput = 1.25\noutput = 2\n[runtime]\ncpu = 0.1\n',
    "[[rules]]\nname = 'number'\npattern = 'C-[0-9]{6}'\nignore_case = true\n",
)
OPENAPI = (
    '{"openapi": "3.0.1", "servers": [{"url": "https://a.b/{c}", "variables": {"c": {"default": "d"}}}], '
    '"paths": {"/x/{y}": {"get": {"operationId": "o", "parameters": [{"name": "y", "in": "path", '
    '"schema": {"$ref": "#/components/Y"}}]}}}, '
    '"components": {"Y": {"type": "array", "items": {"$ref": "#/components/Y"}}}}'
)
EVENTS = (
    b'data: "fo"\n\ndata: {"event": {"contentBlockDelta": {"delta": {"text": "ur"}}}}\n\nevent: end\nid: 3\n\n',
    b': comment\r\ndata: {"error": "x"}\r\n\r\ndata: [DONE]\r\rretry: 10\n\n\xef\xbb\xbfdata: 1\n\n',
    b'{"result": {"role": "assistant", "content": [{"text": "four"}]}}',
)
PARAMETERS = ('agent = "echo"  # the agent\ncold: int = 10\nshare = 0.5\nflag = True\nwhat = None\nnames = "a,b"\n',)


@dataclass(frozen=True)
class Parser:
    """A parser, inputs that it reads, and what it may raise."""

    name: str
    seeds: tuple[bytes, ...]
    read: Callable[[bytes, Path], object]
    refusals: tuple[type[Exception], ...] = (LoomError,)


@contextlib.contextmanager
def three_parts(*refusals: type[Exception]) -> Iterator[None]:
    """Accept a refusal; one of Loom's errors says what failed, on what, and what to try."""
    refused: Exception | None = None
    try:
        yield
    except refusals as error:
        refused = error
    if isinstance(refused, LoomError):
        assert refused.what, refused
        assert refused.on or isinstance(refused, InvalidEvalSetError), refused  # it names its file at the beginning
        assert refused.try_, refused


def document_text(data: bytes, _: Path) -> None:
    SourceDocument(address="page.html", content=data, metadata={}).text()


def otlp_json(data: bytes, _: Path) -> None:
    for signal_name in ("traces", "logs", "metrics"):
        with contextlib.suppress(MalformedTelemetryError):
            Recorder().record(decode_json(data, signal_name), signal_name, Origin())


def otlp_protobuf(data: bytes, _: Path) -> None:
    for signal_name in ("traces", "logs", "metrics"):
        with contextlib.suppress(MalformedTelemetryError):
            Recorder().record(decode_protobuf(data, signal_name), signal_name, Origin())


def answers(data: bytes, _: Path) -> None:
    for content_type in ("text/event-stream", "application/json", "text/plain; charset=utf-16", "x/y"):
        with three_parts(MalformedResponseError):
            reader = reader_for(content_type)
            middle = len(data) // 2
            for piece in (data[:middle], data[middle:]):
                reader.feed(piece)
            reader.finish()


def eval_set(ending: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        file = folder / f"set{ending}"
        file.write_bytes(data)
        EvalSet.read(file)

    return read


def toml_settings(data: bytes, folder: Path) -> None:
    file = folder / "loom.toml"
    file.write_bytes(data)
    for read in (
        lambda: Settings.load({"LOOM_CONFIG": str(file)}),
        lambda: price_table(file),
        lambda: read_rules(file),
    ):
        with three_parts(LoomError):
            read()


def insights(data: bytes, _: Path) -> None:
    rows = [Row({"@timestamp": 1, "@message": '{"a": 1, "level": "ERROR"}', "@ptr": "x"}) for _ in range(3)]
    Query(data.decode("utf-8", "replace")).run(rows)


def papermill_parameters(data: bytes, folder: Path) -> None:
    cell = nbformat.v4.new_code_cell(data.decode("utf-8", "replace"))
    cell.metadata["tags"] = ["parameters"]
    file = folder / "report.ipynb"
    file.write_text(json.dumps(nbformat.v4.new_notebook(cells=[cell])), "utf-8", "surrogatepass")
    parameters = read_parameters(file)
    for value in ("7", "x", "0.5", "true", 3, None):
        for parameter in parameters:
            with three_parts(LoomError):
                bind_parameters(parameters, {parameter.name: value})


def snapshot_answer(data: bytes, _: Path) -> None:
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("agent.py", "import uuid\nID = uuid.uuid4()\n")
    read_findings([data, data], package.getvalue())


def notebook(data: bytes, folder: Path) -> None:
    file = folder / "report.ipynb"
    file.write_bytes(data)
    read_parameters(file)


def spans(data: bytes, _: Path) -> None:
    read_spans(data)
    read_spans(data.decode("utf-8", "replace"))


def gateway_schemas(data: bytes, _: Path) -> None:
    for read in (openapi_tools, smithy_tools):
        with contextlib.suppress(TargetError):
            for tool in read(data.decode("utf-8", "replace")):
                json.dumps(tool.stored())
                request = smithy_request if tool.request["kind"] == "smithy" else openapi_request
                with contextlib.suppress(TargetError):
                    request(tool, dict.fromkeys(tool.input_schema["properties"], "1"))


_current: dict[str, Any] = {}


def _client(name: str) -> Any:
    client = boto3.client(
        name,
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="y",
        config=Config(retries={"total_max_attempts": 1}),
    )

    def answer(request: Any, **_: Any) -> AWSResponse:
        class Raw:
            def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
                yield _current["body"]

        return AWSResponse(request.url, _current["status"], _current["headers"], Raw())

    client.meta.events.register("before-send", answer)
    return client


def aws_answers(data: bytes, _: Path) -> None:
    chance = random.Random(data)
    _current["body"], _current["status"] = data, chance.choice([200, 200, 200, 400, 403, 404, 500, 302])
    _current["headers"] = {"content-type": "application/json", "x-amzn-errortype": chance.choice(["", "X", "é:1"])}
    with translated("Asking AWS", on="a memory"):
        answer = CONTROL.get_memory(memoryId="notes-abcdefghij")
        memory_of(answer["memory"], "us-east-1") if "memory" in answer else None
    with translated("Asking AWS", on="an event"):
        answer = PLANE.get_event(memoryId="notes-abcdefghij", sessionId="s", actorId="a", eventId="0#1")
        event_of(answer["event"]) if "event" in answer else None
    with translated("Asking AWS", on="a record"):
        answer = PLANE.get_memory_record(memoryId="notes-abcdefghij", memoryRecordId="mem-" + "x" * 40)
        record_of(answer["memoryRecord"]) if "memoryRecord" in answer else None


CONTROL, PLANE = _client("bedrock-agentcore-control"), _client("bedrock-agentcore")
AWS_BODIES = (
    b'{"memory": {"arn": "arn:x", "id": "notes-abcdefghij", "name": "notes", "eventExpiryDuration": 90, "status": '
    b'"ACTIVE", "createdAt": 1700000000, "updatedAt": 1700000000.5, "strategies": [{"strategyId": "s", "name": "n", '
    b'"type": "SEMANTIC", "namespaces": ["/a"], "status": "ACTIVE"}]}, "event": {"memoryId": "m", "actorId": "a", '
    b'"sessionId": "s", "eventId": "0#1", "eventTimestamp": 1700000000, "payload": [{"conversational": {"role": '
    b'"USER", "content": {"text": "hi"}}}, {"blob": {"a": 1}}], "branch": {"name": "main"}}, "memoryRecord": '
    b'{"memoryRecordId": "mem-1", "content": {"text": "x"}, "memoryStrategyId": "s", "namespaces": ["/a"], '
    b'"createdAt": 1700000000, "score": 0.5, "metadata": {"k": {"stringValue": "v"}}}}',
    b'{"__type": "ValidationException", "message": "bad"}',
    b'{"memory": {"arn": "arn:x", "createdAt": 17' + b"0" * 54 + b"}}",
    b"<html>502 Bad Gateway</html>",
)


def files(folder: str, *patterns: str) -> tuple[bytes, ...]:
    contents = [path.read_bytes() for pattern in patterns for path in sorted((DATA / folder).rglob(pattern))]
    return tuple(data[:20_000] for data in contents)


def texts(*values: str) -> tuple[bytes, ...]:
    return tuple(value.encode() for value in values)


PROTOBUF = (
    base64.b64decode("CjwKFgoUCgxzZXJ2aWNlLm5hbWUSBAoCYTESIgoDCgFzEhsKEAABAgMEBQYHCAkKCwwNDg8SBwABAgMEBQY="),
    b"\x0a\x02\x0a\x00",
)
EVAL_TEXTS = (
    '{"loom_evalset": 1, "name": "n", "cases": [{"id": "a", "turns": [{"prompt": "x", "expected_answer": "y", '
    '"expected_tools": [{"name": "t", "arguments": {"a": 1}}]}], "tags": ["t"]}]}',
    '{"id": "a", "prompt": "x"}\n{"id": "b", "prompt": "y", "expected_answer": "z"}\n',
    'id,prompt,expected_answer\na,x,y\nb,"x\n2",z\n',
)
SNAPSHOT_ANSWER = (
    '{"format": 1, "findings": [{"kind": "id", "file": %s, "line": 2, "paths": ["agent.ID"], "made_by": "uuid.uuid4", '
    '"detail": "x"}], "leaves": {"agent.A": ["0f", "random", %s, 3, "random.random"]}, "start_up_s": %s, '
    '"is_complete": true, "is_restored": true, "is_warm": true}'
)
SNAPSHOT_ANSWERS = (
    SNAPSHOT_ANSWER % ('"agent.py"', '"agent.py"', "0.5"),
    SNAPSHOT_ANSWER % ('["agent.py"]', '"agent.py"', "0.5"),
    SNAPSHOT_ANSWER % ('"agent.py"', '{"agent.py": 1}', "0.5"),
    SNAPSHOT_ANSWER % ('"agent.py"', '"agent.py"', "1" + "0" * 400),
    SNAPSHOT_ANSWER % ('"agent.py"', '"agent.py"', "NaN"),
)
PARSERS = (
    Parser("otlp json", files("otel", "adot*.json"), otlp_json),
    Parser("otlp protobuf", PROTOBUF, otlp_protobuf),
    Parser("encodings", (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x04\x00", b"x\x9cK\x04\x00"),
           lambda data, _: [unpacked(data, encoding) for encoding in ("gzip", "deflate", "")],
           (MalformedTelemetryError,)),
    Parser("agents' answers", EVENTS, answers),
    Parser("eval sets: JSON", (*texts(*EVAL_TEXTS), *files("evals", "*.json")), eval_set(".json")),
    Parser("eval sets: JSON lines", texts(*EVAL_TEXTS), eval_set(".jsonl")),
    Parser("eval sets: CSV", texts(*EVAL_TEXTS), eval_set(".csv")),
    Parser("TOML", texts(*TOML), toml_settings),
    Parser("Insights", texts(*QUERIES), insights, (MalformedQueryError,)),
    Parser("parameters", texts(*PARAMETERS), papermill_parameters),
    Parser("notebooks", ((ROOT / "notebooks" / "reports" / "latency_study.ipynb").read_bytes(),), notebook),
    Parser("ARNs", texts(*ARNS), lambda data, _: RuntimeArn.parse(data.decode("utf-8", "replace"))),
    Parser("spans", files("otel", "*.json", "*.jsonl"), spans),
    Parser("schemas of gateways", (*files("smithy", "*.json"), OPENAPI.encode()), gateway_schemas),
    Parser("web pages", texts("<p>Alpha</p><![foo[x]]>", "<table><tr><td>a</td></tr></table><!-- x --><script>"),
           document_text, (DocumentError,)),
    Parser("snapshot checks", texts(*SNAPSHOT_ANSWERS), snapshot_answer),
    Parser("AWS's answers", AWS_BODIES, aws_answers, (AwsError,)),
)  # fmt: skip
SIGNS = (b"\0", b'"', b"{", b"}", b"[", b"]", b"\n", b"\\", b"'", b"-", b"1e999", b"NaN", b"null")
NASTY = (
    b"NaN}", b"[" * 100_000, b'{"a":' * 50_000, b"(" * 5_000, b"\xff\xfe\x00", b"\xed\xa0\x80", b"1" * 5_000,
    b"1e99999", b"\0" * 100, b"a.b=" * 100, b"[loom]\nx = " + b"[" * 5_000, b"[loom]\n" + b"a." * 100_000 + b"b = 1",
    b'"\\ud800"',
    b"-" * 5_000, b"not " * 2_000 + b"x", b"fields " + b"-" * 3_000 + b"1", b"filter " + b"(" * 5_000 + b"a",
    b"data: " * 5_000, b"\r" * 5_000, b"", b"\n", b"{}", b"[]", b"null", b'""', b"0", b"x = " + b"(" * 3_000,
    b"x = 9" + b"9" * 5_000, b"x = " + b"-" * 3_000 + b"1", b"x: " + b"[" * 3_000 + b"int", b"\xef\xbb\xbf",
)  # fmt: skip


@contextlib.contextmanager
def no_hang(data: bytes) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise AssertionError(f"more than {SLOW_S} s for {len(data)} bytes: {data[:200]!r}")

    former = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SLOW_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)


def check(parser: Parser, data: bytes, folder: Path) -> None:
    with no_hang(data):
        try:
            with three_parts(*parser.refusals):
                parser.read(data, folder)
        except Exception as error:
            raise AssertionError(f"{parser.name}: {data[:300]!r} of {len(data)} bytes") from error


def mutated(seeds: tuple[bytes, ...], chance: random.Random) -> bytes:
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.choice([1, 1, 2, 4, 16])):
        begin = chance.randrange(len(data) + 1)
        length = chance.choice([1, 1, 2, 4, 30])
        other = chance.choice(seeds)
        at = chance.randrange(len(other) + 1)
        data[begin : begin + length] = chance.choice(
            [
                b"",
                chance.randbytes(length),
                bytes(data[begin : begin + length]) * chance.choice([2, 50]),
                other[at : at + length * 8],
                chance.choice(
                    [b"\0", b'"', b"{", b"}", b"[", b"]", b"\n", b"\\", b"'", b"-", b"1e999", b"NaN", b"null"]
                ),
                chance.choice(NASTY)[:200],
            ]
        )
    return bytes(data)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_nasty_inputs_are_read_or_refused(parser: Parser, tmp_path: Path) -> None:
    for data in (*parser.seeds, *NASTY):
        check(parser, data, tmp_path)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_the_inputs_themselves_are_read_or_refused(parser: Parser, tmp_path: Path) -> None:
    for data in parser.seeds:
        check(parser, data, tmp_path)


LENGTHS = [0.3, pytest.param(45, marks=pytest.mark.long)]


@pytest.mark.parametrize("seconds", LENGTHS)
@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_mutated_inputs_are_read_or_refused(parser: Parser, seconds: float, tmp_path: Path) -> None:
    chance = random.Random(parser.name)
    if seconds > 1:
        chance.seed(time.time_ns())  # other inputs in every long run; a failure names its input
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        check(parser, mutated(parser.seeds, chance), tmp_path)


@pytest.mark.parametrize("examples", [30, pytest.param(3_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_any_bytes_and_texts_are_read_or_refused(parser: Parser, examples: int, tmp_path: Path) -> None:
    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
        max_leaves=12,
    )

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.binary(max_size=300) | st.text(max_size=300) | json_values.map(lambda value: json.dumps(value)))
    def every(value: bytes | str) -> None:
        check(parser, value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass"), tmp_path)

    every()
