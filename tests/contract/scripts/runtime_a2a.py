"""An A2A server in a runtime; the A2A SDK's client finds it by its card at AWS's address and streams an answer."""

import asyncio
import uuid

import boto3
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, TextPart
from deployed import address, deploy, signing

SERVER = """
import os

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AFastAPIApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TextPart
from a2a.utils import new_task
from fastapi import FastAPI


class Counter(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task or new_task(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        words = len(context.get_user_input().split())
        await updater.add_artifact([Part(root=TextPart(text=f"{words} words"))], name="count")
        await updater.complete()

    async def cancel(self, context, event_queue):
        raise NotImplementedError


card = AgentCard(
    name="Word counter",
    description="Counts words.",
    url=os.environ.get("AGENTCORE_RUNTIME_URL", "http://127.0.0.1:9000/"),
    version="1.0.0",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text"],
    default_output_modes=["text"],
    skills=[AgentSkill(id="count", name="Count", description="Counts words.", tags=["text"])],
)
app = FastAPI()


@app.get("/ping")
def ping():
    return {"status": "healthy"}


handler = DefaultRequestHandler(Counter(), InMemoryTaskStore())
app.mount("/", A2AFastAPIApplication(card, handler).build())
if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=9000)
"""


async def main(arn):
    headers = {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": str(uuid.uuid4())}
    async with httpx.AsyncClient(auth=signing(httpx.Auth), headers=headers, timeout=240) as http:
        card = await A2ACardResolver(http, base_url=address(arn)).get_agent_card()
        print(card.name, [skill.id for skill in card.skills])
        for streaming in (False, True):
            client = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card)
            message = Message(
                message_id=uuid.uuid4().hex, role=Role.user, parts=[Part(root=TextPart(text="how many are these"))]
            )
            events = [event async for event in client.send_message(message)]
            task = events[-1][0]
            print(len(events), task.status.state.value, task.artifacts[0].parts[0].root.text)


arn = deploy("word_counter", SERVER, "A2A")
card = boto3.client("bedrock-agentcore").get_agent_card(agentRuntimeArn=arn, runtimeSessionId=str(uuid.uuid4()))
print(card["statusCode"], card["agentCard"]["name"])
asyncio.run(main(arn))
