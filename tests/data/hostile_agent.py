"""An agent that answers with hostile texts by their numbers: {"prompt": "0:163"}, everything in every place it has."""

import json
from datetime import UTC, datetime
from pathlib import Path

from bedrock_agentcore import BedrockAgentCoreApp
from opentelemetry import trace

TEXTS = json.loads((Path(__file__).parent / "texts.json").read_text())
app = BedrockAgentCoreApp()


@app.entrypoint
async def answer(payload, context):
    """Each text of the range as a tool's name, arguments and result, an event, a log line, a span, and text."""
    print("Agent invoked - Start time:", datetime.now(UTC).isoformat(), "Session ID:", context.session_id, flush=True)
    if payload["prompt"] == "agui":
        for event in run():
            yield event
        return
    first, _, last = payload["prompt"].partition(":")
    if last == "fail":
        raise ValueError(TEXTS[int(first)])
    tracer = trace.get_tracer("hostile")
    for text in TEXTS[int(first) : int(last or int(first) + 1)]:
        print(text, flush=True)
        with tracer.start_as_current_span(f"execute_tool {text}") as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", text)
            span.set_attribute("gen_ai.tool.call.id", text)
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps({text: text}))
            span.set_attribute("gen_ai.tool.call.result", text)
            span.set_attribute(text.replace("\x00", "")[:100], text)
            span.add_event(text, {"gen_ai.event.content": text})
        yield {"tool": text, "arguments": {text: text}, "id": text, "result": text}
        yield {"type": text, text: text, "delta": text}
        yield text + "\n"


def run():
    """The same texts in every field of AG-UI's events, well-formed and not; the run ends with questions."""
    yield {"type": "RUN_STARTED", "threadId": TEXTS[0], "runId": TEXTS[1]}
    yield {"type": "STATE_SNAPSHOT", "snapshot": {text: {text: [text]} for text in TEXTS}}
    for text in TEXTS:
        yield {"type": "STEP_STARTED", "stepName": text}
        yield {"type": "TOOL_CALL_START", "toolCallId": text, "toolCallName": text}
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": text, "delta": text}
        yield {"type": "TOOL_CALL_END", "toolCallId": text}
        yield {"type": "TOOL_CALL_RESULT", "messageId": text, "toolCallId": text, "content": text}
        yield {"type": "REASONING_MESSAGE_CHUNK", "messageId": text, "delta": text}
        yield {"type": "TEXT_MESSAGE_CHUNK", "messageId": f"m {text}", "role": "assistant", "delta": text}
        yield {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": text, "value": text}]}
        yield {"type": "CUSTOM", "name": text, "value": {text: text}}
        yield {"type": "ACTIVITY_SNAPSHOT", "messageId": text, "activityType": text, "content": {text: text}}
        yield {"type": "STRANGE_THING", text: text}
    schema = {"type": "object", "title": TEXTS[2], "properties": {TEXTS[3]: {"type": "string"}}}
    asked = [
        {"id": text, "reason": text, "message": text, "expiresAt": text, "toolCallId": text, "responseSchema": schema}
        for text in TEXTS
    ]
    outcome = {"type": "interrupt", "interrupts": asked}
    yield {"type": "RUN_FINISHED", "threadId": TEXTS[0], "runId": TEXTS[1], "outcome": outcome}


app.run()
