"""Smithy targets: services of the local AWS, whose operations are tools and are called with the gateway's role."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from test_gateway_calls import ask, call

import loomlib as loom

ROLE_CREDENTIALS = [{"credentialProviderType": "GATEWAY_IAM_ROLE"}]
MODELS = Path(__file__).parents[2] / "data" / "smithy"


def model(name: str) -> dict[str, Any]:
    return json.loads((MODELS / f"{name}.json").read_text("utf-8"))


def add(gateway: Any, name: str, document: dict[str, Any]) -> dict[str, Any]:
    configuration = {"smithyModel": {"inlinePayload": json.dumps(document)}}
    return gateway.add(name, configuration, credentialProviderConfigurations=ROLE_CREDENTIALS)


def result(answer: dict[str, Any]) -> Any:
    assert not answer["isError"], answer
    return json.loads(answer["content"][0]["text"])


def test_operations_of_aws_json_read_and_write_the_local_service(make_gateway: Any, aws: Any) -> None:
    gateway, dynamodb, table = make_gateway(exceptionLevel="DEBUG"), aws.client("dynamodb"), f"t-{uuid.uuid4().hex[:8]}"
    dynamodb.create_table(
        TableName=table,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    target = add(gateway, "orders", model("dynamodb"))
    assert target["status"] == "READY", target["statusReasons"]
    tools = {tool["name"]: tool for tool in ask(gateway.url, "tools/list")["result"]["tools"]}
    assert set(tools) == {"orders___PutItem", "orders___GetItem"}
    schema = tools["orders___PutItem"]["inputSchema"]
    assert (schema["required"], tools["orders___PutItem"]["description"]) == (["TableName", "Item"], "Stores an item.")
    value = schema["properties"]["Item"]["additionalProperties"]
    assert value["properties"]["L"] == {"type": "array", "items": {}}  # a value contains itself
    call(gateway.url, "orders___PutItem", TableName=table, Item={"id": {"S": "7"}, "parts": {"L": [{"N": "1"}]}})
    assert dynamodb.get_item(TableName=table, Key={"id": {"S": "7"}})["Item"]["parts"] == {"L": [{"N": "1"}]}
    output = result(call(gateway.url, "orders___GetItem", TableName=table, Key={"id": {"S": "7"}}))
    assert output["Item"]["id"] == {"S": "7"}
    missing = call(gateway.url, "orders___GetItem", TableName="none", Key={"id": {"S": "7"}})
    assert missing["isError"]
    assert "ResourceNotFoundException" in missing["content"][0]["text"]


def test_operations_of_rest_json_fill_the_path_and_the_query(make_gateway: Any, aws: Any) -> None:
    gateway, apis = make_gateway(exceptionLevel="DEBUG"), aws.client("apigateway")
    api = apis.create_rest_api(name=f"api-{uuid.uuid4().hex[:8]}")
    assert add(gateway, "apis", model("apigateway"))["status"] == "READY"
    output = result(call(gateway.url, "apis___GetRestApi", restApiId=api["id"]))
    assert output["name"] == api["name"]
    child = result(
        call(gateway.url, "apis___CreateResource", restApiId=api["id"], parentId=api["rootResourceId"], pathPart="a")
    )
    assert child["path"] == "/a"
    for path in ("..", "", "none/../../restapis"):
        assert call(gateway.url, "apis___GetRestApi", restApiId=path)["isError"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"aws.protocols#restXml": {}}, "uses restXml; a gateway supports restJson1, awsJson1_1, awsJson1_0"),
        ({"aws.protocols#restJson1": {}}, "has no trait aws.auth#sigv4"),
        ({"aws.auth#sigv4": {"name": "a"}}, "uses no protocol"),
    ],
)
def test_a_service_that_a_gateway_cannot_call_is_refused_by_name(
    make_gateway: Any, change: dict[str, Any], message: str
) -> None:
    document = {"smithy": "2.0", "shapes": {"a#S": {"type": "service", "traits": change}}}
    target = add(make_gateway(), "other", document)
    assert target["status"] == "FAILED"
    assert message in target["statusReasons"][0]


def test_a_role_without_permission_gets_the_service_s_refusal(make_gateway: Any, aws: Any) -> None:
    trust = {"Effect": "Allow", "Principal": {"Service": "bedrock-agentcore.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    name = f"gateway-{uuid.uuid4().hex[:8]}"
    role = aws.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]
    gateway = make_gateway(roleArn=role)
    add(gateway, "orders", model("dynamodb"))
    refused = call(gateway.url, "orders___GetItem", TableName="t", Key={"id": {"S": "7"}})
    assert refused["isError"]
    assert "AccessDenied" in refused["content"][0]["text"]


def test_a_notebook_adds_a_model_by_its_path(aws: Any) -> None:
    name = f"tools-{uuid.uuid4().hex[:8]}"
    with loom.connect(home=str(aws.state.home)) as bench, bench.gateways.create(name) as gateway:
        assert gateway.add_smithy("orders", MODELS / "dynamodb.json").status == "READY"
        assert set(gateway.tools()["name"]) == {"orders___PutItem", "orders___GetItem"}
