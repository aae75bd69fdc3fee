"""AWS's failures in words that help: what a person named wrongly, and who did not answer."""

from __future__ import annotations

import socket

import boto3
import pytest
from botocore.config import Config

from loomlib.aws.errors import error_from_response, translated
from loomlib.aws.rules import rule_in
from loomlib.errors import RequestRejectedError, TransportError


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ("1 validation error detected: name must match [a-zA-Z][a-zA-Z0-9_]{0,47}", "a letter first, 48 characters"),
        (
            "1 validation error detected: Value 'my agent' at 'agentRuntimeName' failed to satisfy constraint: Member "
            "must satisfy regular expression pattern: [a-zA-Z][a-zA-Z0-9_]{0,47}",
            "a letter first, 48 characters",
        ),
        ("1 validation error detected: actorId must be at most 255", "an actor's id of letters"),
        ("1 validation error detected: namespacePath must match [a-zA-Z0-9/*]", "such as /facts/anna/"),
        ("Invalid value for parameter eventExpiryDuration, value: 1, valid min value: 3", "3 to 3,650 days"),
        ("The name of the game must match", ""),
        ("", ""),
    ],
)
def test_what_a_pattern_refuses_is_reported_as_a_rule_in_words(message: str, rule: str) -> None:
    assert rule in rule_in(message)
    assert bool(rule_in(message)) is bool(rule)
    error = error_from_response(400, what="Creating", on="it", code="ValidationException", message=message)
    assert (rule or "correct the request") in error.try_
    assert message in error.what


def test_a_request_that_botocore_refuses_itself_is_reported_in_one_line_with_the_rule() -> None:
    client = _client("http://127.0.0.1:9", "bedrock-agentcore")
    with pytest.raises(RequestRejectedError) as refused, translated("Reading a memory record", on="mem-x"):
        client.get_memory_record(memoryId="memory-0123456789", memoryRecordId="mem-x")
    assert refused.value.what == (
        "Reading a memory record: Invalid length for parameter memoryRecordId, value: 5, valid min length: 40"
    )
    assert refused.value.try_.startswith("the id of a record")
    client.close()


def test_an_address_that_nobody_answers_at_is_named_without_its_path_and_the_local_service_is_to_be_started() -> None:
    with socket.socket() as bound:  # nobody listens, and no other server gets the port
        bound.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        client = _client(address, "bedrock-agentcore-control")
        with pytest.raises(TransportError) as failed, translated("Listing memories", on="us-east-1"):
            client.list_memories()
    assert failed.value.what == f"Listing memories: nothing answers at {address}"
    assert "`loom up`" in failed.value.try_
    client.close()


def _client(address: str, service: str):
    return boto3.client(
        service, region_name="us-east-1", endpoint_url=address, aws_access_key_id="a", aws_secret_access_key="b",
        config=Config(retries={"total_max_attempts": 1}, proxies={}),
    )  # fmt: skip
