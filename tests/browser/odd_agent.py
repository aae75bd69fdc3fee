"""An agent with odd answers for the browser's tests: long, full of control characters, and views that try things."""

import json

from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


@app.entrypoint
async def answer(payload, context):
    """Yield the kind of answer that the prompt names."""
    prompt = payload["prompt"]
    if prompt == "long":
        for _ in range(50):
            yield "word " * 20_000
    elif prompt == "odd":
        yield "\x1b[31mred\x1b"
        yield "[0m null \x00 bell \x07 end \u202e flipped"
        yield {"tool": "odd \x1b[1m", "arguments": {"a": "\x00"}}
    else:
        html = json.loads(prompt)
        view = {"resourceUri": "ui://odd/view.html", "mimeType": "text/html;profile=mcp-app", "html": html}
        yield {"mcp_app": {**view, "tool": "odd", "toolCallId": "1", "result": {"content": []}, "tools": ["own"]}}
        yield "shown"


if __name__ == "__main__":
    app.run()
