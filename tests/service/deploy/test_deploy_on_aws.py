"""A deployment on AWS, as the local AgentCore stands in for it: what it makes, changes and keeps, by which requests."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deploy_scenario
import pytest
from aws_place import aws_at, leftovers
from recording_proxy import SentRequest, operation_of
from wheels import build_wheel

import loomlib as loom
from loomlib import local
from loomlib.aws.roles import POLICY_NAME
from loomlib.errors import DeployError, LoomError

SERVICES = ("bedrock-agentcore", "bedrock-agentcore-control", "events", "iam", "lambda", "s3", "scheduler", "sts")
REGION = "us-west-2"
AGENT = """
import os

import greeting
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


@app.entrypoint
def answer(payload):
    names = ("LOOM_MEMORY_ID", "ORDERS_KEY", "WORD")
    return {"greeting": greeting.WORD, **{name: os.environ.get(name) for name in names}}


app.run()
"""


@dataclasses.dataclass
class Deploys:
    """The scenario's outcome, and the requests of its first plan and of everything after it."""

    folder: Path
    bench: loom.Workbench
    memory_id: str
    outcome: deploy_scenario.Outcome
    planning: list[SentRequest]
    applying: list[SentRequest]


@pytest.fixture(scope="module")
def deploys(
    service: local.ServiceState, make_agent: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deploys]:
    home, wheels = tmp_path_factory.mktemp("on_aws"), tmp_path_factory.mktemp("wheels")
    build_wheel(wheels, "greeting", "1.0", "WORD = 'good day'\n")
    folder = make_agent("desk", AGENT, requirements__txt="greeting==1.0\n")
    planning: list[SentRequest] = []
    with aws_at(service, home / "home") as requests, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_FIND_LINKS", str(wheels))
        patch.setenv("PIP_NO_INDEX", "1")

        def planned() -> None:
            planning.extend(requests)
            requests.clear()

        with loom.connect("aws", region=REGION) as bench:
            memory = bench.memories.create("desk")
            requests.clear()
            outcome = deploy_scenario.run(bench, folder, planned)
            (folder / "requirements.txt").unlink()  # the tests below need no pip
            yield Deploys(folder, bench, memory.id, outcome, planning, list(requests))
            deploy_scenario.clean_up(bench, memory.id)
            remaining = leftovers(bench, "desk")
            assert (remaining.runtimes, remaining.roles, remaining.packages) == ([], [], [])


def operations(requests: list[SentRequest]) -> list[str]:
    return list(dict.fromkeys(operation_of(request, SERVICES, region=REGION) for request in requests))


def test_a_plan_only_reads(deploys: Deploys) -> None:
    reading = ("Get", "Head", "List", "Describe")
    names = [operation.partition(".")[2] for operation in operations(deploys.planning)]
    assert names
    assert all(operation.startswith(reading) for operation in names), names
    assert deploys.outcome.plan.value.counts() == {"create": 5, "change": 0, "keep": 0}


def test_every_request_of_a_deployment_is_one_of_the_service_models(deploys: Deploys) -> None:
    parts = [name.partition(".") for name in operations(deploys.applying)]
    assert [
        f"{service}.{name}" for service, _, name in parts if not name.startswith(("Get", "Head", "List", "Invoke"))
    ] == [
        "s3.CreateBucket",
        "s3.PutPublicAccessBlock",
        "s3.PutBucketTagging",
        "s3.PutObject",
        "iam.CreateRole",
        "iam.PutRolePolicy",
        "bedrock-agentcore-control.CreateAgentRuntime",
        "bedrock-agentcore-control.CreateAgentRuntimeEndpoint",
        "bedrock-agentcore-control.UpdateAgentRuntime",
        "bedrock-agentcore-control.TagResource",
    ]


def test_the_documented_policy_allows_every_request(deploys: Deploys) -> None:
    page = (Path(__file__).parents[3] / "docs" / "pages" / "how-to" / "deploy.md").read_text()
    (text,) = re.findall(r"```json\n(\{.*?\n\})\n```", page, re.DOTALL)
    allowed = {action for statement in json.loads(text)["Statement"] for action in statement["Action"]}
    operation_names = operations([*deploys.planning, *deploys.applying])
    beside = {"sts.GetCallerIdentity", "scheduler.ListSchedules", "events.ListRules"}  # the page names them in words
    memory = {"bedrock-agentcore-control.ListMemories", "bedrock-agentcore-control.GetMemory"}
    actions = {
        action_of(name) for name in operation_names if name not in beside | memory and "InvokeAgentRuntime" not in name
    }
    assert actions <= allowed, actions - allowed


def action_of(operation: str) -> str:
    """IAM's name of the action that an operation needs."""
    service, _, name = operation.partition(".")
    iam_names = {
        "s3.HeadBucket": "s3:ListBucket",
        "s3.HeadObject": "s3:GetObject",
        "s3.PutPublicAccessBlock": "s3:PutBucketPublicAccessBlock",
    }
    return iam_names.get(operation, f"{service.removesuffix('-control')}:{name}")


def test_the_package_brings_its_requirements(deploys: Deploys) -> None:
    assert {"agent.py", "greeting.py", "requirements.txt"} <= set(deploys.outcome.package)
    assert "loom-agent.toml" not in deploys.outcome.package
    assert deploys.outcome.answer["greeting"] == "good day"


def test_resources_secrets_and_variables_reach_the_agent(deploys: Deploys) -> None:
    assert deploys.outcome.answer == {
        "greeting": "good day",
        "LOOM_MEMORY_ID": deploys.memory_id,
        "ORDERS_KEY": "orders/key",
        "WORD": "lamp",
    }


def test_the_runtime_is_as_the_file_describes_it(deploys: Deploys) -> None:
    clients = deploys.bench.clients
    runtime_id = deploys.bench.agent("desk").entry.runtime_id
    runtime = clients.control().get_agent_runtime(agentRuntimeId=runtime_id)
    assert runtime["description"] == "Answers at the desk"
    assert runtime["platformVersion"] == "V1"
    assert runtime["lifecycleConfiguration"]["idleRuntimeSessionTimeout"] == 900
    assert runtime["agentRuntimeArtifact"]["codeConfiguration"]["runtime"] == "PYTHON_3_11"
    assert runtime["roleArn"] == f"arn:aws:iam::{clients.account_id()}:role/loom-desk-{REGION}"
    tags = clients.control().list_tags_for_resource(resourceArn=runtime["agentRuntimeArn"])["tags"]
    assert tags.pop("loom:spec")
    assert tags == {"loom:agent": "desk", "team": "care"}
    policy = clients.client("iam").get_role_policy(RoleName=f"loom-desk-{REGION}", PolicyName=POLICY_NAME)
    text = json.dumps(policy["PolicyDocument"])
    assert f"memory/{deploys.memory_id}" in text
    assert "foundation-model/amazon.nova-lite-v1:0" in text
    assert "secret:orders/key-" in text
    assert policy["PolicyDocument"] == deploys.outcome.plan.policy().document()


def test_what_is_as_described_is_kept_and_a_change_is_one_new_version(deploys: Deploys) -> None:
    assert deploys.outcome.again.value.is_empty, repr(deploys.outcome.again)
    assert "nothing to do" in repr(deploys.outcome.again)
    assert deploys.outcome.versions == ["1", "1", "2"]
    assert deploys.outcome.prod_version == "1"
    assert len(leftovers(deploys.bench, "desk").packages) == 1


def test_a_plan_shows_a_change_and_no_value_of_a_variable(deploys: Deploys) -> None:
    plan = deploys.bench.plan(deploys.folder, environment={"WORD": "s3cret-word"}, idle_timeout_s=600)
    (step,) = [step for step in plan.value.steps if step.action == "change"]
    changes = {change.setting: (change.before, change.after) for change in step.changes}
    assert changes.pop("tags.loom:spec")
    assert changes.pop("code.key")  # its requirements are gone
    assert changes == {
        "platform.idle_timeout_s": ("", "600"),
        "environment.WORD": ("(not shown)", "(not shown)"),
    }
    renderings = (repr(plan), plan._repr_html_(), json.dumps(plan.to_dict()))
    assert not any("s3cret-word" in text or "lamp" in text for text in renderings)


def test_a_role_that_loom_did_not_make_is_not_changed(deploys: Deploys, make_agent: Any) -> None:
    iam = deploys.bench.clients.client("iam")
    iam.create_role(RoleName=f"loom-foreign-{REGION}", AssumeRolePolicyDocument="{}")
    with pytest.raises(DeployError, match="a role with the agent's role name that Loom did not create"):
        deploys.bench.plan(make_agent("foreign"))


def test_a_failed_deployment_undoes_what_it_made(deploys: Deploys, make_agent: Any) -> None:
    broken = make_agent("broken", "raise RuntimeError('no start')\n")
    with pytest.raises(LoomError, match="no start"):
        deploys.bench.deploy(broken, platform_version="V2")
    remaining = leftovers(deploys.bench, "broken")
    assert (remaining.runtimes, remaining.roles, remaining.packages) == ([], [], [])
    assert remaining.has_bucket  # it was there before
    assert "interrupted" not in repr(deploys.bench.plan(broken))


def test_a_failed_update_restores_the_version_before(deploys: Deploys, make_agent: Any) -> None:
    folder = make_agent("turning")
    deploys.bench.deploy(folder, platform_version="V2", idle_timeout_s=120)
    (folder / "agent.py").write_text("raise RuntimeError('no start')\n")
    with pytest.raises(LoomError, match="no start"):
        deploys.bench.deploy(folder, platform_version="V2", idle_timeout_s=240)
    agent = deploys.bench.agent("turning").refresh()
    assert agent.status == "READY"
    assert agent.entry.raw_metadata["lifecycleConfiguration"]["idleRuntimeSessionTimeout"] == 120
    assert agent.invoke("still there").ok
    assert len(leftovers(deploys.bench, "turning").packages) == 1


def test_a_missing_resource_is_named_before_anything_is_made(deploys: Deploys, make_agent: Any) -> None:
    folder = make_agent("lost")
    (folder / "loom-agent.toml").write_text('[agent]\nname = "lost"\n[resources]\nmemories = {M = "nowhere"}\n')
    with pytest.raises(DeployError, match="The account has no memory with that name"):
        deploys.bench.plan(folder)


def test_a_requirement_without_a_wheel_is_an_error_of_the_plan(deploys: Deploys, make_agent: Any) -> None:
    folder = make_agent("unbuilt", requirements__txt="no-such-distribution==9\n")
    with pytest.raises(DeployError, match="pip cannot install the requirements for Linux on ARM64"):
        deploys.bench.plan(folder)
