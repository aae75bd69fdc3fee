"""Converse and ConverseStream with boto3, and a Strands agent with an unmodified BedrockModel and a tool."""

import boto3
from strands import Agent, tool
from strands.models import BedrockModel

MODEL = "us.anthropic.claude-sonnet-4-20250514-v1:0"
client = boto3.client("bedrock-runtime")
conversation = [{"role": "user", "content": [{"text": "Say hello in one sentence."}]}]

response = client.converse(
    modelId=MODEL, messages=conversation, inferenceConfig={"maxTokens": 512, "temperature": 0.5, "topP": 0.9}
)
print(bool(response["output"]["message"]["content"][0]["text"]), response["usage"]["totalTokens"] > 0)

stream = client.converse_stream(modelId=MODEL, messages=conversation, inferenceConfig={"maxTokens": 512})
text = ""
for event in stream["stream"]:
    if "contentBlockDelta" in event:
        text += event["contentBlockDelta"]["delta"]["text"]
print(bool(text))


@tool
def letter_counter(word: str, letter: str) -> int:
    """Count how often a letter occurs in a word.

    Args:
        word: The word to look into
        letter: The letter to count
    """
    return word.lower().count(letter.lower())


agent = Agent(model=BedrockModel(model_id=MODEL), tools=[letter_counter], callback_handler=None)
result = agent('How often does the letter "r" occur in the word "strawberry"?')
print("3" in str(result), result.metrics.tool_metrics["letter_counter"].call_count)
