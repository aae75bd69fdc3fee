"""Regular expressions that callers bring: none of them may stop the service, and none backtracks."""

from __future__ import annotations

import contextlib
import re
import time
from typing import Any

import botocore.loaders
import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from loomlib.local.insights import MalformedQueryError, Query, Row
from loomlib.local.logs.patterns import compile_pattern
from loomlib.local.models.scripted.schemas import is_valid
from loomlib.local.patterns import Pattern, PatternError, model_pattern
from loomlib.local.wire import RefusedError

BACKTRACKING = "(a+)+$"
VICTIM = "a" * 60 + "!"
WITHIN_S = 20.0  # backtracking over VICTIM takes centuries


def row(message: str) -> Row:
    return Row.of_event(message=message, timestamp_ms=1, ingested_ms=1, stream="s", log="l", pointer="1")


def test_a_backtracking_log_filter_is_answered_and_the_service_with_it(aws: Any) -> None:
    logs = aws.client("logs", read_timeout=WITHIN_S)
    logs.create_log_group(logGroupName="patterns")
    logs.create_log_stream(logGroupName="patterns", logStreamName="s")
    logs.put_log_events(
        logGroupName="patterns",
        logStreamName="s",
        logEvents=[{"timestamp": int(time.time() * 1000), "message": text} for text in (VICTIM, "x" + "a" * 60)],
    )
    events = logs.filter_log_events(logGroupName="patterns", filterPattern=f"%{BACKTRACKING}%")["events"]
    assert [event["message"] for event in events] == ["x" + "a" * 60]


@pytest.mark.parametrize("pattern", ["%(%", "%(?=a)%", "%(a)\\1%", "%a{1000}{1000}{1000}%", "%" + "a" * 2_000 + "%"])
def test_a_filter_that_cannot_be_searched_for_is_refused(pattern: str) -> None:
    with pytest.raises(RefusedError) as caught:
        compile_pattern(pattern)
    assert caught.value.code == "InvalidParameterException"


@pytest.mark.parametrize(
    "query",
    [
        f"filter @message like /{BACKTRACKING}/",
        "parse @message /(?<x>(a+)+)$/",
        "parse @message '" + "*a" * 30 + "!!' as " + ", ".join(f"n{number}" for number in range(30)),
        "fields 9 ^ 9 ^ 9 ^ 9 ^ 9 as big | filter big > 1",
    ],
)
def test_a_query_that_would_not_end_ends(query: str) -> None:
    assert Query(query).run([row(VICTIM)]).scanned == 1


@pytest.mark.parametrize(
    "query",
    [
        "filter " + "(" * 5_000 + "1" + ")" * 5_000,
        "filter " + "(" * 400 + "1" + ")" * 400,
        "filter " + "not " * 2_000 + "1",
        "filter " + "- " * 2_000 + "1",
        "filter " + "abs(" * 1_000 + "1" + ")" * 1_000,
        "fields @message | " * 1_000 + "limit 1",
        "filter @message like /(?=a)/",
    ],
)
def test_a_query_too_long_or_too_deep_is_malformed(query: str) -> None:
    with pytest.raises(MalformedQueryError):
        Query(query)


def test_a_deep_query_is_refused_as_aws_refuses_one(aws: Any) -> None:
    with pytest.raises(ClientError) as caught:
        aws.client("logs").start_query(
            logGroupName="x", startTime=0, endTime=1, queryString="filter " + "(" * 3_000 + "1" + ")" * 3_000
        )
    assert caught.value.response["Error"]["Code"] == "MalformedQueryException"


def test_the_pattern_of_a_tool_s_schema_does_not_backtrack() -> None:
    schema = {"type": "string", "pattern": BACKTRACKING}
    assert not is_valid(VICTIM, schema, schema)
    assert is_valid("aaa", schema, schema)


def test_a_memory_s_pattern_of_namespace_variables_does_not_backtrack(aws: Any) -> None:
    memory = aws.control.create_memory(
        name="patterned",
        eventExpiryDuration=30,
        namespaceKeys=[{"key": "team", "validation": {"regexPattern": "(a+)+"}}],
    )["memory"]
    event = {"memoryId": memory["id"], "actorId": "ann", "sessionId": "s" * 33, "eventTimestamp": 1_795_294_030}
    payload = [{"conversational": {"role": "USER", "content": {"text": "hi"}}}]
    data = aws.client("bedrock-agentcore", read_timeout=WITHIN_S)
    with pytest.raises(ClientError, match="must match"):
        data.create_event(**event, payload=payload, extractionConfig={"namespaceVariables": {"team": VICTIM}})
    data.create_event(**event, payload=payload, extractionConfig={"namespaceVariables": {"team": "aaaa"}})


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_pattern_compiles_or_is_refused(pattern: str, text: str) -> None:
    with contextlib.suppress(PatternError):
        assert Pattern(pattern).occurs_in(text) in (True, False)


def test_groups_come_out_as_text_whatever_the_alphabet() -> None:
    pattern = Pattern(r"(?<who>\w+|ä+) took (?P<ms>[0-9]+)(x)?")
    assert pattern.named_groups("– ää took 12") == {"who": "ää", "ms": "12"}
    assert pattern.groups("ann took 5x") == ["ann", "5", "x"]
    assert pattern.named_groups("nothing \ud800") == {}
    assert (pattern.group_names, pattern.group_count) == (["who", "ms"], 3)


def test_patterns_of_the_service_models_that_backtrack_have_no_nested_repetition() -> None:
    loader = botocore.loaders.Loader()
    for service in ("bedrock-agentcore", "bedrock-agentcore-control", "logs"):
        shapes = loader.load_service_model(service, "service-2")["shapes"]
        for shape in shapes.values():
            compiled = model_pattern(shape["pattern"]) if "pattern" in shape else None
            if isinstance(compiled, re.Pattern):
                assert not re.search(r"\)[*+{]", compiled.pattern), compiled.pattern
