"""Stages of API Gateway as targets: methods of the local API Gateway answer as Lambda functions, HTTP and mocks."""

from __future__ import annotations

import json
import socket
import uuid
from typing import Any

import pytest
from test_gateway_calls import ask, call

import loomlib as loom

PROXY = """
import json


def handle(event, context):
    if event["pathParameters"]["petId"] == "bad":
        return {"no": "proxy response"}
    if event["pathParameters"]["petId"] == "flood":
        return {"statusCode": 200, "body": "x" * 6_100_000}
    return {"statusCode": 200, "body": json.dumps(event)}
"""
MODEL = json.dumps({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})


class Api:
    """A REST API and its stage."""

    def __init__(self, apis: Any) -> None:
        self.apis = apis
        api = apis.create_rest_api(name=f"pets-{uuid.uuid4().hex[:8]}")
        self.id, self.resources = api["id"], {"": api["rootResourceId"]}

    def method(self, path: str, name: str, integration: dict[str, Any], **more: Any) -> None:
        above = ""
        for part in path.strip("/").split("/"):
            below = f"{above}/{part}"
            if below not in self.resources:
                resource = self.apis.create_resource(restApiId=self.id, parentId=self.resources[above], pathPart=part)
                self.resources[below] = resource["id"]
            above = below
        method_ref = {"restApiId": self.id, "resourceId": self.resources[above], "httpMethod": name}
        self.apis.put_method(**method_ref, **{"authorizationType": "NONE", **more})
        if integration:
            self.apis.put_integration(**method_ref, **integration)
        if integration.get("type") == "MOCK":
            self.apis.put_method_response(**method_ref, statusCode="200")
            templates = {"application/json": '{"pets": []}'}
            self.apis.put_integration_response(**method_ref, statusCode="200", responseTemplates=templates)

    def target(self, *filters: tuple[str, list[str]], **overrides: Any) -> dict[str, Any]:
        self.apis.create_deployment(restApiId=self.id, stageName="prod", variables={"colour": "red"})
        tools = {"toolFilters": [{"filterPath": path, "methods": methods} for path, methods in filters]}
        return {
            "apiGateway": {"restApiId": self.id, "stage": "prod", "apiGatewayToolConfiguration": {**tools, **overrides}}
        }


@pytest.fixture
def api(aws: Any) -> Api:
    return Api(aws.client("apigateway"))


def function(arn: str) -> dict[str, Any]:
    uri = f"arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/{arn}/invocations"
    return {"type": "AWS_PROXY", "integrationHttpMethod": "POST", "uri": uri}


MOCK = {"type": "MOCK", "requestTemplates": {"application/json": '{"statusCode": 200}'}}


def http(address: str, **mapped: str) -> dict[str, Any]:
    parameters = {f"integration.request.path.{name}": f"method.request.path.{name}" for name in mapped}
    return {"type": "HTTP_PROXY", "integrationHttpMethod": "ANY", "uri": address, "requestParameters": parameters}


def test_methods_are_tools_and_answer_by_their_integrations(
    make_gateway: Any, make_function: Any, api: Api, stock: str, request: pytest.FixtureRequest
) -> None:
    gateway = make_gateway(exceptionLevel="DEBUG")
    query = {"method.request.querystring.fields": False}
    api.method("/pets/{petId}", "GET", function(make_function(PROXY)), operationName="getPet", requestParameters=query)
    api.method("/pets", "GET", MOCK)
    api.apis.create_model(restApiId=api.id, name="Item", contentType="application/json", schema=MODEL)
    models = {"application/json": "Item"}
    api.method("/items", "POST", http(f"{stock}/items"), operationName="addItem", requestModels=models)
    api.method("/items/{id}", "GET", http(f"{stock}/items/{{id}}", id=""), operationName="getItem")
    api.method("/flood", "GET", http(f"{stock}/flood"), operationName="flood")
    silent = socket.create_server(("127.0.0.1", 0))  # takes connections and never answers
    request.addfinalizer(silent.close)
    slow = {**http(f"http://127.0.0.1:{silent.getsockname()[1]}"), "timeoutInMillis": 50}
    api.method("/silent", "GET", slow, operationName="silent")
    override = {"path": "/pets", "method": "GET", "name": "listPets", "description": "Lists all pets"}
    filters = [
        ("/pets", ["GET"]),
        ("/pets/*", ["GET"]),
        ("/items", ["POST"]),
        ("/items/*", ["GET"]),
        ("/flood", ["GET"]),
        ("/silent", ["GET"]),
    ]
    target = gateway.add("pets", api.target(*filters, toolOverrides=[override]))
    assert target["status"] == "READY", target["statusReasons"]
    tools = {tool["name"]: tool for tool in ask(gateway.url, "tools/list")["result"]["tools"]}
    assert set(tools) == {f"pets___{name}" for name in ("listPets", "getPet", "addItem", "getItem", "flood", "silent")}
    assert tools["pets___listPets"]["description"] == "Lists all pets"
    assert tools["pets___addItem"]["inputSchema"]["required"] == ["name"]

    assert call(gateway.url, "pets___listPets")["content"][0]["text"] == '{"pets": []}'
    event = json.loads(call(gateway.url, "pets___getPet", petId="a/b", fields="name")["content"][0]["text"])
    assert (event["resource"], event["path"], event["pathParameters"]) == (
        "/pets/{petId}",
        "/pets/a%2Fb",
        {"petId": "a/b"},
    )
    assert (event["queryStringParameters"], event["stageVariables"]) == ({"fields": "name"}, {"colour": "red"})
    assert event["requestContext"]["stage"] == "prod"
    added = json.loads(call(gateway.url, "pets___addItem", name="bolt")["content"][0]["text"])
    assert added["added"] == {"name": "bolt"}
    assert json.loads(call(gateway.url, "pets___getItem", id="7")["content"][0]["text"])["path"] == "/items/7"

    for tool, arguments, message in (
        ("getPet", {"petId": "bad"}, "answered 502"),
        ("getPet", {"petId": "flood"}, "returned more than 6,000,000 bytes"),
        ("flood", {}, "returned more than 6,000,000 bytes"),
        ("silent", {}, "did not answer within 0.05 s"),
        ("getItem", {"id": ".."}, "cannot be part of a path"),
    ):
        refused = call(gateway.url, f"pets___{tool}", **arguments)
        assert refused["isError"]
        assert message in refused["content"][0]["text"]


@pytest.mark.parametrize(
    ("integration", "more", "message"),
    [
        ({"type": "AWS", "integrationHttpMethod": "POST", "uri": "arn:aws:apigateway:us-east-1:sqs:path/q"}, {}, "AWS"),
        (MOCK, {"authorizationType": "COGNITO_USER_POOLS", "authorizerId": "abc"}, "authorizer (COGNITO_USER_POOLS)"),
        ({**MOCK, "requestTemplates": {"application/json": "$input.json('$')"}}, {}, "does not run mapping templates"),
        ({}, {}, "has no integration"),
        (MOCK, {"operationName": ""}, "has no operation name"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_name(
    make_gateway: Any, api: Api, integration: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    api.method("/other", "POST", MOCK, operationName="other")
    api.method("/pets", "GET", integration, **{"operationName": "pets", **more})
    target = make_gateway().add("pets", api.target(("/pets", ["GET"])))
    assert target["status"] == "FAILED"
    assert message in target["statusReasons"][0]


def test_a_stage_or_a_path_that_is_missing_is_named(make_gateway: Any, api: Api) -> None:
    api.method("/pets", "GET", MOCK, operationName="pets")
    good = api.target(("/pets", ["GET"]))["apiGateway"]
    tools = {"toolFilters": [{"filterPath": "/none/*", "methods": ["GET"]}]}
    for change, message in (
        ({"stage": "none"}, "no stage none"),
        ({"restApiId": "none"}, "REST API none does not exist"),
        ({"apiGatewayToolConfiguration": tools}, "The filter /none/* GET does not match any method"),
    ):
        assert message in make_gateway().add("pets", {"apiGateway": {**good, **change}})["statusReasons"][0]


def test_a_method_that_needs_a_signature_or_a_key_gets_them_from_the_target(
    make_gateway: Any, aws: Any, api: Api
) -> None:
    gateway = make_gateway()
    api.method("/iam", "GET", MOCK, operationName="iam", authorizationType="AWS_IAM")
    api.method("/key", "GET", MOCK, operationName="key", apiKeyRequired=True)
    target = api.target(("/iam", ["GET"]), ("/key", ["GET"]))
    key = api.apis.create_api_key(name="k", enabled=True, value="k" * 24)
    plan = api.apis.create_usage_plan(name="p", apiStages=[{"apiId": api.id, "stage": "prod"}])
    api.apis.create_usage_plan_key(usagePlanId=plan["id"], keyId=key["id"], keyType="API_KEY")
    provider = aws.control.create_api_key_credential_provider(name=f"key-{gateway.id}", apiKey="k" * 24)
    vault = {"providerArn": provider["credentialProviderArn"], "credentialParameterName": "x-api-key"}
    with_key = {"credentialProviderType": "API_KEY", "credentialProvider": {"apiKeyCredentialProvider": vault}}
    signed = {"credentialProviderType": "GATEWAY_IAM_ROLE"}
    gateway.add("none", target)
    gateway.add("signed", target, credentialProviderConfigurations=[signed])
    gateway.add("keyed", target, credentialProviderConfigurations=[with_key])
    failed = {
        f"{name}___{tool}": call(gateway.url, f"{name}___{tool}")["isError"]
        for name in ("none", "signed", "keyed")
        for tool in ("iam", "key")
    }
    assert failed == {
        "none___iam": True,
        "none___key": True,
        "signed___iam": False,
        "signed___key": True,
        "keyed___iam": True,
        "keyed___key": False,
    }


def test_a_notebook_adds_a_stage(aws: Any, api: Api) -> None:
    api.method("/pets", "GET", MOCK)
    api.target(("/pets", ["GET"]))
    override = {"path": "/pets", "method": "GET", "name": "listPets"}
    name = f"tools-{uuid.uuid4().hex[:8]}"
    with loom.connect(home=str(aws.state.home)) as bench, bench.gateways.create(name) as gateway:
        gateway.add_api("pets", api.id, stage="prod", paths={"/pets": ["GET"]}, overrides=[override])
        assert gateway.call("pets___listPets").ok
