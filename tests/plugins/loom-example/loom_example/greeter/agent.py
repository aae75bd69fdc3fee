"""Greeter: hands the prompt to the model and gives back what it says."""

import boto3
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    """Answer {"prompt": …}."""
    messages = [{"role": "user", "content": [{"text": payload["prompt"]}]}]
    client = boto3.client("bedrock-runtime")
    answer = client.converse(modelId="any", messages=messages)["output"]["message"]["content"][0]["text"]
    events = client.converse_stream(modelId="any", messages=messages)["stream"]
    deltas = [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]
    return {"result": f"{answer}, thank you" if "".join(deltas) == answer else "The model streams something else"}


if __name__ == "__main__":
    app.run()
