"""Calls of collaborators: the request of a collaborator's turn, and the trace of its call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .services import AgentServices
from .sessions import AgentSession, Message
from .tools import AgentTool
from .tracing import metadata
from .turn_request import TurnRequest


def name_of(tool: AgentTool) -> str:
    """Return the collaborator's name; "" for a tool of another kind."""
    return str(tool.part["document"].get("collaboratorName", "")) if tool.kind == "collaborator" else ""


def collaborator_request(
    services: AgentServices,
    session: AgentSession,
    request: TurnRequest,
    tool: AgentTool,
    text: str,
    results: Sequence[Mapping[str, Any]],
) -> tuple[AgentSession, TurnRequest]:
    """Return the session of a collaborator and the request of its turn.

    Args:
        services: Finds the collaborator.
        session: The supervisor's session.
        request: The request of the supervisor's turn.
        tool: The collaborator.
        text: What it is asked.
        results: The results that the caller returned for the collaborator's calls.

    Raises:
        RefusedError: The collaborator no longer exists (424).
    """
    document = tool.part["document"]
    arn = document["agentDescriptor"]["aliasArn"]
    own = session.collaborator(document["collaboratorName"])
    own.attributes, own.prompt_attributes = session.attributes, session.prompt_attributes
    alias, version = services.alias_version(arn, request.place)
    return own, TurnRequest(
        agent=version,
        alias=alias,
        session_id=request.session_id,
        place=request.place,
        text=text,
        results=results,
        chain=(*request.chain, arn),
        collaborator=document["collaboratorName"],
        performance=request.performance,
        history=_conversation(session) if document.get("relayConversationHistory") == "TO_COLLABORATOR" else (),
    )


def shown_call(
    session: AgentSession, tool: AgentTool, text: str, results: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the trace's `invocationInput` of a collaborator's call.

    Args:
        session: The supervisor's session.
        tool: The collaborator.
        text: What it is asked.
        results: The results that the caller returned for the collaborator's calls.
    """
    call_input: dict[str, Any] = {"type": "TEXT", "text": text}
    if results:
        pending = session.pending
        returned = {
            "invocationId": pending.invocation_id if pending else "",
            "returnControlInvocationResults": list(results),
        }
        call_input = {"type": "RETURN_CONTROL", "returnControlResults": returned}
    return {
        "invocationType": "AGENT_COLLABORATOR",
        "agentCollaboratorInvocationInput": {**_collaborator_members(tool), "input": call_input},
    }


def shown_answer(tool: AgentTool, text: str, control: Mapping[str, Any] | None, begun: float) -> dict[str, Any]:
    """Return the trace's `observation` of a collaborator's call.

    Args:
        tool: The collaborator.
        text: Its answer.
        control: The calls that it returns to the caller; None if it has answered.
        begun: Start time of the call, in seconds since 1970.
    """
    output: dict[str, Any] = {"type": "TEXT", "text": text}
    if control is not None:
        output = {"type": "RETURN_CONTROL", "returnControlPayload": control}
    call_output = {**_collaborator_members(tool), "output": output, "metadata": metadata(begun)}
    return {"type": "AGENT_COLLABORATOR", "agentCollaboratorInvocationOutput": call_output}


def _collaborator_members(tool: AgentTool) -> dict[str, str]:
    document = tool.part["document"]
    return {
        "agentCollaboratorName": document["collaboratorName"],
        "agentCollaboratorAliasArn": document["agentDescriptor"]["aliasArn"],
    }


def _conversation(session: AgentSession) -> list[Message]:
    """Return the texts of user and agent in a session, without the calls between them."""
    return [message for turn in session.turns for message in (turn[0], turn[-1])]
