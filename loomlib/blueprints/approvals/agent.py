"""Approvals: an agent whose refunds wait for a person. The pause is stored in AgentCore Memory, not in this process.

Before a tool of NEEDS_APPROVAL runs, Strands interrupts the agent, and the SDK's session manager stores the interrupted
session. Each approval is also written to the memory LOOM_MEMORY_ID (or BEDROCK_AGENTCORE_MEMORY_ID) as blob events of
the actor "loom-approvals": whoever can read the memory sees them, and any process of the session can continue.

    {"prompt": "Refund 40 euros for order A-1042."}     pauses; the stream ends with {"pending": {"id": …, …}}
    {"approval": {"id": "…", "decision": "approve"}}     continues in the same session; or "reject", with a "note"

A person has APPROVAL_TTL_S (a day) to decide; "ttl_s" in the payload shortens it. An approved tool runs at most once:
"approved" is written before it runs, and a second approval never runs it again.
It streams: a JSON string is a piece of the answer's text. "actor" in the payload names the user.
"""

import asyncio
import functools
import json
import os
import re
import secrets
from datetime import UTC, datetime, timedelta

import boto3
from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from bedrock_agentcore.memory.integrations.strands.config import AgentCoreMemoryConfig
from bedrock_agentcore.memory.integrations.strands.session_manager import AgentCoreMemorySessionManager
from strands import Agent, tool
from strands.hooks import AfterInvocationEvent, AfterToolCallEvent, BeforeToolCallEvent
from strands.models import BedrockModel

MEMORY_ID = os.environ.get("LOOM_MEMORY_ID") or os.environ.get("BEDROCK_AGENTCORE_MEMORY_ID", "")
REGION = os.environ.get("AWS_REGION")
MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")
SYSTEM_PROMPT = os.environ.get(
    "SYSTEM_PROMPT",
    "You are a shop's assistant. Use the tools for facts and for refunds. Answer in a short sentence.",
)
NEEDS_APPROVAL = os.environ.get("NEEDS_APPROVAL", "refund_order").split(",")
APPROVAL_TTL_S = float(os.environ.get("APPROVAL_TTL_S", "86400"))
ACTOR = os.environ.get("ACTOR", "user")
LEDGER_ACTOR = "loom-approvals"
LEDGER_SESSION = f"{os.environ.get('LOOM_AGENT_NAME') or 'agent'}-approvals"
ORDERS = {"A-1041": "delivered", "A-1042": "in transit", "A-1043": "packed", "A-1044": "cancelled"}

app = BedrockAgentCoreApp()
one_at_a_time = asyncio.Lock()  # two concurrent decisions would both find the session paused


@tool
def find_order(order_id: str) -> str:
    """Look up and track an order, parcel, package or delivery.

    Args:
        order_id: The order's number, such as "A-1042".
    """
    if order_id.upper() not in ORDERS:
        raise ValueError(f"there is no order {order_id}")
    return f"Order {order_id.upper()} is {ORDERS[order_id.upper()]}."


@tool
def refund_order(order_id: str, euros: float) -> str:
    """Refund money for an order. Needs a colleague's approval.

    Args:
        order_id: The order's number, such as "A-1042".
        euros: How much to refund.
    """
    if order_id.upper() not in ORDERS:
        raise ValueError(f"there is no order {order_id}")
    print(f"Refunded {euros:g} euros for order {order_id.upper()}", flush=True)
    return f"Refunded {euros:g} euros for order {order_id.upper()}."


@functools.cache
def memory():
    """Return the client of AgentCore Memory's data plane."""
    return boto3.client("bedrock-agentcore", region_name=REGION)


def note(approval: dict, state: str, **more) -> None:
    """Record the state of an approval: pending, approved, rejected, expired, done, failed or unclear."""
    approval.update(state=state, **more)
    memory().create_event(
        memoryId=MEMORY_ID,
        actorId=LEDGER_ACTOR,
        sessionId=LEDGER_SESSION,
        eventTimestamp=datetime.now(UTC),
        payload=[{"blob": json.dumps(approval)}],
        metadata={"approvalId": {"stringValue": approval["id"]}, "approvalState": {"stringValue": state}},
    )


def noted(approval_id: str) -> set[str]:
    """Return all recorded states of an approval, oldest first."""
    same = {
        "left": {"metadataKey": "approvalId"},
        "operator": "EQUALS_TO",
        "right": {"metadataValue": {"stringValue": approval_id}},
    }
    events = memory().list_events(
        memoryId=MEMORY_ID,
        actorId=LEDGER_ACTOR,
        sessionId=LEDGER_SESSION,
        filter={"eventMetadata": [same]},
        maxResults=100,
    )["events"]
    return {event["metadata"]["approvalState"]["stringValue"] for event in events}


class Approving:
    """A hook that pauses before a tool, and stores pending approvals in the agent's state to survive restarts."""

    def __init__(self, session_id: str, actor: str) -> None:
        self.session_id, self.actor = session_id, actor
        self.ttl_s = APPROVAL_TTL_S
        self.running = {}  # by tool use id: the approvals whose tools are running
        self.decided = set()  # ids of the approvals that this process has handled

    def register_hooks(self, registry, **_) -> None:
        """Register the hooks. Strands calls this when the agent is created."""
        registry.add_callback(BeforeToolCallEvent, self.ask)
        registry.add_callback(AfterToolCallEvent, self.record_outcome)
        registry.add_callback(AfterInvocationEvent, self.keep)

    def ask(self, event: BeforeToolCallEvent) -> None:
        """Interrupt the agent until a person has decided."""
        if event.tool_use["name"] not in NEEDS_APPROVAL:
            return
        now = datetime.now(UTC)
        approval = {
            "id": secrets.token_hex(6),
            "tool": event.tool_use["name"],
            "input": event.tool_use["input"],
            "actor": self.actor,
            "session_id": self.session_id,
            "asked_at": now.isoformat(),
            "expires_at": (now + timedelta(seconds=self.ttl_s)).isoformat(),
        }
        # When the agent resumes, the interrupt has its original reason, so the approval keeps its id.
        answer = event.interrupt("approval", reason=approval)
        if answer["decision"] == "approve":
            self.running[event.tool_use["toolUseId"]] = answer["approval"]
        else:
            event.cancel_tool = answer["why"]

    async def record_outcome(self, event: AfterToolCallEvent) -> None:
        """Record whether an approved tool succeeded."""
        approval = self.running.pop(event.tool_use["toolUseId"], None)
        if approval is not None:
            text = " ".join(str(block.get("text", block.get("json", ""))) for block in event.result["content"])
            state = "failed" if event.result["status"] == "error" else "done"
            await asyncio.to_thread(note, approval, state, result=text[:2000])

    async def keep(self, event: AfterInvocationEvent) -> None:
        """Store the pending approvals, before the session manager saves the agent, so that both are stored together."""
        before = event.agent.state.get("approvals") or {}
        waiting = {}
        if event.result is not None and event.result.stop_reason == "interrupt":
            interrupts = event.result.interrupts
            waiting = {
                interrupt.reason["id"]: {**interrupt.reason, "interrupt_id": interrupt.id} for interrupt in interrupts
            }
        elif event.result is None:
            # The invocation failed. A decision takes effect before the next model call, so it is not repeated.
            waiting = {
                approval_id: approval for approval_id, approval in before.items() if approval_id not in self.decided
            }
        for approval_id, approval in waiting.items():
            if approval_id not in before:
                record = {name: value for name, value in approval.items() if name != "interrupt_id"}
                await asyncio.to_thread(note, record, "pending")
        event.agent.state.set("approvals", waiting)


@functools.lru_cache(maxsize=1)
def agent_for(session_id: str, actor: str) -> tuple[Agent, Approving]:
    """Load the agent of a session as any process saved it, paused or not."""
    config = AgentCoreMemoryConfig(memory_id=MEMORY_ID, session_id=session_id, actor_id=actor, async_mode=True)
    approving = Approving(session_id, actor)
    agent = Agent(
        agent_id="approvals",
        model=BedrockModel(model_id=MODEL_ID),
        tools=[find_order, refund_order],
        system_prompt=SYSTEM_PROMPT,
        session_manager=AgentCoreMemorySessionManager(config, region_name=REGION),
        hooks=[approving],
        callback_handler=None,  # the default handler prints the answer to the log
    )
    return agent, approving


def decided(approval: dict, decision: str, why: str) -> list:
    """Record a decision on an approval, and return the input to resume Strands with. Other approvals stay pending."""
    interrupt_id = approval["interrupt_id"]
    record = {name: value for name, value in approval.items() if name != "interrupt_id"}
    states, at = noted(record["id"]), datetime.now(UTC)
    if states - {"pending"}:
        # Another process recorded the decision, and ended before it could save the session.
        outcome = " and ".join(sorted(states - {"pending"}))
        if states == {"pending", "approved"}:
            note(record, "unclear", result="It was approved, but it is not known whether it was done.")
        answer = {"decision": "refuse", "why": f"This was {outcome} already. It was not done again."}
    elif datetime.fromisoformat(record["expires_at"]) <= at:
        note(record, "expired", decided_at=record["expires_at"])
        answer = {"decision": "refuse", "why": "The approval expired before anybody decided. It was not done."}
    elif decision == "approve":
        note(record, "approved", decided_at=at.isoformat(), note=why)
        answer = {"decision": "approve", "approval": record}
    else:
        note(record, "rejected", decided_at=at.isoformat(), note=why)
        answer = {"decision": "refuse", "why": f"A colleague rejected this{f': {why}' if why else '.'}"}
    return [{"interruptResponse": {"interruptId": interrupt_id, "response": answer}}]


def sentence(approval: dict) -> str:
    """Return a sentence about a pending approval."""
    arguments = ", ".join(f"{name} {value}" for name, value in approval["input"].items())
    until = approval["expires_at"][:19].replace("T", " ")
    return f"{approval['tool']} ({arguments}) waits for an approval until {until} UTC."


@app.entrypoint
async def invoke(payload, context):
    """Stream the answer to {"prompt": …}, or the result of a decision in {"approval": …}."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )

    if not MEMORY_ID:
        raise ValueError('LOOM_MEMORY_ID is not set: deploy with bench.deploy("approvals", memory=…)')
    prompt, decision = payload.get("prompt"), payload.get("approval")
    if not prompt and not decision:
        raise ValueError('the payload needs a "prompt", or an "approval" with "id" and "decision"')
    actor = str(payload.get("actor") or ACTOR)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}", actor) or actor == LEDGER_ACTOR:
        raise ValueError('an actor is named by letters, digits, "-" and "_"')

    async with one_at_a_time:
        agent, approving = await asyncio.to_thread(agent_for, context.session_id, actor)
        approving.ttl_s = min(APPROVAL_TTL_S, float(payload.get("ttl_s") or APPROVAL_TTL_S))
        waiting = agent.state.get("approvals") or {}
        if decision:
            if decision.get("id") not in waiting:
                raise ValueError(f"no pending approval with the id {decision.get('id')!r} in this session")
            if decision.get("decision") not in ("approve", "reject"):
                raise ValueError('a decision is "approve" or "reject"')
            why = str(decision.get("note") or "")[:500]
            result = await asyncio.to_thread(decided, waiting[decision["id"]], decision["decision"], why)
            approving.decided.add(decision["id"])
        else:
            # Expired approvals are rejected first, so that they do not block a new question.
            while overdue := [
                approval
                for approval in (agent.state.get("approvals") or {}).values()
                if datetime.fromisoformat(approval["expires_at"]) <= datetime.now(UTC)
            ]:
                answer = await asyncio.to_thread(decided, overdue[0], "reject", "")
                approving.decided.add(overdue[0]["id"])
                await agent.invoke_async(answer)
            result = None if agent.state.get("approvals") else prompt
        if result is not None:
            async for event in agent.stream_async(result):
                if "data" in event:
                    yield event["data"]
        for approval in (agent.state.get("approvals") or {}).values():
            yield sentence(approval)
            yield {"pending": {name: value for name, value in approval.items() if name != "interrupt_id"}}


if __name__ == "__main__":
    app.run()
