"""A Lambda function made, called, versioned, updated and deleted with boto3, as Lambda's documentation does."""

import base64
import io
import json
import uuid
import zipfile

import boto3

HANDLER = """
def lambda_handler(event, context):
    print("order", event["order"])
    return {"order": event["order"], "status": "shipped"}
"""
functions, name = boto3.client("lambda"), f"orders-{uuid.uuid4().hex[:8]}"


def packed(code):
    """A zip file with the code as app.py."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("app.py", code)
    return content.getvalue()


def called(**options):
    answer = functions.invoke(FunctionName=name, Payload=json.dumps({"order": "4711"}), **options)
    return answer, json.loads(answer["Payload"].read())


def role():
    """A role that Lambda may assume."""
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    return boto3.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]


functions.create_function(
    FunctionName=name,
    Runtime="python3.13",
    Role=role(),
    Handler="app.lambda_handler",
    Code={"ZipFile": packed(HANDLER)},
    Timeout=30,
)
functions.get_waiter("function_active_v2").wait(FunctionName=name)
answer, result = called(LogType="Tail")
print(answer["StatusCode"], answer["ExecutedVersion"], result)
print("order 4711" in base64.b64decode(answer["LogResult"]).decode())

version = functions.publish_version(FunctionName=name)["Version"]
functions.create_alias(FunctionName=name, Name="live", FunctionVersion=version)
functions.update_function_code(FunctionName=name, ZipFile=packed(HANDLER.replace("shipped", "lost")))
functions.get_waiter("function_updated_v2").wait(FunctionName=name)
print(called()[1]["status"], called(Qualifier="live")[1]["status"])

answer = functions.invoke(FunctionName=name, Payload=b"{}")
error = json.loads(answer["Payload"].read())
print(answer["FunctionError"], error["errorType"], error["errorMessage"])
print(functions.invoke(FunctionName=name, InvocationType="Event", Payload=b'{"order": "1"}')["StatusCode"])

events = boto3.client("logs").filter_log_events(logGroupName=f"/aws/lambda/{name}", filterPattern='"order 4711"')
print(len(events["events"]) > 0)
functions.delete_function(FunctionName=name)
try:
    functions.get_function(FunctionName=name)
except functions.exceptions.ResourceNotFoundException:
    print("deleted")
