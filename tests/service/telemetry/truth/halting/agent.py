"""An agent whose second half waits for a file: its first span has long been exported when the last one ends."""

import asyncio
import os
from pathlib import Path

from bedrock_agentcore import BedrockAgentCoreApp
from opentelemetry import trace

app = BedrockAgentCoreApp()


@app.entrypoint
async def answer(payload):
    spans = trace.get_tracer("halting")
    with spans.start_as_current_span("invoke_agent halting", attributes={"gen_ai.operation.name": "invoke_agent"}):
        with spans.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
            await asyncio.sleep(0.02)
        while not Path(payload["until"]).exists():
            await asyncio.sleep(0.01)
        if payload.get("dies"):
            os.kill(os.getpid(), 9)
        with spans.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
            await asyncio.sleep(0.02)
    return {"result": "done"}


if __name__ == "__main__":
    app.run()
