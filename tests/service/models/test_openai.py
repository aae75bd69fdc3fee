"""Pass-through: a server that speaks /chat/completions, seen through boto3 and Strands as if it were Bedrock."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from botocore.exceptions import ClientError, EventStreamError
from served_model import ConverseApp, ServedModel, serving
from strands import Agent, tool
from strands.models import BedrockModel

from loomlib.errors import PluginError
from loomlib.local.models import make_model

KEY = "sk-a-secret-that-nobody-prints"


@dataclass
class ChatServer:
    """A chat completion server: it answers what `mode` says, and remembers what it was sent."""

    mode: str = "answer"
    url: str = ""
    requests: list[dict] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.authorizations.append(request.headers.get("Authorization"))
        self.queries.append(request.query_string)
        if self.mode.isdigit():
            return web.json_response({"error": {"message": "because"}}, status=int(self.mode))
        if self.mode == "repeats the key":
            return web.json_response({"error": f"invalid: {self.authorizations[-1]}"}, status=401)
        if self.mode == "repeats the key in a long text":
            return web.Response(text=f"{'x' * 280} {self.authorizations[-1]}", status=401)
        if self.mode == "fails with bytes":
            return web.Response(body=b"\xff is broken", status=500)
        if self.mode == "is overloaded" and not body.get("stream"):
            return web.json_response({"error": {"message": "overloaded"}})
        if self.mode == "garbage":
            return web.Response(text="data: <html>\n\n" if body.get("stream") else "<html>")
        wants_tool = "tools" in body and body["messages"][-1]["role"] != "tool"
        return await (self.stream(request, wants_tool) if body.get("stream") else self.whole(wants_tool, body))

    async def whole(self, wants_tool: bool, body: dict) -> web.Response:
        message: dict = {"role": "assistant", "content": "It is 597."}
        if wants_tool:
            function = {"name": body["tools"][0]["function"]["name"], "arguments": '{"expression": "15*37+42"}'}
            message = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": function}],
            }
        usage = (
            {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18} if self.mode != "counts nothing" else None
        )
        reason = "tool_calls" if wants_tool else "stop"
        return web.json_response({"choices": [{"message": message, "finish_reason": reason}], "usage": usage})

    async def stream(self, request: web.Request, wants_tool: bool) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)

        async def send(delta: dict, reason: str | None = None) -> None:
            event = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "error": None}
            await response.write(f"data: {json.dumps(event)}\n\n".encode())

        if self.mode in ("is overloaded", "repeats the key in its stream"):
            reason = "overloaded" if self.mode == "is overloaded" else self.authorizations[-1]
            await response.write(f"data: {json.dumps({'error': reason})}\n\n".encode())
            return response
        if wants_tool:
            for number in (0, 1):
                index = 0 if self.mode == "one index" else number
                start = {"index": index, "id": f"c{number}", "function": {"name": "calculator", "arguments": ""}}
                await send({"tool_calls": [start]})
                for piece in ('{"expres', 'sion": "15*37', f'+{number}"}}'):
                    await send({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            await send({}, "tool_calls")
        else:
            for piece in ("It ", "is ", "597."):
                await send({"content": piece})
            if self.mode == "breaks":
                await response.write(b'data: {"error": {"message": "out of memory"}}\n\n')
                return response
            if self.mode == "is cut off":
                return response
            await send({}, "stop")
        if self.mode != "counts nothing":
            usage = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}}
            await response.write(f": a comment\n\ndata: {json.dumps(usage)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("LOOM_MODEL_API_KEY", KEY)
    server = ChatServer()
    ready, stopping = threading.Event(), None
    loop = asyncio.new_event_loop()

    async def run() -> None:
        nonlocal stopping
        stopping = asyncio.Event()
        app = web.Application()
        app.router.add_post("/v1/chat/completions", server.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        ready.set()
        await stopping.wait()
        await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    assert ready.wait(60)
    yield server
    loop.call_soon_threadsafe(stopping.set)  # type: ignore[union-attr]
    thread.join(60)
    loop.close()


@pytest.fixture
def service(chat: ChatServer) -> Iterator[ServedModel]:
    model = make_model("openai", url=chat.url)
    with serving(ConverseApp(model)) as url, contextlib.closing(ServedModel(url=url)) as service:
        yield service


ASKED = {"modelId": "small-model", "messages": [{"role": "user", "content": [{"text": "What is 15*37+42?"}]}]}


def test_a_real_model_is_labelled_with_its_host() -> None:
    model = make_model("openai", url="http://127.0.0.1:9/v1")
    assert (model.simulated, model.label) == (False, "openai-compatible 127.0.0.1:9")
    with pytest.raises(PluginError, match="address"):
        make_model("openai")


def test_converse_is_translated_both_ways(service: ServedModel, chat: ChatServer) -> None:
    answer = service.client().converse(
        **ASKED,
        system=[{"text": "Be brief."}],
        inferenceConfig={"maxTokens": 50, "temperature": 0.5, "stopSequences": ["END"]},
    )
    assert answer["output"]["message"]["content"] == [{"text": "It is 597."}]
    assert answer["usage"] == {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}
    assert "additionalModelResponseFields" not in answer
    assert chat.requests == [
        {
            "model": "small-model",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 15*37+42?"}],
            "max_tokens": 50,
            "temperature": 0.5,
            "stop": ["END"],
        }
    ]
    assert chat.authorizations == [f"Bearer {KEY}"]


def test_a_stream_is_passed_on_piece_by_piece(service: ServedModel) -> None:
    events = list(service.client().converse_stream(**ASKED)["stream"])
    assert [next(iter(event)) for event in events] == [
        "messageStart",
        *["contentBlockDelta"] * 3,
        "contentBlockStop",
        "messageStop",
        "metadata",
    ]
    assert events[-1]["metadata"]["usage"]["outputTokens"] == 7


@pytest.mark.parametrize("mode", ["answer", "one index"])
def test_an_agent_calls_tools_in_parallel_through_the_pass_through(
    service: ServedModel, chat: ChatServer, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    chat.mode = mode
    for name, value in service.environment().items():
        monkeypatch.setenv(name, value)
    expressions: list[str] = []

    @tool
    def calculator(expression: str) -> str:
        """Evaluate an expression."""
        expressions.append(expression)
        if expression.endswith("1"):
            raise ValueError("no ones")
        return "597"

    agent = Agent(model=BedrockModel(model_id="small-anthropic.claude"), tools=[calculator], callback_handler=None)
    assert str(agent("What is 15*37+42?")).strip() == "It is 597."
    assert sorted(expressions) == ["15*37+0", "15*37+1"]
    results = {m["tool_call_id"]: m["content"] for m in chat.requests[-1]["messages"] if m["role"] == "tool"}
    assert results["c0"] == "597"
    assert results["c1"].startswith("Error: ")


def test_the_model_can_be_named_apart_from_the_agent(
    service: ServedModel, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOM_MODEL_NAME", "llama")
    service.client().converse(**ASKED)
    assert chat.requests[0]["model"] == "llama"


@pytest.mark.parametrize("operation", ["converse", "converse_stream"])
@pytest.mark.parametrize(
    ("mode", "code", "status"),
    [
        ("400", "ValidationException", 400),
        ("401", "AccessDeniedException", 403),
        ("404", "ResourceNotFoundException", 404),
        ("429", "ThrottlingException", 429),
        ("500", "ModelErrorException", 424),
        ("503", "ServiceUnavailableException", 503),
        ("garbage", None, 424),
        ("fails with bytes", "ModelErrorException", 424),
        ("is overloaded", None, 424),
        ("repeats the key", "AccessDeniedException", 403),
        ("repeats the key in a long text", "AccessDeniedException", 403),
    ],
)
def test_an_error_of_the_server_becomes_one_of_bedrock(
    service: ServedModel, chat: ChatServer, operation: str, mode: str, code: str | None, status: int
) -> None:
    chat.mode = mode
    with pytest.raises(ClientError) as failed:
        getattr(service.client(), operation)(**ASKED)
    error = failed.value.response
    assert error["ResponseMetadata"]["HTTPStatusCode"] == status
    assert error["Error"]["Code"] == code or code is None
    assert KEY[:5] not in str(error)
    reasons = {"fails with bytes": "answered 500: \ufffd is broken", "is overloaded": "overloaded"}
    assert reasons.get(mode, "") in error["Error"]["Message"]


def test_a_stream_s_error_does_not_repeat_the_key(service: ServedModel, chat: ChatServer) -> None:
    chat.mode = "repeats the key in its stream"
    with pytest.raises(ClientError, match=r"ended the stream with an error: Bearer \[the key\]"):
        service.client().converse_stream(**ASKED)


def test_an_address_may_have_a_query_and_a_key_a_line_break(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOM_MODEL_API_KEY", f"{KEY}\n")
    model = make_model("openai", url=f"{chat.url}/?api-version=2024-06-01")
    with serving(ConverseApp(model)) as url, contextlib.closing(ServedModel(url=url)) as service:
        assert service.client().converse(**ASKED)["stopReason"] == "end_turn"
    assert (chat.queries, chat.authorizations) == (["api-version=2024-06-01"], [f"Bearer {KEY}"])


def test_tokens_that_the_server_does_not_count_are_estimated(service: ServedModel, chat: ChatServer) -> None:
    chat.mode = "counts nothing"
    usage = {"inputTokens": 9, "outputTokens": 3, "totalTokens": 12}
    assert service.client().converse(**ASKED)["usage"] == usage
    [*_, last] = service.client().converse_stream(**ASKED)["stream"]
    assert last["metadata"]["usage"] == usage
    tools = {"tools": [{"toolSpec": {"name": "calculator", "inputSchema": {"json": {"type": "object"}}}}]}
    for answer in (
        service.client().converse(**ASKED, toolConfig=tools),
        list(service.client().converse_stream(**ASKED, toolConfig=tools)["stream"])[-1]["metadata"],
    ):
        assert answer["usage"]["outputTokens"] > 8


def test_an_unreachable_server_is_unavailable() -> None:
    with serving(ConverseApp(make_model("openai", url="http://127.0.0.1:9/v1"))) as url:
        with (
            contextlib.closing(ServedModel(url=url)) as service,
            pytest.raises(ClientError, match="cannot be reached") as failed,
        ):
            service.client().converse(**ASKED)
        assert failed.value.response["Error"]["Code"] == "ServiceUnavailableException"


@pytest.mark.parametrize(
    ("mode", "reason"), [("breaks", "out of memory"), ("is cut off", "ended before the answer was complete")]
)
def test_a_stream_that_breaks_off_ends_in_an_exception_event(
    service: ServedModel, chat: ChatServer, mode: str, reason: str
) -> None:
    chat.mode = mode
    with contextlib.closing(service.client().converse_stream(**ASKED)["stream"]) as answer:
        stream = iter(answer)
        assert [next(iter(next(stream))) for _ in range(4)] == ["messageStart", *["contentBlockDelta"] * 3]
        with pytest.raises(EventStreamError, match=reason):
            next(stream)


def test_a_text_document_reaches_the_model_as_text(service: ServedModel, chat: ChatServer) -> None:
    document = {"name": "prices", "format": "csv", "source": {"bytes": b"tea,3"}}
    content = [{"text": "What does tea cost?"}, {"document": document}]
    service.client().converse(modelId="small-model", messages=[{"role": "user", "content": content}])
    assert chat.requests[0]["messages"] == [{"role": "user", "content": "What does tea cost?\nprices:\ntea,3"}]


IMAGE = {"format": "png", "source": {"bytes": b"an image"}}
CHAT_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,YW4gaW1hZ2U="}}


def answers_of_a_tool(results: list[dict]) -> dict:
    """Return a request in which a tool was called, with its results."""
    use = {"toolUseId": "use-1", "name": "read", "input": {}}
    return {
        "modelId": "small-model",
        "messages": [
            ASKED["messages"][0],
            {"role": "assistant", "content": [{"toolUse": use}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "use-1", "content": results}}]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "read", "inputSchema": {"json": {"type": "object"}}}}]},
    }


def test_an_image_in_a_tool_result_reaches_the_model_in_the_next_message(
    service: ServedModel, chat: ChatServer
) -> None:
    for results in ([{"image": IMAGE}], [{"text": "the screen"}, {"image": IMAGE}]):
        service.client().converse(**answers_of_a_tool(results))
    for request, text in zip(chat.requests, ("The result is in the next user message.", "the screen"), strict=True):
        assert request["messages"][-2:] == [
            {"role": "tool", "tool_call_id": "use-1", "content": text},
            {"role": "user", "content": [CHAT_IMAGE]},
        ]


def test_an_image_without_its_bytes_is_refused(service: ServedModel, chat: ChatServer) -> None:
    in_s3 = {"format": "png", "source": {"s3Location": {"uri": "s3://pictures/cat.png"}}}
    messages = [{"role": "user", "content": [{"text": "What is it?"}, {"image": in_s3}]}]
    for request in ({"modelId": "small-model", "messages": messages}, answers_of_a_tool([{"image": in_s3}])):
        with pytest.raises(ClientError, match="An image without bytes") as refused:
            service.client().converse(**request)
        assert refused.value.response["Error"]["Code"] == "ValidationException"
    assert chat.requests == []


def test_images_and_documents_of_invoke_model_reach_the_model(service: ServedModel, chat: ChatServer) -> None:
    def invoke(model_id: str, **body: object) -> list[dict]:
        service.client().invoke_model(modelId=model_id, body=json.dumps(body))
        return chat.requests[-1]["messages"]

    claude = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 50}
    encoded = {"type": "base64", "data": "YW4gaW1hZ2U="}
    image = {"type": "image", "source": {**encoded, "media_type": "image/jpeg"}}
    chat_image = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,YW4gaW1hZ2U="}}
    document = {"type": "document", "title": "prices", "source": {"type": "text", "data": "tea,3"}}
    parts = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "tea,4"}]}}
    question = {"role": "user", "content": [image, document, parts, {"type": "text", "text": "What is it?"}]}
    text = "prices:\ntea,3\ndocument:\ntea,4\nWhat is it?"
    assert invoke("anthropic.claude", messages=[question], **claude) == [
        {"role": "user", "content": [{"type": "text", "text": text}, chat_image]}
    ]
    use = {"type": "tool_use", "id": "use-1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "use-1", "content": [image]}
    history = [question, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    assert invoke("anthropic.claude", messages=history, tools=tools, **claude)[-1]["content"] == [chat_image]
    jpeg = "/9j/4AAQSkZJRgABAQ=="
    llama = invoke("meta.llama3-2-11b-instruct-v1:0", prompt="What is it?", images=[jpeg])
    assert llama[0]["content"][1] == {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{jpeg}"}}
    count = len(chat.requests)
    for source, error_pattern in (
        ({**encoded, "media_type": "application/pdf"}, r"A document \(pdf\) cannot be passed"),
        ({"type": "url", "url": "https://example.com/a.pdf"}, "the source of a document must be"),
    ):
        asked = {"role": "user", "content": [{"type": "document", "source": source}]}
        with pytest.raises(ClientError, match=error_pattern):
            invoke("anthropic.claude", messages=[asked], **claude)
    asked = {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://example.com"}}]}
    with pytest.raises(ClientError, match="the source of an image must be base64"):
        invoke("anthropic.claude", messages=[asked], **claude)
    with pytest.raises(ClientError, match="an image is not PNG"):
        invoke("meta.llama3-2-11b-instruct-v1:0", prompt="What is it?", images=["aGFsbG8="])
    assert len(chat.requests) == count


@pytest.mark.parametrize("is_result", [False, True])
def test_a_document_that_is_not_text_is_refused_and_not_left_out(
    service: ServedModel, chat: ChatServer, is_result: bool
) -> None:
    content: list[dict] = [{"document": {"name": "prices", "format": "pdf", "source": {"bytes": b"%PDF"}}}]
    messages: list[dict] = [{"role": "user", "content": [{"text": "What does tea cost?"}, *content]}]
    request = answers_of_a_tool(content) if is_result else {"modelId": "small-model", "messages": messages}
    with pytest.raises(ClientError, match=r"A document \(pdf\) cannot be passed") as refused:
        service.client().converse(**request)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    assert chat.requests == []
