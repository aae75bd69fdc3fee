"""A bare ASGI agent whose answers break HTTP: a stream without its end, a body shorter than it was said to be."""

import json

import uvicorn

SSE = [(b"content-type", b"text/event-stream")]


async def app(scope, receive, send):
    assert scope["type"] == "http"
    if scope["path"] == "/ping":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"status": "Healthy"}'})
        return
    prompt = json.loads((await receive())["body"])["prompt"]
    length = [(b"content-length", b"1000")] if prompt == "too long" else []
    await send({"type": "http.response.start", "status": 200, "headers": SSE + length})
    await send({"type": "http.response.body", "body": b'data: "all "\n\ndata: "that "\n\ndata: "ca', "more_body": True})
    raise ConnectionError("that was all")


uvicorn.run(app, port=8080, lifespan="off", log_level="critical")
