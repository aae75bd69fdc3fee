"""The CloudFormation template of a deployment: cfn-lint accepts it, and it says what the plan would make."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml
from cfnlint.api import ManualArgs, lint

from loomlib.aws.authorizers import JwtAuthorizer
from loomlib.aws.runtime_requests import RuntimeCode, RuntimeRequest
from loomlib.aws.runtime_settings import RuntimeSettings
from loomlib.deploy.cloudformation import StackTemplate, stack_template
from loomlib.deploy.code_uses import CodeUses
from loomlib.deploy.policies import AwsPlace, role_policy
from loomlib.deploy.spec import AgentSpec, ResourceBinding, ResourceSpec, TriggerSpec
from loomlib.errors import LoomError, NotSupportedError

PLACE = AwsPlace(account="123456789012", region="us-east-1")
CODE = RuntimeCode(
    bucket="loom-code-123456789012-us-east-1", key="shop/abc.zip", python="PYTHON_3_13", entry_point="agent.py"
)
IMAGE = RuntimeCode(image="123456789012.dkr.ecr.us-east-1.amazonaws.com/loom-shop@sha256:" + "0" * 64)
SCHEDULE = TriggerSpec(schedule="rate(1 day)", prompt='Say "good morning" for ${5}')
OBJECTS = TriggerSpec(s3="invoices/new/", suffix=".pdf", prompt="Read s3://{bucket}/{key}")


def template_of(
    spec: AgentSpec, *, code: RuntimeCode = CODE, settings: RuntimeSettings | None = None, own_role: bool = True
) -> StackTemplate:
    request = RuntimeRequest(
        name=spec.name,
        code=code,
        role_arn="arn:aws:iam::123456789012:role/given",
        environment={"LIMIT": "5"},
        description="The shop's agent",
        settings=settings or RuntimeSettings(),
        tags={"loom:agent": spec.name},
    )
    return stack_template(spec, request, PLACE, policy=role_policy(spec, CodeUses(), PLACE) if own_role else None)


def problems(template: StackTemplate) -> list[str]:
    """What cfn-lint says of a template, warnings included."""
    options = ManualArgs(regions=["us-east-1"])
    return [f"{match.rule.id} {match.message}" for match in lint(template.yaml(), config=options)]


def properties(template: StackTemplate, name: str) -> dict[str, Any]:
    return template.content["Resources"][name]["Properties"]


def test_a_value_that_looks_like_a_secret_is_a_parameter_of_the_stack() -> None:
    spec = AgentSpec(name="shop", secrets={"DB_PASSWORD": "prod/db"})
    environment = {
        "LIMIT": "5",
        "API_KEY_2": "hush-0",
        "API_KEY": "hush-1",
        "Api_Key": "hush-2",
        "DB_PASSWORD": "prod/db",
    }
    request = RuntimeRequest(
        name="shop", code=CODE, role_arn="arn:aws:iam::123456789012:role/given", environment=environment
    )
    template = stack_template(spec, request, PLACE, policy=None)
    assert "hush" not in template.yaml()
    keys = ({"Ref": "VariableApiKey2"}, {"Ref": "VariableApiKey"}, {"Ref": "VariableApiKey3"})
    assert list(properties(template, "Runtime")["EnvironmentVariables"].values()) == ["5", *keys, "prod/db"]
    assert template.content["Parameters"]["VariableApiKey"]["NoEcho"] is True
    assert not problems(template)


FULL = AgentSpec(
    name="shop",
    resources=ResourceSpec(
        memories=(ResourceBinding(resource="notes-0123456789"),),
        models=(ResourceBinding(resource="global.anthropic.claude-sonnet-4-6"),),
    ),
    triggers=(SCHEDULE, OBJECTS),
    endpoints={"dev": "dev", "prod": "prod_eu"},
)
SETTINGS = RuntimeSettings(
    platform_version="V2",
    idle_timeout_s=300,
    max_lifetime_s=3600,
    protocol="HTTP",
    storage="/mnt/data",
    subnets=("subnet-0123456789abcdef0",),
    security_groups=("sg-0123456789abcdef0",),
)


@pytest.mark.parametrize(
    ("spec", "code", "settings", "own_role"),
    [
        (AgentSpec(name="shop"), CODE, RuntimeSettings(), True),
        (AgentSpec(name="shop"), IMAGE, RuntimeSettings(), False),
        (FULL, CODE, SETTINGS, True),
        (FULL, IMAGE, SETTINGS, True),
        (
            AgentSpec(name="shop"),
            CODE,
            RuntimeSettings(
                authorizer=JwtAuthorizer(
                    discovery_url="https://example.org/.well-known/openid-configuration",
                    clients=["shop"],
                    claims={"team": "north", "groups": ["clerks", "managers"]},
                )
            ),
            True,
        ),
    ],
    ids=["code", "image and a given role", "everything", "everything with an image", "bearer tokens"],
)
def test_cfn_lint_accepts_the_template(
    spec: AgentSpec, code: RuntimeCode, settings: RuntimeSettings, own_role: bool
) -> None:
    assert problems(template_of(spec, code=code, settings=settings, own_role=own_role)) == []


def test_the_linter_knows_the_types_and_refuses_what_they_do_not_have() -> None:
    template = template_of(AgentSpec(name="shop"))
    template.content["Resources"]["Runtime"]["Properties"]["WarmUp"] = "/warmup"
    assert any("WarmUp" in problem for problem in problems(template))


def test_the_properties_are_the_members_of_the_plan_s_request() -> None:
    runtime = properties(template_of(FULL, settings=SETTINGS), "Runtime")
    assert runtime["LifecycleConfiguration"] == {"IdleRuntimeSessionTimeout": 300, "MaxLifetime": 3600}
    assert runtime["ProtocolConfiguration"] == "HTTP"
    assert runtime["FilesystemConfigurations"] == [{"SessionStorage": {"MountPath": "/mnt/data"}}]
    assert runtime["NetworkConfiguration"]["NetworkModeConfig"]["Subnets"] == ["subnet-0123456789abcdef0"]
    assert runtime["EnvironmentVariables"] == {"LIMIT": "5"}
    assert runtime["Tags"] == {"loom:agent": "shop"}
    code = runtime["AgentRuntimeArtifact"]["CodeConfiguration"]
    assert code == {
        "Code": {"S3": {"Bucket": {"Ref": "CodeBucket"}, "Prefix": {"Ref": "CodeKey"}}},
        "EntryPoint": ["agent.py"],
        "Runtime": "PYTHON_3_13",
    }


@pytest.mark.parametrize(
    ("entry_point", "command"),
    [
        ("agent.py", ["agent.py"]),
        ("my agent.py", ["my agent.py"]),
        ("opentelemetry-instrument my agent.py", ["opentelemetry-instrument", "my agent.py"]),
    ],
)
def test_only_the_program_of_opentelemetry_is_split_from_the_file_to_start(
    entry_point: str, command: list[str]
) -> None:
    artifact = replace(CODE, entry_point=entry_point).artifact()
    assert artifact["codeConfiguration"]["entryPoint"] == command


def test_arns_of_the_plan_s_account_become_those_of_the_stack_s() -> None:
    text = template_of(FULL).json()
    assert "123456789012" not in text.replace("loom-code-123456789012-us-east-1", "")
    role = properties(template_of(FULL), "Role")
    memories = next(item for item in role["Policies"][0]["PolicyDocument"]["Statement"] if item["Sid"] == "Memories")
    assert memories["Resource"] == [
        {"Fn::Sub": "arn:${AWS::Partition}:bedrock-agentcore:${AWS::Region}:${AWS::AccountId}:memory/notes-0123456789"}
    ]
    assert role["AssumeRolePolicyDocument"]["Statement"][0]["Condition"]["StringEquals"] == {
        "aws:SourceAccount": {"Ref": "AWS::AccountId"}
    }


def test_each_statement_has_its_reason_in_the_template() -> None:
    template = template_of(FULL)
    statements = properties(template, "Role")["Policies"][0]["PolicyDocument"]["Statement"]
    assert set(template.content["Resources"]["Role"]["Metadata"]["Reasons"]) == {item["Sid"] for item in statements}


def test_endpoints_are_at_the_version_of_their_parameter_or_the_newest() -> None:
    template = template_of(FULL)
    endpoint = properties(template, "ProdEuEndpoint")
    assert endpoint["Name"] == "prod_eu"
    assert endpoint["AgentRuntimeVersion"]["Fn::If"][1] == {"Ref": "ProdEuVersion"}
    assert template.content["Parameters"]["ProdEuVersion"]["Default"] == ""


def test_endpoints_whose_names_differ_in_a_number_or_in_case_are_all_in_the_template() -> None:
    template = template_of(replace(FULL, endpoints={"a": "prod_2", "b": "prod", "c": "Prod"}))
    names = {
        resource["Properties"]["Name"]
        for resource in template.content["Resources"].values()
        if resource["Type"] == "AWS::BedrockAgentCore::RuntimeEndpoint"
    }
    assert names == {"prod_2", "prod", "Prod"}


def test_a_schedule_sends_its_payload_to_the_runtime_and_its_role_may_do_nothing_else() -> None:
    template = template_of(FULL)
    schedule, role = properties(template, "Schedule1"), properties(template, "Schedule1Role")
    text = schedule["Target"]["Input"]["Fn::Sub"].replace("${Runtime.AgentRuntimeArn}", "arn").replace("${!", "${")
    target_input = json.loads(text)
    assert target_input["AgentRuntimeArn"] == "arn"
    assert json.loads(target_input["Payload"]) == {"prompt": 'Say "good morning" for ${5}'}
    assert len(target_input["RuntimeSessionId"]) >= 33
    (statement,) = role["Policies"][0]["PolicyDocument"]["Statement"]
    assert statement["Action"] == ["bedrock-agentcore:InvokeAgentRuntime"]
    assert schedule["Target"]["RetryPolicy"]["MaximumRetryAttempts"] == 0


def test_new_objects_reach_the_agent_through_a_rule_and_a_function_and_the_bucket_is_named() -> None:
    template = template_of(FULL)
    pattern = properties(template, "S31Rule")["EventPattern"]
    assert pattern["detail"] == {"bucket": {"name": ["invoices"]}, "object": {"key": [{"wildcard": "new/*.pdf"}]}}
    assert "invoices" in template.notes[0]
    compile(properties(template, "S31Function")["Code"]["ZipFile"], "trigger.py", "exec")


def test_the_template_is_the_same_in_yaml_and_json_and_each_time() -> None:
    template = template_of(FULL)
    assert yaml.safe_load(template.yaml()) == json.loads(template.json()) == json.loads(template_of(FULL).json())


def test_a_warm_up_hook_is_refused_because_the_type_has_no_property_for_it() -> None:
    with pytest.raises(NotSupportedError, match="warm-up hook"):
        template_of(AgentSpec(name="shop"), settings=RuntimeSettings(warmup="/warmup"))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"authorizer": JwtAuthorizer(discovery_url="https://e.org", clients=["a"])}, "bearer tokens"),
        ({"protocol": "MCP"}, "with the protocol MCP"),
    ],
)
def test_triggers_that_cannot_call_the_agent_are_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(LoomError, match=why):
        template_of(AgentSpec(name="shop", triggers=(SCHEDULE,), **more))
