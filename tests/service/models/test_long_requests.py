"""Long requests to the scripted model: answered beside the service's other calls, or refused in time."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from botocore.exceptions import ClientError
from waiting import PATIENCE_S

from loomlib.local.models import ModelRefusedError, make_model
from loomlib.local.models.request import read_request
from loomlib.local.models.scripted import scripted_reply
from loomlib.local.models.scripted.apart import LongRequests
from tests.service.conftest import Aws

# Texts whose reading takes a time that grows with the square of their length.
SLOW = "a-" * 15_000
TOOL = {
    "toolSpec": {
        "name": "find_order",
        "description": "Find the orders of a customer.",
        "inputSchema": {
            "json": {
                "type": "object",
                "properties": {"customer": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["customer", "limit"],
            }
        },
    }
}


def ask(text: str) -> dict:
    return {"messages": [{"role": "user", "content": [{"text": text}]}], "toolConfig": {"tools": [TOOL]}}


def assert_answered_or_timed_out(call: Callable[[], object]) -> None:
    """A busy machine reads a long request too slowly: then it is refused in AWS's form."""
    try:
        assert call()
    except ClientError as error:
        if error.response["Error"]["Code"] != "ModelTimeoutException":
            raise


def test_other_calls_are_answered_while_a_long_request_is_read(aws: Aws) -> None:
    models, neighbour = aws.client("bedrock-runtime", read_timeout=PATIENCE_S), aws.client("bedrock-agentcore-control")
    models.converse(modelId="any", **ask("hello " * 2_000))  # the process that reads them is there from now on
    start_event, answer_count = threading.Event(), 0

    def long() -> dict:
        start_event.set()
        return models.converse(modelId="any", **ask(SLOW))

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(long)
        start_event.wait()
        while not reading.done():
            neighbour.list_agent_runtimes()
            answer_count += not reading.done()
    assert answer_count >= 5
    assert_answered_or_timed_out(reading.result)


@pytest.mark.parametrize("length", [1_000, 4_000, 40_000])
def test_a_long_request_gets_the_answer_of_a_short_one(length: int) -> None:
    """The same request is read alike in the service and in the process of long ones."""
    request = ask(f"Find 3 orders of Maria Silva. {'Thank you. ' * (length // 11)}")
    expected = scripted_reply(read_request("any", request))

    async def converse() -> dict:
        model = make_model()
        try:
            return await model.converse("any", request)
        finally:
            await model.close()

    answer = asyncio.run(converse())
    [call] = [part["toolUse"] for part in answer["output"]["message"]["content"] if "toolUse" in part]
    assert call["input"] == dict(expected.calls[0].arguments)
    assert answer["usage"]["inputTokens"] == expected.input_tokens


def test_a_request_that_takes_too_long_is_refused_and_the_next_is_answered() -> None:
    async def converse() -> None:
        long_requests = LongRequests(within_s=2.0)
        try:
            with pytest.raises(ModelRefusedError, match="Send a shorter request") as refused:
                await long_requests.answer("any", json.dumps(ask("a-" * 200_000)).encode())
            assert (refused.value.code, refused.value.status) == ("ModelTimeoutException", 408)
        finally:
            await long_requests.close()

    asyncio.run(converse())

    async def next_one() -> int:
        long_requests = LongRequests()
        try:
            refused = long_requests.answer("any", b'{"messages": []}')
            with pytest.raises(ModelRefusedError) as error:
                await refused
            assert error.value.code == "ValidationException"
            # An answer that its caller gave up is not taken for the next one's.
            given_up = asyncio.create_task(long_requests.answer("any", json.dumps(ask("a-" * 200_000)).encode()))
            await asyncio.sleep(0)
            given_up.cancel()
            answer = await long_requests.answer("any", json.dumps(ask("hello")).encode())
            return answer.input_tokens
        finally:
            await long_requests.close()

    assert asyncio.run(next_one()) < 1_000


def test_time_spent_waiting_for_a_processor_does_not_count() -> None:
    async def converse() -> int:
        earlier = set(psutil.Process().children())  # a service of another test may run in this process
        long_requests = LongRequests(within_s=1.0)
        try:
            await long_requests.answer("any", json.dumps(ask("hello")).encode())
            name = "loomlib.local.models.scripted"
            (process,) = (
                child for child in psutil.Process().children() if child not in earlier and name in child.cmdline()
            )
            process.suspend()
            asking = asyncio.create_task(long_requests.answer("any", json.dumps(ask("hello")).encode()))
            done, _ = await asyncio.wait([asking], timeout=1.5)
            assert not done
            process.resume()
            return (await asking).input_tokens
        finally:
            await long_requests.close()

    assert asyncio.run(converse()) < 1_000


@pytest.mark.parametrize(
    "prompt",
    ["[INST]" + "<<SYS>>" * 15_000, "<amazon-bedrock-guardrails-guardContent_x>" * 2_500],
    ids=["older system text", "guardrail tags"],
)
def test_open_marks_of_a_prompt_do_not_delay_other_calls(prompt: str, aws: Aws) -> None:
    models = aws.client("bedrock-runtime", read_timeout=PATIENCE_S)
    body = {"prompt": prompt, "amazon-bedrock-guardrailConfig": {"tagSuffix": "x"}}
    if "guardrails" not in prompt:
        del body["amazon-bedrock-guardrailConfig"]
    arguments = {"modelId": "meta.llama3-70b-instruct-v1:0", "body": json.dumps(body)}
    if "guardrails" in prompt:
        control = aws.client("bedrock")
        guardrail = control.create_guardrail(
            name="tags",
            blockedInputMessaging="no",
            blockedOutputsMessaging="no",
            wordPolicyConfig={"wordsConfig": [{"text": "forbidden"}]},
        )
        arguments |= {"guardrailIdentifier": guardrail["guardrailId"], "guardrailVersion": "DRAFT"}
    assert_answered_or_timed_out(lambda: json.loads(models.invoke_model(**arguments)["body"].read()))
