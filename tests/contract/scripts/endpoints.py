"""A version pinned by an endpoint of its own name, listed, invoked through it, and removed with everything."""

import sys
import uuid

import boto3

arn = sys.argv[1]
runtime_id = arn.rpartition("/")[2]
control = boto3.client("bedrock-agentcore-control")
control.create_agent_runtime_endpoint(agentRuntimeId=runtime_id, name="prod", agentRuntimeVersion="1")
pages = control.get_paginator("list_agent_runtime_endpoints").paginate(agentRuntimeId=runtime_id)
print(sorted(endpoint["name"] for page in pages for endpoint in page["runtimeEndpoints"]))

session = str(uuid.uuid4()) + "-documented"
data = boto3.client("bedrock-agentcore")
answer = data.invoke_agent_runtime(
    agentRuntimeArn=arn, qualifier="prod", runtimeSessionId=session, payload=b'{"prompt": "pinned"}'
)
answer["response"].read()
print(answer["runtimeSessionId"] == session, answer["statusCode"])
print(data.stop_runtime_session(agentRuntimeArn=arn, qualifier="prod", runtimeSessionId=session)["statusCode"])

logs = boto3.client("logs")
group = f"/aws/bedrock-agentcore/runtimes/{runtime_id}-prod"
events = logs.filter_log_events(logGroupName=group, filterPattern=f'"{session}"')["events"]
streams = logs.describe_log_streams(logGroupName=group)["logStreams"]
names = [stream["logStreamName"] for stream in streams]  # one a process, and one of OpenTelemetry for all of them
print(
    all("[runtime-logs-" in name for name in names if name != "otel-rt-logs"), sum(name[:2] == "20" for name in names)
)
print(len(events) > 0)

control.delete_agent_runtime_endpoint(agentRuntimeId=runtime_id, endpointName="prod")
print(control.delete_agent_runtime(agentRuntimeId=runtime_id)["status"])
