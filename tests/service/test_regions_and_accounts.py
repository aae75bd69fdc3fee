"""Each region of each account has resources of its own, for the control plane and the data plane."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from aws_requests import minimal_parameters
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError
from echo_agent import ECHO_AGENT, SDK_ECHO_AGENT
from waiting import wait_until

from loomlib import local

TRACES = """
from opentelemetry import trace
with trace.get_tracer("tests").start_as_current_span("begins") as span:
    span.set_attribute("session.id", "SESSION")
"""
OTHER_REGION, OTHER_ACCOUNT = "eu-west-1", "111122223333"
DISCOVERY = {
    "authorizationServerMetadata": {
        "issuer": "https://example.com",
        "authorizationEndpoint": "https://example.com/authorize",
        "tokenEndpoint": "https://example.com/token",
    }
}
ROLE = "arn:aws:iam::123456789012:role/loom"
PUBLIC = {"networkConfiguration": {"networkMode": "PUBLIC"}}
# Each family of resources: what a new one needs, and the member that identifies it.
FAMILIES: dict[str, tuple[dict[str, Any], str]] = {
    "ApiKeyCredentialProvider": ({"apiKey": "k"}, "name"),
    "Browser": (PUBLIC, "browserId"),
    "BrowserProfile": ({}, "profileId"),
    "CodeInterpreter": (PUBLIC, "codeInterpreterId"),
    "Gateway": ({"roleArn": ROLE, "authorizerType": "AWS_IAM"}, "gatewayIdentifier"),
    "Memory": ({"eventExpiryDuration": 7}, "memoryId"),
    "Oauth2CredentialProvider": (
        {
            "credentialProviderVendor": "CustomOauth2",
            "oauth2ProviderConfigInput": {
                "customOauth2ProviderConfig": {"clientId": "c", "clientSecret": "s", "oauthDiscovery": DISCOVERY}
            },
        },
        "name",
    ),
    "WorkloadIdentity": ({}, "name"),
}
PARENTS_SAY = {
    "AgentRuntime",
    "AgentRuntimeEndpoint",
    "GatewayRateLimit",
    "GatewayRule",
    "GatewayTarget",
}  # tests of their own
BUNDLE = "arn:aws:bedrock-agentcore:eu-west-1:123456789012:configuration-bundle/prompts-aaaaaaaaaa"
LAMBDA = "arn:aws:lambda:eu-west-1:123456789012:function:f"
Make = Callable[..., Any]


@pytest.fixture
def client(aws: Any) -> Iterator[Make]:
    """Makes clients of any region, with the owner's keys unless others are given."""
    clients: list[Any] = []

    def make(service: str, region: str = OTHER_REGION, keys: dict[str, str] | None = None) -> Any:
        credentials = keys or {"AccessKeyId": aws.state.access_key, "SecretAccessKey": aws.state.secret_key}
        clients.append(
            boto3.client(
                service,
                endpoint_url=aws.state.url,
                region_name=region,
                aws_access_key_id=credentials["AccessKeyId"],
                aws_secret_access_key=credentials["SecretAccessKey"],
                aws_session_token=credentials.get("SessionToken"),
                config=Config(retries={"total_max_attempts": 1}),
            )
        )
        return clients[-1]

    yield make
    for item in clients:
        item.close()


def name_of(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:8]}"


def assumed(aws: Any, role_arn: str) -> dict[str, str]:
    return aws.client("sts").assume_role(RoleArn=role_arn, RoleSessionName="tests")["Credentials"]


def refused(call: Callable[..., Any], **parameters: Any) -> tuple[str, int]:
    with pytest.raises(ClientError) as error:
        call(**parameters)
    return error.value.response["Error"]["Code"], error.value.response["ResponseMetadata"]["HTTPStatusCode"]


def test_a_memory_is_of_one_region(aws: Any, client: Make) -> None:
    control, data = client("bedrock-agentcore-control"), client("bedrock-agentcore")
    name = name_of("memory")
    memory = control.create_memory(name=name, eventExpiryDuration=7)["memory"]
    same_name = aws.control.create_memory(name=name, eventExpiryDuration=7)["memory"]
    assert memory["arn"].startswith(f"arn:aws:bedrock-agentcore:{OTHER_REGION}:123456789012:memory/")
    assert same_name["arn"].startswith(f"arn:aws:bedrock-agentcore:{aws.state.region}:")
    event = {
        "actorId": "anna",
        "sessionId": "s" * 33,
        "eventTimestamp": datetime.now(UTC),
        "payload": [{"conversational": {"content": {"text": "hello"}, "role": "USER"}}],
    }
    data.create_event(memoryId=memory["id"], **event)
    assert data.list_sessions(memoryId=memory["arn"], actorId="anna")["sessionSummaries"]
    not_found = ("ResourceNotFoundException", 404)
    assert refused(aws.data.create_event, memoryId=memory["id"], **event) == not_found
    assert refused(aws.data.list_sessions, memoryId=memory["arn"], actorId="anna") == not_found
    search = {"namespace": "/", "searchCriteria": {"searchQuery": "hello"}}
    assert refused(aws.data.retrieve_memory_records, memoryId=memory["id"], **search) == not_found
    assert refused(aws.control.get_memory, memoryId=memory["id"]) == not_found
    assert refused(aws.control.get_memory, memoryId=memory["arn"]) == not_found
    assert refused(aws.control.update_memory, memoryId=memory["id"], description="d") == not_found
    assert refused(aws.control.delete_memory, memoryId=memory["id"]) == not_found
    assert refused(aws.control.tag_resource, resourceArn=memory["arn"], tags={"a": "b"}) == not_found
    assert control.get_memory(memoryId=memory["id"])["memory"]["name"] == name


def test_a_runtime_is_called_in_its_own_region(aws: Any, client: Make, echo: dict[str, Any]) -> None:
    elsewhere = client("bedrock-agentcore")
    arn, not_found = echo["agentRuntimeArn"], ("ResourceNotFoundException", 404)
    assert refused(elsewhere.invoke_agent_runtime, agentRuntimeArn=arn, payload=b"{}") == not_found
    assert refused(elsewhere.stop_runtime_session, agentRuntimeArn=arn, runtimeSessionId="s" * 33) == not_found
    control = client("bedrock-agentcore-control")
    assert refused(control.get_agent_runtime, agentRuntimeId=echo["agentRuntimeId"]) == not_found
    assert refused(control.list_agent_runtime_endpoints, agentRuntimeId=echo["agentRuntimeId"]) == not_found
    assert aws.invoke(arn)[0]["statusCode"] == 200


def test_identities_and_providers_are_of_one_region(aws: Any, client: Make) -> None:
    control, data = client("bedrock-agentcore-control"), client("bedrock-agentcore")
    name, not_found = name_of("identity"), ("ResourceNotFoundException", 404)
    workload = control.create_workload_identity(name=name)
    assert f":{OTHER_REGION}:" in workload["workloadIdentityArn"]
    assert refused(aws.control.get_workload_identity, name=name) == not_found
    assert refused(aws.control.delete_workload_identity, name=name) == not_found
    assert refused(aws.data.get_workload_access_token, workloadName=name)[0] == not_found[0]
    assert name not in {item["name"] for item in aws.control.list_workload_identities()["workloadIdentities"]}
    for side, value in ((control, "abroad"), (aws.control, "at home")):
        side.create_api_key_credential_provider(name=name, apiKey=value)
    aws.control.create_workload_identity(name=name)
    for side, value in ((data, "abroad"), (aws.data, "at home")):
        token = side.get_workload_access_token(workloadName=name)["workloadAccessToken"]
        arguments = {"workloadIdentityToken": token, "resourceCredentialProviderName": name}
        assert side.get_resource_api_key(**arguments)["apiKey"] == value
        other = aws.data if side is data else data
        assert refused(other.get_resource_api_key, **arguments)[1] in (400, 401, 403, 404)
    secret = {"customOauth2ProviderConfig": {"clientId": "c", "clientSecret": "s", "oauthDiscovery": DISCOVERY}}
    control.create_oauth2_credential_provider(
        name=name, credentialProviderVendor="CustomOauth2", oauth2ProviderConfigInput=secret
    )
    assert refused(aws.control.get_oauth2_credential_provider, name=name) == not_found
    assert aws.control.delete_api_key_credential_provider(name=name)["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert control.get_api_key_credential_provider(name=name)["name"] == name


def test_gateways_are_of_one_region_and_builtin_evaluators_of_all(aws: Any, client: Make) -> None:
    control, not_found = client("bedrock-agentcore-control"), ("ResourceNotFoundException", 404)
    name = name_of("tools")
    settings = {"roleArn": "arn:aws:iam::123456789012:role/loom", "authorizerType": "AWS_IAM"}
    gateway = control.create_gateway(name=name.replace("_", "-"), **settings)
    aws.control.create_gateway(name=name.replace("_", "-"), **settings)
    tool = {"mcp": {"lambda": {"lambdaArn": LAMBDA, "toolSchema": {"inlinePayload": []}}}}
    target = {"gatewayIdentifier": gateway["gatewayId"], "name": "first", "targetConfiguration": tool}
    assert refused(aws.control.create_gateway_target, **target) == not_found
    control.create_gateway_target(**target)
    assert f":{OTHER_REGION}:" in gateway["gatewayArn"]
    assert refused(aws.control.get_gateway, gatewayIdentifier=gateway["gatewayId"]) == not_found
    for family in ("targets", "rules", "rate_limits"):
        listed = getattr(aws.control, f"list_gateway_{family}")
        assert refused(listed, gatewayIdentifier=gateway["gatewayId"]) == not_found
    version = "11111111-1111-1111-1111-111111111111"
    bundle = {"bundleArn": BUNDLE, "bundleVersion": version}
    rule = {"priority": 1, "actions": [{"configurationBundle": {"staticOverride": bundle}}]}
    assert refused(aws.control.create_gateway_rule, gatewayIdentifier=gateway["gatewayId"], **rule) == not_found
    created_rule = control.create_gateway_rule(gatewayIdentifier=gateway["gatewayId"], **rule)
    place = {"gatewayIdentifier": gateway["gatewayId"], "ruleId": created_rule["ruleId"]}
    assert refused(aws.control.get_gateway_rule, **place) == not_found
    assert control.get_gateway_rule(**place)["ruleId"] == created_rule["ruleId"]
    assert gateway["gatewayId"] not in {item["gatewayId"] for item in aws.control.list_gateways()["items"]}
    for side, region in ((control, OTHER_REGION), (aws.control, aws.state.region)):
        assert side.get_evaluator(evaluatorId="Builtin.Helpfulness")["evaluatorName"] == "Builtin.Helpfulness"
        assert {item["evaluatorType"] for item in side.list_evaluators()["evaluators"]} >= {"Builtin"}, region


def identified(answer: dict[str, Any], member: str, name: str) -> tuple[str, str]:
    """The identifier and the ARN in the answer to a creation, which may be wrapped."""
    inner = next((value for value in answer.values() if isinstance(value, dict) and "arn" in value), answer)
    arn = next(value for key, value in inner.items() if key.lower().endswith("arn") and ":bedrock-agentcore:" in value)
    candidates = (member, member.replace("Identifier", "Id"), "id")
    return next((inner[key] for key in candidates if key in inner), name), arn


@pytest.mark.parametrize("noun", sorted(FAMILIES))
def test_every_family_of_resources_is_of_one_region(aws: Any, client: Make, noun: str) -> None:
    settings, member = FAMILIES[noun]
    name = name_of("family").replace("_", "-" if noun == "Gateway" else "_")
    abroad, verb = client("bedrock-agentcore-control"), xform_name(noun)
    arguments = {"name": name, **settings}
    identities = {
        region: identified(getattr(side, f"create_{verb}")(**arguments), member, name)
        for side, region in ((abroad, OTHER_REGION), (aws.control, aws.state.region))
    }
    listing = next(item for item in (f"list_{verb}s", f"list_{verb[:-1]}ies") if hasattr(abroad, item))
    for side, region in ((abroad, OTHER_REGION), (aws.control, aws.state.region)):
        (key, arn), (other_key, other_arn) = (
            identities[region],
            identities[next(item for item in identities if item != region)],
        )
        assert f":bedrock-agentcore:{region}:123456789012:" in arn
        listed = str(list(side.get_paginator(listing).paginate()))
        assert arn in listed or key in listed
        assert other_arn not in listed
        assert getattr(side, f"get_{verb}")(**{member: key})
        if other_key != key:
            for operation in (f"get_{verb}", f"delete_{verb}"):
                assert refused(getattr(side, operation), **{member: other_key}) == ("ResourceNotFoundException", 404)
        assert refused(side.list_tags_for_resource, resourceArn=other_arn) == ("ResourceNotFoundException", 404)
    getattr(aws.control, f"delete_{verb}")(**{member: identities[aws.state.region][0]})
    assert getattr(abroad, f"get_{verb}")(**{member: identities[OTHER_REGION][0]})


def test_no_family_is_without_a_test_of_its_regions(aws: Any) -> None:
    model = aws.control.meta.service_model
    nouns = {name.removeprefix("Create") for name in model.operation_names if name.startswith("Create")}
    missing: list[str] = []
    for noun in sorted(nouns - {*FAMILIES, *PARENTS_SAY}):
        parameters = minimal_parameters(model.operation_model(f"Create{noun}"))
        if refused(getattr(aws.control, f"create_{xform_name(noun)}"), **parameters) != (
            "NotImplementedException",
            501,
        ):
            missing.append(noun)
    assert not missing


def test_image_builds_and_repositories_are_of_one_region(aws: Any, client: Make) -> None:
    abroad, home, name = client("codebuild"), aws.client("codebuild"), name_of("build")
    abroad.create_project(
        name=name,
        source={"type": "S3", "location": f"nowhere/{name}.zip"},
        artifacts={"type": "NO_ARTIFACTS"},
        environment={
            "type": "ARM_CONTAINER",
            "image": "aws/codebuild/standard:7.0",
            "computeType": "BUILD_GENERAL1_SMALL",
        },
        serviceRole="arn:aws:iam::123456789012:role/loom",
    )
    build = abroad.start_build(projectName=name)["build"]
    assert f":{OTHER_REGION}:" in build["arn"]
    assert refused(home.start_build, projectName=name) == ("ResourceNotFoundException", 400)
    assert home.batch_get_builds(ids=[build["id"]])["buildsNotFound"] == [build["id"]]
    assert abroad.batch_get_builds(ids=[build["id"]])["builds"][0]["id"] == build["id"]
    client("ecr").create_repository(repositoryName=name.replace("_", "-"))
    assert name.replace("_", "-") not in {
        item["repositoryName"] for item in aws.client("ecr").describe_repositories()["repositories"]
    }


def test_the_key_of_a_role_acts_in_the_role_s_account(aws: Any, client: Make) -> None:
    keys = assumed(aws, f"arn:aws:iam::{OTHER_ACCOUNT}:role/deployer")
    region = aws.state.region
    control, data = (client(name, region, keys) for name in ("bedrock-agentcore-control", "bedrock-agentcore"))
    assert client("sts", region, keys).get_caller_identity()["Account"] == OTHER_ACCOUNT
    name = name_of("memory")
    memory = control.create_memory(name=name, eventExpiryDuration=7)["memory"]
    assert memory["arn"].startswith(f"arn:aws:bedrock-agentcore:{region}:{OTHER_ACCOUNT}:memory/")
    assert [item["id"] for item in control.list_memories()["memories"]] == [memory["id"]]
    assert memory["id"] not in {item["id"] for item in aws.control.list_memories()["memories"]}
    assert refused(aws.data.list_actors, memoryId=memory["id"])[0] == "ResourceNotFoundException"
    assert data.list_actors(memoryId=memory["id"])["actorSummaries"] == []
    table = {
        "TableName": name,
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    created = client("dynamodb", region, keys).create_table(**table)["TableDescription"]
    assert f":{OTHER_ACCOUNT}:" in created["TableArn"]
    assert name not in aws.client("dynamodb").list_tables()["TableNames"]


def test_a_role_of_the_local_iam_may_do_what_its_policies_say(aws: Any, client: Make) -> None:
    iam, name = aws.client("iam"), name_of("role")
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    statement = '{"Effect": "Allow", "Action": "bedrock-agentcore:ListMemories", "Resource": "*"}'
    iam.put_role_policy(
        RoleName=name, PolicyName="lists", PolicyDocument=f'{{"Version": "2012-10-17", "Statement": [{statement}]}}'
    )
    control = client("bedrock-agentcore-control", aws.state.region, assumed(aws, role))
    control.list_memories()
    assert refused(control.create_memory, name="denied", eventExpiryDuration=7) == ("AccessDeniedException", 403)


def test_the_key_of_a_role_needs_its_session_token(aws: Any, client: Make) -> None:
    keys = assumed(aws, f"arn:aws:iam::{OTHER_ACCOUNT}:role/deployer")
    for wrong in ({"SessionToken": "other"}, {"SessionToken": ""}):
        control = client("bedrock-agentcore-control", aws.state.region, {**keys, **wrong})
        assert refused(control.list_memories) == ("UnrecognizedClientException", 403)


def test_a_client_cannot_choose_its_account_by_a_header(aws: Any, client: Make) -> None:
    s3 = client("sts", aws.state.region)
    s3.meta.events.register(
        "before-sign.sts", lambda request, **_: request.headers.add_header("x-moto-account-id", OTHER_ACCOUNT)
    )
    assert s3.get_caller_identity()["Account"] == "123456789012"


def test_lines_and_spans_are_of_the_runtime_s_region(aws: Any, client: Make) -> None:
    control, data, logs = (client(name) for name in ("bedrock-agentcore-control", "bedrock-agentcore", "logs"))
    session = f"session-{uuid.uuid4().hex}-{uuid.uuid4().hex[:8]}"
    artifact = aws.upload({"agent.py": TRACES.replace("SESSION", session) + SDK_ECHO_AGENT})
    runtime = control.create_agent_runtime(
        agentRuntimeName=name_of("abroad"),
        agentRuntimeArtifact=artifact,
        roleArn="arn:aws:iam::123456789012:role/loom",
        networkConfiguration={"networkMode": "PUBLIC"},
    )
    identity = runtime["agentRuntimeId"]
    wait_until(lambda: control.get_agent_runtime(agentRuntimeId=identity)["status"] == "READY", what="the runtime")
    data.invoke_agent_runtime(agentRuntimeArn=runtime["agentRuntimeArn"], runtimeSessionId=session, payload=b"{}")[
        "response"
    ].read()
    group = f"/aws/bedrock-agentcore/runtimes/{identity}-DEFAULT"

    def events(of: Any, name: str, pattern: str) -> list[Any]:
        try:
            return of.filter_log_events(logGroupName=name, filterPattern=pattern)["events"]
        except of.exceptions.ResourceNotFoundException:
            return []

    wait_until(lambda: events(logs, group, f'"{session}"'), what="the agent's lines")
    assert any(group in item["arn"] and OTHER_REGION in item["arn"] for item in logs.describe_log_groups()["logGroups"])
    home_logs = aws.client("logs")
    assert home_logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"] == []
    assert refused(home_logs.describe_log_streams, logGroupName=group) == ("ResourceNotFoundException", 400)
    assert refused(home_logs.filter_log_events, logGroupName=group) == ("ResourceNotFoundException", 400)
    wait_until(lambda: events(logs, "aws/spans", f'"{session}"'), what="the agent's spans")
    assert events(home_logs, "aws/spans", f'"{session}"') == []
    ask = {"queryString": f'filter @message like "{session}" | stats count(*) as n', "startTime": 0, "endTime": 9**10}
    query = logs.start_query(logGroupNames=[group, "aws/spans"], **ask)["queryId"]
    answer = wait_until(
        lambda: (results := logs.get_query_results(queryId=query))["status"] == "Complete" and results, what="the query"
    )
    assert int(answer["results"][0][0]["value"]) >= 2
    assert refused(home_logs.get_query_results, queryId=query) == ("ResourceNotFoundException", 400)
    logs.delete_log_group(logGroupName=group)
    assert logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"] == []


def test_lines_of_all_regions_outlive_a_restart(start_service: Callable[..., Any]) -> None:
    aws = start_service()
    moment = int(datetime.now(UTC).timestamp() * 1000)

    def logs(of: Any, region: str) -> Any:
        keys = {"aws_access_key_id": of.state.access_key, "aws_secret_access_key": of.state.secret_key}
        return boto3.client("logs", endpoint_url=of.state.url, region_name=region, **keys)

    control = boto3.client(
        "bedrock-agentcore-control",
        endpoint_url=aws.state.url,
        region_name=OTHER_REGION,
        aws_access_key_id=aws.state.access_key,
        aws_secret_access_key=aws.state.secret_key,
    )
    runtime = control.create_agent_runtime(
        agentRuntimeName="abroad",
        agentRuntimeArtifact=aws.upload({"agent.py": f"print('kept', {moment})\n{ECHO_AGENT}"}),
        roleArn="arn:aws:iam::123456789012:role/loom",
        networkConfiguration={"networkMode": "PUBLIC"},
    )
    wait_until(
        lambda: control.get_agent_runtime(agentRuntimeId=runtime["agentRuntimeId"])["status"] == "READY", what="it"
    )
    data = boto3.client(
        "bedrock-agentcore",
        endpoint_url=aws.state.url,
        region_name=OTHER_REGION,
        aws_access_key_id=aws.state.access_key,
        aws_secret_access_key=aws.state.secret_key,
    )
    data.invoke_agent_runtime(agentRuntimeArn=runtime["agentRuntimeArn"], payload=b"{}")["response"].read()
    group = f"/aws/bedrock-agentcore/runtimes/{runtime['agentRuntimeId']}-DEFAULT"

    def lines(of: Any) -> list[Any]:
        client = logs(of, OTHER_REGION)
        if not client.describe_log_groups(logGroupNamePrefix=group)["logGroups"]:
            return []
        return client.filter_log_events(logGroupName=group, filterPattern=f'"{moment}"')["events"]

    wait_until(lambda: lines(aws), what="the line")
    local.stop(aws.state.home)
    again = start_service(aws.state.home)
    assert wait_until(lambda: lines(again), what="the restored line")
    assert logs(again, again.state.region).describe_log_groups(logGroupNamePrefix=group)["logGroups"] == []
