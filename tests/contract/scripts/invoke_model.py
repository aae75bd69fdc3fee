"""InvokeModel with boto3 in the request forms of Claude, Nova, Llama and Titan's embeddings, and a stream."""

import json

import boto3

CLAUDE = "us.anthropic.claude-sonnet-4-20250514-v1:0"
runtime = boto3.client("bedrock-runtime")


def invoked(model, body):
    answer = runtime.invoke_model(
        modelId=model, body=json.dumps(body), contentType="application/json", accept="application/json"
    )
    return json.loads(answer["body"].read())


claude = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 512,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Say hello in one sentence."}]}],
}
answer = invoked(CLAUDE, claude)
print(answer["role"], answer["stop_reason"], answer["usage"]["output_tokens"] > 0)
stream = runtime.invoke_model_with_response_stream(modelId=CLAUDE, body=json.dumps(claude))["body"]
events = [json.loads(event["chunk"]["bytes"]) for event in stream]
text = "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta")
print(text == answer["content"][0]["text"], events[-1]["type"])

messages = [{"role": "user", "content": [{"text": "Say hello in one sentence."}]}]
nova = invoked("amazon.nova-lite-v1:0", {"messages": messages, "inferenceConfig": {"maxTokens": 512}})
print(nova["stopReason"], bool(nova["output"]["message"]["content"][0]["text"]))
user, assistant = (f"<|start_header_id|>{role}<|end_header_id|>" for role in ("user", "assistant"))
prompt = f"<|begin_of_text|>{user}\nSay hello.<|eot_id|>{assistant}"
llama = invoked("us.meta.llama3-3-70b-instruct-v1:0", {"prompt": prompt, "max_gen_len": 512, "temperature": 0.5})
print(llama["stop_reason"], bool(llama["generation"]), llama["generation_token_count"] > 0)
titan = invoked("amazon.titan-embed-text-v2:0", {"inputText": "a lamp", "dimensions": 256, "normalize": True})
print(len(titan["embedding"]), titan["inputTextTokenCount"] > 0)
