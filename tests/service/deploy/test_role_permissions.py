"""A real agent on the local AgentCore, under the role that is generated from its code."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loomlib.aws import Clients, Connection
from loomlib.aws.functions import create_function, zip_code
from loomlib.aws.roles import create_role, put_role_policy
from loomlib.deploy.code_uses import find_uses
from loomlib.deploy.policies import AwsPlace, RolePolicy, role_policy
from loomlib.deploy.spec import AgentSpec, ResourceBinding, ResourceSpec

AGENT = """\
import json
import os

import boto3
from bedrock_agentcore.memory import MemoryClient
from bedrock_agentcore.runtime import BedrockAgentCoreApp
from botocore.exceptions import ClientError

app = BedrockAgentCoreApp()
MODEL_ID = "global.anthropic.claude-sonnet-4-6"
BUCKET = os.environ.get("MANUALS", "")
s3 = boto3.client("s3")


def ask_model():
    messages = [{"role": "user", "content": [{"text": "hello"}]}]
    return boto3.client("bedrock-runtime").converse(modelId=MODEL_ID, messages=messages)["stopReason"]


def read_manual(name):
    return s3.get_object(Bucket=BUCKET, Key=f"manuals/{name}.md")["Body"].read().decode()


def list_manuals():
    return [item["Key"] for item in s3.list_objects_v2(Bucket=BUCKET, Prefix="manuals/")["Contents"]]


def read_secret():
    return boto3.client("secretsmanager").get_secret_value(SecretId=os.environ["API_KEY"])["SecretString"]


def call_function():
    return json.loads(boto3.client("lambda").invoke(FunctionName="orders-api")["Payload"].read())


def remember():
    memory = MemoryClient(region_name=os.environ["AWS_REGION"])
    made = memory.create_event(os.environ["LOOM_MEMORY_ID"], "ann", "s" * 40, messages=[("hi", "USER")])
    return bool(made["eventId"])


@app.entrypoint
def answer(payload):
    try:
        if payload["do"] == "anything":
            client = boto3.client(payload["service"])
            getattr(client, payload["operation"])(**payload["parameters"])
            return {"result": "done"}
        actions = {
            "model": ask_model,
            "read": lambda: read_manual("pump"),
            "list": list_manuals,
            "secret": read_secret,
            "function": call_function,
            "memory": remember,
        }
        return {"result": actions[payload["do"]]()}
    except ClientError as error:
        return {"code": error.response["Error"]["Code"], "message": error.response["Error"]["Message"]}


app.run()
"""
FUNCTION = "def handle(event, context):\n    return {'orders': 3}\n"


class Shop:
    """The agent, its generated policy, and its answers."""

    def __init__(self, aws: Any, arn: str, policy: RolePolicy) -> None:
        self.aws, self.arn, self.policy = aws, arn, policy

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        return json.loads(self.aws.invoke(self.arn, json.dumps({"do": do, **more}).encode())[1])


@pytest.fixture(scope="module")
def clients(service: Any) -> Iterator[Clients]:
    with contextlib.closing(Clients(Connection(region=service.region, environment=service.environment()))) as clients:
        yield clients


@pytest.fixture(scope="module")
def shop(aws: Any, clients: Clients, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    folder: Path = tmp_path_factory.mktemp("shop")
    (folder / "agent.py").write_text(AGENT)
    aws.client("s3").create_bucket(Bucket="shop-manuals")
    aws.client("s3").put_object(Bucket="shop-manuals", Key="manuals/pump.md", Body=b"Press the button.")
    aws.client("s3").put_object(Bucket="shop-manuals", Key="private/wages.md", Body=b"no")
    aws.client("secretsmanager").create_secret(Name="shop/key", SecretString="sesame")
    aws.client("secretsmanager").create_secret(Name="shop/other", SecretString="hidden")
    role = create_role(clients, "shop-functions", trust={"Version": "2012-10-17", "Statement": []}, tags={})
    file = folder / "orders.py"
    file.write_text(FUNCTION)
    create_function(clients, "orders-api", zip_code(file)[0], handler="orders.handle", role_arn=role)
    file.unlink()
    memory = aws.control.create_memory(name="shop_memory", eventExpiryDuration=30)["memory"]["id"]
    spec = AgentSpec(
        name="shop_agent",
        environment={"MANUALS": "shop-manuals"},
        secrets={"API_KEY": "shop/key"},
        resources=ResourceSpec(memories=(ResourceBinding(resource=memory, variable="LOOM_MEMORY_ID"),)),
    )
    place = AwsPlace(account=clients.account_id(), region=clients.region)
    policy = role_policy(spec, find_uses(folder), place)
    arn = create_role(clients, "shop-agent", trust=policy.trust, tags={})
    put_role_policy(clients, "shop-agent", policy.document())
    variables = {"MANUALS": "shop-manuals", "API_KEY": "shop/key", "LOOM_MEMORY_ID": memory}
    runtime = aws.control.create_agent_runtime(
        agentRuntimeName="shop_agent",
        agentRuntimeArtifact=aws.upload({"agent.py": AGENT}),
        roleArn=arn,
        networkConfiguration={"networkMode": "PUBLIC"},
        environmentVariables=variables,
    )
    description = aws.settled(runtime["agentRuntimeId"])
    assert description["status"] == "READY", description
    return Shop(aws, description["agentRuntimeArn"], policy)


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        ("model", "end_turn"),
        ("read", "Press the button."),
        ("list", ["manuals/pump.md"]),
        ("secret", "sesame"),
        ("function", {"orders": 3}),
        ("memory", True),
    ],
)
def test_the_generated_role_allows_what_the_code_does(shop: Shop, do: str, expected: Any) -> None:
    assert shop.ask(do) == {"result": expected}


@pytest.mark.parametrize(
    ("name", "operation", "parameters", "action"),
    [
        ("s3", "put_object", {"Bucket": "shop-manuals", "Key": "manuals/new.md", "Body": "x"}, "s3:PutObject"),
        ("s3", "get_object", {"Bucket": "shop-manuals", "Key": "private/wages.md"}, "s3:GetObject"),
        ("s3", "list_objects_v2", {"Bucket": "shop-manuals"}, "s3:ListBucket"),
        ("secretsmanager", "get_secret_value", {"SecretId": "shop/other"}, "secretsmanager:GetSecretValue"),
        ("lambda", "invoke", {"FunctionName": "another"}, "lambda:InvokeFunction"),
        ("dynamodb", "list_tables", {}, "dynamodb:ListTables"),
        (
            "bedrock-runtime",
            "converse",
            {"modelId": "amazon.nova-lite-v1:0", "messages": [{"role": "user", "content": [{"text": "hi"}]}]},
            "bedrock:InvokeModel",
        ),
    ],
)
def test_the_generated_role_denies_one_more_operation_and_one_more_resource(
    shop: Shop, name: str, operation: str, parameters: dict[str, Any], action: str
) -> None:
    denied = shop.ask("anything", service=name, operation=operation, parameters=parameters)
    assert denied.get("code") in ("AccessDenied", "AccessDeniedException"), denied
    assert f"is not authorized to perform: {action} on resource" in denied["message"]


def test_what_the_code_decides_at_run_time_is_named_with_its_line(shop: Shop) -> None:
    line = 1 + AGENT.splitlines().index('            client = boto3.client(payload["service"])')
    assert [(item.place, item.what) for item in shop.policy.unresolved] == [
        (f"agent.py:{line}", "The client's service is chosen at run time")
    ]
    own = [statement for statement in shop.policy.statements if statement.places]
    assert own
    assert "*" not in {arn for statement in own for arn in statement.resources}
