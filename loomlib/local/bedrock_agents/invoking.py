"""InvokeAgent: the request's checks, and the answer's events."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from ..models.reply import encode_event, encode_exception
from ..resources import Place, ResourceRecord
from ..wire import LiveStream, RefusedError, conflict, invalid, not_found, not_implemented
from .resources import AGENT, AGENT_ALIAS
from .services import AgentServices
from .sessions import AgentSession, AgentSessions
from .turn_request import TurnRequest
from .turns import AgentTurn
from .versions import AgentVersion, find_version, prepared_version

_ERRORS: Final = frozenset(
    {"AccessDeniedException", "ConflictException", "DependencyFailedException", "ModelNotReadyException"}
    | {"ResourceNotFoundException", "ServiceQuotaExceededException", "ThrottlingException", "ValidationException"}
)
"""What the service model has among a stream's events; all else is a dependency that failed."""

_ENDED: Final = "Session is terminated as 'endSession' flag is set in request."


class AgentInvocations:
    """Answers InvokeAgent.

    Args:
        services: What agents call.
    """

    def __init__(self, services: AgentServices) -> None:
        self._services, self._sessions = services, AgentSessions()

    async def invoke_agent(self, parameters: Mapping[str, Any], place: Place) -> LiveStream:
        """Run a turn of an agent; its events come as they happen, a failure as the last of them."""
        alias, version = self._find(parameters, place)
        state: Mapping[str, Any] = parameters.get("sessionState") or {}
        _check(parameters, state)
        session_id: str = parameters["sessionId"]
        headers = [
            (b"x-amzn-bedrock-agent-content-type", b"application/json"),
            (b"x-amz-bedrock-agent-session-id", session_id.encode()),
        ]
        if parameters.get("endSession"):
            self._sessions.end(place, alias.arn, session_id)
            return LiveStream(_only(encode_event("chunk", _chunk(_ENDED, []))), headers)
        results = state.get("returnControlInvocationResults") or ()
        if not results and not (parameters.get("inputText") or "").strip():
            raise invalid("inputText is missing, which a request without results of a return of control needs")
        idle_s: float = version.document["idleSessionTTLInSeconds"]
        session = self._sessions.session(place, alias.arn, session_id, idle_s=idle_s)
        if session.busy:
            raise conflict(f"The session {session_id} is answering another request; wait until that has ended")
        if results:
            waiting = session.pending
            if waiting is None or state.get("invocationId") != waiting.invocation_id:
                raise invalid(f"The session {session_id} waits for no results with this invocationId")
        configured: Mapping[str, Any] = parameters.get("bedrockModelConfigurations") or {}
        request = TurnRequest(
            agent=version,
            alias=alias,
            session_id=session_id,
            place=place,
            text=parameters.get("inputText") or "",
            results=results,
            chain=(alias.arn,),
            performance=configured.get("performanceConfig") or {},
        )
        _attend(session, state)
        turn = AgentTurn(self._services, session, request)
        session.busy = True
        return LiveStream(_events(turn, session, traced=bool(parameters.get("enableTrace"))), headers)

    def _find(self, parameters: Mapping[str, Any], place: Place) -> tuple[ResourceRecord, AgentVersion]:
        """Return the alias and the version that a request is for."""
        store, agent_id, alias_id = self._services.store, parameters["agentId"], parameters["agentAliasId"]
        agent = store.find(AGENT.noun, place, agent_id)
        if agent is None:
            raise not_found(f"Agent not found: {agent_id}")
        alias = store.find(AGENT_ALIAS.noun, place, alias_id, parent=agent.arn)
        if alias is None:
            raise not_found(f"Agent alias not found in {agent_id}: {alias_id}")
        if alias.document.get("aliasInvocationState") == "REJECT_INVOCATIONS":
            raise invalid(f"The alias {alias_id} rejects invocations; UpdateAgentAlias lets it accept them")
        number: str = alias.document["routingConfiguration"][0]["agentVersion"]
        version = prepared_version(agent) if number == "DRAFT" else find_version(agent, number)
        if version is None:
            raise invalid(f"The agent {agent_id} is {agent.status}; call PrepareAgent before it is invoked")
        return alias, version


def _check(parameters: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Refuse what is not executed here."""
    if parameters.get("memoryId"):
        raise not_implemented("memory of agents across sessions (memoryId)")
    if state.get("files"):
        raise not_implemented("files in sessions with agents")
    if parameters.get("promptCreationConfigurations"):
        raise not_implemented("promptCreationConfigurations of InvokeAgent")


def _attend(session: AgentSession, state: Mapping[str, Any]) -> None:
    """Take the attributes, the searches' configuration and the history that a request brings."""
    session.attributes.update(state.get("sessionAttributes") or {})
    if not state.get("returnControlInvocationResults") or "promptSessionAttributes" in state:
        session.prompt_attributes = dict(state.get("promptSessionAttributes") or {})
    for item in state.get("knowledgeBaseConfigurations") or ():
        session.searches[item["knowledgeBaseId"]] = item["retrievalConfiguration"]
    given: Mapping[str, Any] = state.get("conversationHistory") or {}
    history: list[Mapping[str, Any]] = given.get("messages") or []
    if history and not session.turns:
        session.keep([dict(message) for message in history])


async def _events(turn: AgentTurn, session: AgentSession, *, traced: bool) -> AsyncIterator[bytes]:
    """Yield the events of an answer."""
    try:
        async for frame in turn.run():
            if traced:
                yield frame
        if turn.control is not None:
            yield encode_event("returnControl", turn.control)
        else:
            yield encode_event("chunk", _chunk(turn.text, turn.citations))
    except RefusedError as refused:
        if traced:
            yield turn.tracing.failure(refused.message, refused.status)
        code = refused.code if refused.code in _ERRORS else "DependencyFailedException"
        yield encode_exception(code[0].lower() + code[1:], refused.message)
    finally:
        session.busy = False


async def _only(frame: bytes) -> AsyncIterator[bytes]:
    yield frame


def _chunk(text: str, citations: list[dict[str, Any]]) -> dict[str, Any]:
    chunk: dict[str, Any] = {"bytes": base64.b64encode(text.encode()).decode()}
    return {**chunk, "attribution": {"citations": citations}} if citations else chunk
