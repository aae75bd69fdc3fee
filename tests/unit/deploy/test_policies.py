"""The policy of an agent's role: exact actions on exact resources, and what needs you."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from textwrap import dedent
from typing import Any
from urllib.parse import quote

import boto3
import pytest
from moto import mock_aws

from loomlib.aws import Clients, Connection
from loomlib.aws.service_models import service_operations
from loomlib.deploy.code_uses import CodeUses, find_uses
from loomlib.deploy.parts.agent_role import AgentRole
from loomlib.deploy.policies import AwsPlace, KnownResources, RolePolicy, role_policy
from loomlib.deploy.policies.arns import targets
from loomlib.deploy.policies.configured import CONFIGURED_ACTIONS, LABELS
from loomlib.deploy.policies.operations import OPERATIONS, PARAMETERS, WITHOUT_RESOURCES
from loomlib.deploy.resources import locate_resources
from loomlib.deploy.spec import RESOURCE_KINDS, AgentSpec, ResourceBinding, ResourceSpec
from loomlib.errors import LoomError
from loomlib.local.access.named_resources import named_resources

PLACE = AwsPlace(account="123456789012", region="eu-central-1")


def policy_of(tmp_path: Path, code: str, spec: AgentSpec | None = None, **more: Any) -> RolePolicy:
    (tmp_path / "agent.py").write_text(dedent(code))
    return role_policy(spec or AgentSpec(name="shop"), find_uses(tmp_path), PLACE, **more)


def allowed(policy: RolePolicy) -> dict[str, list[str]]:
    """The resources of each action that the code or the configuration asks for."""
    resources_by_action: dict[str, list[str]] = {}
    for statement in policy.statements:
        for action in statement.actions if statement.places else ():
            resources_by_action.setdefault(action, []).extend(statement.resources)
    return resources_by_action


def bound(**kinds: str) -> AgentSpec:
    resources = {kind: (ResourceBinding(resource=resource),) for kind, resource in kinds.items()}
    return AgentSpec(name="shop", resources=ResourceSpec(**resources))


def test_every_role_has_its_own_log_group_traces_and_metrics_in_agentcore_s_namespace(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, "")
    assert [statement.sid for statement in policy.statements] == ["OwnLogs", "FindLogGroups", "Traces", "Metrics"]
    logs, metrics = policy.statements[0], policy.statements[3]
    assert (
        logs.resources[0] == "arn:aws:logs:eu-central-1:123456789012:log-group:/aws/bedrock-agentcore/runtimes/shop-*"
    )
    assert metrics.condition == {"StringEquals": {"cloudwatch:namespace": "bedrock-agentcore"}}
    assert all(statement.reason for statement in policy.statements)
    (trust,) = policy.trust["Statement"]
    assert trust["Principal"] == {"Service": "bedrock-agentcore.amazonaws.com"}
    assert trust["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "123456789012"},
        "ArnLike": {"aws:SourceArn": "arn:aws:bedrock-agentcore:eu-central-1:123456789012:*"},
    }


def test_an_image_may_be_pulled_from_its_repository_only(tmp_path: Path) -> None:
    repository = "arn:aws:ecr:eu-central-1:123456789012:repository/loom-shop"
    policy = policy_of(tmp_path, "", repository_arn=repository)
    image = next(statement for statement in policy.statements if statement.sid == "Image")
    assert (image.actions, image.resources) == (("ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"), (repository,))


def test_operations_become_actions_with_exact_resources(tmp_path: Path) -> None:
    policy = policy_of(
        tmp_path,
        """
        import boto3
        model = boto3.client("bedrock-runtime")
        model.converse(modelId="amazon.nova-lite-v1:0", guardrailConfig={"guardrailIdentifier": "abcdefghij"})
        model.converse_stream(modelId="amazon.nova-lite-v1:0")
        boto3.client("s3").get_object(Bucket="docs", Key="a.txt")
        boto3.client("s3").copy_object(Bucket="docs", Key="b.txt", CopySource="docs/a.txt")
        boto3.client("lambda").invoke(FunctionName="arn:aws:lambda:us-east-1:210987654321:function:f")
        boto3.client("sqs").send_message(QueueUrl="https://sqs.eu-central-1.amazonaws.com/123456789012/orders")
        boto3.client("dynamodb").query(TableName="orders")
        boto3.client("dynamodb").batch_get_item(RequestItems={"prices": {"Keys": []}})
        boto3.client("ssm").get_parameter(Name="/shop/limit")
        boto3.client("bedrock-agentcore").invoke_agent_runtime(
            agentRuntimeArn="arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/other-0123456789")
        boto3.client("bedrock-agent-runtime").invoke_agent(agentId="AGENT12345", agentAliasId="ALIAS12345")
        boto3.client("sts").get_caller_identity()
        boto3.client("events").put_events(Entries=[{"EventBusName": "shop", "Source": "s"}, {"Source": "t"}])
        boto3.client("events").put_events(Entries=[{"Source": "t"}])
        boto3.client("cloudwatch").put_metric_data(Namespace="Shop", MetricData=[])
        """,
    )
    assert not policy.unresolved
    region_account, arn = "eu-central-1:123456789012", "arn:aws:"
    runtime = f"{arn}bedrock-agentcore:{region_account}:runtime/other-0123456789"
    table = f"{arn}dynamodb:{region_account}:table/orders"
    assert allowed(policy) == {
        "bedrock:InvokeModel": ["arn:aws:bedrock:eu-central-1::foundation-model/amazon.nova-lite-v1:0"],
        "bedrock:InvokeModelWithResponseStream": [
            "arn:aws:bedrock:eu-central-1::foundation-model/amazon.nova-lite-v1:0"
        ],
        "bedrock:ApplyGuardrail": [f"{arn}bedrock:{region_account}:guardrail/abcdefghij"],
        "bedrock:InvokeAgent": [f"{arn}bedrock:{region_account}:agent-alias/AGENT12345/ALIAS12345"],
        "bedrock-agentcore:InvokeAgentRuntime": [runtime, f"{runtime}/runtime-endpoint/*"],
        "s3:GetObject": ["arn:aws:s3:::docs/a.txt"],
        "s3:PutObject": ["arn:aws:s3:::docs/b.txt"],
        "lambda:InvokeFunction": ["arn:aws:lambda:us-east-1:210987654321:function:f"],
        "sqs:SendMessage": [f"{arn}sqs:{region_account}:orders"],
        "dynamodb:BatchGetItem": [f"{arn}dynamodb:{region_account}:table/prices"],
        "dynamodb:Query": [table, f"{table}/index/*"],
        "ssm:GetParameter": [f"{arn}ssm:{region_account}:parameter/shop/limit"],
        "events:PutEvents": [
            f"{arn}events:{region_account}:event-bus/default",
            f"{arn}events:{region_account}:event-bus/shop",
        ],
        "cloudwatch:PutMetricData": ["*"],
    }
    own = next(statement for statement in policy.statements if statement.sid == "OwnMetrics")
    assert own.condition == {"StringEquals": {"cloudwatch:namespace": "Shop"}}


def test_an_inference_profile_allows_its_models_only_through_the_profile(tmp_path: Path) -> None:
    code = 'from strands.models import BedrockModel\nBedrockModel(model_id="{}.amazon.nova-lite-v1:0")\n'
    profile = "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.amazon.nova-lite-v1:0"
    models, behind = sorted(
        (item for item in policy_of(tmp_path, code.format("eu")).statements if item.places),
        key=lambda item: bool(item.condition),
    )
    assert models.resources == (profile,)
    assert behind.resources == ("arn:aws:bedrock:*::foundation-model/amazon.nova-lite-v1:0",)
    assert behind.condition == {"StringEquals": {"bedrock:InferenceProfileArn": profile}}
    assert "the profile chooses the region" in behind.reason
    exact = ("arn:aws:bedrock:eu-west-1::foundation-model/amazon.nova-lite-v1:0",)
    known_resources = KnownResources(profile_models={"eu.amazon.nova-lite-v1:0": exact})
    assert exact[0] in allowed(policy_of(tmp_path, code.format("eu"), known=known_resources))["bedrock:InvokeModel"]
    everywhere = allowed(policy_of(tmp_path, code.format("global")))["bedrock:InvokeModel"]
    assert "arn:aws:bedrock:::foundation-model/amazon.nova-lite-v1:0" in everywhere
    assert not [resource for resource in everywhere if "*" in resource]


def test_partitions_follow_the_region() -> None:
    for region, partition in (("us-gov-west-1", "aws-us-gov"), ("cn-north-1", "aws-cn"), ("us-east-1", "aws")):
        place = AwsPlace(account="1", region=region)
        (target,) = targets("secrets", "key", place, KnownResources()) or ()
        assert target.resources == (f"arn:{partition}:secretsmanager:{region}:1:secret:key-??????",)


def test_the_agent_s_own_role_and_another_agent_have_the_partition_of_the_region() -> None:
    region = "us-gov-west-1"
    credentials = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": region}
    agent = ResourceBinding(resource="orders-1a2B3c4D5e", variable="ORDERS")
    spec = AgentSpec(name="shop", resources=ResourceSpec(agents=(agent,)))
    with mock_aws(), closing(Clients(Connection(environment=credentials))) as clients:
        assert AgentRole(clients, spec, "role", "r").arn == "arn:aws-us-gov:iam::123456789012:role/r"
        runtime = locate_resources(clients, spec).variables["ORDERS"]
    assert runtime == f"arn:aws-us-gov:bedrock-agentcore:{region}:123456789012:runtime/orders-1a2B3c4D5e"


@pytest.mark.parametrize("resource", ["documents/manuals", "arn:aws:s3:::documents/manuals"])
def test_a_configured_prefix_without_a_slash_covers_the_objects_that_begin_with_it(
    tmp_path: Path, resource: str
) -> None:
    spec = AgentSpec(name="shop", resources=ResourceSpec(buckets=(ResourceBinding(resource=resource),)))
    code = "import boto3\n\ndef read(key):\n    return boto3.client('s3').get_object(Bucket='documents', Key=key)\n"
    for text in ("", code):
        policy = policy_of(tmp_path, text, spec)
        assert allowed(policy)["s3:GetObject"] == ["arn:aws:s3:::documents/manuals*"]
        assert not policy.unresolved


def test_configured_resources_get_the_actions_of_their_kind_and_secrets_are_readable(tmp_path: Path) -> None:
    spec = AgentSpec(
        name="shop",
        secrets={"API_KEY": "weather", "LIMIT": "ssm:/shop/limit"},
        resources=ResourceSpec(
            memories=(ResourceBinding(resource="support-1a2B3c4D5e"),),
            buckets=(ResourceBinding(resource="docs/manuals/"),),
        ),
    )
    policy = policy_of(tmp_path, "", spec)
    resources = allowed(policy)
    assert resources["bedrock-agentcore:CreateEvent"] == [
        "arn:aws:bedrock-agentcore:eu-central-1:123456789012:memory/support-1a2B3c4D5e"
    ]
    assert resources["s3:GetObject"] == ["arn:aws:s3:::docs/manuals/*"]
    assert resources["ssm:GetParameter"] == ["arn:aws:ssm:eu-central-1:123456789012:parameter/shop/limit"]
    assert resources["secretsmanager:GetSecretValue"] == [
        "arn:aws:secretsmanager:eu-central-1:123456789012:secret:weather-??????"
    ]
    listing = next(statement for statement in policy.statements if "s3:ListBucket" in statement.actions)
    assert listing.condition == {"StringLike": {"s3:prefix": "manuals/*"}}
    assert {place for statement in policy.statements for place in statement.places} == {
        "[resources] memories",
        "[resources] buckets",
        "[secrets] API_KEY",
        "[secrets] LIMIT",
    }


def test_code_that_shows_what_it_calls_on_a_configured_resource_gets_only_that(tmp_path: Path) -> None:
    spec = AgentSpec(
        name="shop",
        resources=ResourceSpec(memories=(ResourceBinding(resource="m-1a2B3c4D5e", variable="MEMORY"),)),
    )
    code = """
        import os
        from bedrock_agentcore.memory import MemoryClient
        MemoryClient().list_events(memory_id=os.environ["MEMORY"], actor_id="a", session_id="s")
    """
    assert list(allowed(policy_of(tmp_path, code, spec))) == ["bedrock-agentcore:ListEvents"]


@pytest.mark.parametrize(
    ("arguments", "ending"),
    [
        ('FunctionName="f"', "eu-central-1:123456789012:function:f"),
        ('FunctionName="f:prod"', "eu-central-1:123456789012:function:f:prod"),
        ('FunctionName="f", Qualifier="prod"', "eu-central-1:123456789012:function:f:prod"),
        ('FunctionName="f", Qualifier=input()', "eu-central-1:123456789012:function:f:*"),
        ('FunctionName="function:f", Qualifier="$LATEST"', "eu-central-1:123456789012:function:f:$LATEST"),
        ('FunctionName="999988887777:function:f"', "eu-central-1:999988887777:function:f"),
        ('FunctionName="us-west-2:999988887777:function:f:2"', "us-west-2:999988887777:function:f:2"),
        ('FunctionName="arn:aws:lambda:us-west-2:9:function:f", Qualifier="2"', "us-west-2:9:function:f:2"),
    ],
)
def test_a_function_is_allowed_in_its_account_and_by_its_qualifier(tmp_path: Path, arguments: str, ending: str) -> None:
    policy = policy_of(tmp_path, f'import boto3\nboto3.client("lambda").invoke({arguments})\n')
    assert allowed(policy) == {"lambda:InvokeFunction": [f"arn:aws:lambda:{ending}"]}
    assert not policy.unresolved


@pytest.mark.parametrize(
    "name", ["f", "f:prod", "function:f", "999988887777:function:f", "us-west-2:999988887777:function:f:2"]
)
def test_the_local_agentcore_checks_the_arn_of_a_function_that_the_policy_allows(name: str) -> None:
    (target,) = targets("functions", name, PLACE, KnownResources()) or ()
    path = f"/2015-03-31/functions/{quote(name, safe='')}/invocations"
    checked = named_resources("lambda", path, "", bytes, region=PLACE.region, account_id=PLACE.account)
    assert checked == list(target.resources)


def test_a_configured_function_that_the_code_calls_by_an_alias_is_allowed_by_that_alias_only(tmp_path: Path) -> None:
    functions = (ResourceBinding(resource="f", variable="ORDERS"),)
    spec = AgentSpec(name="shop", resources=ResourceSpec(functions=functions))
    code = """
        import boto3, os
        boto3.client("lambda").invoke(FunctionName=os.environ["ORDERS"], Qualifier="prod")
    """
    policy = policy_of(tmp_path, code, spec)
    assert allowed(policy) == {"lambda:InvokeFunction": ["arn:aws:lambda:eu-central-1:123456789012:function:f:prod"]}


def test_a_name_that_is_computed_at_run_time_means_the_configured_resources(tmp_path: Path) -> None:
    code = """
        import boto3
        def call(event):
            return boto3.client("lambda").invoke(FunctionName=event["function"])
    """
    policy = policy_of(tmp_path, code, bound(functions="orders-api"))
    assert not policy.unresolved
    assert allowed(policy) == {
        "lambda:InvokeFunction": ["arn:aws:lambda:eu-central-1:123456789012:function:orders-api"]
    }


@pytest.mark.parametrize(
    ("code", "what", "try_"),
    [
        (
            "import boto3\ndef f(e):\n    boto3.client('lambda').invoke(FunctionName=e['f'])",
            "FunctionName is computed at run time",
            "[resources] functions",
        ),
        (
            "import boto3, os\nboto3.client('sns').publish(TopicArn=os.environ['TOPIC'])",
            "uses TOPIC, which has no value",
            "[environment] TOPIC",
        ),
        (
            "import boto3, os\nboto3.client('bedrock-agent-runtime').retrieve(knowledgeBaseId=os.environ['BASE'])",
            "uses BASE, which has no value",
            "[resources] knowledge_bases = {BASE = …}",
        ),
        (
            "import boto3\nboto3.client('bedrock-agentcore').list_events(memoryId='support')",
            "'support' does not identify a resource",
            "[resources] memories",
        ),
        (
            "import boto3\nboto3.client('ec2').terminate_instances(InstanceIds=['i-1'])",
            "Unknown resource of the operation TerminateInstances",
            "role='arn:…'",
        ),
        (
            "import boto3\nclient = boto3.client('s3')\nprint(client)",
            "The calls of this s3 client are not visible",
            "[resources] buckets",
        ),
        (
            "from botocore.auth import SigV4Auth\ndef f(c):\n    SigV4Auth(c, 'bedrock-agentcore', 'us-east-1')",
            "signs requests for bedrock-agentcore itself",
            "gateways or agents",
        ),
    ],
)
def test_what_is_not_known_needs_you_and_allows_nothing(tmp_path: Path, code: str, what: str, try_: str) -> None:
    policy = policy_of(tmp_path, code)
    (unresolved,) = policy.unresolved
    assert what in unresolved.what
    assert try_ in unresolved.try_
    assert unresolved.place.startswith("agent.py:")
    assert not allowed(policy)


def test_a_resource_by_name_is_its_id_in_the_account_or_needs_you(tmp_path: Path) -> None:
    spec = bound(memories="support")
    known_resources = KnownResources(ids={("memories", "support"): "support-1a2B3c4D5e"})
    assert "bedrock-agentcore:CreateEvent" in allowed(policy_of(tmp_path, "", spec, known=known_resources))
    (unresolved,) = policy_of(tmp_path, "", spec).unresolved
    assert "'support' is neither an id nor an ARN" in unresolved.what


def test_a_feature_that_is_switched_off_by_an_empty_variable_gets_no_permission_and_a_note(tmp_path: Path) -> None:
    code = """
        import os, boto3
        boto3.client("bedrock-agent-runtime").retrieve(knowledgeBaseId=os.environ.get("BASE", ""))
    """
    policy = policy_of(tmp_path, code)
    assert not policy.unresolved
    assert not allowed(policy)
    assert "BASE is empty" in policy.notes[0]


def test_code_that_signs_its_requests_may_call_the_configured_gateways_and_read_agents_cards(tmp_path: Path) -> None:
    code = "from botocore.auth import SigV4Auth\ndef f(c):\n    SigV4Auth(c, 'bedrock-agentcore', 'us-east-1')"
    policy = policy_of(tmp_path, code, bound(gateways="tools-0123456789", agents="other-0123456789"))
    assert not policy.unresolved
    assert set(allowed(policy)) == {
        "bedrock-agentcore:InvokeGateway",
        "bedrock-agentcore:InvokeAgentRuntime",
        "bedrock-agentcore:GetAgentCard",
    }


def test_a_client_that_something_else_calls_may_use_what_the_configuration_names(tmp_path: Path) -> None:
    code = "import boto3\nclient = boto3.client('lambda')\nprint(client)"
    policy = policy_of(tmp_path, code, bound(functions="orders-api"))
    assert not policy.unresolved
    assert list(allowed(policy)) == ["lambda:InvokeFunction"]


def test_the_policy_is_the_same_each_time_and_has_unique_names(tmp_path: Path) -> None:
    code = """
        import boto3
        s3 = boto3.client("s3")
        s3.put_object(Bucket="b", Key="k")
        s3.get_object(Bucket="a", Key="k")
        s3.get_object(Bucket="c", Key="k")
    """
    first, second = (policy_of(tmp_path, code).document() for _ in range(2))
    assert first == second
    sids = [statement["Sid"] for statement in first["Statement"]]
    assert len(sids) == len(set(sids))
    assert all(sid.isalnum() for sid in sids)


def test_a_policy_longer_than_iam_allows_is_refused_by_name() -> None:
    functions = tuple(ResourceBinding(resource=f"function-{number:0>60}") for number in range(120))
    with pytest.raises(LoomError, match=r"above IAM's 10\W240"):
        role_policy(AgentSpec(name="shop", resources=ResourceSpec(functions=functions)), CodeUses(), PLACE)


def test_the_data_name_only_operations_and_parameters_that_aws_has() -> None:
    for key in OPERATIONS:
        service, _, operation = key.partition(":")
        service_model = service_operations(service)
        assert service_model is not None, key
        assert operation in service_model.methods.values(), key
        for rule in OPERATIONS[key]:
            assert rule.kind or rule.action in WITHOUT_RESOURCES, key
            assert not rule.kind or rule.kind in LABELS, rule
            for parameter in rule.parameters:
                assert parameter.partition(".")[0] in service_model.parameters[operation], (key, parameter)
    for key, kind in PARAMETERS.items():
        service, _, parameter = key.partition(".")
        service_model = service_operations(service)
        assert service_model is not None, key
        assert any(parameter in names for names in service_model.parameters.values()), key
        assert kind in LABELS, kind
    assert set(CONFIGURED_ACTIONS) == set(RESOURCE_KINDS)


def test_a_service_that_boto3_does_not_have_has_no_operations() -> None:
    assert service_operations("no-such-service") is None
    s3 = service_operations("s3")
    assert s3 is not None
    assert s3.methods["get_object"] == "GetObject"
    assert set(s3.methods) <= set(dir(boto3.client("s3", region_name="us-east-1")))


@pytest.mark.parametrize(
    "call",
    [
        'boto3.client("secretsmanager").get_secret_value(SecretId="arn:aws:secretsmanager:*:*:secret:*")',
        'boto3.client("secretsmanager").get_secret_value(SecretId="?*")',
        'boto3.client("s3").put_object(Bucket="????????", Key="report")',
        'boto3.client("s3").get_object(Bucket="docs", Key="${aws:username}")',
        'boto3.client("dynamodb").delete_table(TableName="shop*")',
        'boto3.client("sts").assume_role(RoleArn=f"arn:aws:iam::{input()}:role/{input()}", RoleSessionName="a")',
        'boto3.client("lambda").invoke(FunctionName=f"arn:{input()}")',
    ],
)
def test_wildcards_that_the_code_writes_into_names_allow_nothing(tmp_path: Path, call: str) -> None:
    policy = policy_of(tmp_path, f"import boto3\n{call}\n")
    assert len(policy.unresolved) == 1
    assert {statement.sid for statement in policy.statements} == {"OwnLogs", "FindLogGroups", "Traces", "Metrics"}


def test_a_region_and_account_that_are_computed_are_those_of_the_deployment(tmp_path: Path) -> None:
    code = 'import boto3\nboto3.client("lambda").invoke(FunctionName=f"arn:aws:lambda:{f()}:{g()}:function:orders")\n'
    statement = policy_of(tmp_path, code).statements[-1]
    assert statement.resources == ("arn:aws:lambda:eu-central-1:123456789012:function:orders",)
