"""Bedrock Agents ("Classic"): list and read them, and ask them with their trace."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal

from loomlib.errors import ResourceNotFoundError

from .connection import Clients
from .errors import translated
from .knowledge_bases import Passage, passage
from .memory_calls import pages

TEST_ALIAS: Final = "TSTALIASID"
"""The alias of every agent that runs its prepared working draft."""

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
class AgentStep:
    """One step of a trace.

    Attributes:
        agent: The collaborator that took it; "" for the agent that was asked.
        kind: "model", "thought", "action", "search", "agent", "question", "retry", "answer", "guardrail" or "failure".
        name: What was called: a model, a function or operation, a knowledge base, a collaborator.
        input: What it was given.
        output: What it returned.
        duration_ms: How long it took, as Bedrock gives it; None if it does not.
        input_tokens: Tokens that a model read.
        output_tokens: Tokens that it wrote.
    """

    agent: str
    kind: str
    name: str
    input: str = ""
    output: str = ""
    duration_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRequest:
    """A call that an agent returns to its caller.

    Attributes:
        name: The function, or the method and the path of the operation.
        arguments: The arguments by name, as texts.
        needs: "result", "confirmation", or "both".
        action_group: Its action group.
        agent: The collaborator that asks; "" for the agent itself.
        sent: What Bedrock sent.
    """

    name: str
    arguments: Mapping[str, str]
    needs: Literal["result", "confirmation", "both"]
    action_group: str
    agent: str
    sent: Mapping[str, Any] = field(repr=False)

    def result(self, text: str | None, *, confirmed: bool) -> dict[str, Any]:
        """Return what Bedrock is sent for this call.

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
    """What an agent answered in one turn.

    Attributes:
        text: The answer; "" if it returns control.
        steps: The trace.
        citations: Parts of the answer, each with the passages that it rests on.
        requests: The calls for which it returns control.
        invocation_id: The id of the return of control; "" without one.
        session_id: The session, to ask on.
        alias_id: The alias that was asked.
        duration_ms: From the call to the end of its stream, at the client.
        trace: The trace's events as Bedrock sent them.
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


def list_bedrock_agents(clients: Clients, *, region: str | None = None) -> Iterator[BedrockAgent]:
    """Return every agent of the account in a region."""
    control, where = clients.client("bedrock-agent", region), region or clients.region
    for item in pages(control.list_agents, "agentSummaries", {}, "Listing Bedrock agents", where):
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
        clients: The connection.
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
    """Return a version of an agent with all that it consists of, as Bedrock gives it.

    Args:
        clients: The connection.
        agent: The agent.
        version: A number, or DRAFT.

    Returns:
        The members `agent`, `actionGroups`, `knowledgeBases` and `collaborators`.
    """
    control = clients.client("bedrock-agent", agent.region)
    named = {"agentId": agent.id, "agentVersion": version}
    with translated("Reading a Bedrock agent", on=agent.name):
        if version == "DRAFT":
            shape = control.get_agent(agentId=agent.id)["agent"]
        else:
            shape = control.get_agent_version(**named)["agentVersion"]

    def listed(operation: str, member: str) -> list[Any]:
        return list(pages(getattr(control, operation), member, named, "Reading a Bedrock agent", agent.name))

    groups: list[Any] = []
    for item in listed("list_agent_action_groups", "actionGroupSummaries"):
        with translated("Reading an action group", on=item["actionGroupName"]):
            read = control.get_agent_action_group(**named, actionGroupId=item["actionGroupId"])
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
        clients: The connection.
        agent: The agent.
        key: The alias's name or id.

    Raises:
        ResourceNotFoundError: The agent has none such.
    """
    if key == TEST_ALIAS:
        return key
    control = clients.client("bedrock-agent", agent.region)
    request = {"agentId": agent.id}
    names: list[str] = []
    for item in pages(control.list_agent_aliases, "agentAliasSummaries", request, "Listing aliases", agent.name):
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
) -> BedrockAgentAnswer:
    """Ask an agent, with its trace (InvokeAgent).

    Args:
        clients: The connection.
        agent: The agent.
        prompt: The user's text; "" with results of a return of control.
        alias_id: The alias.
        session_id: The session of earlier questions; a new one without it.
        state: Bedrock's `sessionState`.

    Raises:
        AgentFailedError: What the agent needs failed, such as a Lambda function.
        RequestRejectedError: Bedrock refuses the request.
    """
    given: dict[str, Any] = {"inputText": prompt} if prompt else {}
    given |= {"sessionState": dict(state)} if state else {}
    text, citations = "", list[tuple[str, tuple[Passage, ...]]]()
    trace: list[Mapping[str, Any]] = []
    control: Mapping[str, Any] = {}
    began = time.perf_counter()
    with translated("Asking a Bedrock agent", on=agent.name):
        client = clients.client("bedrock-agent-runtime", agent.region, read_timeout_s=_READ_TIMEOUT_S)
        answer = client.invoke_agent(
            agentId=agent.id,
            agentAliasId=alias_id,
            sessionId=session_id or str(uuid.uuid4()),
            enableTrace=True,
            **given,
        )
        with closing(answer["completion"]) as events:
            for event in events:
                if "chunk" in event:
                    text += event["chunk"].get("bytes", b"").decode()
                    citations += map(_citation, event["chunk"].get("attribution", {}).get("citations", ()))
                elif "returnControl" in event:
                    control = event["returnControl"]
                elif "trace" in event:
                    trace.append(event["trace"])
    return BedrockAgentAnswer(
        text=text,
        steps=tuple(trace_steps(trace)),
        citations=tuple(citations),
        requests=tuple(_request(item) for item in control.get("invocationInputs", ())),
        invocation_id=control.get("invocationId", ""),
        session_id=answer["sessionId"],
        alias_id=alias_id,
        duration_ms=(time.perf_counter() - began) * 1_000,
        trace=tuple(trace),
    )


def trace_steps(trace: Iterable[Mapping[str, Any]]) -> Iterator[AgentStep]:
    """Yield the steps of a trace: each call with its result.

    Args:
        trace: The events of InvokeAgent's trace.
    """
    waiting: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for event in trace:
        agent: str = event.get("collaboratorName") or ""
        for kind, content in event["trace"].items():
            if kind == "guardrailTrace":
                shown = {name: content[name] for name in ("inputAssessments", "outputAssessments") if content.get(name)}
                yield AgentStep(agent=agent, kind="guardrail", name=content.get("action", ""), output=_json(shown))
            elif kind == "failureTrace":
                yield AgentStep(agent=agent, kind="failure", name="", output=content.get("failureReason", ""))
            else:
                for member, inner in content.items():
                    if member in ("modelInvocationInput", "invocationInput"):
                        waiting.setdefault(agent, []).append((member, inner))
                    else:
                        yield from _ended(agent, member, inner, waiting.setdefault(agent, []))
    for agent, left in waiting.items():
        for _, begun in left:
            yield from _called(agent, begun, {})


def _ended(
    agent: str, member: str, content: Mapping[str, Any], waiting: list[tuple[str, Mapping[str, Any]]]
) -> Iterator[AgentStep]:
    """Yield the step that an event of the orchestration completes."""
    if member == "rationale":
        yield AgentStep(agent=agent, kind="thought", name="", output=content.get("text", ""))
    elif member == "modelInvocationOutput":
        begun = _taken(waiting, "modelInvocationInput")
        about: Mapping[str, Any] = content.get("metadata") or {}
        usage: Mapping[str, int] = about.get("usage") or {}
        raw: Mapping[str, str] = content.get("rawResponse") or {}
        yield AgentStep(
            agent=agent,
            kind="model",
            name=begun.get("foundationModel", ""),
            input=begun.get("text", ""),
            output=raw.get("content", ""),
            duration_ms=about.get("totalTimeMs"),
            input_tokens=usage.get("inputTokens"),
            output_tokens=usage.get("outputTokens"),
        )
    elif member == "observation":
        kind: str = content.get("type", "")
        if kind in ("FINISH", "ASK_USER"):
            said: Mapping[str, Any] = content.get("finalResponse") or {}
            named = "answer" if kind == "FINISH" else "question"
            yield AgentStep(agent=agent, kind=named, name="", output=said.get("text", ""))
        elif kind == "REPROMPT":
            again: Mapping[str, Any] = content.get("repromptResponse") or {}
            yield from _called(agent, _taken(waiting, "invocationInput"), {})
            yield AgentStep(agent=agent, kind="retry", name=again.get("source", ""), output=again.get("text", ""))
        else:
            yield from _called(agent, _taken(waiting, "invocationInput"), content)


def _called(agent: str, begun: Mapping[str, Any], ended: Mapping[str, Any]) -> Iterator[AgentStep]:
    """Yield the step of a call from its two events."""
    output: Mapping[str, Any] = ended.get("actionGroupInvocationOutput") or {}
    if action := begun.get("actionGroupInvocationInput"):
        name = action.get("function") or f"{str(action.get('verb', '')).upper()} {action.get('apiPath', '')}"
        given = {item["name"]: item.get("value", "") for item in _arguments(action)}
        shown = AgentStep(agent=agent, kind="action", name=name, input=_json(given), output=output.get("text", ""))
    elif search := begun.get("knowledgeBaseLookupInput"):
        output = ended.get("knowledgeBaseLookupOutput") or {}
        found = "\n".join(item["content"].get("text", "") for item in output.get("retrievedReferences", ()))
        name, text = search.get("knowledgeBaseId", ""), search.get("text", "")
        shown = AgentStep(agent=agent, kind="search", name=name, input=text, output=found)
    elif asked := begun.get("agentCollaboratorInvocationInput"):
        output = ended.get("agentCollaboratorInvocationOutput") or {}
        answer: Mapping[str, Any] = output.get("output") or {}
        task: Mapping[str, Any] = asked.get("input") or {}
        name = asked.get("agentCollaboratorName", "")
        shown = AgentStep(
            agent=agent, kind="agent", name=name, input=task.get("text", ""), output=answer.get("text", "")
        )
    elif code := begun.get("codeInterpreterInvocationInput"):
        output = ended.get("codeInterpreterInvocationOutput") or {}
        said = output.get("executionOutput") or output.get("executionError") or ""
        shown = AgentStep(agent=agent, kind="action", name="code", input=code.get("code", ""), output=said)
    elif output:  # the result of a call that an earlier turn returned to the caller
        shown = AgentStep(agent=agent, kind="action", name="", output=output.get("text", ""))
    else:
        return
    about: Mapping[str, Any] = output.get("metadata") or {}
    yield replace(shown, duration_ms=about.get("totalTimeMs"))


def _taken(waiting: list[tuple[str, Mapping[str, Any]]], member: str) -> Mapping[str, Any]:
    """Take the newest call of a kind that has no result yet."""
    for at in range(len(waiting) - 1, -1, -1):
        if waiting[at][0] == member:
            return waiting.pop(at)[1]
    return {}


def _arguments(action: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    yield from action.get("parameters") or ()
    body: Mapping[str, Any] = action.get("requestBody") or {}
    content: Mapping[str, Any] = body.get("content") or {}
    for given in content.values():
        yield from given["properties"] if isinstance(given, Mapping) else given


def _request(item: Mapping[str, Any]) -> ControlRequest:
    sent: Mapping[str, Any] = next(iter(item.values()))
    needs: Mapping[str, Literal["result", "confirmation", "both"]] = {
        "USER_CONFIRMATION": "confirmation", "USER_CONFIRMATION_AND_RESULT": "both",
    }  # fmt: skip
    return ControlRequest(
        name=sent.get("function") or f"{sent.get('httpMethod', '')} {sent.get('apiPath', '')}",
        arguments={argument["name"]: argument.get("value", "") for argument in _arguments(sent)},
        needs=needs.get(sent.get("actionInvocationType", ""), "result"),
        action_group=sent["actionGroup"],
        agent=sent.get("collaboratorName") or "",
        sent=sent,
    )


def _citation(item: Mapping[str, Any]) -> tuple[str, tuple[Passage, ...]]:
    part: Mapping[str, Any] = item.get("generatedResponsePart") or {}
    text: Mapping[str, Any] = part.get("textResponsePart") or {}
    references: Sequence[Mapping[str, Any]] = item.get("retrievedReferences") or ()
    return text.get("text", ""), tuple(map(passage, references))


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if value else ""
