"""Attacks by requests to the local AgentCore: with the session's own key, with a guessed one, and with none."""

from __future__ import annotations

from attack import Attack, Outcome

_CALL = """
import os
import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

def call(service, operation, keys={}, **parameters):
    client = boto3.client(service, **keys, config=Config(retries={"total_max_attempts": 1}, read_timeout=30))
    try:
        getattr(client, operation)(**parameters)
        return "done"
    except ClientError as error:
        return error.response["Error"]["Code"]
"""
_RAW = """
import http.client, os, re, socket
from urllib.parse import urlsplit

at = urlsplit(os.environ["AWS_ENDPOINT_URL"])
sent = next(value for name, value in os.environ.items() if name.endswith("_HEADERS"))
token = re.search(r"Bearer(?:%20| )(\\w+)", sent)[1]

def ask(method, path, body=None, bearer=token, **headers):
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
    connection.request(method, path, body, {"Authorization": f"Bearer {bearer}", **headers})
    answer = connection.getresponse()
    answer.read()
    return answer.status
"""


def is_denied(outcome: Outcome) -> bool:
    """The service refused for want of a permission."""
    return outcome.text in ("AccessDeniedException", "AccessDenied", "403")


def _with_key(name: str, call: str) -> Attack:
    return Attack(name, f"{_CALL}\nresult = call({call})", is_denied)


ATTACKS = (
    _with_key(
        "deletes a runtime", '"bedrock-agentcore-control", "delete_agent_runtime", agentRuntimeId="x-0123456789"'
    ),
    _with_key("lists all runtimes", '"bedrock-agentcore-control", "list_agent_runtimes"'),
    _with_key(
        "deletes a memory that it was not given",
        '"bedrock-agentcore-control", "delete_memory", memoryId="m-0123456789"',
    ),
    _with_key("reads the spans of all agents", '"logs", "filter_log_events", logGroupName="aws/spans"'),
    _with_key("queries the logs of all agents", '"logs", "describe_log_groups"'),
    _with_key("replaces deployed packages", '"s3", "put_object", Bucket="loom-code", Key="a.zip", Body=b"x"'),
    _with_key("reads secrets", '"secretsmanager", "get_secret_value", SecretId="team"'),
    _with_key("makes itself a role", '"iam", "create_role", RoleName="root", AssumeRolePolicyDocument="{}"'),
    _with_key(
        "assumes another role",
        '"sts", "assume_role", RoleArn="arn:aws:iam::123456789012:role/root", RoleSessionName="me"',
    ),
    Attack("stops the service with its token", f'{_RAW}\nresult = str(ask("POST", "/_loom/stop"))', is_denied),
    Attack(
        "stops the service with the key's id",
        f'{_RAW}\nresult = str(ask("POST", "/_loom/stop", bearer="KEY"))',
        is_denied,
    ),
    Attack("reads all telemetry", f'{_RAW}\nresult = str(ask("GET", "/otlp/records/" + "a" * 32))', is_denied),
    Attack(
        "signs with the owner's key id and a secret of its own",
        f'{_CALL}\nkeys = dict(aws_access_key_id="KEY", aws_secret_access_key="guessed")\n'
        'result = call("bedrock-agentcore-control", "list_agent_runtimes", keys)',
        lambda outcome: outcome.text == "InvalidSignatureException",
    ),
    Attack(
        "resets everything by moto's own page",
        f"{_CALL}\nfrom botocore.auth import SigV4Auth\nfrom botocore.awsrequest import AWSRequest\n"
        "import urllib.request\n"
        'request = AWSRequest(method="POST", url=os.environ["AWS_ENDPOINT_URL"] + "/moto-api/reset", data=b"")\n'
        'SigV4Auth(boto3.Session().get_credentials(), "s3", "us-east-1").add_auth(request)\n'
        "try:\n    urllib.request.urlopen(urllib.request.Request(request.url, b'', dict(request.headers)))\n"
        "    result = 'reset'\nexcept urllib.error.HTTPError as error:\n    result = str(error.code)",
        lambda outcome: outcome.text in ("403", "404"),
    ),
    Attack(
        "sends header fields without end to the service",
        f"{_RAW}\nconnection = socket.create_connection((at.hostname, at.port))\n"
        'connection.sendall(b"GET / HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nX: ")\n'
        "try:\n    for _ in range(4_000):\n        connection.sendall(b'x' * 65_536)\n    result = 'sent'\n"
        "except OSError as error:\n    result = type(error).__name__",
        lambda outcome: outcome.text in ("ConnectionResetError", "BrokenPipeError"),
    ),
    Attack(
        "opens connections without end",
        f"{_RAW}\nheld = []\ntry:\n    while len(held) < 5_000:\n"
        "        held.append(socket.create_connection((at.hostname, at.port)))\nexcept OSError:\n    pass\n"
        "result = 'held'\nheld.clear()",
        lambda outcome: outcome.text == "held",
    ),
    Attack(
        "sends a poison span",
        f"{_RAW}\nimport json\nspan = dict(traceId='a' * 32, spanId='b' * 16, name='\\ud800', startTimeUnixNano='1', "
        "endTimeUnixNano='2', attributes=[dict(key='session.id', value=dict(stringValue='\\udfff'))])\n"
        "body = json.dumps(dict(resourceSpans=[dict(scopeSpans=[dict(spans=[span])])])).encode()\n"
        "result = str(ask('POST', '/otlp/v1/traces', body, **{'Content-Type': 'application/json'}))",
        lambda outcome: outcome.text == "200",
    ),
)
