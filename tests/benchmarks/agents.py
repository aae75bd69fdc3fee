"""The agents that are measured. Each runs unchanged in a session and by hand."""

_RUN = """
if __name__ == "__main__":
    import os
    app.run(port=int(os.environ.get("BENCH_PORT", "8080")))
"""

BARE = (
    '''
"""Nothing but the SDK."""
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


@app.entrypoint
def answer(payload):
    return {"result": payload["prompt"]}
'''
    + _RUN
)

STRANDS = (
    '''
"""The SDK and Strands, as a real agent imports them."""
from bedrock_agentcore import BedrockAgentCoreApp
from strands import Agent, tool
from strands.models import BedrockModel

app = BedrockAgentCoreApp()


@app.entrypoint
def answer(payload):
    return {"result": payload["prompt"]}
'''
    + _RUN
)

PACED = (
    '''
"""Chunks at an even pace, each with the moment at which it was made (a clock that all processes share)."""
import asyncio
import time

from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


@app.entrypoint
async def answer(payload):
    due = time.perf_counter()
    for _ in range(payload["chunks"]):
        due += payload["pause_s"]
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        yield f"at {time.perf_counter_ns():020d} ns".ljust(46, ".")
'''
    + _RUN
)

SPEAKING = (
    '''
"""A Strands agent whose model answers at once: all that a call takes is the frameworks' own work."""
from bedrock_agentcore import BedrockAgentCoreApp
from strands import Agent
from strands.models import Model

app = BedrockAgentCoreApp()


class Instant(Model):
    def update_config(self, **config): ...
    def get_config(self): return {"model_id": "instant"}
    def structured_output(self, *given, **more): raise TypeError("not asked for")

    async def stream(self, messages, tool_specs=None, system_prompt=None, **more):
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "hello"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
        usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


@app.entrypoint
async def answer(payload):
    return {"result": str(await Agent(model=Instant(), callback_handler=None).invoke_async(payload["prompt"]))}
'''
    + _RUN
)

AGENTS = {"bare": BARE, "strands": STRANDS, "paced": PACED}
