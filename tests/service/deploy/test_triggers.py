"""Triggers of an agent: made by apply, fired by hand, and removed with their entry in loom-agent.toml."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aws_place import aws_at
from echo_agent import ECHO_AGENT
from recording_proxy import SentRequest, operation_of, recording_proxy

import loomlib as loom
from loomlib.aws import Clients, Connection
from loomlib.aws.packages import make_package
from loomlib.deploy.deployment import DeployInput, Deployment, DeployTarget
from loomlib.deploy.spec import AgentSpec, TriggerSpec
from loomlib.deploy.triggers import agent_triggers, find_trigger
from loomlib.deploy.triggers.firing import fire_trigger
from loomlib.deploy.triggers.removal import remove_trigger
from loomlib.errors import DeployError, LoomError, ResourceNotFoundError

SPEC = AgentSpec(
    name="triggered",
    triggers=(
        TriggerSpec(schedule="rate(1 day)", prompt="good morning"),
        TriggerSpec(s3="invoices-in/new/", suffix=".pdf", payload={"prompt": "Read {key}", "kinds": ["{bucket}"]}),
    ),
)
SERVICES = ("scheduler", "events", "lambda", "bedrock-agentcore-control", "bedrock-agentcore", "iam")


@pytest.fixture(scope="module")
def sent_by(service: Any) -> Iterator[tuple[Clients, list[SentRequest]]]:
    """Clients whose requests are recorded, and the requests."""
    with recording_proxy(service.url) as (address, requests):
        environment = {name: value.replace(service.url, address) for name, value in service.environment().items()}
        with contextlib.closing(Clients(Connection(region=service.region, environment=environment))) as clients:
            yield clients, requests


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    code = tmp_path_factory.mktemp("triggered")
    (code / "agent.py").write_text(ECHO_AGENT)
    return code


def deployment(clients: Clients, folder: Path, spec: AgentSpec = SPEC) -> Deployment:
    deploy_input = DeployInput(spec=spec, package=make_package(folder), code=folder, is_from_file=True)
    return Deployment(DeployTarget(clients=clients, where="local", home=folder.parent), deploy_input)


@pytest.fixture(scope="module")
def deployed(sent_by: tuple[Clients, list[SentRequest]], aws: Any, folder: Path) -> Clients:
    clients, _ = sent_by
    aws.client("s3").create_bucket(Bucket="invoices-in")
    plan = deployment(clients, folder).plan()
    assert [step.name for step in plan.steps if step.kind.startswith("trigger")] == [
        "loom-triggered-schedule-1",
        "loom-triggered-s3-1",
    ]
    deployment(clients, folder).apply(lambda line: None)
    return clients


def test_a_second_plan_has_nothing_to_do(deployed: Clients, folder: Path) -> None:
    plan = deployment(deployed, folder).plan()
    assert plan.is_empty, [(step.kind, step.changes) for step in plan.steps if step.action != "keep"]


def test_the_requests_are_those_of_aws_s_models(deployed: Clients, sent_by: tuple[Clients, list[SentRequest]]) -> None:
    def signed_for(request: SentRequest) -> str:
        return request.headers.get("authorization", "////").split("/")[3]

    services = ("scheduler", "events", "lambda", "iam")
    operations = {
        operation_of(request, SERVICES, region=request.headers["authorization"].split("/")[2])
        for request in sent_by[1]
        if signed_for(request) in services
    }
    assert operations >= {
        *("scheduler.CreateSchedule", "events.PutRule", "events.PutTargets", "lambda.CreateFunction"),
        *("lambda.AddPermission", "lambda.PutFunctionEventInvokeConfig", "iam.CreateRole", "iam.PutRolePolicy"),
    }


def test_a_schedule_fires_with_its_own_payload_and_a_session_of_its_own(deployed: Clients) -> None:
    trigger = find_trigger(SPEC, "schedule-1")
    first, second = (fire_trigger(deployed, trigger) for _ in range(2))
    assert json.loads(first.answer)["echo"] == {"prompt": "good morning"} == first.payload
    assert first.session_id != second.session_id
    assert first.session_id.startswith("loom-triggered-schedule-1-")
    assert first.through == "schedule loom-triggered-schedule-1"


def test_an_object_fires_through_the_deployed_function_with_the_event_s_place(deployed: Clients) -> None:
    fired = fire_trigger(deployed, find_trigger(SPEC, "s3-1"), key="new/a.pdf", size=7)
    place = {"bucket": "invoices-in", "key": "new/a.pdf", "size": 7, "etag": ""}
    assert fired.payload == {"prompt": "Read new/a.pdf", "kinds": ["invoices-in"], "s3": place}
    assert json.loads(fired.answer)["echo"] == fired.payload
    assert fired.through == "function loom-triggered-s3-1"


@pytest.mark.parametrize(
    ("key", "why"), [("", "needs the key"), ("old/a.pdf", "does not match"), ("new/a.txt", "does not match")]
)
def test_an_object_that_the_trigger_is_not_about_is_refused(deployed: Clients, key: str, why: str) -> None:
    with pytest.raises(LoomError, match=why):
        fire_trigger(deployed, find_trigger(SPEC, "s3-1"), key=key)


def test_the_function_may_invoke_this_agent_and_no_other(deployed: Clients, aws: Any, echo: dict[str, Any]) -> None:
    functions = aws.client("lambda", read_timeout=120)
    name = "loom-triggered-s3-1"
    own = functions.get_function(FunctionName=name)["Configuration"]["Environment"]["Variables"]
    other = {"Variables": {**own, "AGENT_ARN": echo["agentRuntimeArn"]}}
    functions.update_function_configuration(FunctionName=name, Environment=other)
    event = {"detail": {"bucket": {"name": "b"}, "object": {"key": "k"}}}
    answer = functions.invoke(FunctionName=name, Payload=json.dumps(event).encode())
    failed = json.loads(answer["Payload"].read())
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": own})
    assert "is not authorized to perform: bedrock-agentcore:InvokeAgentRuntime" in failed["errorMessage"]


def test_the_bucket_keeps_its_other_notifications(deployed: Clients, aws: Any) -> None:
    configuration = aws.client("s3").get_bucket_notification_configuration(Bucket="invoices-in")
    assert configuration["EventBridgeConfiguration"] == {}


def test_a_schedule_that_is_switched_off_stays_so_when_it_changes(
    sent_by: tuple[Clients, list[SentRequest]], aws: Any, folder: Path
) -> None:
    clients, spec = sent_by[0], replace(SPEC, name="paused", triggers=SPEC.triggers[:1])
    deployment(clients, folder, spec).apply(lambda line: None)
    scheduler = aws.client("scheduler")
    schedule = scheduler.get_schedule(Name="loom-paused-schedule-1")
    settings = {
        name: schedule[name] for name in ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target", "Description")
    }
    scheduler.update_schedule(**settings, State="DISABLED")
    daily = replace(spec, triggers=(replace(spec.triggers[0], schedule="cron(0 8 * * ? *)"),))
    plan = deployment(clients, folder, daily).plan()
    (step,) = [step for step in plan.steps if step.kind == "trigger schedule-1"]
    assert (step.action, step.note) == ("change", "it is disabled and stays disabled")
    deployment(clients, folder, daily).apply(lambda line: None)
    changed = scheduler.get_schedule(Name="loom-paused-schedule-1")
    assert (changed["ScheduleExpression"], changed["State"]) == ("cron(0 8 * * ? *)", "DISABLED")


def test_a_schedule_whose_number_changes_keeps_its_state(
    sent_by: tuple[Clients, list[SentRequest]], aws: Any, folder: Path
) -> None:
    clients, scheduler = sent_by[0], aws.client("scheduler")
    daily, hourly = (TriggerSpec(schedule=f"rate(1 {unit})", prompt=f"every {unit}") for unit in ("day", "hour"))
    for disabled, state in (("loom-moved-schedule-1", "ENABLED"), ("loom-moved-schedule-2", "DISABLED")):
        spec = replace(SPEC, name="moved", triggers=(daily, hourly))
        deployment(clients, folder, spec).apply(lambda line: None)
        for name in ("loom-moved-schedule-1", "loom-moved-schedule-2"):
            schedule = scheduler.get_schedule(Name=name)
            settings = {key: schedule[key] for key in ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")}
            scheduler.update_schedule(
                **settings, Description=schedule["Description"], State="DISABLED" if name == disabled else "ENABLED"
            )
        deployment(clients, folder, replace(spec, triggers=(hourly,))).apply(lambda line: None)
        moved = scheduler.get_schedule(Name="loom-moved-schedule-1")
        assert (moved["ScheduleExpression"], moved["State"]) == ("rate(1 hour)", state)


def test_triggers_that_the_file_no_longer_has_are_removed_with_their_roles(
    sent_by: tuple[Clients, list[SentRequest]], aws: Any, folder: Path
) -> None:
    clients, bucket = sent_by[0], "retired-in"
    aws.client("s3").create_bucket(Bucket=bucket)
    spec = replace(SPEC, name="retired", triggers=(SPEC.triggers[0], TriggerSpec(s3=bucket)))
    deployment(clients, folder, spec).apply(lambda line: None)
    roles = [role["RoleName"] for role in aws.client("iam").list_roles()["Roles"]]
    assert [name for name in roles if name.startswith("loom-retired-s")]
    bare = replace(spec, triggers=())
    plan = deployment(clients, folder, bare).plan()
    assert [step.kind for step in plan.steps if step.kind.startswith("removed")] == [
        "removed trigger schedule-1",
        "removed trigger s3-1",
    ]
    deployment(clients, folder, bare).apply(lambda line: None)
    assert not aws.client("scheduler").list_schedules(NamePrefix="loom-retired-")["Schedules"]
    assert not aws.client("events").list_rules(NamePrefix="loom-retired-")["Rules"]
    roles = [role["RoleName"] for role in aws.client("iam").list_roles()["Roles"]]
    assert not [name for name in roles if name.startswith("loom-retired-s")]
    with pytest.raises(LoomError, match="not deployed"):
        fire_trigger(clients, agent_triggers(spec)[0])


def test_a_trigger_about_a_bucket_that_does_not_exist_is_refused_by_the_plan(deployed: Clients, folder: Path) -> None:
    spec = replace(SPEC, name="lost", triggers=(TriggerSpec(s3="no-such-bucket-of-ours"),))
    with pytest.raises(ResourceNotFoundError, match="aws s3 mb s3://no-such-bucket-of-ours"):
        deployment(deployed, folder, spec).plan()


def test_a_rule_of_the_triggers_name_that_loom_did_not_make_is_neither_changed_nor_removed(
    deployed: Clients, aws: Any, folder: Path
) -> None:
    events, name, pattern = aws.client("events"), "loom-guest-s3-1", '{"source": ["mine"]}'
    events.put_rule(Name=name, EventPattern=pattern)
    spec = replace(SPEC, name="guest", triggers=(SPEC.triggers[1],))
    with pytest.raises(DeployError, match="a rule with the trigger's name that Loom did not create"):
        deployment(deployed, folder, spec).plan()
    bare = deployment(deployed, folder, replace(spec, triggers=()))
    assert [step.action for step in bare.plan().steps if step.kind.startswith("removed")] == ["keep"]
    assert not remove_trigger(deployed, "guest", "s3-1")
    assert events.describe_rule(Name=name)["EventPattern"] == pattern
    events.delete_rule(Name=name)


def test_the_workbench_and_the_command_line_list_and_fire_what_the_file_describes(
    service: Any, loom_command: Any, tmp_path: Path
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "agent.py").write_text(ECHO_AGENT)
    (code / "loom-agent.toml").write_text(
        '[agent]\nname = "told"\n[[trigger]]\nschedule = "rate(2 days)"\nprompt = "good evening"\n'
    )
    with aws_at(service, tmp_path / "home"), loom.connect("aws", region=service.region) as bench:
        triggers = bench.tools.triggers(code)
        assert list(triggers.table()["is_deployed"]) == [False]
        template = bench.plan(code, role="arn:aws:iam::123456789012:role/given").template().value.content
        assert "Role" not in template["Resources"]
        bench.plan(code).apply()
        assert list(triggers.table()["is_deployed"]) == [True]
        assert json.loads(triggers.fire("schedule-1").answer)["echo"] == {"prompt": "good evening"}
        assert "rate(2 days)" in repr(triggers)
        assert "rate(2 days)" in triggers._repr_html_()
        for arguments, expected_text in (
            (("list", str(code)), "rate(2 days)"),
            (("fire", str(code), "schedule-1"), "good evening"),
        ):
            result = loom_command.run("--where", "aws", "trigger", *arguments, environment=dict(os.environ))
            assert result.returncode == 0, result.stderr
            assert expected_text in result.stdout
        result = loom_command.run("--where", "aws", "trigger", "fire", str(code), "s3-9", environment=dict(os.environ))
        assert "The agent has no trigger 's3-9'" in result.stderr


@pytest.mark.parametrize("at", ["creating the role of schedule-1", "creating the schedule", "writing the rule"])
def test_an_interrupted_deployment_of_triggers_is_rolled_back_to_nothing(
    sent_by: tuple[Clients, list[SentRequest]], aws: Any, folder: Path, at: str
) -> None:
    clients, bucket = sent_by[0], "undone-in"
    if not [item for item in aws.client("s3").list_buckets()["Buckets"] if item["Name"] == bucket]:
        aws.client("s3").create_bucket(Bucket=bucket)
    spec = replace(SPEC, name="undone", triggers=(SPEC.triggers[0], TriggerSpec(s3=bucket)))

    def interrupt(line: str) -> None:
        if line.startswith(at):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deployment(clients, folder, spec).apply(interrupt)
    deployment(clients, folder, spec).rollback(lambda line: None)
    assert not aws.client("scheduler").list_schedules(NamePrefix="loom-undone-")["Schedules"]
    assert not aws.client("events").list_rules(NamePrefix="loom-undone-")["Rules"]
    functions = aws.client("lambda").list_functions()["Functions"]
    assert not [item for item in functions if item["FunctionName"].startswith("loom-undone-")]
    roles = [role["RoleName"] for role in aws.client("iam").list_roles()["Roles"]]
    assert not [name for name in roles if name.startswith("loom-undone-")]
    runtimes = aws.control.list_agent_runtimes(maxResults=100)["agentRuntimes"]
    assert "undone" not in [item["agentRuntimeName"] for item in runtimes]
    assert "EventBridgeConfiguration" not in aws.client("s3").get_bucket_notification_configuration(Bucket=bucket)
