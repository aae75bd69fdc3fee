"""Calculator that guesses, for evaluation exercises: correct answers that are not reliable.

A change added a shortcut that replaces the tool. It reads sums from the prompt and calculates them itself; the model
only phrases the answer, and the calculator is never called. The answers do not show it; the trajectory does.
It streams: each event is a JSON string, a piece of the answer's text. The payload is {"prompt": "What is 15 * 37?"}.
"""

import functools
import os
from datetime import UTC, datetime

from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from shortcut import worked_out
from strands import Agent
from strands.models import BedrockModel

MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")

app = BedrockAgentCoreApp()
results: dict[str | None, str] = {}  # the last result of each session, to which "that" refers


@functools.cache
def agent_for(session_id: str | None) -> Agent:
    """Return the agent of a session. The regression: it has no tool."""
    return Agent(
        model=BedrockModel(model_id=MODEL_ID),
        system_prompt="You are a calculator. Answer in a short sentence.",
        callback_handler=None,  # the default handler prints the answer to the log
    )


@app.entrypoint
async def invoke(payload, context):
    """Stream the answer to {"prompt": …}."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )

    prompt = payload.get("prompt")
    if not prompt:
        raise ValueError('the payload needs a "prompt", such as {"prompt": "What is 15 * 37?"}')

    if sums := worked_out(prompt, results.get(context.session_id)):
        results[context.session_id] = sums[-1][1]
        text = " ".join(f"{expression} = {result}." for expression, result in sums)
        prompt = f"Summarize in {len(sums)} sentence{'s'[: len(sums) - 1]}: {text}"
    async for event in agent_for(context.session_id).stream_async(prompt):
        if "data" in event:
            yield event["data"]


if __name__ == "__main__":
    app.run()
