"""An agent that does what the request's plan says: the turns of its model, its tools, and how long all of it lasts."""

import asyncio
import json
import os
import time
from pathlib import Path

time.sleep(float(os.environ.get("COLD_S", "0")))

from bedrock_agentcore import BedrockAgentCoreApp  # noqa: E402
from opentelemetry import trace  # noqa: E402
from strands import Agent, tool  # noqa: E402
from strands.event_loop._retry import ModelRetryStrategy  # noqa: E402
from strands.models import Model  # noqa: E402
from strands.tools.executors import ConcurrentToolExecutor, SequentialToolExecutor  # noqa: E402
from strands.types.exceptions import ModelThrottledException  # noqa: E402

app = BedrockAgentCoreApp()


class PlannedModel(Model):
    """Takes the plan's turns one after the other; `refusals` of them are refused first."""

    def __init__(self, plan):
        self.config = {"model_id": "anthropic.claude-3-haiku-20240307-v1:0"}
        self.turns, self.refusals, self.calls = iter(plan["turns"]), plan.get("refusals", 0), 0

    def update_config(self, **config): ...

    def get_config(self):
        return self.config

    def structured_output(self, *args, **kwargs):
        raise TypeError("not asked for")

    async def stream(self, messages, tool_specs=None, system_prompt=None, **more):
        if self.refusals:
            self.refusals -= 1
            raise ModelThrottledException("ThrottlingException: Too many requests")
        turn = next(self.turns)
        first = turn.get("first_s", turn["model_s"] * 0.9)
        yield {"messageStart": {"role": "assistant"}}
        await asyncio.sleep(first)
        for name, arguments in turn.get("tools", []):
            self.calls += 1
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"{name}-{self.calls}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            yield {"contentBlockStop": {}}
        if not turn.get("tools"):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            await asyncio.sleep(turn["model_s"] - first)
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if turn.get("tools") else "end_turn"}}
        read, wrote = turn.get("read", 1200), turn.get("wrote", 40)
        usage = {"inputTokens": read, "outputTokens": wrote, "totalTokens": read + wrote}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": round(turn["model_s"] * 1000)}}}


@tool
def look(what: str, seconds: float = 0.05, characters: int = 20) -> str:
    """Look at something for a while."""
    time.sleep(seconds)
    return "x" * characters


@tool
def search(what: str, seconds: float = 0.05, characters: int = 20) -> str:
    """Search for something for a while."""
    time.sleep(seconds)
    return "y" * characters


async def remember(times):
    """Calls to AgentCore Memory, as far as their spans are concerned."""
    tracer = trace.get_tracer("opentelemetry.instrumentation.botocore")
    for _ in range(times):
        with tracer.start_as_current_span("Bedrock AgentCore.ListEvents", kind=trace.SpanKind.CLIENT):
            await asyncio.sleep(0.06)


def waited_ms():
    """How long this process's threads were ready to run and had no CPU, so far (sched-stats of the kernel)."""
    threads = Path("/proc/self/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[1]) for thread in threads) / 1e6


@app.entrypoint
async def answer(payload):
    plan, before = payload["plan"], waited_ms()
    await remember(plan.get("memory", 0))
    agent = Agent(
        model=PlannedModel(plan),
        tools=[look, search],
        callback_handler=None,
        tool_executor=SequentialToolExecutor() if plan.get("serial") else ConcurrentToolExecutor(),
        retry_strategy=ModelRetryStrategy(initial_delay=1),
    )
    await agent.invoke_async("Do as planned.")
    return {"turns": len(plan["turns"]), "waited_ms": waited_ms() - before}


if __name__ == "__main__":
    app.run()
