"""The loop of a generated LangGraph agent, against a client that answers like Converse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from agent_variants import BASE, shop_agent, weather_group

from loomlib.imports.bedrock_agents import ImportedAgent, ModelChoice
from loomlib.imports.bedrock_agents.emit import generate_agent

PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123def456"
LOOP_TESTS = '''
import asyncio
import io
import json
from types import SimpleNamespace

import pytest

from aws_clients import AwsClients
from definitions import ROOT
from prompts import UNABLE
from sessions import Session
from turn import Turn


class FakeModel:
    """Streams one answer after another: a text, or calls of tools with their input as JSON."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []
        self.meta = SimpleNamespace(region_name="us-east-1")

    def converse_stream(self, **request):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return {"stream": iter(events(answer)), "ResponseMetadata": {}}


class FakeFunction:
    def __init__(self):
        self.events = []

    def invoke(self, *, FunctionName, Payload):
        event = json.loads(Payload)
        self.events.append(event)
        named = {key: event[key] for key in ("actionGroup", "function")}
        body = {"responseBody": {"TEXT": {"body": "sunny"}}}
        answer = {"response": {**named, "functionResponse": body}}
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}


def events(answer):
    yield {"messageStart": {"role": "assistant"}}
    blocks = answer if isinstance(answer, list) else [answer]
    for number, block in enumerate(blocks):
        if isinstance(block, str):
            delta = {"text": block}
        else:
            use = {"name": block[0], "toolUseId": f"call{number}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}, "contentBlockIndex": number}}
            delta = {"toolUse": {"input": block[1]}}
        yield {"contentBlockDelta": {"delta": delta, "contentBlockIndex": number}}
        yield {"contentBlockStop": {"contentBlockIndex": number}}
    reason = "end_turn" if isinstance(answer, str) else "tool_use"
    yield {"messageStop": {"stopReason": reason}}
    usage = {"inputTokens": 5, "outputTokens": 3, "totalTokens": 8}
    yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


@pytest.fixture
def session():
    return Session(id="session-1", actor="ada")


def turn(model, session):
    clients, function = AwsClients(), FakeFunction()
    clients.once("bedrock-runtime", lambda: model)
    clients.once("lambda", lambda: function)
    return Turn(clients, ROOT, session, session.conversation), function


def ran(started, text):
    async def collect():
        return [event async for event in started.start(text)]

    return asyncio.run(collect())


WEATHER = ("weather__get_weather", '{"city": "Paris"}')


def test_texts_before_and_after_a_call_are_apart(session):
    model = FakeModel(["Let me look.", WEATHER], "It is sunny.")
    started, function = turn(model, session)
    assert ran(started, "The weather?") == [
        "Let me look.",
        {"tool": "weather__get_weather"},
        "\\n\\nIt is sunny.",
    ]
    assert started.text == "It is sunny."
    assert [event["parameters"][0]["value"] for event in function.events] == ["Paris"]


def test_the_conversation_goes_on_with_all_messages(session):
    model = FakeModel([WEATHER], "It is sunny.", "Until noon.")
    ran(turn(model, session)[0], "The weather?")
    ran(turn(model, session)[0], "How long?")
    sent = model.requests[-1]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user", "assistant", "user"]
    assert sent[1]["content"][0]["toolUse"]["input"] == {"city": "Paris"}
    assert sent[2]["content"][0]["toolResult"]["status"] == "success"
    assert model.requests[-1]["system"][0]["text"].startswith("You help")


def test_a_model_that_never_ends_is_stopped_and_the_session_goes_on(session):
    model = FakeModel([WEATHER])
    started, function = turn(model, session)
    assert ran(started, "The weather?")[-1] == UNABLE
    assert (started.text, len(model.requests), len(function.events)) == (UNABLE, 25, 24)
    model.answers = ["Hello."]
    assert ran(turn(model, session)[0], "Hello")[-1] == "Hello."
    assert "toolUse" not in str(model.requests[-1]["messages"][-2])


def test_a_tool_that_does_not_exist_is_an_error_that_the_model_reads(session):
    model = FakeModel([("teleport", "{}")], "I cannot do that.")
    assert ran(turn(model, session)[0], "Teleport me")[-1] == "I cannot do that."
    result = model.requests[1]["messages"][-1]["content"][0]["toolResult"]
    assert (result["status"], "no tool teleport" in str(result["content"])) == ("error", True)


def test_arguments_that_are_no_json_end_the_turn_and_leave_nothing(session):
    model = FakeModel([("weather__get_weather", '{"city": ')])
    with pytest.raises(ValueError, match="arguments that are not JSON"):
        ran(turn(model, session)[0], "The weather?")
    assert session.conversation.messages == []


def test_a_failure_of_the_model_is_raised_and_leaves_nothing(session):
    model = FakeModel(["Hello."])
    model.converse_stream = lambda **_: (_ for _ in ()).throw(ConnectionError("no model"))
    with pytest.raises(ConnectionError):
        ran(turn(model, session)[0], "Hello")
    assert session.conversation.messages == []
'''
MODEL_TESTS = f'''
import boto3
from botocore.stub import Stubber

from aws_clients import AwsClients
from definitions import ROOT
from model_loop import _model


def test_a_profile_is_asked_as_the_model_behind_it_without_looking_it_up():
    clients = AwsClients()
    client = boto3.client("bedrock-runtime", region_name="us-east-1")
    clients.once("bedrock-runtime", lambda: client)
    with Stubber(client):  # any call fails
        model = _model(clients, ROOT)
    assert (model.model_id, model.provider) == ("{PROFILE}", "anthropic")
    assert model.base_model_id == "anthropic.claude-sonnet-4-6"
    assert not model.disable_streaming
'''


def passes(agent: ImportedAgent, tests: str, folder: Path) -> str:
    for path, text in generate_agent(agent, "langgraph").files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "tests" / "test_agent.py").write_text(tests, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LOOM_"))}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:asyncio"],
        cwd=folder,
        env={**environment, "AWS_EC2_METADATA_DISABLED": "true"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-6_000:] + result.stderr[-2_000:]
    return result.stdout


def test_the_loop_of_a_generated_agent_is_right(tmp_path: Path) -> None:
    agent = shop_agent(
        instruction="You help the customers of a shop.",
        model=ModelChoice(identifier="anthropic.claude-sonnet-4-6"),
        action_groups=(weather_group(),),
        knowledge_bases=(BASE,),
    )
    assert "6 passed" in passes(agent, LOOP_TESTS, tmp_path)


def test_a_generated_agent_knows_the_model_behind_an_inference_profile(tmp_path: Path) -> None:
    agent = shop_agent(
        model=ModelChoice(identifier=PROFILE, kind="inference profile", model_ids=("anthropic.claude-sonnet-4-6",))
    )
    assert "1 passed" in passes(agent, MODEL_TESTS, tmp_path)
