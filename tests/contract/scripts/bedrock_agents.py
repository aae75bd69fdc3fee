"""A Bedrock agent with a Lambda function and a return of control, made, prepared, invoked and deleted with boto3."""

import io
import json
import uuid
import zipfile

import boto3

HANDLER = """
def lambda_handler(event, context):
    parameters = {item["name"]: item["value"] for item in event["parameters"]}
    body = f"The order {parameters['order_id']} has been shipped."
    response = {
        "actionGroup": event["actionGroup"],
        "function": event["function"],
        "functionResponse": {"responseBody": {"TEXT": {"body": body}}},
    }
    return {"messageVersion": event["messageVersion"], "response": response}
"""
ORDER = {"order_id": {"type": "string", "description": "Number of the order", "required": True}}
suffix = uuid.uuid4().hex[:8]
agents, runtime = boto3.client("bedrock-agent"), boto3.client("bedrock-agent-runtime")


def role(service):
    trust = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    name = f"{service}-{suffix}"
    return boto3.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]


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

agent = agents.create_agent(
    agentName=f"desk-{suffix}",
    foundationModel="us.anthropic.claude-sonnet-4-20250514-v1:0",
    instruction="You answer questions of customers about the status of their orders.",
    agentResourceRoleArn=role("bedrock"),
    idleSessionTTLInSeconds=1800,
)["agent"]
draft = {"agentId": agent["agentId"], "agentVersion": "DRAFT"}
agents.create_agent_action_group(
    **draft,
    actionGroupName="orders",
    actionGroupExecutor={"lambda": function},
    functionSchema={
        "functions": [{"name": "order_status", "description": "Returns the status of an order", "parameters": ORDER}]
    },
)
agents.create_agent_action_group(
    **draft,
    actionGroupName="refunds",
    actionGroupExecutor={"customControl": "RETURN_CONTROL"},
    functionSchema={"functions": [{"name": "refund", "description": "Refunds an order", "parameters": ORDER}]},
)
prepared = agents.prepare_agent(agentId=agent["agentId"])
print(prepared["agentStatus"], agents.get_agent(agentId=agent["agentId"])["agent"]["agentStatus"])
alias = agents.create_agent_alias(agentId=agent["agentId"], agentAliasName="live")["agentAlias"]
print(alias["agentAliasStatus"], alias["routingConfiguration"])

target = {"agentId": agent["agentId"], "agentAliasId": alias["agentAliasId"], "sessionId": str(uuid.uuid4())}
answer, kinds, control = "", [], {}
for event in runtime.invoke_agent(**target, inputText="What is the status of order 4711?", enableTrace=True)[
    "completion"
]:
    if "chunk" in event:
        answer += event["chunk"]["bytes"].decode()
    else:
        kinds += event["trace"]["trace"]["orchestrationTrace"]
print(answer)
print(kinds)

for event in runtime.invoke_agent(**target, inputText="Refund order 4711")["completion"]:
    control = event["returnControl"]
call = control["invocationInputs"][0]["functionInvocationInput"]
print(call["function"], [(item["name"], item["value"]) for item in call["parameters"]])
result = {
    "actionGroup": call["actionGroup"],
    "function": call["function"],
    "responseBody": {"TEXT": {"body": "The refund of order 4711 is on its way."}},
}
state = {
    "invocationId": control["invocationId"],
    "returnControlInvocationResults": [{"functionResult": result}],
}
for event in runtime.invoke_agent(**target, sessionState=state)["completion"]:
    print(event["chunk"]["bytes"].decode())

agents.delete_agent_alias(agentId=agent["agentId"], agentAliasId=alias["agentAliasId"])
print(agents.delete_agent(agentId=agent["agentId"])["agentStatus"])
