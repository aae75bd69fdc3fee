"""Deploying, registering, asking and removing, against the local AgentCore."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from loomlib.agents import DELETED, Catalog, Invoker, RuntimeArn
from loomlib.aws.connection import Clients, Connection
from loomlib.aws.deploy import deploy_package
from loomlib.aws.packages import make_package
from loomlib.aws.runtimes import REDACTED, delete_runtime, list_endpoints, stop_session
from loomlib.errors import (
    AgentNotFoundError,
    AwsError,
    InvalidArnError,
    LoomError,
    ResourceNotFoundError,
    TransportError,
)
from loomlib.local import ServiceState
from loomlib.store import Store
from loomlib.telemetry import LogReader, find_agent_start

AGENT = '''
"""Answers with what it was asked."""
from datetime import UTC, datetime

from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


@app.entrypoint
async def answer(payload):
    print(f"Agent invoked - Start time: {datetime.now(UTC).isoformat()}, {payload}", flush=True)
    for word in payload["prompt"].split():
        yield word + " "


app.run()
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    agent_folder = tmp_path / "echo"
    agent_folder.mkdir()
    (agent_folder / "agent.py").write_text(AGENT, "utf-8")
    return agent_folder


def test_an_agent_is_deployed_asked_read_and_taken_down(store: Store, clients: Clients, folder: Path) -> None:
    steps: list[str] = []
    runtime = deploy_package(
        clients, "echo_one", make_package(folder), environment={"TOKEN": "hush"}, progress=steps.append
    )
    assert steps[0] == "uploading"
    assert steps[-1] == "READY"
    catalog, invoker, reader = Catalog(store, clients, "local"), Invoker(store, clients), LogReader(clients)
    agent = catalog.add(runtime)
    assert (agent.name, agent.status, agent.qualifiers) == ("echo_one", "READY", ("DEFAULT",))
    assert agent.raw_metadata["environmentVariables"] == {"TOKEN": REDACTED}
    cold = invoker.invoke(agent, "one two three")
    warm = invoker.invoke(agent, "four", session_id=cold.session_id)
    assert (cold.response, warm.response) == ("one two three ", "four ")
    start = find_agent_start(store, reader, agent, cold.id, attempts=50, interval_s=0.1)
    assert start.state == "found"
    assert start.cold_start_latency_ms is not None
    assert cold.ttft_ms is not None
    assert 0 < start.cold_start_latency_ms < cold.ttft_ms
    messages = [event.message for event in reader.session_logs(agent, "DEFAULT", cold.session_id)]
    assert sum("Agent invoked" in message for message in messages) == 2
    assert stop_session(clients, str(agent.arn), cold.session_id)
    assert not stop_session(clients, str(agent.arn), cold.session_id)
    delete_runtime(clients, agent.runtime_id)
    delete_runtime(clients, agent.runtime_id)
    deleted_agent = catalog.refresh(agent)
    assert (deleted_agent.status, deleted_agent.is_deleted, deleted_agent.id) == (DELETED, True, agent.id)
    refused = invoker.invoke(agent, "anybody?")
    assert refused.failure == "rejected"
    invoker.close()


def test_deploying_under_a_name_again_makes_a_new_version(clients: Clients, folder: Path) -> None:
    first = deploy_package(clients, "echo_two", make_package(folder))
    again = deploy_package(clients, "echo_two", make_package(folder / "agent.py"))
    assert (first.runtime_id, first.version, again.version) == (again.runtime_id, "1", "2")
    delete_runtime(clients, first.runtime_id)


def test_an_agent_is_found_by_arn_id_and_name_and_registering_again_refreshes(
    store: Store, clients: Clients, folder: Path
) -> None:
    arn = deploy_package(clients, "echo_three", make_package(folder)).arn
    catalog = Catalog(store, clients, "local")
    agent = catalog.register(arn)
    assert catalog.register(RuntimeArn.parse(arn)).id == agent.id
    assert {catalog.get(key).id for key in (arn, agent.id, agent.runtime_id, "echo_three", agent)} == {agent.id}
    assert [entry.name for entry in catalog.list()] == ["echo_three"]
    assert Catalog(store, clients, "aws").list() == ()
    assert catalog.remove("echo_three")
    assert not catalog.remove("echo_three")
    with pytest.raises(AgentNotFoundError, match=r"bench\.deploy"):
        catalog.get("echo_three")
    delete_runtime(clients, agent.runtime_id)


def test_what_cannot_be_registered_gives_the_reason(store: Store, clients: Clients) -> None:
    catalog = Catalog(store, clients, "local")
    with pytest.raises(InvalidArnError):
        catalog.register("calculator")
    with pytest.raises(ResourceNotFoundError, match="check the ARN") as caught:
        catalog.register("arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/nobody-0123456789")
    assert caught.value.status == 404


def test_a_deployment_that_fails_tells_awss_reason(clients: Clients, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("this is no python", "utf-8")
    (tmp_path / "requirements.txt").write_text("a-package-that-nobody-wrote-1b2c3d==99\n", "utf-8")
    with pytest.raises(LoomError) as caught:
        deploy_package(clients, "broken", make_package(tmp_path))
    assert isinstance(caught.value, AwsError)
    assert "CREATE_FAILED" in str(caught.value) or caught.value.status == 400


def test_endpoints_that_cannot_be_listed_are_assumed_with_a_warning(
    clients_of: Callable[[Mapping[str, str]], Clients], caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = clients_of(
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    )
    with caplog.at_level(logging.WARNING):
        assert list_endpoints(nowhere, "name-0123456789") == ["DEFAULT"]
    assert "DEFAULT is assumed" in caplog.text
    with pytest.raises(TransportError, match=r"nothing answers at http://127\.0\.0\.1:9 .*`loom up`"):
        nowhere.account_id()


def test_what_the_user_set_for_aws_has_no_say_in_a_connection_with_its_own_environment(
    service: ServiceState, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody-else")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_PROFILE", "a-profile-that-is-not-there")
    broken = tmp_path / "config"
    broken.write_text("[no config", "utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(broken))
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with closing(Clients(Connection(environment=service.environment()))) as local_clients:
        assert local_clients.account_id() == service.account_id
        assert local_clients.credentials().access_key == service.access_key
        assert local_clients.data_endpoint() == service.url
