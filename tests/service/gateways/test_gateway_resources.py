"""Gateways and their targets in the control plane."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError
from waiting import wait_until

ROLE = "arn:aws:iam::123456789012:role/loom"
LAMBDA = {"lambdaArn": "arn:aws:lambda:us-east-1:123456789012:function:f", "toolSchema": {"inlinePayload": []}}
TARGET = {"mcp": {"lambda": LAMBDA}}


@pytest.fixture
def gateway(aws: Any) -> dict[str, Any]:
    name = f"Tools-{uuid.uuid4().hex[:8]}"
    return aws.control.create_gateway(name=name, roleArn=ROLE, authorizerType="AWS_IAM")


def test_a_gateway_needs_no_protocol_and_is_ready(aws: Any, gateway: dict[str, Any]) -> None:
    assert gateway["status"] == "CREATING"
    assert gateway["gatewayId"] == gateway["gatewayId"].lower()
    description = aws.control.get_gateway(gatewayIdentifier=gateway["gatewayId"])
    assert (description["status"], description["name"]) == ("READY", gateway["name"])
    assert description["gatewayUrl"] == f"{aws.state.url}/gateways/{gateway['gatewayId']}/mcp"
    listed = {item["gatewayId"]: item for item in aws.control.list_gateways()["items"]}
    assert listed[gateway["gatewayId"]]["status"] == "READY"


def test_an_update_ends(aws: Any, gateway: dict[str, Any]) -> None:
    identity, settings = gateway["gatewayId"], {"name": gateway["name"], "roleArn": ROLE, "authorizerType": "AWS_IAM"}
    changed = aws.control.update_gateway(gatewayIdentifier=identity, description="changed", **settings)
    assert changed["status"] == "UPDATING"
    description = aws.control.get_gateway(gatewayIdentifier=identity)
    assert (description["status"], description["description"]) == ("READY", "changed")
    target = aws.control.create_gateway_target(gatewayIdentifier=identity, name="first", targetConfiguration=TARGET)
    target_ids = {"gatewayIdentifier": identity, "targetId": target["targetId"]}
    settled = ("READY", "FAILED", "UPDATE_UNSUCCESSFUL")
    wait_until(lambda: aws.control.get_gateway_target(**target_ids)["status"] in settled, what="the end of CREATING")
    updated = aws.control.update_gateway_target(**target_ids, name="second", targetConfiguration=TARGET)
    assert (updated["status"], updated["name"]) == ("UPDATING", "second")
    wait_until(lambda: aws.control.get_gateway_target(**target_ids)["status"] in settled, what="the end of UPDATING")
    assert aws.control.get_gateway_target(**target_ids)["status"] == "READY"
    aws.control.create_gateway_target(gatewayIdentifier=identity, name="first", targetConfiguration=TARGET)


def test_a_target_needs_no_name(aws: Any, gateway: dict[str, Any]) -> None:
    identity = gateway["gatewayId"]
    target = aws.control.create_gateway_target(gatewayIdentifier=identity, targetConfiguration=TARGET)
    assert target["gatewayArn"] == gateway["gatewayArn"]
    description = aws.control.get_gateway_target(gatewayIdentifier=identity, targetId=target["targetId"])
    assert (description["name"], description["protocolType"], description["credentialProviderConfigurations"]) == (
        target["name"],
        "MCP",
        [],
    )
    assert [item["targetId"] for item in aws.control.list_gateway_targets(gatewayIdentifier=identity)["items"]] == [
        target["targetId"]
    ]


def test_a_gateway_with_targets_is_not_deleted(aws: Any, gateway: dict[str, Any]) -> None:
    identity = gateway["gatewayId"]
    target = aws.control.create_gateway_target(gatewayIdentifier=identity, targetConfiguration=TARGET)
    with pytest.raises(ClientError, match="has targets associated"):
        aws.control.delete_gateway(gatewayIdentifier=identity)
    aws.control.delete_gateway_target(gatewayIdentifier=identity, targetId=target["targetId"])
    assert aws.control.delete_gateway(gatewayIdentifier=identity)["status"] == "DELETING"


def test_a_gateway_that_checks_tokens_needs_an_issuer(aws: Any) -> None:
    with pytest.raises(ClientError, match="requires an authorizerConfiguration"):
        aws.control.create_gateway(name="no-issuer", roleArn=ROLE, authorizerType="CUSTOM_JWT")


def test_a_target_does_not_take_the_name_of_another(aws: Any, gateway: dict[str, Any]) -> None:
    identity = gateway["gatewayId"]
    tool = {"name": "x", "description": "d", "inputSchema": {"type": "object"}}
    configuration = {"mcp": {"lambda": {**LAMBDA, "toolSchema": {"inlinePayload": [tool]}}}}
    target_ids = []
    for name in ("orders", "stock"):
        target = aws.control.create_gateway_target(
            gatewayIdentifier=identity, name=name, targetConfiguration=configuration
        )
        target_ids.append({"gatewayIdentifier": identity, "targetId": target["targetId"]})
    for ids in target_ids:
        wait_until(lambda ids=ids: aws.control.get_gateway_target(**ids)["status"] == "READY", what="the targets")
    with pytest.raises(aws.control.exceptions.ConflictException, match="name orders already exists"):
        aws.control.update_gateway_target(**target_ids[1], name="orders", targetConfiguration=configuration)
    assert aws.control.get_gateway_target(**target_ids[1])["name"] == "stock"


def test_a_tool_schema_that_is_nested_too_deeply_fails_with_its_reason(make_gateway: Any, aws: Any) -> None:
    bucket = f"schemas-{uuid.uuid4().hex[:8]}"
    aws.client("s3").create_bucket(Bucket=bucket)
    aws.client("s3").put_object(Bucket=bucket, Key="tools.json", Body=b"[" * 100_000)
    schema = {"s3": {"uri": f"s3://{bucket}/tools.json"}}
    target = make_gateway().add("orders", {"lambda": {**LAMBDA, "toolSchema": schema}})
    assert (target["status"], target["statusReasons"]) == ("FAILED", ["The tool schema is not JSON"])
