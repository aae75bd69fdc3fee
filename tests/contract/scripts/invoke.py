"""InvokeAgentRuntime with boto3: a stream is read line by line, JSON is collected (the two documented branches)."""

import json
import sys
import uuid

import boto3

arn, prompt, streaming = sys.argv[1], sys.argv[2], len(sys.argv) > 3
client = boto3.client("bedrock-agentcore")
response = client.invoke_agent_runtime(
    agentRuntimeArn=arn,
    runtimeSessionId=str(uuid.uuid4()) + "-documented",
    payload=json.dumps({"prompt": prompt, "stream": streaming}).encode(),
    qualifier="DEFAULT",
)
if "text/event-stream" in response.get("contentType", ""):
    for line in response["response"].iter_lines(chunk_size=10):
        if line.startswith(b"data: "):
            print(line[6:].decode())
elif response.get("contentType") == "application/json":
    content = [chunk.decode("utf-8") for chunk in response.get("response", [])]
    print(json.loads("".join(content)))
else:
    print(response)
