"""Agents that answer with what they were sent."""

from __future__ import annotations

from pathlib import Path

from plain_agents import PLAIN_APP

SDK_ECHO_AGENT = """
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
"""It is served by AgentCore's SDK."""

ECHO_AGENT = SDK_ECHO_AGENT.replace("from bedrock_agentcore import BedrockAgentCoreApp\n\n", PLAIN_APP).replace(
    "BedrockAgentCoreApp", "PlainApp"
)
"""It is served without the SDK, whose import is most of a session's processor time."""


def make_echo_agent(folder: Path) -> Path:
    """Write `ECHO_AGENT` as the code in a new folder, to be deployed by a workbench."""
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(ECHO_AGENT)
    return folder
