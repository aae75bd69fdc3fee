"""What the scripts of the protocols share: a runtime of one file, AWS's address of it, and signed requests."""

import io
import sys
import time
import urllib.parse
import zipfile

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

session = boto3.Session()
REGION = session.region_name


def deploy(name, source, protocol):
    """Upload the server, create its runtime and return the ARN when it is ready."""
    account = session.client("sts").get_caller_identity()["Account"]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        package.writestr("server.py", source)
    bucket = f"bedrock-agentcore-{protocol.lower()}-{account}-{REGION}"
    s3 = session.client("s3")
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key=f"{name}/package.zip", Body=buffer.getvalue())
    code = {"s3": {"bucket": bucket, "prefix": f"{name}/package.zip"}}
    control = session.client("bedrock-agentcore-control")
    created = control.create_agent_runtime(
        agentRuntimeName=name,
        agentRuntimeArtifact={
            "codeConfiguration": {"code": code, "runtime": "PYTHON_3_13", "entryPoint": ["server.py"]}
        },
        networkConfiguration={"networkMode": "PUBLIC"},
        protocolConfiguration={"serverProtocol": protocol},
        roleArn=f"arn:aws:iam::{account}:role/AgentRuntimeRole",
    )
    deadline = time.monotonic() + 240
    while (runtime := control.get_agent_runtime(agentRuntimeId=created["agentRuntimeId"]))["status"] == "CREATING":
        if time.monotonic() > deadline:
            sys.exit("the runtime is CREATING")
        time.sleep(0.1)
    if runtime["status"] != "READY":
        sys.exit(runtime["failureReason"])
    return created["agentRuntimeArn"]


def address(arn):
    """The runtime's address on AWS."""
    quoted = urllib.parse.quote(arn, safe="")
    return f"https://bedrock-agentcore.{REGION}.amazonaws.com/runtimes/{quoted}/invocations"


def signing(base):
    """A class of an HTTP client's `Auth` that signs each request with SigV4."""

    class Signed(base):
        requires_request_body = True

        def auth_flow(self, request):
            headers = {name: value for name, value in request.headers.items() if name.lower() != "connection"}
            signed = AWSRequest(request.method, str(request.url), data=request.content, headers=headers)
            SigV4Auth(session.get_credentials(), "bedrock-agentcore", REGION).add_auth(signed)
            request.headers.update(dict(signed.headers))
            yield request

    return Signed()
