"""Parallel tools: an agent with a hundred similar tools; the prompt says how many of them to call at once.

Each tool waits 100 ms, like a small remote call. The thread pool of Strands limits how many run at the same time, and
the model determines what their results cost. A trace shows both.
It streams pieces of the answer's text. The payload is {"prompt": "Read 25 sensors at once"}, or {"prompt": …,
"tools": 25}; without a number, the environment variable TOOLS says how many.
"""

import os
import re
import threading
import time
from datetime import UTC, datetime

from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from strands import Agent, tool
from strands.models import BedrockModel

MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")
USUAL_TOOLS = int(os.environ.get("TOOLS", "5"))
MOST_TOOLS = 100
TOOL_SECONDS = 0.1

app = BedrockAgentCoreApp()


def make_sensor(number: int):
    """Create a tool that reads one sensor."""

    @tool(name=f"sensor_{number:03d}")
    def read_sensor() -> dict:
        """Read one sensor and return its measurement."""
        time.sleep(TOOL_SECONDS)
        reading = {"sensor": number, "celsius": 20 + number * 37 % 100 / 10, "thread": threading.current_thread().name}
        return {"status": "success", "content": [{"json": reading}]}

    return read_sensor


SENSORS = [make_sensor(number) for number in range(MOST_TOOLS)]


def new_agent() -> Agent:
    """Return an agent without a history: otherwise the model would also read the results of earlier invocations.

    The model gets the descriptions of all hundred tools, however few it calls.
    """
    return Agent(
        model=BedrockModel(model_id=MODEL_ID),
        tools=SENSORS,
        system_prompt="You read sensors. Call every tool that is asked for in one turn, all at once. Answer briefly.",
        callback_handler=None,  # the default handler prints the answer to the log
    )


def tools_asked(payload: dict) -> int:
    """Return the number of tools to call: the payload's "tools", else the first number of the prompt, else TOOLS."""
    number = re.search(r"\d+", str(payload.get("prompt", "")))
    count = int(payload.get("tools") or (number[0] if number else USUAL_TOOLS))
    if not 1 <= count <= MOST_TOOLS:
        raise ValueError(f"between 1 and {MOST_TOOLS} tools can be called, not {count}")
    return count


@app.entrypoint
async def invoke(payload, context):
    """Stream the answer to {"prompt": …}."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )

    names = ", ".join(f"sensor_{number:03d}" for number in range(tools_asked(payload)))
    async for event in new_agent().stream_async(f"Call these, all at once: {names}."):
        if "data" in event:
            yield event["data"]


if __name__ == "__main__":
    app.run()
