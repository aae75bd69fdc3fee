"""Resource-based policies of runtimes, endpoints, gateways and memories, through boto3 and the SDK's client."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from echo_agent import ECHO_AGENT

from loomlib import local
from loomlib.local.access.conditions import holds

ACCOUNT = "123456789012"
INVOKE = "bedrock-agentcore:InvokeAgentRuntime"
Make = Callable[[str, str], Any]


@pytest.fixture
def as_role(aws: Any) -> Iterator[Make]:
    """Makes a data-plane client of a role with these policies (a JSON list of statements, or nothing)."""
    with ExitStack() as clients:

        def make(name: str, statements: str) -> Any:
            iam = aws.client("iam")
            role = iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")["Role"]["Arn"]
            document = f'{{"Version": "2012-10-17", "Statement": {statements}}}'
            iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=document)
            keys = aws.client("sts").assume_role(RoleArn=role, RoleSessionName="tests")["Credentials"]
            client = boto3.client(
                "bedrock-agentcore",
                endpoint_url=aws.state.url,
                region_name=aws.state.region,
                aws_access_key_id=keys["AccessKeyId"],
                aws_secret_access_key=keys["SecretAccessKey"],
                aws_session_token=keys["SessionToken"],
                config=Config(retries={"total_max_attempts": 1}),
            )
            return clients.enter_context(closing(client))

        yield make


@pytest.fixture
def policies(aws: Any, echo: dict[str, Any]) -> Iterator[Callable[..., None]]:
    """Attaches policies to the runtime and its endpoint, and removes them."""
    attached: list[str] = []

    def attach(*statements: dict[str, Any], arn: str = echo["agentRuntimeArn"]) -> None:
        document = {"Version": "2012-10-17", "Statement": [{"Resource": arn, **statement} for statement in statements]}
        response = aws.control.put_resource_policy(resourceArn=arn, policy=json.dumps(document))
        assert json.loads(response["policy"]) == document
        assert aws.control.get_resource_policy(resourceArn=arn)["policy"] == response["policy"]
        attached.append(arn)

    yield attach
    for arn in set(attached):
        with suppress(aws.control.exceptions.ResourceNotFoundException):  # with its runtime
            aws.control.delete_resource_policy(resourceArn=arn)


def endpoint_of(echo: dict[str, Any]) -> str:
    return f"{echo['agentRuntimeArn']}/runtime-endpoint/DEFAULT"


def invoke(client: Any, echo: dict[str, Any]) -> str:
    """Return "answered", or the reason of the refusal."""
    try:
        answer = client.invoke_agent_runtime(agentRuntimeArn=echo["agentRuntimeArn"], payload=b"{}")
    except client.exceptions.AccessDeniedException as error:
        return error.response["Error"]["Message"]
    with answer["response"] as body:
        body.read()
    return "answered"


def allow(who: Any, action: str = INVOKE, **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Principal": who, "Action": action, **more}


def deny(who: Any, action: str = INVOKE, **more: Any) -> dict[str, Any]:
    return {**allow(who, action, **more), "Effect": "Deny"}


def test_only_a_named_role_may_call_and_the_owner_may_not(
    aws: Any, echo: dict[str, Any], as_role: Make, policies: Callable[..., None]
) -> None:
    name = f"gateway-{uuid.uuid4().hex[:8]}"
    may_call = json.dumps([{"Effect": "Allow", "Action": INVOKE, "Resource": f"{echo['agentRuntimeArn']}*"}])
    role_client, other = as_role(name, may_call), as_role(f"{name}-other", may_call)
    role = f"arn:aws:iam::{ACCOUNT}:role/{name}"
    assert (invoke(aws.data, echo), invoke(other, echo)) == ("answered", "answered")
    policies(allow({"AWS": role}), deny("*", Condition={"ArnNotEquals": {"aws:PrincipalArn": role}}))
    assert invoke(role_client, echo) == "answered"
    for client in (aws.data, other):
        assert "because of an explicit deny in a resource-based policy" in invoke(client, echo)


def test_a_role_without_permission_needs_both_policies(
    echo: dict[str, Any], as_role: Make, policies: Callable[..., None]
) -> None:
    name = f"partner-{uuid.uuid4().hex[:8]}"
    listing = '[{"Effect": "Allow", "Action": "bedrock-agentcore:ListAgentRuntimes", "Resource": "*"}]'
    partner, principal = as_role(name, listing), {"AWS": [f"arn:aws:iam::{ACCOUNT}:role/{name}"]}
    refused = "because no identity-based policy allows the bedrock-agentcore:InvokeAgentRuntime action"
    assert refused in invoke(partner, echo)
    policies(allow(principal))
    assert refused in invoke(partner, echo)
    policies(allow(principal), arn=endpoint_of(echo))
    assert invoke(partner, echo) == "answered"
    policies(allow({"AWS": f"arn:aws:iam::{ACCOUNT}:root"}), arn=endpoint_of(echo))  # leaves it to the role's policies
    assert refused in invoke(partner, echo)
    policies(deny({"AWS": ACCOUNT}), arn=endpoint_of(echo))
    assert "explicit deny" in invoke(partner, echo)


def test_a_token_needs_an_allow_for_everybody_once_a_policy_is_attached(
    aws: Any, policies: Callable[..., None]
) -> None:
    discovery = local.issuer_address(aws.state)
    runtime = aws.deploy(
        "by_token",
        ECHO_AGENT,
        authorizerConfiguration={"customJWTAuthorizer": {"discoveryUrl": discovery, "allowedClients": ["loom"]}},
    )
    arn, token = runtime["agentRuntimeArn"], local.issue_token(aws.state, "alice")
    url = f"{aws.state.url}/runtimes/{arn.replace(':', '%3A').replace('/', '%2F')}/invocations"

    def call() -> int:
        return httpx.post(url, headers={"Authorization": f"Bearer {token}"}, json={}, timeout=60).status_code

    assert call() == 200
    policies(allow("*", Condition={"StringEquals": {"aws:SourceVpce": "vpce-1"}}), arn=arn)
    assert call() == 403
    policies(allow({"AWS": f"arn:aws:iam::{ACCOUNT}:root"}), arn=arn)
    assert call() == 403
    policies(allow("*"), arn=arn)
    assert call() == 200
    aws.control.delete_agent_runtime(agentRuntimeId=runtime["agentRuntimeId"])
    with pytest.raises(aws.control.exceptions.ResourceNotFoundException):
        aws.control.get_resource_policy(resourceArn=arn)


def test_a_policy_of_a_memory_holds_for_its_operations(aws: Any, policies: Callable[..., None]) -> None:
    memory = aws.control.create_memory(name=f"m{uuid.uuid4().hex[:8]}", eventExpiryDuration=7)["memory"]
    aws.data.list_actors(memoryId=memory["id"])
    policies(deny("*", "bedrock-agentcore:ListActors"), arn=memory["arn"])
    with pytest.raises(ClientError, match="explicit deny in a resource-based policy"):
        aws.data.list_actors(memoryId=memory["id"])
    assert aws.control.get_memory(memoryId=memory["id"])["memory"]["id"] == memory["id"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"Resource": "*"}, "must contain exactly one resource ARN that matches"),
        ({"Action": "s3:GetObject"}, "must have Actions of bedrock-agentcore"),
        ({"Effect": "Perhaps"}, "Effect Allow or Deny"),
        ({"Principal": None}, "must have a Principal"),
        ({"NotAction": INVOKE}, "has NotAction"),
        ({"Condition": {"DateGreaterThan": {"aws:CurrentTime": "2026-01-01"}}}, "DateGreaterThan"),
        ({"Condition": []}, "Condition that is not an object"),
    ],
)
def test_a_policy_that_cannot_hold_is_refused(aws: Any, echo: dict[str, Any], change: Any, reason: str) -> None:
    arn = echo["agentRuntimeArn"]
    statement = {"Effect": "Allow", "Principal": "*", "Action": INVOKE, "Resource": arn, **change}
    with pytest.raises(aws.control.exceptions.ValidationException, match=reason):
        aws.control.put_resource_policy(
            resourceArn=arn, policy=json.dumps({"Version": "2012-10-17", "Statement": statement})
        )
    for policy in ("no JSON", "[]", '{"Version": "2012-10-17", "Statement": []}'):
        with pytest.raises(aws.control.exceptions.ValidationException, match="policy"):
            aws.control.put_resource_policy(resourceArn=arn, policy=policy)
    assert "policy" not in aws.control.get_resource_policy(resourceArn=arn)
    with pytest.raises(aws.control.exceptions.ResourceNotFoundException):
        aws.control.delete_resource_policy(resourceArn=arn)


def test_a_resource_of_another_region_or_none_is_not_found(aws: Any) -> None:
    for arn in (
        f"arn:aws:bedrock-agentcore:us-east-1:{ACCOUNT}:runtime/none-0123456789",
        f"arn:aws:bedrock-agentcore:eu-west-1:{ACCOUNT}:runtime/none-0123456789",
    ):
        with pytest.raises(aws.control.exceptions.ResourceNotFoundException, match="none-0123456789"):
            aws.control.get_resource_policy(resourceArn=arn)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"StringEquals": {"aws:SourceVpce": "vpce-1"}}, False),
        ({"StringNotEquals": {"aws:SourceVpce": "vpce-1"}}, True),
        ({"StringEqualsIfExists": {"aws:SourceVpce": "vpce-1"}}, True),
        ({"Null": {"aws:SourceVpce": "true"}}, True),
        ({"Null": {"aws:PrincipalArn": "true"}}, False),
        ({"IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "127.0.0.0/8"]}}, True),
        ({"NotIpAddress": {"aws:SourceIp": "127.0.0.1"}}, False),
        ({"Bool": {"aws:SecureTransport": "False"}}, False),
        ({"ArnLike": {"AWS:PRINCIPALARN": "arn:aws:iam::*:role/team-*"}}, True),
        ({"ArnNotEquals": {"aws:PrincipalArn": "arn:aws:iam::1:role/team-a"}}, False),
        ({"StringLike": {"aws:PrincipalArn": "*team?a"}, "Bool": {"aws:SecureTransport": "true"}}, True),
    ],
)
def test_conditions_hold_as_iam_says(condition: Any, expected: bool) -> None:
    context = {
        "aws:principalarn": "arn:aws:iam::1:role/team-a",
        "aws:sourceip": "127.0.0.1",
        "aws:securetransport": "true",
    }
    assert holds(condition, context) is expected
