"""A shape of a Bedrock agent: its declaration, the prompts to ask it, and how it is created and asked."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loomlib.aws import Clients, Connection
from loomlib.aws.bedrock_agent_examples import CreatedAgents, create_agents
from loomlib.local import ServiceState


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapePrompt:
    """A prompt, and what a good turn has.

    Attributes:
        text: The prompt.
        contains: Texts that the answer contains.
        tools: What the turn calls, in its order: a function, a method with a path, "knowledge base" or "code
            interpreter", also by collaborators.
        results: The results of the calls that come back to the caller, by the function or by method and path.
        confirms: Whether the user confirms calls that need it.
        attributes: Session attributes.
        memory_id: The memory.
        session: Prompts with the same one are asked in one session; "" for a session of its own.
        ends_session: Whether the session is ended after it.
    """

    text: str
    contains: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    results: Mapping[str, str] = field(default_factory=dict[str, str])
    confirms: bool = True
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    memory_id: str = ""
    session: str = ""
    ends_session: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentShape:
    """A shape of a Bedrock agent.

    Attributes:
        name: Its name; the agent to ask is the declaration's last one.
        declaration: What `loomlib.aws.bedrock_agent_examples.create_agents` takes.
        prompts: The prompts to ask.
        complaint: What users of other importers complain about, which this shape shows; "" if nothing.
        needs_you: What an importer cannot move without a person; "" if nothing.
        removed_objects: Objects of the declaration that are removed from S3 once its agents are made.
        runs_here: Whether the local Bedrock Agents answer; False where they refuse it by name.
    """

    name: str
    declaration: Mapping[str, Any] = field(repr=False)
    prompts: tuple[ShapePrompt, ...] = ()
    complaint: str = ""
    needs_you: str = ""
    removed_objects: tuple[str, ...] = ()
    runs_here: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeAnswer:
    """What an agent answered in one turn, with the returns of control between.

    Attributes:
        text: The answer.
        tools: What was called, in its order; see `ShapePrompt.tools`.
        kinds: The kinds of the trace's events, such as orchestrationTrace, in their order.
        trace: The trace's events as Bedrock sent them.
        returned: The calls that came back to the caller.
    """

    text: str
    tools: tuple[str, ...]
    kinds: tuple[str, ...]
    trace: tuple[Mapping[str, Any], ...] = field(repr=False)
    returned: tuple[Mapping[str, Any], ...] = field(repr=False)


def clients_of(state: ServiceState) -> Clients:
    """Return clients of a local service."""
    return Clients(Connection(region=state.region, environment=state.environment()))


def create_shape(clients: Clients, shape: AgentShape) -> CreatedAgents:
    """Create a shape's agents with all that they use; a second time nothing changes.

    Args:
        clients: The connection to a local service.
        shape: The shape.
    """
    created = create_agents(clients, shape.declaration)
    for key in shape.removed_objects:
        clients.client("s3").delete_object(Bucket=created.bucket, Key=key)
    return created


def ask_shape(
    clients: Clients, created: CreatedAgents, prompt: ShapePrompt, *, sessions: dict[str, str] | None = None
) -> ShapeAnswer:
    """Ask a shape's agent one prompt through its alias, and answer the calls that come back.

    Args:
        clients: The connection to a local service.
        created: What `create_shape` returned.
        prompt: The prompt.
        sessions: The ids of sessions by `ShapePrompt.session`; it is filled in.
    """
    session_ids = sessions if sessions is not None else {}
    session_id = session_ids.setdefault(prompt.session, uuid.uuid4().hex) if prompt.session else uuid.uuid4().hex
    runtime = clients.client("bedrock-agent-runtime", read_timeout_s=120.0)
    agent = created.root
    memory = {"memoryId": prompt.memory_id} if prompt.memory_id else {}
    target = {"agentId": agent.id, "agentAliasId": created.aliases[agent.name], "sessionId": session_id, **memory}
    request: dict[str, Any] = {"inputText": prompt.text, "sessionState": {"sessionAttributes": dict(prompt.attributes)}}
    trace, tools, returned = list[Mapping[str, Any]](), list[str](), list[Mapping[str, Any]]()
    while True:
        text, control = "", None
        with contextlib.closing(runtime.invoke_agent(enableTrace=True, **target, **request)["completion"]) as events:
            for event in events:
                if "chunk" in event:
                    text += event["chunk"]["bytes"].decode()
                elif "returnControl" in event:
                    control = event["returnControl"]
                elif "trace" in event:
                    trace.append(event["trace"])
                    tools += filter(None, map(_called, event["trace"]["trace"].values()))
        if control is None:
            break
        calls = [next(iter(item.values())) for item in control["invocationInputs"]]
        returned += calls
        if prompt.confirms:  # a confirmed call is in the trace once more
            again = [_name(call) for call in calls if call["actionInvocationType"] == "USER_CONFIRMATION"]
            tools = [name for name in tools if name not in again]
        results = [_result(call, prompt) for call in calls]
        state = {"invocationId": control["invocationId"], "returnControlInvocationResults": results}
        request = {"sessionState": state}
    if prompt.ends_session:
        with contextlib.closing(runtime.invoke_agent(endSession=True, **target)["completion"]) as events:
            list(events)
    return ShapeAnswer(
        text=text,
        tools=tuple(tools),
        kinds=tuple(kind for event in trace for kind in event["trace"]),
        trace=tuple(trace),
        returned=tuple(returned),
    )


def _called(content: Mapping[str, Any]) -> str:
    """Return what an event of the trace calls; "" if nothing or a collaborator."""
    invocation_input: Mapping[str, Any] = content.get("invocationInput") or {}
    if call := invocation_input.get("actionGroupInvocationInput"):
        return str(call.get("function") or f"{call['verb'].upper()} {call['apiPath']}")
    if "knowledgeBaseLookupInput" in invocation_input:
        return "knowledge base"
    return "code interpreter" if "codeInterpreterInvocationInput" in invocation_input else ""


def _result(call: Mapping[str, Any], prompt: ShapePrompt) -> dict[str, Any]:
    kind = "functionResult" if "function" in call else "apiResult"
    members = ("actionGroup", "agentId", "function", "apiPath", "httpMethod")
    result = {member: call[member] for member in members if member in call}
    needs = call["actionInvocationType"]
    if needs != "RESULT":
        result["confirmationState"] = "CONFIRM" if prompt.confirms else "DENY"
    if needs != "USER_CONFIRMATION":
        result["responseBody"] = {"TEXT": {"body": prompt.results[_name(call)]}}
    return {kind: result}


def _name(call: Mapping[str, Any]) -> str:
    return str(call.get("function") or f"{call['httpMethod']} {call['apiPath']}")
