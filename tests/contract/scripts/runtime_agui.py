"""An AG-UI server in a runtime, invoked by boto3; its events are read with the types of AG-UI's SDK."""

import json
import uuid

import boto3
from ag_ui.core import Event, RunAgentInput, UserMessage
from deployed import deploy
from pydantic import TypeAdapter

SERVER = """
import uuid

import uvicorn
from ag_ui.core import (
    EventType, RunAgentInput, RunFinishedEvent, RunStartedEvent, StateSnapshotEvent,
    TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent,
)
from ag_ui.encoder import EventEncoder
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

app = FastAPI()


@app.get("/ping")
async def ping():
    return {"status": "Healthy"}


@app.post("/invocations")
async def invocations(run: RunAgentInput, request: Request):
    encoder = EventEncoder(accept=request.headers.get("accept"))
    message = str(uuid.uuid4())
    ids = {"thread_id": run.thread_id, "run_id": run.run_id}

    async def events():
        yield encoder.encode(RunStartedEvent(type=EventType.RUN_STARTED, **ids))
        yield encoder.encode(StateSnapshotEvent(type=EventType.STATE_SNAPSHOT, snapshot={"turns": len(run.messages)}))
        yield encoder.encode(
            TextMessageStartEvent(type=EventType.TEXT_MESSAGE_START, message_id=message, role="assistant")
        )
        for word in run.messages[-1].content.split():
            yield encoder.encode(
                TextMessageContentEvent(type=EventType.TEXT_MESSAGE_CONTENT, message_id=message, delta=word.upper())
            )
        yield encoder.encode(TextMessageEndEvent(type=EventType.TEXT_MESSAGE_END, message_id=message))
        yield encoder.encode(RunFinishedEvent(type=EventType.RUN_FINISHED, **ids))

    return StreamingResponse(events(), media_type=encoder.get_content_type())


if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=8080)
"""
arn = deploy("louder", SERVER, "AGUI")
run = RunAgentInput(
    thread_id=str(uuid.uuid4()),
    run_id="run-1",
    state={},
    messages=[UserMessage(id="m-1", content="say it aloud")],
    tools=[],
    context=[],
    forwarded_props={},
)
response = boto3.client("bedrock-agentcore").invoke_agent_runtime(
    agentRuntimeArn=arn,
    runtimeSessionId=run.thread_id,
    contentType="application/json",
    accept="text/event-stream",
    payload=run.model_dump_json(by_alias=True).encode(),
)
print(response["contentType"].split(";")[0])
reads = TypeAdapter(Event)
lines = [line for line in response["response"].iter_lines() if line.startswith(b"data:")]
events = [reads.validate_python(json.loads(line[5:])) for line in lines]
print([event.type.value for event in events])
print(" ".join(event.delta for event in events if hasattr(event, "delta")), events[1].snapshot, events[0].run_id)
