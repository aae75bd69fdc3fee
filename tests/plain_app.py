"""Serves an agent of a test as the SDK's app does, without the SDK: most of a session's processor time is its import.

The text of an agent begins with this text (`plain_agents.PLAIN_APP`), or imports it from its folder. It is for tests of
the service: sessions, logs, identity, faults. Tests of what the SDK does with context, streams, tasks, spans and errors
keep the SDK.
"""

import asyncio
import inspect
import json
import traceback

import uvicorn


class PlainApp:
    """Answers `/ping` and `/invocations` in the SDK's form: JSON, a stream of events, or an error with its words."""

    def entrypoint(self, handler):
        """Set the function that answers: of the payload, and of the context where it takes one."""
        self.handler, self.takes_context = handler, "context" in inspect.signature(handler).parameters
        return handler

    def run(self):
        """Serve until the process ends."""
        uvicorn.run(self, port=8080, loop="asyncio", ws="none", lifespan="off", log_level="warning", access_log=False)

    async def __call__(self, scope, receive, send):
        if scope["path"] == "/ping":
            await self.answer(send, 200, {"status": "Healthy"})
            return
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        try:
            result = await self.call(json.loads(body), Context(scope["headers"]))
            if inspect.isgenerator(result) or inspect.isasyncgen(result):
                await self.stream(send, result)
            else:
                await self.answer(send, 200, result)
        except Exception as failure:
            traceback.print_exc()
            await self.answer(send, 400 if isinstance(failure, json.JSONDecodeError) else 500, {"error": str(failure)})

    async def call(self, payload, context):
        """What the function returns; one that may block runs in a thread."""
        arguments = (payload, context) if self.takes_context else (payload,)
        if inspect.iscoroutinefunction(self.handler):
            return await self.handler(*arguments)
        if inspect.isasyncgenfunction(self.handler):
            return self.handler(*arguments)
        return await asyncio.to_thread(self.handler, *arguments)

    async def answer(self, send, status, value):
        """Send JSON."""
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(value, ensure_ascii=False).encode()})

    async def stream(self, send, values):
        """Send server-sent events, the last of which is the error if there was one."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

        async def event(value):
            data = f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()
            await send({"type": "http.response.body", "body": data, "more_body": True})

        try:
            if inspect.isasyncgen(values):
                async for value in values:
                    await event(value)
            else:
                for value in values:
                    await event(value)
        except Exception as failure:
            traceback.print_exc()
            await event({"error": str(failure), "error_type": type(failure).__name__})
        await send({"type": "http.response.body", "body": b""})


class Context:
    """The session of an invocation and the headers that came with it."""

    def __init__(self, headers):
        prefix = "x-amzn-bedrock-agentcore-runtime-"
        headers_by_name = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
        self.session_id = headers_by_name.get(f"{prefix}session-id")
        self.request_headers = {
            "Authorization" if name == "authorization" else name: value
            for name, value in headers_by_name.items()
            if not name.startswith("x-amz") or name.startswith(f"{prefix}custom-")
        }
