"""InvokeAgent: the checks of a request and the events of its response; and the memory of agents."""

from __future__ import annotations

import base64
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from ..models.reply import encode_event, encode_exception
from ..paging import page_request
from ..resources import Place, ResourceRecord
from ..tenancy import acting_for, new_tenant
from ..wire import LiveStream, RefusedError, conflict, invalid, not_found, not_implemented
from .code_sandbox import file_part, read_uploads
from .memories import AgentMemories, has_memory, shown_summary
from .resources import AGENT, AGENT_ALIAS
from .services import AgentServices
from .sessions import AgentSession, AgentSessions
from .turn_request import TurnRequest
from .turns import AgentTurn
from .versions import AgentVersion, find_version, prepared_version

_log = logging.getLogger(__name__)

_ERRORS: Final = frozenset(
    {"AccessDeniedException", "ConflictException", "DependencyFailedException", "ModelNotReadyException"}
    | {"ResourceNotFoundException", "ServiceQuotaExceededException", "ThrottlingException", "ValidationException"}
)
"""The errors that the service model allows as stream events; any other error is a failed dependency."""

_PAGE: Final = 100
_ENDED: Final = "Session is terminated as 'endSession' flag is set in request."


class AgentInvocations:
    """Answers InvokeAgent, GetAgentMemory and DeleteAgentMemory.

    Args:
        services: The services that agents call.
    """

    def __init__(self, services: AgentServices) -> None:
        self._services, self._sessions = services, AgentSessions()
        self._memories = AgentMemories(services.store)

    async def invoke_agent(self, parameters: Mapping[str, Any], place: Place) -> LiveStream:
        """Run a turn of an agent and stream its events as they happen; an error is the last event."""
        alias, version = self._find(parameters, place)
        state: Mapping[str, Any] = parameters.get("sessionState") or {}
        if parameters.get("promptCreationConfigurations"):
            raise not_implemented("promptCreationConfigurations of InvokeAgent")
        session_id: str = parameters["sessionId"]
        headers = [
            (b"x-amzn-bedrock-agent-content-type", b"application/json"),
            (b"x-amz-bedrock-agent-session-id", session_id.encode()),
        ]
        if parameters.get("endSession"):
            ended = self._sessions.end(place, alias.arn, session_id)
            if ended is not None:
                ended.memory_id = ended.memory_id or parameters.get("memoryId") or ""
                await self._end(alias, session_id, ended)
            return LiveStream(_only(encode_event("chunk", _chunk(_ENDED, []))), headers)
        results = state.get("returnControlInvocationResults") or ()
        if not results and not (parameters.get("inputText") or "").strip():
            raise invalid("inputText is missing; a request without results of a return of control requires it")
        await self._end_idle(alias, place)
        memory_id: str = parameters.get("memoryId") or ""
        if memory_id and not has_memory(version):
            raise invalid(f"The agent {version.id} has no memory: set its memoryConfiguration, or omit memoryId")
        memory = await self._memories.recent(alias, version, memory_id, tenant=new_tenant()) if memory_id else []
        uploads, documents = await read_uploads(state.get("files") or (), place)
        idle_s: float = version.document["idleSessionTTLInSeconds"]
        session = self._sessions.session(place, alias.arn, session_id, idle_s=idle_s)
        if session.busy:
            raise conflict(f"The session {session_id} is processing another request; wait until it has ended")
        if results:
            waiting = session.pending
            if waiting is None or state.get("invocationId") != waiting.invocation_id:
                raise invalid(f"The session {session_id} is not waiting for results with this invocationId")
        configured: Mapping[str, Any] = parameters.get("bedrockModelConfigurations") or {}
        request = TurnRequest(
            agent=version,
            alias=alias,
            session_id=session_id,
            place=place,
            text=parameters.get("inputText") or "",
            documents=documents,
            results=results,
            chain=(alias.arn,),
            performance=configured.get("performanceConfig") or {},
            memory=memory,
        )
        _attend(session, state)
        session.uploads |= uploads
        session.downloads, session.agent, session.memory_id = {}, version, memory_id or session.memory_id
        turn = AgentTurn(self._services, session, request)
        session.busy = True
        if (oldest := self._sessions.take_oldest()) is not None:
            with acting_for(oldest.tenant):
                await self._services.sandboxes.end(oldest)
        return LiveStream(_events(turn, session, traced=bool(parameters.get("enableTrace"))), headers)

    async def get_agent_memory(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """List the summaries of a memory, the newest first."""
        alias = self._alias(parameters, place)
        await self._end_idle(alias, place)
        request = page_request(
            {**parameters, "maxResults": parameters.get("maxItems")}, "GetAgentMemory", str, size=_PAGE
        )
        summaries = await self._memories.summaries(alias, parameters["memoryId"])
        if request.after is not None:
            session_ids = [summary.session_id for summary in summaries]
            summaries = summaries[session_ids.index(request.after[0]) + 1 :] if request.after[0] in session_ids else []
        contents = [shown_summary(summary) for summary in summaries[: request.fetch]]
        return request.page("memoryContents", contents, lambda at: [summaries[at].session_id])

    async def delete_agent_memory(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Delete the summaries of a memory, of one of its sessions, or of all memories of the alias."""
        alias = self._alias(parameters, place)
        await self._end_idle(alias, place)
        memory_id, session_id = parameters.get("memoryId") or "", parameters.get("sessionId") or ""
        if session_id and not memory_id:
            raise invalid("memoryId is missing; sessionId requires it")
        await self._memories.forget(alias, memory_id, session_id)
        return {}

    async def _end_idle(self, alias: ResourceRecord, place: Place) -> None:
        """End the sessions of an alias that have been idle too long."""
        for session_id, session in self._sessions.take_idle(place, alias.arn):
            try:
                await self._end(alias, session_id, session)
            except RefusedError as refused:  # the current request belongs to another session
                _log.warning("The session %s with %s was not summarized: %s", session_id, alias.arn, refused.message)

    async def _end(self, alias: ResourceRecord, session_id: str, session: AgentSession) -> None:
        """Store the summary of an ended session, and stop its sandboxes."""
        with acting_for(session.tenant):
            await self._services.sandboxes.end(session)
            await self._memories.keep(self._services, alias, session_id, session)

    def _alias(self, parameters: Mapping[str, Any], place: Place) -> ResourceRecord:
        """Return the alias that a request names."""
        agent_id, alias_id = parameters["agentId"], parameters["agentAliasId"]
        agent = self._services.store.visible(AGENT.noun, place, agent_id)
        if agent is None:
            raise not_found(f"Agent not found: {agent_id}")
        alias = self._services.store.visible(AGENT_ALIAS.noun, place, alias_id, parent=agent.arn)
        if alias is None:
            raise not_found(f"Agent alias not found in {agent_id}: {alias_id}")
        return alias

    def _find(self, parameters: Mapping[str, Any], place: Place) -> tuple[ResourceRecord, AgentVersion]:
        """Return the alias and the version that a request names."""
        alias = self._alias(parameters, place)
        agent = self._services.store.of_arn(alias.parent)
        assert agent is not None
        agent_id, alias_id = agent.id, alias.id
        if alias.document.get("aliasInvocationState") == "REJECT_INVOCATIONS":
            raise invalid(f"The alias {alias_id} rejects invocations; use UpdateAgentAlias to let it accept them")
        number: str = alias.document["routingConfiguration"][0]["agentVersion"]
        version = prepared_version(agent) if number == "DRAFT" else find_version(agent, number)
        if version is None:
            raise invalid(f"The agent {agent_id} is {agent.status}; call PrepareAgent before it is invoked")
        if version.document.get("orchestrationType") == "CUSTOM_ORCHESTRATION":
            raise not_implemented("agents with custom orchestration")
        return alias, version


def _attend(session: AgentSession, state: Mapping[str, Any]) -> None:
    """Apply the attributes, the search configuration and the history in a request to the session."""
    session.attributes.update(state.get("sessionAttributes") or {})
    if not state.get("returnControlInvocationResults") or "promptSessionAttributes" in state:
        session.prompt_attributes = dict(state.get("promptSessionAttributes") or {})
    for item in state.get("knowledgeBaseConfigurations") or ():
        session.searches[item["knowledgeBaseId"]] = item["retrievalConfiguration"]
    conversation: Mapping[str, Any] = state.get("conversationHistory") or {}
    history: list[Mapping[str, Any]] = conversation.get("messages") or []
    if history and not session.turns:
        session.keep([dict(message) for message in history])


async def _events(turn: AgentTurn, session: AgentSession, *, traced: bool) -> AsyncIterator[bytes]:
    """Yield the events of a response."""
    try:
        async for frame in turn.run():
            if traced:
                yield frame
        if turn.control is not None:
            yield encode_event("returnControl", turn.control)
        else:
            yield encode_event("chunk", _chunk(turn.text, turn.citations))
        if session.downloads:
            yield encode_event("files", file_part(session.downloads))
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
