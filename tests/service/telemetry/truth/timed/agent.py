"""An agent whose every delay is planted, and which says what each really took, by its own monotonic clock.

It reads from memory (a CLIENT span, as the botocore instrumentation makes one), asks its model, runs two tools at
once (each waits for the other to begin), and asks its model again. The clock is the machine's, so that a client beside
it reads the same one.
"""

import asyncio
import os
import threading
import time

_IMPORTED_NS = time.monotonic_ns()
time.sleep(float(os.environ.get("COLD_S", "0.3")))
_SLEPT_NS = time.monotonic_ns() - _IMPORTED_NS

from bedrock_agentcore import BedrockAgentCoreApp  # noqa: E402
from opentelemetry import trace  # noqa: E402
from strands import Agent, tool  # noqa: E402
from strands.models import Model  # noqa: E402

MODEL_S, LOOK_S, SEARCH_S, MEMORY_S = (
    float(os.environ.get(name, seconds))
    for name, seconds in {"MODEL_S": 0.2, "LOOK_S": 0.12, "SEARCH_S": 0.2, "MEMORY_S": 0.05}.items()
)
TURNS_WITH_TOOLS = int(os.environ.get("TURNS_WITH_TOOLS", "1"))
app = BedrockAgentCoreApp()


class PacedModel(Model):
    """Calls both tools TURNS_WITH_TOOLS times, then answers; it notes when it was working."""

    def __init__(self, noted):
        self.noted = noted

    def update_config(self, **config): ...

    def get_config(self):
        return {"model_id": "paced"}

    def structured_output(self, *args, **kwargs):
        raise TypeError("not asked for")

    async def stream(self, messages, tool_specs=None, system_prompt=None, **more):
        began = time.monotonic_ns()
        await asyncio.sleep(MODEL_S)
        turn = sum("toolResult" in message["content"][0] for message in messages)
        answers = turn == TURNS_WITH_TOOLS
        yield {"messageStart": {"role": "assistant"}}
        if answers:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        else:
            for name in ("look", "search"):
                yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"{name}-{turn}"}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": f'{{"what": "loom {turn}"}}'}}}}
                yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if answers else "tool_use"}}
        usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 200}}}
        self.noted["model"].append((began, time.monotonic_ns()))


def tools(noted):
    """Two tools that note when they were working, and are at work at the same time however busy the machine is."""
    meeting = threading.Barrier(2)

    def work(subject, seconds):
        began = time.monotonic_ns()
        meeting.wait(60)
        time.sleep(seconds)
        noted["tools"].append((began, time.monotonic_ns()))
        return subject

    @tool
    def look(what: str) -> str:
        """Look at something."""
        return work(what, LOOK_S)

    @tool
    def search(what: str) -> str:
        """Search for something."""
        return work(what, SEARCH_S)

    return [look, search]


async def remember(noted):
    """A call to AgentCore Memory, as far as its span is concerned."""
    with trace.get_tracer("opentelemetry.instrumentation.botocore").start_as_current_span(
        "Bedrock AgentCore.ListEvents", kind=trace.SpanKind.CLIENT, attributes={"rpc.service": "Bedrock AgentCore"}
    ):
        began = time.monotonic_ns()
        await asyncio.sleep(MEMORY_S)
        noted["memory"].append((began, time.monotonic_ns()))


@app.entrypoint
async def answer(payload):
    began = time.monotonic_ns()
    noted = {"model": [], "tools": [], "memory": []}
    await remember(noted)
    await Agent(model=PacedModel(noted), tools=tools(noted), callback_handler=None).invoke_async(payload["prompt"])
    return {
        **noted,
        "slept": (_IMPORTED_NS, _IMPORTED_NS + _SLEPT_NS),
        "ready": _READY_NS,
        "handler": (began, time.monotonic_ns()),
        "unix_ns": max(time.time_ns() - time.monotonic_ns() for _ in range(5)),  # a pause makes it smaller
    }


if __name__ == "__main__":
    _READY_NS = time.monotonic_ns()
    app.run()
