"""Echo: the smallest possible agent. It has no model, so the time of an invocation is the platform's own time.

It answers immediately with plain JSON: {"result": "You said: …"}. The payload is {"prompt": "Hello"}.
"""

from datetime import UTC, datetime

from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext

app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload, context):
    """Return the text of {"prompt": …}."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )

    prompt = payload.get("prompt")
    if not prompt:
        raise ValueError('the payload needs a "prompt", such as {"prompt": "Hello"}')
    return {"result": f"You said: {prompt}"}


if __name__ == "__main__":
    app.run()
