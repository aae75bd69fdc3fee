"""An agent that answers with what it was sent."""

ECHO_AGENT = """
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
def answer(payload, context):
    print("Agent invoked - Start time: 2026-02-18T10:00:01.123456, session", context.session_id)
    if payload.get("fail"):
        raise ValueError(payload["fail"])
    return {"echo": payload, "session": context.session_id, "headers": dict(context.request_headers or {})}

if __name__ == "__main__":
    app.run()
"""
