"""Direct code deployment with boto3, the way AWS's documentation walks through it: zip, upload, create, wait."""

import io
import sys
import time
import zipfile

import boto3

AGENT = """
from bedrock_agentcore.runtime import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


def words(text):
    yield from text.split()


@app.entrypoint
def invoke(payload):
    prompt = payload.get("prompt", "nothing")
    return words(prompt) if payload.get("stream") else {"result": "You said: " + prompt}


if __name__ == "__main__":
    app.run()
"""

account = boto3.client("sts").get_caller_identity()["Account"]
bucket = f"bedrock-agentcore-code-{account}-us-east-1"
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w") as package:
    package.writestr("main.py", AGENT)
s3 = boto3.client("s3")
s3.create_bucket(Bucket=bucket)
s3.upload_fileobj(io.BytesIO(buffer.getvalue()), bucket, "documented/deployment_package.zip")

control = boto3.client("bedrock-agentcore-control")
created = control.create_agent_runtime(
    agentRuntimeName="documented",
    agentRuntimeArtifact={
        "codeConfiguration": {
            "code": {"s3": {"bucket": bucket, "prefix": "documented/deployment_package.zip"}},
            "runtime": "PYTHON_3_11",
            "entryPoint": ["main.py"],
        }
    },
    networkConfiguration={"networkMode": "PUBLIC"},
    roleArn=f"arn:aws:iam::{account}:role/AgentRuntimeRole",
    lifecycleConfiguration={"idleRuntimeSessionTimeout": 300, "maxLifetime": 1800},
)
deadline = time.monotonic() + 240
while True:
    status = control.get_agent_runtime(agentRuntimeId=created["agentRuntimeId"])["status"]
    if status == "READY":
        break
    if status == "CREATE_FAILED" or time.monotonic() > deadline:
        sys.exit(f"the runtime is {status}")
    time.sleep(0.1)
print(created["agentRuntimeArn"])
