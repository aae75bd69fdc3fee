"""An agent with a WebSocket for tests, made with the AgentCore SDK."""

from __future__ import annotations

from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload: dict[str, object]) -> str:
    return str(payload.get("prompt"))


@app.websocket
async def talk(websocket, context) -> None:
    await websocket.accept()
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        if message.get("bytes") is not None:
            await websocket.send_bytes(message["bytes"][::-1])
        elif message["text"] == "bye":
            await websocket.close(1000)
            return
        elif message["text"] == "fail":
            await websocket.close(1011)
            return
        else:
            for _ in range(2):
                await websocket.send_text(f"heard {message['text']}")


if __name__ == "__main__":
    app.run()
