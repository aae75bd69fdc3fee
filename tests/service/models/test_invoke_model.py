"""InvokeModel and InvokeModelWithResponseStream in the formats of Claude, Amazon Nova and Llama, with guardrails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

CLAUDE, NOVA = "us.anthropic.claude-sonnet-4-20250514-v1:0", "amazon.nova-lite-v1:0"
LLAMA = "us.meta.llama3-3-70b-instruct-v1:0"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLAUDE_TOOL = {"name": "weather", "description": "The weather in a city", "input_schema": SCHEMA}
ASKS = "What is the weather in Ulm?"


def claude(prompt: Any = ASKS, **more: Any) -> dict[str, Any]:
    messages = prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]
    return {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 300, "messages": messages, **more}


def nova(prompt: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": [{"text": prompt}]}]
    return {"schemaVersion": "messages-v1", "messages": messages, "inferenceConfig": {"maxTokens": 300}, **more}


def invoke(aws: Any, model: str, body: Any) -> dict[str, Any]:
    answer = aws.client("bedrock-runtime").invoke_model(modelId=model, body=json.dumps(body))
    assert answer["contentType"] == "application/json"
    return json.loads(answer["body"].read())


def stream(aws: Any, model: str, body: Any) -> list[dict[str, Any]]:
    answer = aws.client("bedrock-runtime").invoke_model_with_response_stream(modelId=model, body=json.dumps(body))
    assert answer["contentType"] == "application/json"
    return [json.loads(event["chunk"]["bytes"]) for event in answer["body"]]


def test_claude_answers_in_the_messages_format_and_calls_tools(aws: Any) -> None:
    first = invoke(aws, CLAUDE, claude(tools=[CLAUDE_TOOL], system="Be brief."))
    assert (first["type"], first["role"], first["stop_reason"]) == ("message", "assistant", "tool_use")
    use = next(block for block in first["content"] if block["type"] == "tool_use")
    assert (use["name"], use["input"]) == ("weather", {"city": "Ulm"})
    assert first["usage"]["input_tokens"] > 0
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": [{"type": "text", "text": "12 degrees"}]}
    history = [
        {"role": "user", "content": [{"type": "text", "text": ASKS}]},
        {"role": "assistant", "content": first["content"]},
        {"role": "user", "content": [result]},
    ]
    last = invoke(aws, CLAUDE, claude(history, tools=[CLAUDE_TOOL]))
    assert last["stop_reason"] == "end_turn"
    assert "12 degrees" in last["content"][0]["text"]


def test_claude_streams_the_events_of_the_messages_format(aws: Any) -> None:
    events = stream(aws, CLAUDE, claude(tools=[CLAUDE_TOOL]))
    kinds = [event["type"] for event in events]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    assert blocks[-1]["name"] == "weather"
    starts = [event["index"] for event in events if event["type"] == "content_block_start"]
    assert starts == [event["index"] for event in events if event["type"] == "content_block_stop"]
    pieces = [event["delta"]["partial_json"] for event in events if "partial_json" in event.get("delta", {})]
    assert json.loads("".join(pieces)) == {"city": "Ulm"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    tokens = invoke(aws, CLAUDE, claude(tools=[CLAUDE_TOOL]))["usage"]
    assert (events[0]["message"]["usage"]["input_tokens"], events[-2]["usage"]) == (tokens["input_tokens"], tokens)
    assert events[-1]["amazon-bedrock-invocationMetrics"]["inputTokenCount"] == tokens["input_tokens"]
    text = [
        event["delta"]["text"]
        for event in stream(aws, CLAUDE, claude("Say hello."))
        if "text" in event.get("delta", {})
    ]
    assert "".join(text) == invoke(aws, CLAUDE, claude("Say hello."))["content"][0]["text"]


def test_claude_calls_no_tool_with_the_tool_choice_none(aws: Any) -> None:
    use = {"type": "tool_use", "id": "use-1", "name": "weather", "input": {"city": "Rome"}}
    history = [
        {"role": "user", "content": "What is the weather in Rome?"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "use-1", "content": "12 degrees"}]},
        {"role": "assistant", "content": "12 degrees"},
        {"role": "user", "content": ASKS},
    ]
    for prompt in (ASKS, history):
        request = claude(prompt, tools=[CLAUDE_TOOL])
        assert invoke(aws, CLAUDE, request)["stop_reason"] == "tool_use"
        assert invoke(aws, CLAUDE, {**request, "tool_choice": {"type": "none"}})["stop_reason"] == "end_turn"


def test_claude_names_the_only_stop_sequence_that_can_have_ended_its_text(aws: Any) -> None:
    for sequences, ended_by in ((["e"], "e"), (["e", "o"], None)):
        request = claude("Say hello.", stop_sequences=sequences)
        answer = invoke(aws, CLAUDE, request)
        assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", ended_by)
        assert stream(aws, CLAUDE, request)[-2]["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": ended_by}


@pytest.mark.parametrize("limit", ["abc", 10.5, True])
def test_claude_refuses_a_limit_that_is_not_an_integer(aws: Any, limit: Any) -> None:
    with pytest.raises(ClientError, match="max_tokens: Input should be a valid integer"):
        invoke(aws, CLAUDE, {**claude("Say hello."), "max_tokens": limit})


@pytest.mark.parametrize(
    "body", [nova("Say hello.", system="Be brief."), {"messages": [{"role": "user", "content": "Say hello."}]}]
)
def test_nova_refuses_a_string_in_place_of_a_list(aws: Any, body: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match="expected type: JSONArray") as refused:
        invoke(aws, NOVA, body)
    assert refused.value.response["Error"]["Code"] == "ValidationException"


def test_nova_answers_and_streams_in_its_own_format(aws: Any) -> None:
    answer = invoke(aws, NOVA, nova("Say hello.", system=[{"text": "Be brief."}]))
    text = answer["output"]["message"]["content"][0]["text"]
    assert (answer["stopReason"], answer["usage"]["totalTokens"] > 0) == ("end_turn", True)
    events = stream(aws, NOVA, nova("Say hello.", system=[{"text": "Be brief."}]))
    assert "".join(e["contentBlockDelta"]["delta"]["text"] for e in events if "contentBlockDelta" in e) == text
    assert [next(iter(event)) for event in events][-2:] == ["messageStop", "metadata"]


def test_llama_answers_and_streams_a_generation(aws: Any) -> None:
    prompt = (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nSay hello.<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )
    body = {"prompt": prompt, "max_gen_len": 200, "temperature": 0.2, "top_p": 0.9}
    answer = invoke(aws, LLAMA, body)
    assert (answer["stop_reason"], answer["prompt_token_count"] > 0) == ("stop", True)
    same = aws.client("bedrock-runtime").converse(
        modelId=LLAMA,
        system=[{"text": "Be brief."}],
        messages=[{"role": "user", "content": [{"text": "Say hello."}]}],
        inferenceConfig={"maxTokens": 200, "temperature": 0.2, "topP": 0.9},
    )
    assert answer["generation"] == same["output"]["message"]["content"][0]["text"]
    assert answer["generation_token_count"] == same["usage"]["outputTokens"]
    parts = stream(aws, LLAMA, body)
    assert "".join(part["generation"] for part in parts) == answer["generation"]
    assert [part["stop_reason"] for part in parts[:-1]] == [None] * (len(parts) - 1)
    assert (parts[0]["prompt_token_count"], parts[-1]["stop_reason"]) == (answer["prompt_token_count"], "stop")
    assert parts[-1]["amazon-bedrock-invocationMetrics"]["outputTokenCount"] == answer["generation_token_count"]


def test_a_llama_prompt_of_any_form_is_read_and_a_bad_one_refused(aws: Any) -> None:
    older = "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nSay hello. [/INST]"
    assert invoke(aws, LLAMA, {"prompt": older})["stop_reason"] == "stop"
    short = invoke(aws, LLAMA, {"prompt": "Tell me about the city of Ulm.", "max_gen_len": 2})
    assert (short["stop_reason"], short["generation_token_count"] <= 2) == ("length", True)
    for body, error_pattern in (
        ({"prompt": "x", "max_tokens": 5}, "extraneous key .max_tokens."),
        ({"max_gen_len": 5}, "required key .prompt. not found"),
        ({"prompt": "x", "max_gen_len": 5_000}, "max_gen_len"),
        ({"prompt": "x", "top_p": "1"}, "top_p"),
    ):
        with pytest.raises(ClientError, match=error_pattern) as refused:
            invoke(aws, LLAMA, body)
        assert refused.value.response["Error"]["Code"] == "ValidationException"


@pytest.fixture(scope="module")
def guardrail(aws: Any) -> Iterator[dict[str, Any]]:
    control = aws.client("bedrock")
    guardrail = control.create_guardrail(
        name="native",
        blockedInputMessaging="I may not answer that.",
        blockedOutputsMessaging="I may not say that.",
        wordPolicyConfig={"wordsConfig": [{"text": "project nightjar"}]},
        sensitiveInformationPolicyConfig={"piiEntitiesConfig": [{"type": "EMAIL", "action": "ANONYMIZE"}]},
    )
    yield {"guardrailIdentifier": guardrail["guardrailId"], "guardrailVersion": "DRAFT", "trace": "ENABLED"}
    control.delete_guardrail(guardrailIdentifier=guardrail["guardrailId"])


def text_of(answer: dict[str, Any]) -> str:
    if "generation" in answer:
        return answer["generation"]
    return (answer.get("content") or answer["output"]["message"]["content"])[0]["text"]


@pytest.mark.parametrize(
    ("model", "form"), [(CLAUDE, claude), (NOVA, nova), (LLAMA, lambda prompt, **more: {"prompt": prompt, **more})]
)
def test_a_guardrail_of_invoke_model_blocks_masks_and_traces(
    aws: Any, guardrail: dict[str, Any], model: str, form: Any
) -> None:
    runtime, key = aws.client("bedrock-runtime"), guardrail["guardrailIdentifier"]

    def asked(prompt: str, **more: Any) -> dict[str, Any]:
        answer = runtime.invoke_model(modelId=model, body=json.dumps(form(prompt, **more)), **guardrail)
        return json.loads(answer["body"].read())

    blocked = asked("What is project nightjar?")
    assert (text_of(blocked), blocked["amazon-bedrock-guardrailAction"]) == ("I may not answer that.", "INTERVENED")
    trace = blocked["amazon-bedrock-trace"]["guardrail"]
    assert trace["input"][key]["wordPolicy"]["customWords"][0]["action"] == "BLOCKED"
    plain = asked("Say hello.")
    assert plain["amazon-bedrock-guardrailAction"] == "NONE"
    assert key in plain["amazon-bedrock-trace"]["guardrail"]["outputs"][0]
    tag = "amazon-bedrock-guardrails-guardContent_x"
    tagged = {"amazon-bedrock-guardrailConfig": {"tagSuffix": "x"}}
    untouched = asked(f"About project nightjar: <{tag}>say hello.</{tag}>", **tagged)
    assert "input" in untouched["amazon-bedrock-trace"]["guardrail"]
    assert "wordPolicy" not in untouched["amazon-bedrock-trace"]["guardrail"]["input"][key]
    assert asked(f"Say hello <{tag}>to project nightjar</{tag}>", **tagged)["amazon-bedrock-guardrailAction"] == (
        "INTERVENED"
    )
    body = json.dumps(form("What is project nightjar?"))
    streamed = runtime.invoke_model_with_response_stream(modelId=model, body=body, **guardrail)["body"]
    parts = [json.loads(event["chunk"]["bytes"]) for event in streamed]
    assert "I may not answer that." in json.dumps(parts)
    assert parts[-1]["amazon-bedrock-guardrailAction"] == "INTERVENED"
    assert parts[-1]["amazon-bedrock-trace"]["guardrail"]["input"][key]


def test_a_guardrail_of_invoke_model_is_refused_where_it_is_incomplete(aws: Any, guardrail: dict[str, Any]) -> None:
    runtime, body = aws.client("bedrock-runtime"), json.dumps({"prompt": "hello"})
    arguments = {"modelId": LLAMA, "guardrailVersion": "DRAFT"}
    with pytest.raises(ClientError, match="both guardrailIdentifier and guardrailVersion"):
        runtime.invoke_model(body=body, **arguments)
    with pytest.raises(ClientError, match="does not exist"):
        runtime.invoke_model(body=body, guardrailIdentifier="abcdefgh1234", **arguments)
    tagged = {"prompt": "hello", "amazon-bedrock-guardrailConfig": {"tagSuffix": "x"}}
    with pytest.raises(ClientError, match="needs the headers of a guardrail"):
        runtime.invoke_model(modelId=LLAMA, body=json.dumps(tagged))
    embedding = {"modelId": "amazon.titan-embed-text-v2:0", "body": json.dumps({"inputText": "hello"})}
    with pytest.raises(ClientError, match="does not support guardrails"):
        runtime.invoke_model(**embedding, **guardrail)


def test_embeddings_come_in_the_types_that_are_asked_for(aws: Any) -> None:
    titan = invoke(
        aws,
        "amazon.titan-embed-text-v2:0",
        {"inputText": "a cat", "dimensions": 256, "normalize": True, "embeddingTypes": ["float", "binary"]},
    )
    assert titan["embeddingsByType"]["float"] == titan["embedding"]
    assert titan["embeddingsByType"]["binary"] == [int(number > 0) for number in titan["embedding"]]
    assert sum(number**2 for number in titan["embedding"]) == pytest.approx(1, abs=1e-3)
    older = invoke(aws, "amazon.titan-embed-text-v1", {"inputText": "a cat"})
    assert (set(older), len(older["embedding"])) == ({"embedding", "inputTextTokenCount"}, 1536)
    types = ["float", "int8", "uint8", "binary", "ubinary"]
    texts = {"texts": ["a cat", "a dog"], "input_type": "search_document", "embedding_types": types}
    cohere = invoke(aws, "cohere.embed-english-v3", texts)
    assert cohere["response_type"] == "embeddings_by_type"
    lengths = {name: [len(vector) for vector in vectors] for name, vectors in cohere["embeddings"].items()}
    assert lengths == {name: [128, 128] if "binary" in name else [1024, 1024] for name in types}
    for model, body, error_pattern in (
        ("amazon.titan-embed-text-v1", {"inputText": "x", "dimensions": 256}, "dimensions"),
        ("amazon.titan-embed-text-v2:0", {"inputText": "x", "embeddingTypes": ["int8"]}, "embeddingTypes"),
        ("cohere.embed-english-v3", {"texts": ["x"]}, "input_type"),
        ("cohere.embed-english-v3", {"texts": ["x"] * 97, "input_type": "search_query"}, "97 items"),
    ):
        with pytest.raises(ClientError, match=error_pattern):
            invoke(aws, model, body)


def test_foundation_models_are_listed_with_the_filters_of_aws(aws: Any) -> None:
    bedrock = aws.client("bedrock")
    listed = {model["modelId"]: model for model in bedrock.list_foundation_models()["modelSummaries"]}
    assert {"amazon.nova-lite-v1:0", "amazon.titan-embed-text-v2:0"} <= set(listed)
    meta = bedrock.list_foundation_models(byProvider="Meta", byOutputModality="TEXT")["modelSummaries"]
    assert {model["providerName"] for model in meta} == {"Meta"}
    vectors = bedrock.list_foundation_models(byOutputModality="EMBEDDING")["modelSummaries"]
    assert {model["responseStreamingSupported"] for model in vectors} == {False}
    assert bedrock.list_foundation_models(byInferenceType="PROVISIONED")["modelSummaries"] == []
    one = bedrock.get_foundation_model(modelIdentifier="amazon.nova-lite-v1:0")["modelDetails"]
    assert one == listed["amazon.nova-lite-v1:0"]
    with pytest.raises(ClientError, match="use GetInferenceProfile") as refused:
        bedrock.get_foundation_model(modelIdentifier="us.amazon.nova-lite-v1:0")
    assert refused.value.response["Error"]["Code"] == "ValidationException"


@pytest.mark.parametrize("operation", ["invoke_model", "invoke_model_with_response_stream"])
def test_another_format_is_refused_by_the_model_s_name(aws: Any, operation: str) -> None:
    call = getattr(aws.client("bedrock-runtime"), operation)
    with pytest.raises(ClientError, match=r"mistral\.mistral-large-2402-v1:0") as refused:
        call(modelId="mistral.mistral-large-2402-v1:0", body=json.dumps({"prompt": "hello"}))
    assert refused.value.response["Error"]["Code"] == "NotImplementedException"
    with pytest.raises(ClientError, match="max_tokens: Field required") as invalid:
        call(modelId=CLAUDE, body=json.dumps({"anthropic_version": "bedrock-2023-05-31", "messages": []}))
    assert invalid.value.response["Error"]["Code"] == "ValidationException"
    with pytest.raises(ClientError):
        call(modelId=CLAUDE, body="[]")


def test_a_history_may_begin_with_tool_results(aws: Any) -> None:
    result = {"toolResult": {"toolUseId": "cut-off", "content": [{"text": "12 degrees"}]}}
    tool = {"toolSpec": {"name": "weather", "description": "weather", "inputSchema": {"json": SCHEMA}}}
    messages = [
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"text": "It is 12 degrees."}]},
        {"role": "user", "content": [{"text": "Say hello."}]},
    ]
    client, arguments = aws.client("bedrock-runtime"), {"modelId": CLAUDE, "toolConfig": {"tools": [tool]}}
    events = list(client.converse_stream(messages=messages, **arguments)["stream"])
    assert events[-2]["messageStop"]["stopReason"] == "end_turn"
    assert client.converse(messages=messages[:1], **arguments)["stopReason"] == "end_turn"
