"""Versions, endpoints, tags and removal on AWS, as the local AgentCore stands in for it: by which requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aws_place import aws_at, leftovers
from recording_proxy import SentRequest, operation_of

import loomlib as loom
from loomlib import local

SERVICES = (
    *("bedrock-agentcore-control", "codebuild", "ecr", "events", "iam", "lambda", "s3", "scheduler", "sts"),
    "bedrock-agentcore",
)
REGION = "us-east-2"
READING = ("Get", "Head", "List", "Describe", "BatchGet")


@pytest.fixture(scope="module")
def sent(service: local.ServiceState, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[SentRequest]]:
    with aws_at(service, tmp_path_factory.mktemp("releases_on_aws") / "home") as requests:
        yield requests


@pytest.fixture(scope="module")
def bench(sent: list[SentRequest]) -> Iterator[loom.Workbench]:
    with loom.connect("aws", region=REGION) as bench:
        yield bench


@pytest.fixture(scope="module")
def agent(bench: loom.Workbench, make_agent: Callable[..., Path]) -> loom.Agent:
    folder = make_agent("released")
    for version in ("one", "two"):
        (folder / "version.txt").write_text(version)
        agent = bench.deploy(folder, platform_version="V1")
    return agent


def asked(sent: list[SentRequest], do: Callable[[], object]) -> tuple[list[str], list[str]]:
    """What was read and what was changed by a call, each request checked against its operation's model."""
    sent.clear()
    do()
    names = list(dict.fromkeys(operation_of(request, SERVICES, region=REGION) for request in sent))
    reads = [name for name in names if name.partition(".")[2].startswith(READING)]
    return reads, [name for name in names if name not in reads]


def test_promotion_and_rollback_change_nothing_but_the_endpoint(agent: loom.Agent, sent: list[SentRequest]) -> None:
    _, changes = asked(sent, lambda: agent.releases.promote("prod", version=1))
    assert changes == ["bedrock-agentcore-control.CreateAgentRuntimeEndpoint"]
    _, changes = asked(sent, lambda: agent.releases.promote("prod", version=2))
    assert changes == ["bedrock-agentcore-control.UpdateAgentRuntimeEndpoint"]
    _, changes = asked(sent, lambda: agent.releases.rollback("prod"))
    assert changes == ["bedrock-agentcore-control.UpdateAgentRuntimeEndpoint"]
    assert agent.endpoint("prod").version == "1"


def test_versions_endpoints_and_differences_only_read(agent: loom.Agent, sent: list[SentRequest]) -> None:
    agent.releases.promote("seen", version=1)

    def look() -> None:
        assert list(agent.versions()["version"]) == ["2", "1"]
        assert "seen" in list(agent.releases.endpoints()["endpoint"])
        assert "+two" in agent.releases.diff(1, 2).text

    reads, changes = asked(sent, look)
    assert changes == []
    assert {"s3.GetObject", "bedrock-agentcore-control.ListAgentRuntimeVersions"} <= set(reads)


def test_an_ab_test_makes_one_endpoint_and_deletes_it(agent: loom.Agent, sent: list[SentRequest]) -> None:
    agent.releases.promote("tested", version=1)
    _, changes = asked(sent, lambda: agent.releases.start_ab_test("tested", {1: 0.9, 2: 0.1}, sessions=12))
    assert changes == ["bedrock-agentcore-control.CreateAgentRuntimeEndpoint"]
    test = agent.releases.ab_test("tested")
    session = next(f"session-{number:030}" for number in range(99) if test.route(f"session-{number:030}") != "tested")
    _, changes = asked(sent, lambda: test.invoke("hello", session_id=session))
    assert changes == ["bedrock-agentcore.InvokeAgentRuntime"]
    assert "qualifier=tested_v2" in sent[-1].target
    _, changes = asked(sent, lambda: test.stop(promote=2))
    assert changes == [
        "bedrock-agentcore-control.UpdateAgentRuntimeEndpoint",
        "bedrock-agentcore-control.DeleteAgentRuntimeEndpoint",
    ]


def test_tags_are_written_to_the_runtime(agent: loom.Agent, sent: list[SentRequest]) -> None:
    _, changes = asked(sent, lambda: agent.releases.tags.set({"team": "care"}))
    assert changes == ["bedrock-agentcore-control.TagResource"]
    assert agent.releases.tags.read().items() >= {"team": "care", "loom:agent": "released"}.items()


def test_a_removal_is_planned_by_reading_and_deletes_what_the_deployment_made(
    bench: loom.Workbench, make_agent: Callable[..., Path], sent: list[SentRequest]
) -> None:
    agent = bench.deploy(make_agent("removed"), platform_version="V1")
    agent.releases.promote("prod", version=1)
    plans = []
    _, changes = asked(sent, lambda: plans.append(agent.releases.removal_plan()))
    assert changes == []
    deleted = {(step.kind, step.name) for step in plans[0].value.deleted}
    assert {("endpoint", "prod"), ("role", f"loom-removed-{REGION}")} <= deleted
    _, changes = asked(sent, plans[0].apply)
    assert changes == [
        "bedrock-agentcore-control.DeleteAgentRuntimeEndpoint",
        "bedrock-agentcore-control.DeleteAgentRuntime",
        "s3.DeleteObject",
        "iam.DeleteRolePolicy",
        "iam.DeleteRole",
    ]
    remaining = leftovers(bench, "removed")
    assert (remaining.runtimes, remaining.roles, remaining.packages, remaining.has_bucket) == ([], [], [], True)
