"""Writer: an agent that streams a text of the requested length word by word, and can count words.

It streams: each event is a JSON string, a piece of the text. The payload is {"prompt": "Write 120 words about autumn"}.
The environment variables MODEL_ID, SYSTEM_PROMPT and TOOL_DESCRIPTIONS replace its defaults.
"""

import functools
import json
import os
from datetime import UTC, datetime

from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from strands import Agent, tool
from strands.models import BedrockModel

MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")
SYSTEM_PROMPT = os.environ.get(
    "SYSTEM_PROMPT", "You are a writer. Write as much as asked for. Count with word_count, not in your head."
)

app = BedrockAgentCoreApp()


@tool
def word_count(text: str) -> str:
    """Count the words, sentences and characters of a text.

    Args:
        text: The text to count.
    """
    sentences = sum(text.count(mark) for mark in ".!?") or 1
    return f"The text has {len(text.split())} words, {sentences} sentences and {len(text)} characters."


def described(used: list) -> list:
    """Return the tools, with the descriptions from the environment variable TOOL_DESCRIPTIONS (JSON, by tool name)."""
    for name, description in json.loads(os.environ.get("TOOL_DESCRIPTIONS", "{}")).items():
        for call in [call for call in used if call.tool_name == name]:
            call.tool_spec = {**call.tool_spec, "description": description}
    return used


@functools.cache
def agent_for(session_id: str | None) -> Agent:
    """Return the agent of a session: it remembers the conversation until the session ends."""
    return Agent(
        model=BedrockModel(model_id=MODEL_ID),
        tools=described([word_count]),
        system_prompt=SYSTEM_PROMPT,
        callback_handler=None,  # the default handler prints the answer to the log
    )


@app.entrypoint
async def invoke(payload, context):
    """Stream the text requested by {"prompt": …}."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )

    prompt = payload.get("prompt")
    if not prompt:
        raise ValueError('the payload needs a "prompt", such as {"prompt": "Write 120 words about autumn"}')

    async for event in agent_for(context.session_id).stream_async(prompt):
        if "data" in event:
            yield event["data"]


if __name__ == "__main__":
    app.run()
