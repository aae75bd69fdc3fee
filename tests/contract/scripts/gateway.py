"""A gateway with AgentCore's SDK, its tools with the MCP SDK's client and with Strands, as on AWS."""

import asyncio
import io
import json
import uuid
import zipfile

import boto3
import httpx2
from bedrock_agentcore.gateway import GatewayClient, WaitConfig
from deployed import signing
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from strands import Agent
from strands.models import BedrockModel
from strands.tools.mcp import MCPClient

HANDLER = """
def lambda_handler(event, context):
    tool = context.client_context.custom["bedrockAgentCoreToolName"].split("___")[-1]
    return f"The status of order {event['order']} is shipped." if tool == "order_status" else "unknown"
"""
ORDER = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
suffix = uuid.uuid4().hex[:8]
often = WaitConfig(max_wait=240, poll_interval=1)


def role(service):
    trust = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    iam, name = boto3.client("iam"), f"{service}-{suffix}"
    arn = iam.create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]
    allow = {"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    iam.put_role_policy(RoleName=name, PolicyName="calls", PolicyDocument=policy)
    return arn


packed = io.BytesIO()
with zipfile.ZipFile(packed, "w") as archive:
    archive.writestr("app.py", HANDLER)
function = boto3.client("lambda").create_function(
    FunctionName=f"orders-{suffix}",
    Runtime="python3.13",
    Role=role("lambda"),
    Handler="app.lambda_handler",
    Code={"ZipFile": packed.getvalue()},
    Timeout=30,
)["FunctionArn"]

client = GatewayClient()
gateway = client.create_gateway_and_wait(
    wait_config=often,
    name=f"shop-{suffix}",
    role_arn=role("bedrock-agentcore"),
    protocol_type="MCP",
    protocol_configuration={"mcp": {"searchType": "SEMANTIC"}},
    authorizer_type="AWS_IAM",
)
print(gateway["status"], gateway["gatewayUrl"].endswith("/mcp"))
tool = {"name": "order_status", "description": "Returns the status of an order", "inputSchema": ORDER}
target = client.create_gateway_target_and_wait(
    wait_config=often,
    gateway_identifier=gateway["gatewayId"],
    name="orders",
    target_configuration={"mcp": {"lambda": {"lambdaArn": function, "toolSchema": {"inlinePayload": [tool]}}}},
    credential_provider_configurations=[{"credentialProviderType": "GATEWAY_IAM_ROLE"}],
)
print(target["status"], client.get_gateway_by_name(gateway["name"])["gatewayId"] == gateway["gatewayId"])


def transport():
    http = httpx2.AsyncClient(auth=signing(httpx2.Auth), timeout=240)
    return streamable_http_client(gateway["gatewayUrl"], http_client=http)


async def called():
    async with Client(transport()) as session:
        print(sorted(tool.name for tool in (await session.list_tools()).tools))
        search_result = await session.call_tool("x_amz_bedrock_agentcore_search", {"query": "where is my order?"})
        print([tool["name"] for tool in search_result.structured_content["tools"]])
        result = await session.call_tool("orders___order_status", {"order": "4711"})
        print(json.loads(result.content[0].text))


asyncio.run(called())
with MCPClient(transport) as tools:
    model = BedrockModel(model_id="us.anthropic.claude-sonnet-4-20250514-v1:0")
    agent = Agent(model=model, tools=tools.list_tools_sync(), callback_handler=None)
    answer = agent("What is the status of order 4711?")
    print("shipped" in str(answer), list(answer.metrics.tool_metrics))

client.delete_gateway_target_and_wait(
    wait_config=often, gateway_identifier=gateway["gatewayId"], target_id=target["targetId"]
)
client.delete_gateway_and_wait(wait_config=often, gateway_identifier=gateway["gatewayId"])
print(client.get_gateway_by_name(gateway["name"]))
