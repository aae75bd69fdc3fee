"""A session's key may do what its runtime's role says, and ends with the session."""

from __future__ import annotations

import http.client
import json
import re
import time
from contextlib import closing
from typing import Any

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from waiting import wait_until

from loomlib.local.access.actions import is_signed_for
from loomlib.local.access.keys import Key, Keyring, SessionPrincipal
from loomlib.local.access.policies import decision, default_statements, read_statements

ROLE = "arn:aws:iam::123456789012:role/described"
AGENT = """
import json
import os
import urllib.request

import boto3
from bedrock_agentcore.runtime import BedrockAgentCoreApp
from botocore.config import Config
from botocore.exceptions import ClientError

app = BedrockAgentCoreApp()


@app.entrypoint
def answer(payload):
    if payload.get("keys"):
        spans = {name: value for name, value in os.environ.items() if name.startswith(("AWS_", "OTEL_"))}
        return spans
    if payload["service"] == "presigned":
        address = boto3.client("sts").generate_presigned_url("get_caller_identity", HttpMethod="GET")
        return {"text": urllib.request.urlopen(address).read().decode()}
    client = boto3.client(payload["service"], config=Config(retries={"total_max_attempts": 1}))
    if scope := payload.get("scope"):
        client.meta.events.register("before-sign", lambda request, **_: request.context.update(signing=scope))
    try:
        given = getattr(client, payload["operation"])(**payload["parameters"])
    except ClientError as error:
        return {"code": error.response["Error"]["Code"], "message": error.response["Error"]["Message"]}
    given.pop("ResponseMetadata", None)
    return {"code": "", "members": sorted(given), "answer": given if payload["service"] == "sts" else None}


app.run()
"""


class Caller:
    """An agent that makes calls to AWS with the key of its session."""

    def __init__(self, aws: Any, runtime: dict[str, Any], memory: str, other: str) -> None:
        self.aws, self.runtime, self.memory, self.other = aws, runtime, memory, other
        self.session = "s" * 40

    def ask(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        payload = {"service": service, "operation": operation, "parameters": parameters}
        return self.send(payload)

    def send(self, payload: dict[str, Any]) -> dict[str, Any]:
        arn = self.runtime["agentRuntimeArn"]
        return json.loads(self.aws.invoke(arn, json.dumps(payload).encode(), runtimeSessionId=self.session)[1])

    @property
    def group(self) -> str:
        return f"/aws/bedrock-agentcore/runtimes/{self.runtime['agentRuntimeId']}-DEFAULT"


@pytest.fixture(scope="module")
def caller(aws: Any) -> Caller:
    memory_id, other_memory_id = (
        aws.control.create_memory(name=name, eventExpiryDuration=30)["memory"]["id"] for name in ("given", "other")
    )
    runtime = aws.deploy("caller", AGENT, environmentVariables={"LOOM_MEMORY_ID": memory_id})
    return Caller(aws, runtime, memory_id, other_memory_id)


@pytest.fixture(scope="module")
def denied(aws: Any, caller: Caller) -> Caller:
    """An agent whose role may do everything but what S3 has."""
    aws.client("iam").create_role(RoleName="no-s3", AssumeRolePolicyDocument="{}")
    statements = [{"Effect": "Allow", "Action": "*", "Resource": "*"}]
    statements.append({"Effect": "Deny", "Action": "s3:*", "Resource": "*"})
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    aws.client("iam").put_role_policy(RoleName="no-s3", PolicyName="inline", PolicyDocument=document)
    aws.client("s3").create_bucket(Bucket="kept")
    aws.client("s3").put_object(Bucket="kept", Key="a", Body=b"x")
    created = aws.control.create_agent_runtime(
        agentRuntimeName="denied",
        agentRuntimeArtifact=aws.upload({"agent.py": AGENT}),
        roleArn="arn:aws:iam::123456789012:role/no-s3",
        networkConfiguration={"networkMode": "PUBLIC"},
    )
    return Caller(aws, aws.settled(created["agentRuntimeId"]), caller.memory, caller.other)


def event(memory: str) -> dict[str, Any]:
    return {
        "memoryId": memory,
        "actorId": "ann",
        "sessionId": "s" * 40,
        "eventTimestamp": 1_795_294_030,
        "payload": [{"conversational": {"role": "USER", "content": {"text": "hi"}}}],
    }


def generation(model: str = "amazon.nova-lite-v1:0", **more: Any) -> dict[str, Any]:
    arn = f"arn:aws:bedrock:us-east-1::foundation-model/{model}"
    knowledge = {"knowledgeBaseId": "ABCDEFGHIJ", "modelArn": arn, **more}
    configuration = {"type": "KNOWLEDGE_BASE", "knowledgeBaseConfiguration": knowledge}
    return {"input": {"text": "hello"}, "retrieveAndGenerateConfiguration": configuration}


def test_models_its_own_log_group_and_the_memories_it_was_given_are_allowed(caller: Caller) -> None:
    messages = [{"role": "user", "content": [{"text": "hello"}]}]
    stream = {"logGroupName": caller.group, "logStreamName": "own"}
    lines = [{"timestamp": int(time.time() * 1000), "message": "a line of its own"}]
    for service, operation, parameters in (
        ("bedrock-runtime", "converse", {"modelId": "loom.scripted", "messages": messages}),
        ("bedrock-agentcore", "create_event", event(caller.memory)),
        ("bedrock-agentcore", "list_events", {"memoryId": caller.memory, "actorId": "ann", "sessionId": "s" * 40}),
        ("bedrock-agentcore-control", "get_memory", {"memoryId": caller.memory}),
        ("logs", "create_log_stream", stream),
        ("logs", "put_log_events", {**stream, "logEvents": lines}),
        ("sts", "get_caller_identity", {}),
    ):
        assert caller.ask(service, operation, **parameters)["code"] == "", (service, operation)


def test_a_session_is_its_runtimes_role_by_header_and_by_presigned_address(caller: Caller) -> None:
    pattern = r"arn:aws:sts::123456789012:assumed-role/loom/BedrockAgentCore-[\w-]+"
    identity = caller.ask("sts", "get_caller_identity")
    assert re.fullmatch(pattern, identity["answer"]["Arn"])
    assert re.fullmatch(r"AROA\w{17}:BedrockAgentCore-[\w-]+", identity["answer"]["UserId"])
    assert identity["answer"]["Account"] == "123456789012"
    assert identity["answer"]["Arn"] in caller.ask("presigned", "")["text"]


@pytest.mark.parametrize(
    ("name", "operation", "action"),
    [
        ("bedrock-agentcore-control", "list_agent_runtimes", "bedrock-agentcore:ListAgentRuntimes"),
        ("bedrock-agentcore-control", "get_agent_runtime", "bedrock-agentcore:GetAgentRuntime"),
        ("bedrock-agentcore-control", "delete_agent_runtime", "bedrock-agentcore:DeleteAgentRuntime"),
        ("bedrock-agentcore-control", "delete_memory", "bedrock-agentcore:DeleteMemory"),
        ("bedrock-agentcore-control", "get_memory", "bedrock-agentcore:GetMemory"),
        ("bedrock-agentcore", "create_event", "bedrock-agentcore:CreateEvent"),
        ("bedrock-agentcore", "invoke_agent_runtime", "bedrock-agentcore:InvokeAgentRuntime"),
        ("bedrock-agentcore", "stop_runtime_session", "bedrock-agentcore:StopRuntimeSession"),
        ("logs", "describe_log_groups", "logs:DescribeLogGroups"),
        ("logs", "filter_log_events", "logs:FilterLogEvents"),
        ("logs", "delete_log_group", "logs:DeleteLogGroup"),
        ("logs", "start_query", "logs:StartQuery"),
        ("s3", "list_buckets", "s3:ListAllMyBuckets"),
        ("s3", "get_object", "s3:GetObject"),
        ("s3", "put_object", "s3:PutObject"),
        ("secretsmanager", "list_secrets", "secretsmanager:ListSecrets"),
        ("dynamodb", "list_tables", "dynamodb:ListTables"),
        ("iam", "list_roles", "iam:ListRoles"),
        ("sts", "assume_role", "sts:AssumeRole"),
        ("bedrock-agent-runtime", "retrieve", "bedrock:Retrieve"),
        ("bedrock-agent-runtime", "retrieve_and_generate", "bedrock:Retrieve"),
        ("bedrock-agent-runtime", "retrieve_and_generate_stream", "bedrock:Retrieve"),
    ],
)
def test_everything_else_is_denied_in_aws_s_own_words(caller: Caller, name: str, operation: str, action: str) -> None:
    arn = caller.runtime["agentRuntimeArn"]
    parameters: dict[str, Any] = {
        "get_agent_runtime": {"agentRuntimeId": caller.runtime["agentRuntimeId"]},
        "delete_agent_runtime": {"agentRuntimeId": caller.runtime["agentRuntimeId"]},
        "delete_memory": {"memoryId": caller.memory},
        "get_memory": {"memoryId": caller.other},
        "create_event": event(caller.other),
        "invoke_agent_runtime": {"agentRuntimeArn": arn, "payload": "{}"},
        "stop_runtime_session": {"agentRuntimeArn": arn, "runtimeSessionId": "t" * 40, "qualifier": "DEFAULT"},
        "filter_log_events": {"logGroupName": caller.group.replace("caller", "others")},
        "delete_log_group": {"logGroupName": caller.group},
        "start_query": {"logGroupName": "aws/spans", "startTime": 0, "endTime": 1, "queryString": "limit 1"},
        "get_object": {"Bucket": "loom-code", "Key": "packages/1.zip"},
        "put_object": {"Bucket": "loom-code", "Key": "packages/1.zip", "Body": "x"},
        "assume_role": {"RoleArn": ROLE, "RoleSessionName": "session"},
        "retrieve": {"knowledgeBaseId": "ABCDEFGHIJ", "retrievalQuery": {"text": "hello"}},
        **dict.fromkeys(("retrieve_and_generate", "retrieve_and_generate_stream"), generation()),
    }.get(operation, {})
    denied = caller.ask(name, operation, **parameters)
    assert denied["code"] in ("AccessDeniedException", "AccessDenied")
    assert re.fullmatch(
        rf"User: arn:aws:sts::123456789012:assumed-role/loom/BedrockAgentCore-[\w-]+ is not authorized to perform: "
        rf"{action} on resource: \S+ because no identity-based policy allows the {action} action",
        denied["message"],
    ), denied["message"]


def with_role(caller: Caller, name: str, statements: list[dict[str, Any]]) -> Caller:
    """The same agent once more, deployed with a role that has these statements."""
    aws, iam = caller.aws, caller.aws.client("iam")
    iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_role_policy(RoleName=name, PolicyName="inline", PolicyDocument=document)
    created = aws.control.create_agent_runtime(
        agentRuntimeName=name,
        agentRuntimeArtifact=aws.upload({"agent.py": AGENT}),
        roleArn=f"arn:aws:iam::123456789012:role/{name}",
        networkConfiguration={"networkMode": "PUBLIC"},
    )
    return Caller(aws, aws.settled(created["agentRuntimeId"]), caller.memory, caller.other)


@pytest.mark.parametrize("role", ["without a policy", "allows everything"])
def test_loom_s_own_paths_and_other_groups_telemetry_are_closed_to_a_session(caller: Caller, role: str) -> None:
    if role == "allows everything":
        caller = with_role(caller, "all", [{"Effect": "Allow", "Action": "*", "Resource": "*"}])
        assert caller.ask("dynamodb", "list_tables")["code"] == ""
    keys = caller.send({"keys": True})
    token = re.search(r"Bearer(?:%20| )(\w+)", keys["OTEL_EXPORTER_OTLP_HEADERS"])
    assert token
    assert token[1] != caller.aws.state.token
    for method, path in (
        ("POST", "/_loom/stop"),
        ("POST", "/_loom/identity/tokens"),
        ("GET", "/_loom/status"),
        ("GET", "/otlp/records/" + "a" * 32),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", caller.aws.state.port, timeout=60)
        connection.request(method, path, headers={"Authorization": f"Bearer {token[1]}"})
        assert connection.getresponse().status == 403, path
        connection.close()


def test_a_role_that_is_described_decides(caller: Caller) -> None:
    statements = [
        {"Effect": "Allow", "Action": "s3:*Object", "Resource": "arn:aws:s3:::shared/*"},
        {"Effect": "Deny", "Action": "s3:DeleteObject", "Resource": "*"},
        {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*", "Condition": {"Bool": {"aws:x": "true"}}},
    ]
    caller.aws.client("s3").create_bucket(Bucket="shared")
    other = with_role(caller, "described", statements)
    assert other.ask("s3", "put_object", Bucket="shared", Key="a", Body="x")["code"] == ""
    assert other.ask("s3", "head_object", Bucket="shared", Key="a")["code"] == ""
    assert other.ask("s3", "put_object", Bucket="loom-code", Key="a", Body="x")["code"] == "AccessDenied"
    copied = {"Bucket": "shared", "Key": "b", "CopySource": "loom-code/packages/1.zip"}
    assert other.ask("s3", "copy_object", **copied)["code"] == "AccessDenied"
    denied = other.ask("s3", "delete_object", Bucket="shared", Key="a")
    assert "explicit deny" in denied["message"]
    assert other.ask("dynamodb", "list_tables")["code"] == "AccessDeniedException"
    messages = [{"role": "user", "content": [{"text": "hello"}]}]
    refused = other.ask("bedrock-runtime", "converse", modelId="loom.scripted", messages=messages)
    assert "bedrock:InvokeModel on resource" in refused["message"]


def test_an_answer_from_a_knowledge_base_needs_the_model_and_the_guardrail_too(caller: Caller) -> None:
    statements = [
        {"Effect": "Allow", "Action": "bedrock:*", "Resource": "*"},
        {
            "Effect": "Deny",
            "Action": "bedrock:InvokeModel",
            "Resource": "arn:aws:bedrock:*::foundation-model/amazon.nova-pro-v1:0",
        },
        {
            "Effect": "Deny",
            "Action": "bedrock:ApplyGuardrail",
            "Resource": "arn:aws:bedrock:*:*:guardrail/abcdefghijkl",
        },
    ]
    agent = with_role(caller, "answers", statements)

    def refusal(**asked: Any) -> str:
        answer = agent.ask("bedrock-agent-runtime", "retrieve_and_generate", **asked)
        return f"{answer['code']}: {answer['message']}"

    guarded = {"guardrailConfiguration": {"guardrailId": "abcdefghijkl", "guardrailVersion": "1"}}
    assert "to perform: bedrock:InvokeModel" in refusal(**generation("amazon.nova-pro-v1:0"))
    assert "to perform: bedrock:ApplyGuardrail" in refusal(**generation(generationConfiguration=guarded))
    assert refusal(**generation()).startswith("ResourceNotFoundException")  # allowed, and there is no such base


class RoleKey:
    """A key of an assumed role, which sends requests as they are written."""

    def __init__(self, aws: Any, name: str, statements: list[dict[str, Any]]) -> None:
        iam, self.state = aws.client("iam"), aws.state
        iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
        document = json.dumps({"Version": "2012-10-17", "Statement": statements})
        iam.put_role_policy(RoleName=name, PolicyName="inline", PolicyDocument=document)
        arn = f"arn:aws:iam::123456789012:role/{name}"
        keys = aws.client("sts").assume_role(RoleArn=arn, RoleSessionName="tests")["Credentials"]
        self.credentials = Credentials(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])

    def send(self, service: str, method: str, path: str, body: str = "", **headers: str) -> tuple[int, str]:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        request = AWSRequest(method, self.state.url + path, data=body.encode(), headers=names)
        SigV4Auth(self.credentials, service, self.state.region).add_auth(request)
        with closing(http.client.HTTPConnection("127.0.0.1", self.state.port, timeout=60)) as connection:
            connection.request(method, path, body.encode(), dict(request.headers))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def json(self, service: str, target: str, query: str = "", **members: Any) -> tuple[int, str]:
        headers = {"content_type": "application/x-amz-json-1.1", "x_amz_target": target}
        return self.send(service, "POST", f"/{query}", json.dumps(members), **headers)


@pytest.fixture(scope="module")
def limited(aws: Any) -> RoleKey:
    """A key that may do what a request pretends to do, and nothing of what it would do."""
    aws.client("iam").create_role(RoleName="kept", AssumeRolePolicyDocument="{}")
    aws.client("secretsmanager").create_secret(Name="hidden", SecretString="value-of-hidden")
    aws.client("secretsmanager").create_secret(Name="mine", SecretString="value-of-mine")
    aws.client("ssm").put_parameter(Name="hidden", Value="value-of-hidden", Type="String")
    aws.client("ssm").put_parameter(Name="mine", Value="value-of-mine", Type="String")
    for name in ("hidden", "mine"):
        aws.client("dynamodb").create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        aws.client("sns").create_topic(Name=name)
        aws.client("sqs").create_queue(QueueName=name)
    actions = [
        "sts:GetCallerIdentity",
        "sts:GetFederationToken",
        "iam:GetUser",
        "bedrock:InvokeModel",
        "sqs:ListQueues",
    ]
    actions += ["cloudwatch:PutMetricData", "bedrock:ListGuardrails"]
    own: dict[str, list[str]] = {
        "secretsmanager:*": ["arn:aws:secretsmanager:us-east-1:123456789012:secret:mine*"],
        "ssm:*": ["arn:aws:ssm:us-east-1:123456789012:parameter/mine"],
        "dynamodb:*": ["arn:aws:dynamodb:us-east-1:123456789012:table/mine"],
        "sns:Publish": ["arn:aws:sns:us-east-1:123456789012:mine"],
        "sqs:SendMessage": ["arn:aws:sqs:us-east-1:123456789012:mine"],
        "sts:AssumeRole": ["arn:aws:iam::123456789012:role/limited"],
    }
    statements: list[dict[str, Any]] = [{"Effect": "Allow", "Action": actions, "Resource": "*"}]
    statements += [{"Effect": "Allow", "Action": action, "Resource": arns} for action, arns in own.items()]
    return RoleKey(aws, "limited", statements)


FORM = "application/x-www-form-urlencoded"


def test_the_operation_that_is_checked_is_the_one_that_is_executed(aws: Any, limited: RoleKey) -> None:
    role = "Action=AssumeRole&Version=2011-06-15&RoleSessionName=other&RoleArn=arn:aws:iam::123456789012:role/kept"
    delete = "Action=DeleteRole&Version=2010-05-08&RoleName=kept"
    alarms = "Action=DeleteAlarms&Version=2010-08-01&AlarmNames.member.1=kept"
    blocked = {"blockedInputMessaging": "no", "blockedOutputsMessaging": "no"}
    words = {"wordsConfig": [{"text": "x"}]}
    guardrail = aws.client("bedrock").create_guardrail(name="kept", wordPolicyConfig=words, **blocked)["guardrailId"]
    metric = {"MetricName": "m", "Namespace": "n", "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 1}
    aws.client("cloudwatch").put_metric_alarm(
        AlarmName="kept", Threshold=1, ComparisonOperator="GreaterThanThreshold", **metric
    )
    for service, method, path, body, headers in (
        ("sts", "POST", "/", role, {"content_type": FORM}),
        ("sts", "POST", "/", role, {"content_type": FORM, "x_amz_target": "X.GetCallerIdentity"}),
        ("iam", "POST", "/?Action=GetUser", delete, {"content_type": FORM}),
        ("iam", "POST", f"/?{delete}", "Action=GetUser", {"content_type": "text/plain"}),
        ("iam", "PUT", f"/?{delete}", "x=1", {"content_type": FORM}),
        ("bedrock", "DELETE", f"/guardrails/{guardrail}", "", {"x_amz_target": "X.InvokeModel"}),
        ("bedrock", "DELETE", f"/guardrails/{guardrail}?Action=InvokeModel", "", {}),
        ("bedrock", "DELETE", f"/guardrails/{guardrail}", "Action=InvokeModel", {"content_type": FORM}),
        ("bedrock", "DELETE", f"/guardrails/{guardrail}", "", {"smithy_protocol": "rpc-v2-cbor"}),
        ("monitoring", "POST", "/", alarms, {"content_type": FORM, "x_amz_target": "X.PutMetricData"}),
    ):
        assert limited.send(service, method, path, body, **headers)[0] == 403, (service, path, headers)
    limited.json("monitoring", "GraniteServiceVersion20100801.PutMetricData", f"?{alarms}", Namespace="n")
    limited.send("iam", "POST", "/?Action=GetUser", delete, content_type="text/plain")
    limited.send(
        "sts", "POST", "/?Action=GetFederationToken&Version=2011-06-15&Name=n", role, content_type="text/plain"
    )
    assert aws.client("iam").get_role(RoleName="kept")
    assert aws.client("bedrock").get_guardrail(guardrailIdentifier=guardrail)["name"] == "kept"
    assert aws.client("cloudwatch").describe_alarms(AlarmNames=["kept"])["MetricAlarms"]


def test_a_denied_operation_cannot_be_sent_as_something_else(aws: Any) -> None:
    key = RoleKey(
        aws,
        "all-but-deleting",
        [
            {"Effect": "Allow", "Action": "*", "Resource": "*"},
            {"Effect": "Deny", "Action": "iam:DeleteRole", "Resource": "*"},
        ],
    )
    delete = "Action=DeleteRole&Version=2010-05-08&RoleName=all-but-deleting"
    parts = "\r\n".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}'
        for name, value in (part.split("=") for part in delete.split("&"))
    )
    for content_type, body in (
        (FORM, delete),
        ("Application/X-WWW-Form-Urlencoded", delete),
        ("text/plain", delete),
        ("multipart/form-data; boundary=x", f"{parts}\r\n--x--\r\n"),
    ):
        assert key.send("iam", "POST", "/", body, content_type=content_type)[0] in (403, 501), content_type
    assert key.send("iam", "POST", "/", action="DeleteRole", rolename="all-but-deleting")[0] == 501
    assert aws.client("iam").list_role_policies(RoleName="all-but-deleting")["PolicyNames"] == ["inline"]


def test_a_text_in_a_message_is_no_parameter(aws: Any) -> None:
    sqs, secrets = aws.client("sqs"), aws.client("secretsmanager")
    queue = sqs.create_queue(QueueName="texts")["QueueUrl"]
    text = "&Action=ListQueues&QueueUrl=other&"
    assert sqs.send_message(QueueUrl=queue, MessageBody=text)["MessageId"]
    assert sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"] == text
    secrets.create_secret(Name="texts", SecretString="&SecretId=other&Name=other&")
    assert secrets.get_secret_value(SecretId="texts")["SecretString"] == "&SecretId=other&Name=other&"


def test_parameters_of_a_json_request_are_in_its_body_only(limited: RoleKey) -> None:
    for query, members in (
        ("?SecretId=hidden", {"SecretId": "mine"}),
        ("", {"SecretId": "mine", "VersionStage": "AWSCURRENT", "x": "&SecretId=hidden&"}),
    ):
        status, body = limited.json("secretsmanager", "secretsmanager.GetSecretValue", query, **members)
        assert (status, "value-of-mine" in body) == (200, True), body
    headers = {"content_type": "application/x-amz-json-1.1", "x_amz_target": "AmazonSSM.GetParameter"}
    assert "value-of-mine" in limited.send("ssm", "POST", "/", '{"Name": "mine"}', name="hidden", **headers)[1]


@pytest.mark.parametrize(
    ("name", "target", "members"),
    [
        ("ssm", "AmazonSSM.GetParameters", {"Names": ["hidden"]}),
        ("ssm", "AmazonSSM.GetParameters", {"Name": "mine", "Names": ["mine", "hidden"]}),
        ("secretsmanager", "secretsmanager.BatchGetSecretValue", {"SecretId": "mine", "SecretIdList": ["hidden"]}),
        (
            "secretsmanager",
            "secretsmanager.BatchGetSecretValue",
            {"SecretIdList": ["mine"], "Filters": [{"Key": "all"}]},
        ),
        ("dynamodb", "DynamoDB_20120810.BatchGetItem", {"TableName": "mine", "RequestItems": {"hidden": {}}}),
        (
            "dynamodb",
            "DynamoDB_20120810.TransactWriteItems",
            {"TableName": "mine", "TransactItems": [{"Delete": {"TableName": "hidden", "Key": {"id": {"S": "a"}}}}]},
        ),
        ("sqs", "AmazonSQS.SendMessage", {"QueueUrl": "http://h/123456789012/mine/hidden", "MessageBody": "x"}),
        ("sqs", "AmazonSQS.SendMessage", {"QueueUrl": "http://h/123456789012/mine?x/hidden", "MessageBody": "x"}),
    ],
)
def test_every_resource_that_the_operation_uses_is_checked_and_no_other(
    limited: RoleKey, name: str, target: str, members: dict[str, Any]
) -> None:
    status, body = limited.json(name, target, **members)
    assert (status in (400, 403), "is not authorized to perform" in body) == (True, True), (status, body)


def test_a_topic_is_checked_in_each_parameter_that_may_name_it(limited: RoleKey) -> None:
    mine, hidden = (f"arn:aws:sns:us-east-1:123456789012:{name}" for name in ("mine", "hidden"))
    publish = f"Action=Publish&Version=2010-03-31&Message=x&TopicArn={mine}"
    assert limited.send("sns", "POST", "/", publish, content_type=FORM)[0] == 200
    assert limited.send("sns", "POST", "/", f"{publish}&TargetArn={hidden}", content_type=FORM)[0] == 403
    assert limited.send("sns", "POST", f"/?TopicArn={hidden}", publish, content_type=FORM)[0] == 403


def test_forms_name_the_queue_and_the_role_that_are_checked(limited: RoleKey) -> None:
    for service, form, hidden in (
        ("sqs", "Action=SendMessage&MessageBody=x&QueueUrl=http://h/123456789012/", "hidden"),
        ("sts", "Action=AssumeRole&RoleSessionName=x&RoleArn=arn:aws:iam::123456789012:role/", "kept"),
    ):
        own = "limited" if service == "sts" else "mine"
        assert limited.send(service, "POST", "/", form + own, content_type=FORM)[0] == 200, service
        assert limited.send(service, "POST", "/", form + hidden, content_type=FORM)[0] == 403, service


def test_a_role_limited_to_its_own_resources_can_use_them_in_batches(limited: RoleKey) -> None:
    row = {"id": {"S": "a"}}
    for service, target, members, expected in (
        ("ssm", "AmazonSSM.GetParameters", {"Names": ["mine"]}, "value-of-mine"),
        ("secretsmanager", "secretsmanager.BatchGetSecretValue", {"SecretIdList": ["mine"]}, "value-of-mine"),
        (
            "dynamodb",
            "DynamoDB_20120810.BatchWriteItem",
            {"RequestItems": {"mine": [{"PutRequest": {"Item": row}}]}},
            "UnprocessedItems",
        ),
        ("dynamodb", "DynamoDB_20120810.BatchGetItem", {"RequestItems": {"mine": {"Keys": [row]}}}, '"S": "a"'),
        (
            "dynamodb",
            "DynamoDB_20120810.TransactGetItems",
            {"TransactItems": [{"Get": {"TableName": "mine", "Key": row}}]},
            '"S": "a"',
        ),
    ):
        status, body = limited.json(service, target, **members)
        assert (status, expected.replace(" ", "") in body.replace(" ", "")) == (200, True), (target, body)


@pytest.mark.parametrize(
    "signed_for",
    ["s3x", "xs3", "s3.foo", "S3", "s3-outposts", "s3files", "ec2/s3.us-east-1", "foo/s3.us-east-1"],
)
def test_a_denied_service_has_no_other_name(denied: Caller, signed_for: str) -> None:
    name, _, region = signed_for.partition("/")
    request = {"service": "s3", "operation": "get_object", "parameters": {"Bucket": "kept", "Key": "a"}}
    assert denied.send(request)["code"] == "AccessDenied"
    refused = denied.send({**request, "scope": {"signing_name": name, "region": region or "us-east-1"}})
    # S3's client cannot read every form of an error, so the code may be the bare status.
    assert refused["code"] in ("501", "NotImplementedException"), refused


def test_every_service_that_is_answered_is_signed_for_by_its_name() -> None:
    for name in ("iam", "ecr", "ssm", "lambda", "codebuild", "s3", "sqs", "kms", "logs", "cloudwatch", "stepfunctions"):
        signed: str = boto3.client(name, region_name="us-east-1").meta.service_model.signing_name
        assert is_signed_for(signed, "us-gov-west-1"), name
    for name in ("../data/s3", "s3/2006-03-01", "", "no-service"):
        assert not is_signed_for(name, "us-gov-west-1"), name


def test_a_key_ends_with_its_session(caller: Caller) -> None:
    aws = caller.aws
    keys = caller.send({"keys": True})
    client = boto3.client(
        "bedrock-agentcore-control",
        endpoint_url=aws.state.url,
        region_name=aws.state.region,
        aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
        config=Config(retries={"total_max_attempts": 1}),
    )
    assert client.get_memory(memoryId=caller.memory)["memory"]["id"] == caller.memory
    aws.data.stop_runtime_session(
        agentRuntimeArn=caller.runtime["agentRuntimeArn"], runtimeSessionId=caller.session, qualifier="DEFAULT"
    )

    def code() -> str:
        try:
            client.get_memory(memoryId=caller.memory)
        except ClientError as error:
            return error.response["Error"]["Code"]
        return ""

    wait_until(lambda: code() == "ExpiredTokenException")
    client.close()
    assert caller.send({"keys": True})["AWS_ACCESS_KEY_ID"] != keys["AWS_ACCESS_KEY_ID"]


def test_two_sessions_have_two_keys_and_none_is_the_owner_s(caller: Caller) -> None:
    first = caller.send({"keys": True})
    second = Caller(caller.aws, caller.runtime, caller.memory, caller.other)
    second.session = "u" * 40
    other = second.send({"keys": True})
    state = caller.aws.state
    assert len({first["AWS_ACCESS_KEY_ID"], other["AWS_ACCESS_KEY_ID"], state.access_key}) == 3
    values = {*first.values(), *other.values()}
    assert not any(secret in value for value in values for secret in (state.secret_key, state.access_key, state.token))


def test_wildcards_cases_and_not_statements_are_evaluated_as_iam_does() -> None:
    principal = SessionPrincipal(mark="m", runtime_id="one-0123456789", role_arn=ROLE)
    assert decision(default_statements(principal), "BEDROCK:invokemodel", ["arn:x"]) is True
    document = {"Statement": {"Effect": "Allow", "NotAction": "iam:*", "Resource": ["arn:aws:s3:::a?c/*"]}}
    statements = read_statements(json.dumps(document))
    assert decision(statements, "s3:GetObject", ["arn:aws:s3:::abc/d/e"]) is True
    assert decision(statements, "s3:GetObject", ["arn:aws:s3:::abbc/d"]) is None
    assert decision(statements, "iam:CreateRole", ["arn:aws:s3:::abc/d"]) is None
    assert decision(statements, "s3:GetObject", ["arn:aws:s3:::abc/d", "arn:aws:s3:::other"]) is None
    assert decision([], "s3:GetObject", ["*"]) is None
    for spoiled in ("", "[]", "{", '{"Statement": 7}', '{"Statement": [7, {"Effect": 1}]}'):
        assert decision(read_statements(spoiled), "s3:GetObject", ["*"]) is None


def test_ended_keys_are_forgotten_in_the_end() -> None:
    ring = Keyring(Key(access_key="OWNER", secret_key="secret"))
    for number in range(10_010):
        key = ring.issue(SessionPrincipal(mark=str(number), runtime_id="r", role_arn=ROLE))
        ring.end(str(number))
    assert ring.has_ended(key.access_key)
    assert ring.find(key.access_key) is None
    assert len(ring._ended) <= 10_000
