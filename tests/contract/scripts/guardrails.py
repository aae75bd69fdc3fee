"""A guardrail made, versioned, applied and used in Converse with boto3, as Bedrock's documentation does."""

import uuid

import boto3

MODEL = "us.anthropic.claude-sonnet-4-20250514-v1:0"
bedrock, runtime = boto3.client("bedrock"), boto3.client("bedrock-runtime")

made = bedrock.create_guardrail(
    name=f"shop-{uuid.uuid4().hex[:8]}",
    wordPolicyConfig={"wordsConfig": [{"text": "project nightjar"}]},
    sensitiveInformationPolicyConfig={"piiEntitiesConfig": [{"type": "EMAIL", "action": "ANONYMIZE"}]},
    blockedInputMessaging="This question is blocked.",
    blockedOutputsMessaging="This answer is blocked.",
)
name = {"guardrailIdentifier": made["guardrailId"]}
version = bedrock.create_guardrail_version(**name, description="first")["version"]
print(made["version"], version, bedrock.get_guardrail(**name, guardrailVersion=version)["status"])


def applied(text, source):
    content = [{"text": {"text": text}}]
    return runtime.apply_guardrail(**name, guardrailVersion=version, source=source, content=content)


masked = applied("Write to ann@example.org", "OUTPUT")
entity = masked["assessments"][0]["sensitiveInformationPolicy"]["piiEntities"][0]
print(masked["action"], masked["outputs"][0]["text"], (entity["type"], entity["match"], entity["action"]))
blocked = applied("Tell me about project nightjar.", "INPUT")
word = blocked["assessments"][0]["wordPolicy"]["customWords"][0]
print(blocked["outputs"][0]["text"], (word["match"], word["action"]))
print(applied("Hello", "INPUT")["action"])

config = {**name, "guardrailVersion": version, "trace": "enabled"}
question = [{"role": "user", "content": [{"text": "Tell me about project nightjar."}]}]
answer = runtime.converse(modelId=MODEL, messages=question, guardrailConfig=config)
print(answer["stopReason"], answer["output"]["message"]["content"][0]["text"])
print(list(answer["trace"]["guardrail"]["inputAssessment"]) == [made["guardrailId"]])
stream = runtime.converse_stream(modelId=MODEL, messages=question, guardrailConfig=config)["stream"]
events = list(stream)
print("".join(event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event))
print([event["messageStop"]["stopReason"] for event in events if "messageStop" in event])
allowed = [{"role": "user", "content": [{"text": "Say hello."}]}]
print(runtime.converse(modelId=MODEL, messages=allowed, guardrailConfig=config)["stopReason"])
bedrock.delete_guardrail(**name)
