"""Bedrock Agents ("Classic"): list, read and invoke them, with their traces."""

from __future__ import annotations

import codecs
import mimetypes
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from loomlib.errors import RequestTimeoutError, ResourceNotFoundError
from loomlib.presentation.formats import time_limit

from .bedrock_agent_traces import AgentStep, arguments_of, trace_steps, typed_arguments
from .connection import Clients
from .errors import failure, translated
from .knowledge_bases import Passage, citation
from .paging import iter_items

TEST_ALIAS: Final = "TSTALIASID"
"""The alias that every agent has for its prepared working draft."""

_READ_TIMEOUT_S: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BedrockAgent:
    """An agent of Bedrock Agents.

    Attributes:
        id: Its id.
        name: Its name.
        status: Bedrock's status, such as PREPARED.
        description: Its description, "" without one.
        latest_version: Its newest version, or DRAFT.
        region: The AWS region.
        updated_at: When it was changed last.
    """

    id: str
    name: str
    status: str
    description: str
    latest_version: str
    region: str
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRequest:
    """A call that an agent returns to its caller for execution or confirmation.

    Attributes:
        name: The function, or the method and the path of the operation.
        arguments: The arguments by name, as strings.
        needs: "result", "confirmation", or "both".
        action_group: Its action group.
        agent: The collaborator that requests the call; "" for the agent itself.
        sent: The request as sent by Bedrock.
    """

    name: str
    arguments: Mapping[str, str]
    needs: Literal["result", "confirmation", "both"]
    action_group: str
    agent: str
    sent: Mapping[str, Any] = field(repr=False)

    @property
    def typed(self) -> dict[str, Any]:
        """The arguments by name, each converted to its declared type."""
        return typed_arguments(self.sent)

    def result(self, text: str | None, *, confirmed: bool) -> dict[str, Any]:
        """Return the result to send to Bedrock for this call.

        Args:
            text: The call's result; None if the agent makes the call itself.
            confirmed: Whether the user agrees to the call.
        """
        kind = "functionResult" if "function" in self.sent else "apiResult"
        members = ("actionGroup", "agentId", "function", "apiPath", "httpMethod")
        answer = {member: self.sent[member] for member in members if member in self.sent}
        if self.needs != "result":
            answer["confirmationState"] = "CONFIRM" if confirmed else "DENY"
        if text is not None:
            answer["responseBody"] = {"TEXT": {"body": text}}
            answer |= {"httpStatusCode": 200} if kind == "apiResult" else {}
        return {kind: answer}


@dataclass(frozen=True, slots=True, kw_only=True)
class BedrockAgentAnswer:
    """The answer of an agent in one turn.

    Attributes:
        text: The answer; "" if it returns control.
        steps: The trace.
        citations: Parts of the answer, each with the passages that it rests on.
        requests: The calls for which it returns control.
        invocation_id: The id of the return of control; "" without one.
        session_id: The session, for further questions.
        alias_id: The alias that was invoked.
        duration_ms: Time from the call to the end of its stream, measured at the client, in milliseconds.
        trace: The trace's events as Bedrock sent them.
        began_at: When the call began, in Unix seconds.
        ttft_ms: Time from the call to the first text that botocore's event stream returned, in milliseconds; None
            without text.
        chunk_offsets_ms: Time from the call to each piece of text, in milliseconds.
        request_id: Bedrock's id of the request.
        files: The files that the agent's code created, by name.
    """

    text: str
    steps: tuple[AgentStep, ...]
    citations: tuple[tuple[str, tuple[Passage, ...]], ...]
    requests: tuple[ControlRequest, ...]
    invocation_id: str
    session_id: str
    alias_id: str
    duration_ms: float
    trace: tuple[Mapping[str, Any], ...] = field(repr=False)
    began_at: float = 0.0
    ttft_ms: float | None = None
    chunk_offsets_ms: tuple[float, ...] = field(default=(), repr=False)
    request_id: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)


def list_bedrock_agents(clients: Clients, *, region: str | None = None) -> Iterator[BedrockAgent]:
    """Return every agent of the account in a region."""
    control, where = clients.client("bedrock-agent", region), region or clients.region
    for item in iter_items(control.list_agents, "agentSummaries", {}, "Listing Bedrock agents", where):
        yield BedrockAgent(
            id=item["agentId"],
            name=item["agentName"],
            status=item["agentStatus"],
            description=item.get("description") or "",
            latest_version=item.get("latestAgentVersion") or "DRAFT",
            region=where,
            updated_at=item["updatedAt"],
        )


def find_bedrock_agent(clients: Clients, key: str, *, region: str | None = None) -> BedrockAgent:
    """Return an agent by its name, id or ARN.

    Args:
        clients: The AWS clients of a connection.
        key: The agent's name, id or ARN.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is none.
    """
    for agent in list_bedrock_agents(clients, region=region):
        if key in (agent.name, agent.id) or key.endswith(f":agent/{agent.id}"):
            return agent
    where = region or clients.region
    raise ResourceNotFoundError(
        "There is no such Bedrock agent", on=f"{key} in {where}", try_="bench.bedrock.agents.table()"
    )


def describe_bedrock_agent(clients: Clients, agent: BedrockAgent, *, version: str = "DRAFT") -> dict[str, Any]:
    """Return a version of an agent with all its parts, as returned by Bedrock.

    Args:
        clients: The AWS clients of a connection.
        agent: The agent.
        version: A number, or DRAFT.

    Returns:
        The members `agent`, `actionGroups`, `knowledgeBases` and `collaborators`.
    """
    control = clients.client("bedrock-agent", agent.region)
    identifiers = {"agentId": agent.id, "agentVersion": version}
    with translated("Reading a Bedrock agent", on=agent.name):
        if version == "DRAFT":
            shape = control.get_agent(agentId=agent.id)["agent"]
        else:
            shape = control.get_agent_version(**identifiers)["agentVersion"]

    def listed(operation: str, member: str) -> list[Any]:
        return list(iter_items(getattr(control, operation), member, identifiers, "Reading a Bedrock agent", agent.name))

    groups: list[Any] = []
    for item in listed("list_agent_action_groups", "actionGroupSummaries"):
        with translated("Reading an action group", on=item["actionGroupName"]):
            read = control.get_agent_action_group(**identifiers, actionGroupId=item["actionGroupId"])
        groups.append(read["agentActionGroup"])
    return {
        "agent": shape,
        "actionGroups": groups,
        "knowledgeBases": listed("list_agent_knowledge_bases", "agentKnowledgeBaseSummaries"),
        "collaborators": listed("list_agent_collaborators", "agentCollaboratorSummaries"),
    }


def delete_bedrock_agent(clients: Clients, agent: BedrockAgent) -> None:
    """Delete an agent with its versions and aliases."""
    with translated("Deleting a Bedrock agent", on=agent.name):
        clients.client("bedrock-agent", agent.region).delete_agent(agentId=agent.id, skipResourceInUseCheck=True)


def find_alias(clients: Clients, agent: BedrockAgent, key: str) -> str:
    """Return the id of an alias.

    Args:
        clients: The AWS clients of a connection.
        agent: The agent.
        key: The alias's name or id.

    Raises:
        ResourceNotFoundError: The agent has no such alias.
    """
    if key == TEST_ALIAS:
        return key
    control = clients.client("bedrock-agent", agent.region)
    request = {"agentId": agent.id}
    names: list[str] = []
    for item in iter_items(control.list_agent_aliases, "agentAliasSummaries", request, "Listing aliases", agent.name):
        if key in (item["agentAliasName"], item["agentAliasId"]):
            return str(item["agentAliasId"])
        names.append(item["agentAliasName"])
    raise ResourceNotFoundError(f"The agent has no alias {key}", on=agent.name, try_=f"one of {', '.join(names)}")


def ask_bedrock_agent(
    clients: Clients,
    agent: BedrockAgent,
    prompt: str = "",
    *,
    alias_id: str = TEST_ALIAS,
    session_id: str | None = None,
    state: Mapping[str, Any] | None = None,
    memory_id: str = "",
    stream: bool = False,
    timeout_s: float | None = None,
    read_timeout_s: float | None = None,
) -> BedrockAgentAnswer:
    """Invoke an agent and return its answer with its trace (InvokeAgent).

    Times are measured as a caller of boto3 sees them: they begin before the request is signed and end when botocore's
    event stream returns an event, which happens as soon as the last byte of the event is read.

    Args:
        clients: The AWS clients of a connection.
        agent: The agent.
        prompt: The user's text; "" when sending the results of a return of control.
        alias_id: The alias.
        session_id: The session of earlier questions; None for a new session.
        state: Bedrock's `sessionState`.
        memory_id: The memory of an agent that remembers sessions; "" without one.
        stream: Whether to stream the final answer (`streamFinalResponse`).
        timeout_s: Seconds after which the request is abandoned; None waits 300 seconds for each event.
        read_timeout_s: Seconds to wait for each event, by default `timeout_s`. Calls share the connections of a client
            only if it is the same for all of them.

    Raises:
        AgentFailedError: A dependency of the agent failed, such as a Lambda function.
        RequestRejectedError: Bedrock refuses the request.
        RequestTimeoutError: The answer was not complete in time.
        TransportError: The connection ended before the answer was complete.
    """
    options: dict[str, Any] = {"inputText": prompt} if prompt else {}
    options |= {"sessionState": dict(state)} if state else {}
    options |= {"memoryId": memory_id} if memory_id else {}
    options |= {"streamingConfigurations": {"streamFinalResponse": True}} if stream else {}
    text, citations = "", list[tuple[str, tuple[Passage, ...]]]()
    trace: list[Mapping[str, Any]] = []
    control: Mapping[str, Any] = {}
    offsets_ms: list[float] = []
    files: dict[str, bytes] = {}
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with translated("Asking a Bedrock agent", on=agent.name):
        wait_s = min(read_timeout_s or timeout_s or _READ_TIMEOUT_S, _READ_TIMEOUT_S)
        client = clients.client("bedrock-agent-runtime", agent.region, read_timeout_s=wait_s)
        began_at, began = time.time(), time.perf_counter()
        answer = client.invoke_agent(
            agentId=agent.id,
            agentAliasId=alias_id,
            sessionId=session_id or str(uuid.uuid4()),
            enableTrace=True,
            **options,
        )
        with closing(answer["completion"]) as events:
            for event in events:
                took_s = time.perf_counter() - began
                if timeout_s is not None and took_s > timeout_s:
                    message = f"No complete answer within {time_limit(timeout_s)}"
                    raise failure(RequestTimeoutError, message, on=agent.name)
                if "chunk" in event:
                    offsets_ms.append(took_s * 1_000)
                    text += decoder.decode(event["chunk"].get("bytes", b""))
                    citations += map(citation, event["chunk"].get("attribution", {}).get("citations", ()))
                elif "returnControl" in event:
                    control = event["returnControl"]
                elif "files" in event:
                    files |= {item["name"]: item["bytes"] for item in event["files"]["files"]}
                elif "trace" in event:
                    trace.append(event["trace"])
    return BedrockAgentAnswer(
        text=text + decoder.decode(b"", final=True),
        steps=tuple(trace_steps(trace)),
        citations=tuple(citations),
        requests=tuple(_request(item) for item in control.get("invocationInputs", ())),
        invocation_id=control.get("invocationId", ""),
        session_id=answer["sessionId"],
        alias_id=alias_id,
        duration_ms=(time.perf_counter() - began) * 1_000,
        trace=tuple(trace),
        files=files,
        began_at=began_at,
        ttft_ms=offsets_ms[0] if text else None,
        chunk_offsets_ms=tuple(offsets_ms),
        request_id=str(answer.get("ResponseMetadata", {}).get("RequestId", "")),
    )


def end_bedrock_session(clients: Clients, agent: BedrockAgent, session_id: str, *, alias_id: str = TEST_ALIAS) -> None:
    """End a session of an agent (InvokeAgent with `endSession`).

    Args:
        clients: The AWS clients of a connection.
        agent: The agent.
        session_id: The session.
        alias_id: The alias that was invoked.
    """
    with translated("Ending a session of a Bedrock agent", on=agent.name):
        client = clients.client("bedrock-agent-runtime", agent.region, read_timeout_s=_READ_TIMEOUT_S)
        answer = client.invoke_agent(
            agentId=agent.id, agentAliasId=alias_id, sessionId=session_id, inputText="-", endSession=True
        )
        with closing(answer["completion"]) as events:
            for _ in events:
                pass


def served_agent_version(clients: Clients, agent: BedrockAgent, alias_id: str) -> str:
    """Return the version that an alias routes to: a number, or DRAFT for the test alias.

    Args:
        clients: The AWS clients of a connection.
        agent: The agent.
        alias_id: The alias's id.
    """
    if alias_id == TEST_ALIAS:
        return "DRAFT"
    with translated("Reading an alias of a Bedrock agent", on=agent.name):
        client = clients.client("bedrock-agent", agent.region)
        alias = client.get_agent_alias(agentId=agent.id, agentAliasId=alias_id)["agentAlias"]
    routes: Sequence[Mapping[str, Any]] = alias.get("routingConfiguration") or ()
    return str(routes[0].get("agentVersion") or "") if routes else ""


def bedrock_agent_arn(clients: Clients, agent: BedrockAgent) -> str:
    """Return an agent's ARN (GetAgent).

    Args:
        clients: The AWS clients of a connection.
        agent: The agent.
    """
    with translated("Reading a Bedrock agent", on=agent.name):
        return str(clients.client("bedrock-agent", agent.region).get_agent(agentId=agent.id)["agent"]["agentArn"])


def code_file(name: str, content: bytes) -> dict[str, Any]:
    """Return a file for an agent's code interpreter, in the form of Bedrock's `sessionState.files`.

    Args:
        name: The file's name.
        content: Its content, at most 10 MB.
    """
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    source = {"sourceType": "BYTE_CONTENT", "byteContent": {"mediaType": kind, "data": content}}
    return {"name": name, "useCase": "CODE_INTERPRETER", "source": source}


def _request(item: Mapping[str, Any]) -> ControlRequest:
    invocation: Mapping[str, Any] = next(iter(item.values()))
    needs: Mapping[str, Literal["result", "confirmation", "both"]] = {
        "USER_CONFIRMATION": "confirmation", "USER_CONFIRMATION_AND_RESULT": "both",
    }  # fmt: skip
    return ControlRequest(
        name=invocation.get("function") or f"{invocation.get('httpMethod', '')} {invocation.get('apiPath', '')}",
        arguments={argument["name"]: argument.get("value", "") for argument in arguments_of(invocation)},
        needs=needs.get(invocation.get("actionInvocationType", ""), "result"),
        action_group=invocation["actionGroup"],
        agent=invocation.get("collaboratorName") or "",
        sent=invocation,
    )
