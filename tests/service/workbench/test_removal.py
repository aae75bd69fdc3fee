"""Removal of an agent with a plan: what Loom made is deleted, all else is kept."""

from __future__ import annotations

import json

import pytest
from released_agent import deploy_version

from loomlib.errors import AgentNotFoundError


def actions(plan):
    return {(step.kind, step.name): step.action for step in plan.value.steps}


def keys_of(bench, name):
    s3 = bench.clients.s3()
    bucket = f"loom-code-{bench.clients.account_id()}-{bench.clients.region}"
    return [item["Key"] for item in s3.list_objects_v2(Bucket=bucket, Prefix=f"{name}/").get("Contents", ())]


def test_an_agent_of_looms_leaves_with_endpoints_packages_and_test(bench, tmp_path):
    for version in ("one", "two"):
        agent = deploy_version(bench, tmp_path, "leaving", version)
    agent.releases.promote("prod", version=1)
    test = agent.releases.start_ab_test("prod", {1: 0.5, 2: 0.5}, sessions=12)
    assert len(keys_of(bench, "leaving")) == 2
    plan = agent.releases.removal_plan()
    action_by_resource = actions(plan)
    assert action_by_resource["runtime", agent.entry.runtime_id] == "delete"
    assert action_by_resource["endpoint", "prod"] == action_by_resource["endpoint", "prod_v2"] == "delete"
    assert action_by_resource["A/B test", test.id] == "delete"
    assert action_by_resource["log group", agent.entry.log_group("prod")] == "keep"
    assert [action for (kind, _), action in action_by_resource.items() if kind == "package"] == ["delete", "delete"]
    assert "leaving · removal" in plan._repr_html_()
    assert len(keys_of(bench, "leaving")) == 2  # a plan only reads
    lines = []
    removal = plan.apply(progress=lines.append)
    assert lines[-1] == "deleting the catalog entry leaving"
    assert actions(removal) == action_by_resource
    assert keys_of(bench, "leaving") == []
    with pytest.raises(AgentNotFoundError):
        bench.agent("leaving")
    runtimes = bench.clients.control().list_agent_runtimes()["agentRuntimes"]
    assert "leaving" not in [runtime["agentRuntimeName"] for runtime in runtimes]
    assert agent.releases.ab_tests()["state"].tolist() == ["stopped"]


def test_a_runtime_of_another_tool_is_kept_with_its_packages(bench, tmp_path):
    donor = deploy_version(bench, tmp_path, "donor", "one")
    described = bench.clients.control().get_agent_runtime(agentRuntimeId=donor.entry.runtime_id)
    code = described["agentRuntimeArtifact"]["codeConfiguration"]
    place = {"bucket": "others-code", "prefix": "their.zip"}
    s3 = bench.clients.s3()
    s3.create_bucket(Bucket="others-code")
    s3.copy_object(
        Bucket="others-code",
        Key="their.zip",
        CopySource={"Bucket": code["code"]["s3"]["bucket"], "Key": code["code"]["s3"]["prefix"]},
    )
    runtime = bench.clients.control().create_agent_runtime(
        agentRuntimeName="theirs",
        agentRuntimeArtifact={"codeConfiguration": {**code, "code": {"s3": place}}},
        roleArn=described["roleArn"],
        networkConfiguration={"networkMode": "PUBLIC"},
        platformVersion="V1",
    )
    agent = bench.register(runtime["agentRuntimeArn"])
    plan = agent.releases.removal_plan()
    assert actions(plan)["runtime", agent.entry.runtime_id] == "keep"
    assert [step.kind for step in plan.value.deleted] == ["catalog entry"]
    plan.apply()
    assert bench.clients.control().get_agent_runtime(agentRuntimeId=agent.entry.runtime_id)["agentRuntimeName"]
    s3.head_object(Bucket="others-code", Key="their.zip")


def test_an_endpoint_of_another_tool_keeps_the_runtime_until_it_is_deleted_by_hand(bench, tmp_path):
    agent = deploy_version(bench, tmp_path, "mixed", "one")
    bench.clients.control().create_agent_runtime_endpoint(agentRuntimeId=agent.entry.runtime_id, name="theirs")
    plan = agent.releases.removal_plan()
    action_by_resource = actions(plan)
    assert (action_by_resource["endpoint", "theirs"], action_by_resource["runtime", agent.entry.runtime_id]) == (
        "keep",
        "keep",
    )
    reason = next(step.reason for step in plan.value.steps if step.kind == "runtime")
    assert "1 endpoint of another tool: theirs" in reason
    assert all(step.action == "keep" for step in plan.value.steps if step.kind == "package")
    agent.releases.create("prod")
    agent.releases.removal_plan().apply()
    agent = bench.register(str(agent.entry.arn))
    bench.clients.control().create_agent_runtime_endpoint(agentRuntimeId=agent.entry.runtime_id, name="prod")
    assert actions(agent.releases.removal_plan())["endpoint", "prod"] == "keep"  # created anew by another tool
    agent.releases.delete("prod")
    agent.releases.delete("theirs")
    assert actions(agent.releases.removal_plan())["runtime", agent.entry.runtime_id] == "delete"


def test_only_a_role_that_loom_made_is_deleted(bench, tmp_path):
    iam = bench.clients.client("iam")
    trust = json.dumps({"Version": "2012-10-17", "Statement": []})
    tags = [{"Key": "loom:agent", "Value": "with_role"}]
    agent = deploy_version(bench, tmp_path, "with_role", "one")
    iam.create_role(RoleName="loom-with_role", AssumeRolePolicyDocument=trust, Tags=tags)
    iam.create_role(RoleName="by-hand", AssumeRolePolicyDocument=trust)
    account = bench.clients.account_id()
    for role, action in (("by-hand", "keep"), ("loom-with_role", "delete")):
        agent = deploy_version(bench, tmp_path, "with_role", role, role=f"arn:aws:iam::{account}:role/{role}")
        assert actions(agent.releases.removal_plan())["role", role] == action
    agent.releases.removal_plan().apply()
    assert "by-hand" in [role["RoleName"] for role in iam.list_roles()["Roles"]]
    assert "loom-with_role" not in [role["RoleName"] for role in iam.list_roles()["Roles"]]


def test_a_removal_that_was_interrupted_is_completed_by_the_next(bench, tmp_path):
    agent = deploy_version(bench, tmp_path, "half", "one")
    bench.clients.control().delete_agent_runtime(agentRuntimeId=agent.entry.runtime_id)
    plan = agent.releases.removal_plan()
    assert {step.kind for step in plan.value.deleted} == {"package", "catalog entry"}
    deploy_version(bench, tmp_path, "half", "one")  # another runtime of the name uses the package now
    again = agent.releases.removal_plan()
    assert {step.kind for step in again.value.deleted} == {"catalog entry"}
    assert "of the same name uses it" in next(step.reason for step in again.value.steps if step.kind == "package")


def test_triggers_leave_with_their_roles_before_the_runtime(bench, tmp_path):
    deploy_version(bench, tmp_path, "timed", "one")
    trigger = '[agent]\nname = "timed"\n\n[[trigger]]\nschedule = "rate(1 day)"\nprompt = "hello"\n'
    (tmp_path / "loom-agent.toml").write_text(trigger)
    agent = bench.plan(tmp_path).apply()
    plan = agent.releases.removal_plan()
    kinds = [step.kind for step in plan.value.deleted]
    assert kinds.index("trigger") < kinds.index("runtime")
    plan.apply()
    schedules = bench.clients.client("scheduler").list_schedules()["Schedules"]
    assert "loom-timed-schedule-1" not in [schedule["Name"] for schedule in schedules]
    roles = [role["RoleName"] for role in bench.clients.client("iam").list_roles()["Roles"]]
    assert not [name for name in roles if "timed" in name]
