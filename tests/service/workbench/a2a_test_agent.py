"""An A2A agent for tests, made with the A2A SDK: tasks with artifacts, questions, failures and cancellation."""

from __future__ import annotations

import asyncio
import os
import socket

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TextPart
from a2a.utils import new_agent_text_message, new_task
from starlette.responses import JSONResponse
from starlette.routing import Route


class Planner(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        prompt = context.get_user_input()
        if prompt == "hello":
            await event_queue.enqueue_event(new_agent_text_message("Hello."))
            return
        task = context.current_task or new_task(context.message)
        if context.current_task is None:
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        if prompt == "plan":
            question = new_agent_text_message("Where to?", task.context_id, task.id)
            await updater.requires_input(question, final=True)
            return
        await updater.start_work(new_agent_text_message("Working.", task.context_id, task.id))
        if prompt == "fail":
            await updater.failed(new_agent_text_message("No trains.", task.context_id, task.id))
            return
        if prompt == "wait":
            await asyncio.sleep(600)
        for text in (f"Plan for {prompt}: ", "train, hotel"):
            await updater.add_artifact(
                [Part(root=TextPart(text=text))], artifact_id="plan", name="plan", append=text.startswith("train")
            )
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


PORT = int(os.environ.get("A2A_PORT", "9000"))
CARD = AgentCard(
    name="planner",
    description="Plans trips.",
    url=os.environ.get("AGENTCORE_RUNTIME_URL", f"http://127.0.0.1:{PORT}/"),
    version="1.0",
    default_input_modes=["text"],
    default_output_modes=["text"],
    capabilities=AgentCapabilities(streaming=True),
    skills=[AgentSkill(id="trip", name="Trip", description="Plans a trip.", tags=["travel"])],
)

if __name__ == "__main__":
    handler = DefaultRequestHandler(agent_executor=Planner(), task_store=InMemoryTaskStore())
    app = A2AStarletteApplication(agent_card=CARD, http_handler=handler).build()
    app.router.routes.append(Route("/ping", lambda _request: JSONResponse({"status": "Healthy"})))
    if descriptor := os.environ.get("A2A_SOCKET"):
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run([socket.socket(fileno=int(descriptor))])
    else:
        uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="error")
