"""Converse and ConverseStream as boto3 and Strands see them, over HTTP."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError
from pydantic import BaseModel, Field
from strands import Agent, tool
from strands.models import BedrockModel

from loomlib.errors import PluginError
from loomlib.local.models import PROFILES, ModelRefusedError, make_model

WEATHER = {
    "toolSpec": {
        "name": "get_weather",
        "description": "Tell the weather of a city.",
        "inputSchema": {"json": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
    }
}


def said(text: str) -> list[dict]:
    return [{"role": "user", "content": [{"text": text}]}]


def collect(stream) -> tuple[list[str], str, list[dict], dict]:
    """The kinds of events, the text, the tool inputs and the metadata of a stream."""
    kinds, text, inputs, metadata = [], "", {}, {}
    for event in stream:
        [(kind, value)] = event.items()
        kinds.append(kind)
        delta = value.get("delta", {})
        text += delta.get("text", "")
        if "toolUse" in delta:
            inputs[value["contentBlockIndex"]] = inputs.get(value["contentBlockIndex"], "") + delta["toolUse"]["input"]
        if kind == "metadata":
            metadata = value
    return kinds, text, [json.loads(text) for text in inputs.values()], metadata


def test_converse_answers_with_usage_metrics_and_a_label(models) -> None:
    answer = models.client().converse(modelId="any", messages=said("Hello"))
    assert answer["stopReason"] == "end_turn"
    assert answer["output"]["message"]["content"][0]["text"]
    assert answer["usage"]["totalTokens"] == answer["usage"]["inputTokens"] + answer["usage"]["outputTokens"]
    assert answer["metrics"]["latencyMs"] >= 0
    assert answer["additionalModelResponseFields"] == {
        "loom": {"simulated": True, "model": "scripted", "profile": "instant"}
    }


def test_a_stream_has_the_text_of_the_whole_answer_word_by_word(models) -> None:
    request = {"modelId": "any", "messages": said("Write 40 words about rivers")}
    whole = models.client().converse(**request)
    kinds, text, _, metadata = collect(models.client().converse_stream(**request)["stream"])
    assert text == whole["output"]["message"]["content"][0]["text"]
    assert kinds == ["messageStart", *["contentBlockDelta"] * 40, "contentBlockStop", "messageStop", "metadata"]
    assert metadata["usage"] == whole["usage"]


def test_parallel_tool_calls_stream_as_partial_json(models) -> None:
    request = {
        "modelId": "any",
        "messages": said("Weather in Paris and San Francisco?"),
        "toolConfig": {"tools": [WEATHER]},
    }
    kinds, text, inputs, _ = collect(models.client().converse_stream(**request)["stream"])
    assert (text, inputs) == ("", [{"city": "Paris"}, {"city": "San Francisco"}])
    assert kinds.count("contentBlockStart") == kinds.count("contentBlockStop") == 2
    assert kinds.count("contentBlockDelta") > 2
    whole = models.client().converse(**request)
    uses = [block["toolUse"] for block in whole["output"]["message"]["content"]]
    assert (whole["stopReason"], len({use["toolUseId"] for use in uses})) == ("tool_use", 2)


def test_a_forced_tool_is_called_even_when_nothing_fits(models) -> None:
    config = {"tools": [WEATHER], "toolChoice": {"tool": {"name": "get_weather"}}}
    answer = models.client().converse(modelId="any", messages=said("Good evening"), toolConfig=config)
    assert answer["output"]["message"]["content"][0]["toolUse"]["name"] == "get_weather"


@pytest.mark.parametrize("operation", ["converse", "converse_stream"])
def test_a_refusal_is_an_error_of_bedrock(models, operation: str) -> None:
    with pytest.raises(ClientError) as failed:
        getattr(models.client(), operation)(modelId="any@no-such-profile", messages=said("Hello"))
    assert failed.value.response["Error"]["Code"] == "ValidationException"
    assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert "fast, field-notes, instant" in failed.value.response["Error"]["Message"]


@pytest.mark.parametrize("by", ["model id", "field"])
def test_a_request_chooses_its_latency_profile(models, by: str) -> None:
    request = (
        {"modelId": "any@fast"}
        if by == "model id"
        else {"modelId": "any", "additionalModelRequestFields": {"loom_profile": "fast"}}
    )
    start_s = time.perf_counter()
    answer = models.client().converse(messages=said("Hello"), **request)
    took_ms = (time.perf_counter() - start_s) * 1000
    assert answer["additionalModelResponseFields"]["loom"]["profile"] == "fast"
    assert took_ms >= answer["metrics"]["latencyMs"] >= 20


def test_a_profile_repeats_its_times_and_grows_with_the_input() -> None:
    profile = PROFILES["field-notes"]
    one = profile.timing(input_tokens=1752, calls_tools=True, digest="a")
    assert one == profile.timing(input_tokens=1752, calls_tools=True, digest="a")
    assert profile.timing(input_tokens=5000, calls_tools=True, digest="a").first_token_ms > one.first_token_ms
    mean = (
        sum(profile.timing(input_tokens=1752, calls_tools=True, digest=str(i)).first_token_ms for i in range(500)) / 500
    )
    assert mean == pytest.approx(2707, rel=0.1)


def test_an_unknown_model_or_profile_names_the_known_ones() -> None:
    with pytest.raises(PluginError, match="openai, scripted"):
        make_model("gpt")
    with pytest.raises(ModelRefusedError, match="field-notes"):
        make_model(profile="slow")
    assert make_model(profile="fast").label == "scripted (simulated, profile fast)"


class Person(BaseModel):
    """A person."""

    name: str = Field(description="The person's name")
    age: int = Field(ge=0)
    city: str


@pytest.fixture
def bedrock(models, monkeypatch: pytest.MonkeyPatch) -> BedrockModel:
    for name, value in models.environment().items():
        monkeypatch.setenv(name, value)
    return BedrockModel(model_id="global.anthropic.claude-sonnet-4-6")


def test_a_strands_agent_with_its_own_bedrock_model_calls_tools_and_answers(bedrock) -> None:
    expressions: list[str] = []

    @tool
    def calculator(expression: str) -> str:
        """Evaluate an arithmetic expression.

        Args:
            expression: The expression.
        """
        expressions.append(expression)
        return "597"

    agent = Agent(model=bedrock, tools=[calculator], callback_handler=None)
    assert str(agent("What is 15*37, add 42?")).strip() == "15 * 37 + 42 = 597."
    assert "597" in str(agent("What is 15*37, add 42?"))
    assert expressions == ["15 * 37 + 42"] * 2
    assert agent.event_loop_metrics.accumulated_usage["inputTokens"] > 0


def test_strands_structured_output_is_filled_from_the_prompt(bedrock) -> None:
    agent = Agent(model=bedrock, callback_handler=None)
    result = agent("John Smith is 42 years old and lives in Berlin.", structured_output_model=Person)
    assert result.structured_output == Person(name="John Smith", age=42, city="Berlin")


def test_an_answer_can_be_json_of_a_schema(models) -> None:
    shape = {"jsonSchema": {"name": "Person", "schema": json.dumps(Person.model_json_schema())}}
    answer = models.client().converse(
        modelId="any",
        messages=said("Ada Lovelace, age: 36, city: London"),
        outputConfig={"textFormat": {"type": "json_schema", "structure": shape}},
    )
    person = Person.model_validate_json(answer["output"]["message"]["content"][0]["text"])
    assert person == Person(name="Ada Lovelace", age=36, city="London")


def test_tokens_are_counted_by_what_a_block_contains(aws: Any) -> None:
    runtime = aws.client("bedrock-runtime")
    image = {"image": {"format": "png", "source": {"bytes": bytes(300_000)}}}
    use = {"toolUse": {"toolUseId": "use-1", "name": "get_weather", "input": {}}}

    def counted(content: list[dict], history: Sequence[dict] = ()) -> int:
        """Return the input tokens of CountTokens, which are those of the invocation."""
        messages = [*history, {"role": "user", "content": content}]
        request = {"messages": messages, "toolConfig": {"tools": [WEATHER]}}
        tokens = runtime.count_tokens(modelId="any", input={"converse": request})["inputTokens"]
        assert runtime.converse(modelId="any", **request)["usage"]["inputTokens"] == tokens
        return tokens

    plain = counted([{"text": "Hello"}])
    assert counted([{"text": "Hello"}, image]) == plain + 1_000
    assert counted([{"guardContent": {"text": {"text": "Hello"}}}]) == plain
    history = [*said("Hello"), {"role": "assistant", "content": [use]}]
    result = {"toolUseId": "use-1", "content": [{"text": "sunny"}]}
    text = counted([{"toolResult": result}], history)
    assert counted([{"toolResult": {**result, "content": [{"text": "sunny"}, image]}}], history) == text + 1_000
    thought = {"reasoningContent": {"reasoningText": {"text": "Ulm, then.", "signature": "s" * 4_000}}}
    history = [*said("Hello"), {"role": "assistant", "content": [thought, {"text": "Yes?"}]}]
    assert counted([{"text": "Hello"}], history) < plain + 20


def nested(depth: int) -> str:
    """Return a request in which a tool result has nested lists."""
    use = {"toolUse": {"toolUseId": "a", "name": "get_weather", "input": {"city": "Ulm"}}}
    result = {"toolResult": {"toolUseId": "a", "content": [{"json": "nested"}]}}
    messages = [
        *said("Weather in Ulm?"),
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    request = {"messages": messages, "toolConfig": {"tools": [WEATHER]}}
    return json.dumps(request).replace('"nested"', "[" * depth + "]" * depth)


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        *itertools.product(
            ["converse", "converse_stream", "count_tokens", "invoke_model"], ["[]", '"x"', "{", nested(100_000)]
        ),
        ("converse", nested(700)),
        ("converse_stream", nested(700)),
    ],
    ids=lambda value: value[:20],
)
def test_a_body_that_is_not_an_object_is_refused(aws: Any, operation: str, body: str) -> None:
    parameters: dict[str, dict[str, Any]] = {
        "count_tokens": {"input": {"converse": {"messages": said("Hello")}}},
        "invoke_model": {"body": "{}"},
    }
    runtime = aws.client("bedrock-runtime", user_agent_extra=f"malformed-{abs(hash(body))}")
    runtime.meta.events.register("before-call.bedrock-runtime", lambda params, **_: params.update(body=body.encode()))
    with pytest.raises(ClientError, match=r"The request is (not|too deeply nested)") as refused:
        getattr(runtime, operation)(
            modelId="anthropic.claude", **parameters.get(operation, {"messages": said("Hello")})
        )
    assert refused.value.response["Error"]["Code"] == "ValidationException"
