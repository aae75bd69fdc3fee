"""Loom's public interface against a running local AgentCore."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil

import boto3
import pytest

import loomlib as loom
from loomlib.errors import (
    AgentNotFoundError,
    AwsError,
    InvocationFailedError,
    LoomError,
    MissingCredentialsError,
    RequestRejectedError,
)

RAISES = """
from bedrock_agentcore import BedrockAgentCoreApp
app = BedrockAgentCoreApp()

@app.entrypoint
def answer(payload):
    raise RuntimeError("no such order <b>4711</b>")

app.run()
"""


def test_a_blueprint_is_deployed_and_answers(calculator):
    inv = calculator.invoke("What is 15*37?")
    assert inv.ok, inv.error
    assert "555" in inv.text
    assert 0 < inv.ttft_ms <= inv.duration_ms
    assert any("simulated" in label for label in inv.labels)


def test_an_agent_that_lacks_the_modules_beside_it_is_deployed_with_its_folder(bench, tmp_path):
    (tmp_path / "prices.py").write_text("PRICE = 4711\n")
    agent = tmp_path / "agent.py"
    agent.write_text(
        "import prices\nfrom bedrock_agentcore import BedrockAgentCoreApp\napp = BedrockAgentCoreApp()\n"
        "app.entrypoint(lambda payload: str(prices.PRICE))\napp.run()\n"
    )
    with pytest.raises(AwsError, match="No module named 'prices'") as failed:
        bench.deploy(agent, name="beside")
    assert (
        failed.value.try_ == f"deploying the folder {tmp_path}, with the modules and requirements.txt beside agent.py"
    )
    assert "4711" in bench.deploy(tmp_path, name="beside").invoke("?").text


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="session storage is bound by bubblewrap")
def test_lifetimes_and_storage_of_a_deployment_reach_the_runtime(bench):
    agent = bench.deploy("calculator", name="stored", idle_timeout_s=120, max_lifetime_s=600, storage="/mnt/notes")
    described = bench.context.clients.control().get_agent_runtime(agentRuntimeId=agent.entry.runtime_id)
    assert described["lifecycleConfiguration"] == {"idleRuntimeSessionTimeout": 120, "maxLifetime": 600}
    assert described["filesystemConfigurations"] == [{"sessionStorage": {"mountPath": "/mnt/notes"}}]


def test_the_agents_start_is_found_in_its_logs_and_kept(calculator):
    inv = calculator.invoke("What is 2+2?")
    latency = inv.latency()
    assert latency.state == "found"
    assert 0 < latency.cold_start_latency_ms < inv.duration_ms
    assert inv.record.cold_start_latency_ms == pytest.approx(latency.cold_start_latency_ms)
    assert calculator.history.last().latency().cold_start_latency_ms == pytest.approx(latency.cold_start_latency_ms)


def test_a_session_remembers_and_is_listed(calculator):
    first = calculator.invoke("What is 3+4?")
    second = calculator.invoke("What is 5*6?", session_id=first.session_id)
    assert second.ok
    assert second.session_id == first.session_id
    sessions = calculator.history.sessions().set_index("session_id")
    assert sessions.loc[first.session_id, "invocations"] == 2
    assert calculator.end_session(first.session_id)
    assert not calculator.end_session(first.session_id)


def test_logs_of_a_session_hold_its_start_line(calculator):
    inv = calculator.invoke("What is 1+1?")
    inv.latency()
    logs = inv.telemetry.logs()
    assert logs["message"].str.contains("Agent invoked - Start time:").sum() == 1
    assert logs["timestamp"].is_monotonic_increasing
    assert logs["stream"].nunique() == 1


def test_words_arrive_one_by_one(bench):
    writer = bench.deploy("writer")
    events = list(writer.stream("Write 60 words about looms"))
    assert isinstance(events[0], loom.SessionStart)
    assert isinstance(events[-1], loom.SessionEnd), events[-1]
    assert sum(isinstance(event, loom.Chunk) for event in events) > 20


async def test_several_invocations_run_at_once_in_a_running_loop(calculator):
    runs = await asyncio.gather(*(calculator.ainvoke(f"What is {n}+{n}?") for n in range(3)))
    assert all(run.ok for run in runs)
    assert len({run.session_id for run in runs}) == 3
    assert calculator.invoke("What is 9+1?").ok  # and the blocking call works inside a loop, too


def test_an_agent_that_raises_is_an_invocation_with_a_failure(bench, tmp_path):
    (tmp_path / "agent.py").write_text(RAISES)
    inv = bench.deploy(tmp_path, name="raises").invoke("hello")
    assert (inv.ok, inv.failure) == (False, "agent_error")
    assert "no such order" in inv.error
    assert "<b>" not in inv._repr_html_()
    with pytest.raises(InvocationFailedError, match="no such order"):
        inv.raise_for_status()


def test_a_session_id_of_32_characters_is_refused_before_anything_is_sent(calculator):
    before = len(calculator.history.table())
    with pytest.raises(RequestRejectedError, match="33"):
        calculator.invoke("hello", session_id="x" * 32)
    assert len(calculator.history.table()) == before


def test_the_catalog_lists_what_exists_when_an_agent_is_missing(bench, calculator):
    with pytest.raises(AgentNotFoundError, match="calculator"):
        bench.agent("calculater")
    with pytest.raises(LoomError, match="calculator"):
        bench.deploy("no_such_blueprint")


def test_registering_the_arn_again_gives_the_same_agent(bench, calculator):
    assert bench.register(calculator.arn).entry.id == calculator.entry.id
    assert calculator.name in set(bench.agents()["name"])
    assert bench.agent("calculator", deploy=True).arn == calculator.arn


def test_plain_boto3_finds_the_service_by_the_environment_alone(bench, calculator, monkeypatch):
    for name, value in bench.environment().items():
        monkeypatch.setenv(name, value)
    with contextlib.closing(boto3.client("bedrock-agentcore")) as client:
        answer = client.invoke_agent_runtime(agentRuntimeArn=calculator.arn, payload=b'{"prompt": "What is 6*7?"}')
        assert b"42" in answer["response"].read()
    assert bench.environment()["AWS_ACCESS_KEY_ID"] == os.environ["AWS_ACCESS_KEY_ID"]


def test_two_workbenches_on_one_folder_share_one_service(bench, home):
    with loom.connect(home=home) as other:
        assert other.environment() == bench.environment()
    assert bench.agents() is not None  # and closing one leaves the other its service


def test_removing_an_agent_with_its_runtime_leaves_nothing_to_ask(bench, tmp_path):
    (tmp_path / "agent.py").write_text(RAISES)
    agent = bench.deploy(tmp_path, name="short_lived")
    agent.remove(delete_runtime=True)
    with pytest.raises(AgentNotFoundError):
        bench.agent("short_lived")


def test_keys_are_in_no_representation(bench, calculator):
    keys = [value for name, value in bench.environment().items() if "KEY" in name]
    output = "".join(
        (repr(bench), bench._repr_html_(), repr(calculator), calculator._repr_html_(), repr(bench.clients))
    )
    assert not any(key in output for key in keys)


def test_deploying_to_aws_without_credentials_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with loom.connect("aws", region="us-east-1", home=tmp_path) as bench:
        with pytest.raises(MissingCredentialsError, match="aws sso login"):
            bench.deploy("calculator")
        assert bench.environment() == {}


def test_an_unknown_place_is_a_value_error():
    with pytest.raises(ValueError, match="local"):
        loom.connect("mars")
