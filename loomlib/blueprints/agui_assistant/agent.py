"""AG-UI assistant: an agent whose answer is a stream of AG-UI events, built with the package ag-ui-protocol.

The events are sent as server-sent events of an invocation, or as messages of a WebSocket at /ws.

The payload is AG-UI's RunAgentInput (threadId, runId, messages, state, …), or simply {"prompt": "…"}.
The cart is the shared state: STATE_SNAPSHOT at the start, STATE_DELTA when a tool changes it. An order needs the
user's approval: the run ends with the outcome "interrupt", and the next run of the session answers it in `resume`:
{"interruptId": "…", "status": "resolved", "payload": {"approved": true}}.
"""

import functools
import json
import os
import uuid
from datetime import UTC, datetime
from typing import Literal

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    Interrupt,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from strands import Agent, ToolContext, tool
from strands.hooks import BeforeToolCallEvent
from strands.models import BedrockModel

MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")
SYSTEM_PROMPT = os.environ.get(
    "SYSTEM_PROMPT", "You are a shop's assistant. Use the tools for facts and for the cart. Answer in a short sentence."
)
NEEDS_APPROVAL = os.environ.get("NEEDS_APPROVAL", "place_order").split(",")
ORDERS = {"A-1041": "delivered", "A-1042": "in transit", "A-1043": "packed", "A-1044": "cancelled"}

app = BedrockAgentCoreApp()


@tool
def find_order(order_id: str) -> str:
    """Look up and track an order, parcel, package or delivery.

    Args:
        order_id: The order's number, such as "A-1042".
    """
    if order_id.upper() not in ORDERS:
        raise ValueError(f"there is no order {order_id}")
    return f"Order {order_id.upper()} is {ORDERS[order_id.upper()]}."


@tool(context=True)
def add_to_cart(item: Literal["lamp", "chair", "desk", "shelf"], quantity: int, tool_context: ToolContext) -> str:
    """Add or put articles into the shopping cart.

    Args:
        item: What to add, such as "lamp".
        quantity: How many of it.
        tool_context: Given by Strands, not by the model.
    """
    cart = tool_context.agent.state.get("cart") or []
    tool_context.agent.state.set("cart", [*cart, {"item": item, "quantity": quantity}])
    return f"Added {quantity} × {item} to the cart."


@tool(context=True)
def place_order(tool_context: ToolContext) -> str:
    """Place the order: buy, check out and pay for everything in the cart. Needs a yes from the user."""
    cart = tool_context.agent.state.get("cart") or []
    tool_context.agent.state.set("cart", [])
    return f"Ordered: {listed(cart)}."


def listed(cart: list) -> str:
    """Return the contents of a cart as text."""
    return ", ".join(f"{line['quantity']} × {line['item']}" for line in cart) or "nothing"


class Asking:
    """A hook that pauses before every tool of NEEDS_APPROVAL."""

    def register_hooks(self, registry, **_) -> None:
        """Register the hooks. Strands calls this when the agent is created."""
        registry.add_callback(BeforeToolCallEvent, self.ask)

    def ask(self, event: BeforeToolCallEvent) -> None:
        """Interrupt the agent until the user has answered."""
        if event.tool_use["name"] in NEEDS_APPROVAL:
            use = event.tool_use
            answer = event.interrupt("confirm", reason={"tool": use["name"], "toolCallId": use["toolUseId"]})
            if not (isinstance(answer, dict) and answer.get("approved") is True):
                event.cancel_tool = "The user said no."


@functools.cache
def agent_for(session_id: str | None) -> Agent:
    """Return the agent of a session: it remembers the conversation until the session ends."""
    return Agent(
        model=BedrockModel(model_id=MODEL_ID),
        tools=[find_order, add_to_cart, place_order],
        system_prompt=SYSTEM_PROMPT,
        state={"cart": []},
        hooks=[Asking()],
        callback_handler=None,
    )


class Translation:
    """Translates Strands' events into AG-UI's."""

    def __init__(self) -> None:
        self.message_id = self.tool_call_id = ""

    def of(self, event: dict) -> list[BaseEvent]:
        """Return the AG-UI events for one of Strands' events."""
        if "event" in event:
            return self.of_model(event["event"])
        message = event.get("message") or {}
        if message.get("role") == "user":
            uses = [block["toolResult"] for block in message["content"] if "toolResult" in block]
            return [self.result(use) for use in uses]
        return []

    def of_model(self, event: dict) -> list[BaseEvent]:
        """Return the AG-UI events for a piece of the model's output: text and tool calls."""
        if use := event.get("contentBlockStart", {}).get("start", {}).get("toolUse"):
            ended = self.end()
            self.tool_call_id = use["toolUseId"]
            return [*ended, ToolCallStartEvent(tool_call_id=use["toolUseId"], tool_call_name=use["name"])]
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        if "toolUse" in delta:
            return [ToolCallArgsEvent(tool_call_id=self.tool_call_id, delta=delta["toolUse"]["input"])]
        if delta.get("text"):
            begun = []
            if not self.message_id:
                self.message_id = uuid.uuid4().hex
                begun = [TextMessageStartEvent(message_id=self.message_id, role="assistant")]
            return [*begun, TextMessageContentEvent(message_id=self.message_id, delta=delta["text"])]
        return self.end() if "contentBlockStop" in event else []

    def end(self) -> list[BaseEvent]:
        """Return the events that end the open text message or tool call."""
        events = []
        if self.message_id:
            events.append(TextMessageEndEvent(message_id=self.message_id))
        if self.tool_call_id:
            events.append(ToolCallEndEvent(tool_call_id=self.tool_call_id))
        self.message_id = self.tool_call_id = ""
        return events

    def result(self, use: dict) -> BaseEvent:
        """Return the AG-UI event for a tool's result."""
        text = "".join(str(block.get("text", block.get("json", ""))) for block in use["content"])
        return ToolCallResultEvent(message_id=uuid.uuid4().hex, tool_call_id=use["toolUseId"], content=text)


def read_input(payload: dict) -> RunAgentInput:
    """Read the payload as the input of a run."""
    if "messages" in payload:
        return RunAgentInput.model_validate(payload)
    if not payload.get("prompt"):
        raise ValueError('the payload needs AG-UI\'s "messages", or a "prompt"')
    messages = [{"id": uuid.uuid4().hex, "role": "user", "content": payload["prompt"]}]
    return RunAgentInput.model_validate({"threadId": "thread", "runId": uuid.uuid4().hex, "messages": messages})


def asked(run: RunAgentInput) -> str | list:
    """Return the agent's input: the answers to its interrupts, or the last user message."""
    if run.resume:
        return [
            {
                "interruptResponse": {
                    "interruptId": answer.interrupt_id,
                    "response": answer.payload or {"approved": False},
                }
            }
            for answer in run.resume
        ]
    contents = [message.content for message in run.messages if message.role == "user"]
    if not contents:
        raise ValueError("the messages do not contain a user message")
    last = contents[-1]
    return last if isinstance(last, str) else "".join(getattr(part, "text", "") for part in last)


def waiting(agent: Agent, interrupts: list) -> RunFinishedInterruptOutcome:
    """Return the outcome of a run that is waiting for approvals."""
    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}
    cart = listed(agent.state.get("cart") or [])
    return RunFinishedInterruptOutcome(
        interrupts=[
            Interrupt(
                id=interrupt.id,
                reason="confirmation",
                message=f"May {interrupt.reason['tool']} run? In the cart: {cart}.",
                tool_call_id=interrupt.reason["toolCallId"],
                response_schema=schema,
            )
            for interrupt in interrupts
        ]
    )


async def run_events(agent: Agent, run: RunAgentInput):
    """Iterate over the AG-UI events of one run."""
    yield RunStartedEvent(thread_id=run.thread_id, run_id=run.run_id, protocol_version=PROTOCOL_VERSION)
    client_cart = run.state.get("cart") if isinstance(run.state, dict) else None
    if isinstance(client_cart, list):
        agent.state.set("cart", client_cart)
    cart = agent.state.get("cart") or []
    yield StateSnapshotEvent(snapshot={"cart": cart})
    translation, result = Translation(), None
    async for event in agent.stream_async(asked(run)):
        result = event.get("result", result)
        for translated in translation.of(event):
            yield translated
        if (now := agent.state.get("cart") or []) != cart:
            cart = now
            yield StateDeltaEvent(delta=[{"op": "replace", "path": "/cart", "value": cart}])
    for translated in translation.end():
        yield translated
    if result is not None and result.stop_reason == "interrupt":
        outcome = waiting(agent, result.interrupts)
    else:
        outcome = RunFinishedSuccessOutcome()
    yield RunFinishedEvent(thread_id=run.thread_id, run_id=run.run_id, outcome=outcome)


async def answered(payload, session_id: str | None):
    """Iterate over the events of the run that a payload requests, as JSON values."""
    try:
        async for event in run_events(agent_for(session_id), read_input(payload)):
            yield json.loads(event.model_dump_json(by_alias=True))
    except Exception as error:  # noqa: BLE001 -- AG-UI reports a failure as an event, after the events before it
        print(f"The run failed: {type(error).__name__}: {error}", flush=True)
        yield json.loads(RunErrorEvent(message=str(error), code=type(error).__name__).model_dump_json(by_alias=True))


@app.entrypoint
async def invoke(payload, context):
    """Stream AG-UI events."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )
    async for event in answered(payload, context.session_id):
        yield event


@app.websocket
async def talk(websocket, context):
    """Start a run for each WebSocket message, and send the run's events as messages."""
    await websocket.accept()
    async for message in websocket.iter_text():
        async for event in answered(json.loads(message), context.session_id):
            await websocket.send_text(json.dumps(event))


if __name__ == "__main__":
    app.run()
