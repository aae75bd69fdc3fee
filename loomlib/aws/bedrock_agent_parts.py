"""One version of an agent, read in full from Bedrock: its parts, and the resources that they refer to.

A part that cannot be read is recorded with a `problem` instead of an error, so that the rest of the agent is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from loomlib.errors import LoomError, RequestRejectedError, ResourceNotFoundError
from loomlib.presentation.formats import size

from .bedrock_agents import TEST_ALIAS
from .bedrock_models import IdentifiedModel, identify_model
from .connection import Clients
from .paging import iter_items, with_retries

DRAFT: Final = "DRAFT"
"""The version of an agent that is its working draft."""

LARGEST_SCHEMA: Final = 2_000_000
"""Largest API schema, in bytes, that is read from S3; Bedrock's own limit is lower."""

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRoute:
    """An alias of an agent, and the version that it routes to.

    Attributes:
        id: The alias's id.
        name: Its name.
        version: The version, a number or DRAFT.
        provisioned_throughput: The ARN of the provisioned throughput that it uses, "" without one.
        updated_at: When the alias was last changed.
    """

    id: str
    name: str
    version: str
    provisioned_throughput: str = ""
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedText:
    """A text or name that an agent refers to and that was read from another service.

    Attributes:
        text: The text or the name that was read.
        source: Where it was read from.
        problem: Why it cannot be read, "" if it was.
        changed_at: When it was last changed, if known.
    """

    text: str = field(default="", repr=False)
    source: str = ""
    problem: str = ""
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionDocuments:
    """One version of an agent as JSON values, as returned by Bedrock's operations.

    Attributes:
        agent: The version's own members (GetAgent, GetAgentVersion).
        action_groups: Its action groups (GetAgentActionGroup).
        knowledge_bases: Its knowledge bases (ListAgentKnowledgeBases).
        collaborators: Its collaborators (ListAgentCollaborators).
        schemas: The API schemas in S3 by the action group's id, or the reason why an action group cannot be read.
        base_names: The names of the knowledge bases by id.
        guardrail_name: The guardrail's name, None without a guardrail.
        model: The model that the agent uses.
        tags: The agent's tags.
        problems: Parts of the version that could not be listed.
    """

    agent: JsonObject
    action_groups: tuple[JsonObject, ...] = ()
    knowledge_bases: tuple[JsonObject, ...] = ()
    collaborators: tuple[JsonObject, ...] = ()
    schemas: Mapping[str, RelatedText] = field(default_factory=dict[str, RelatedText])
    base_names: Mapping[str, RelatedText] = field(default_factory=dict[str, RelatedText])
    guardrail_name: RelatedText | None = None
    model: IdentifiedModel | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: tuple[str, ...] = ()


def list_routes(clients: Clients, agent_id: str, *, region: str | None = None) -> list[AgentRoute]:
    """Return the aliases of an agent with the versions that they route to.

    Args:
        clients: The AWS clients of a connection.
        agent_id: The agent's id.
        region: The region, if it is not the connection's.
    """
    control, request = clients.client("bedrock-agent", region), {"agentId": agent_id}
    listed = iter_items(control.list_agent_aliases, "agentAliasSummaries", request, "Listing aliases", agent_id)
    return [_route(item) for item in listed]


def find_route(clients: Clients, agent_id: str, alias: str, *, region: str | None = None) -> AgentRoute:
    """Return an alias of an agent with the version that it routes to.

    Args:
        clients: The AWS clients of a connection.
        agent_id: The agent's id.
        alias: The alias's name, id or ARN, or DRAFT for the test alias.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: The agent has no such alias.
        RequestRejectedError: The alias does not route to a version.
    """
    key = TEST_ALIAS if alias == DRAFT else alias.rpartition("/")[2]
    routes = list_routes(clients, agent_id, region=region)
    route = next((candidate for candidate in routes if key in (candidate.name, candidate.id)), None)
    if route is None and key == TEST_ALIAS:
        return AgentRoute(id=TEST_ALIAS, name="AgentTestAlias", version=DRAFT)
    if route is None:
        names = ", ".join(candidate.name for candidate in routes) or "none"
        raise ResourceNotFoundError(
            f"The agent has no alias {alias}", on=agent_id, try_=f"one of its aliases ({names}), or alias={DRAFT!r}"
        )
    if not route.version:
        raise RequestRejectedError(
            f"The alias {route.name} does not route to a version", on=agent_id, try_="route the alias to a version"
        )
    return route


def read_version(clients: Clients, agent_id: str, version: str, *, region: str | None = None) -> VersionDocuments:
    """Return one version of an agent with all its parts and the resources that they refer to.

    Args:
        clients: The AWS clients of a connection.
        agent_id: The agent's id.
        version: A number, or DRAFT.
        region: The region, if it is not the connection's.

    Raises:
        AwsError: The version itself cannot be read.
    """
    control = clients.client("bedrock-agent", region)
    action = "Reading a Bedrock agent"
    problems: list[str] = []
    agent: dict[str, Any] = dict(with_retries(control.get_agent, {"agentId": agent_id}, action, agent_id)["agent"])
    identifiers = {"agentId": agent_id, "agentVersion": version}
    if version != DRAFT:
        draft = agent
        agent = dict(
            with_retries(control.get_agent_version, identifiers, action, f"{agent_id}, version {version}")[
                "agentVersion"
            ]
        )
        # GetAgentVersion does not return a custom orchestration, so that of the working draft is used.
        agent |= {name: draft[name] for name in ("orchestrationType", "customOrchestration") if name in draft}
        if draft.get("customOrchestration"):
            problems.append(f"Whether version {version} has the draft's own orchestration cannot be read")

    def listed(operation: str, member: str, noun: str) -> tuple[JsonObject, ...]:
        try:
            return tuple(iter_items(getattr(control, operation), member, identifiers, f"Listing {noun}", agent_id))
        except LoomError as error:
            problems.append(error.what)
            return ()

    summaries = listed("list_agent_action_groups", "actionGroupSummaries", "action groups")
    unread: dict[str, RelatedText] = {}
    groups = tuple(_action_group(control, identifiers, summary, unread) for summary in summaries)
    bases = listed("list_agent_knowledge_bases", "agentKnowledgeBaseSummaries", "knowledge bases")
    model: str = agent.get("foundationModel") or ""
    schemas = {**_schemas(clients, groups, region), **unread}
    if version != DRAFT:
        problems += [
            f"The schema {schema.source} was changed after version {version} was created; "
            "that version may still use the earlier schema"
            for schema in schemas.values()
            if schema.changed_at and agent.get("createdAt") and schema.changed_at > agent["createdAt"]
        ]
    return VersionDocuments(
        agent=agent,
        action_groups=groups,
        knowledge_bases=bases,
        collaborators=listed("list_agent_collaborators", "agentCollaboratorSummaries", "collaborators"),
        schemas=schemas,
        base_names={base["knowledgeBaseId"]: _base_name(control, base["knowledgeBaseId"]) for base in bases},
        guardrail_name=_guardrail_name(clients, agent.get("guardrailConfiguration") or {}, region),
        model=identify_model(clients, model, region=region) if model else None,
        tags=_tags(control, agent.get("agentArn") or "", problems),
        problems=tuple(problems),
    )


def read_schema(clients: Clients, bucket: str, key: str, *, region: str | None = None) -> RelatedText:
    """Return the text of an API schema in S3; a failed read is returned as a problem, not raised.

    Args:
        clients: The AWS clients of a connection.
        bucket: The bucket.
        key: The object's key.
        region: The region, if it is not the connection's.
    """
    where = f"s3://{bucket}/{key}"
    if not bucket or not key:
        return RelatedText(source=where, problem="the schema's address in S3 is incomplete")

    def read(**request: Any) -> dict[str, Any]:
        answer = clients.s3(region).get_object(**request)
        with answer["Body"] as body:
            return {"content": body.read(LARGEST_SCHEMA + 1), "changed": answer.get("LastModified")}

    try:
        answer = with_retries(read, {"Bucket": bucket, "Key": key}, "Reading an API schema", where)
    except LoomError as error:
        return RelatedText(source=where, problem=f"the schema {where} cannot be read: {error.what}")
    content: bytes = answer["content"]
    if len(content) > LARGEST_SCHEMA:
        limit = size(LARGEST_SCHEMA)
        return RelatedText(source=where, problem=f"the schema {where} is larger than {limit}")
    text = _decoded(content)
    if text is None:
        return RelatedText(source=where, problem=f"the schema {where} is not text in UTF-8 or UTF-16")
    return RelatedText(text=text, source=where, changed_at=answer["changed"])


def _decoded(content: bytes) -> str | None:
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


def _route(item: JsonObject) -> AgentRoute:
    routing: JsonObject = next(iter(item.get("routingConfiguration") or ()), dict[str, Any]())
    return AgentRoute(
        id=item["agentAliasId"],
        name=item["agentAliasName"],
        version=routing.get("agentVersion") or "",
        provisioned_throughput=routing.get("provisionedThroughput") or "",
        updated_at=item.get("updatedAt"),
    )


def _action_group(
    control: Any, identifiers: JsonObject, summary: JsonObject, unread: dict[str, RelatedText]
) -> JsonObject:
    request = {**identifiers, "actionGroupId": summary["actionGroupId"]}
    name = str(summary.get("actionGroupName", ""))
    try:
        answer = with_retries(control.get_agent_action_group, request, f"Reading the action group {name}", name)
    except LoomError as error:
        unread[summary["actionGroupId"]] = RelatedText(problem=f"it cannot be read: {error.what}")
        return summary
    return answer["agentActionGroup"]


def _schemas(clients: Clients, groups: tuple[JsonObject, ...], region: str | None) -> dict[str, RelatedText]:
    schemas: dict[str, RelatedText] = {}
    for group in groups:
        schema = group.get("apiSchema")
        place = schema.get("s3") if isinstance(schema, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if isinstance(place, dict):
            bucket, key = str(place.get("s3BucketName", "")), str(place.get("s3ObjectKey", ""))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
            schemas[group["actionGroupId"]] = read_schema(clients, bucket, key, region=region)
    return schemas


def _base_name(control: Any, identity: str) -> RelatedText:
    def read() -> str:
        request, action = {"knowledgeBaseId": identity}, "Reading a knowledge base"
        return str(with_retries(control.get_knowledge_base, request, action, identity)["knowledgeBase"]["name"])

    return _related_text(read, "it cannot be read")


def _guardrail_name(clients: Clients, configuration: JsonObject, region: str | None) -> RelatedText | None:
    identity = configuration.get("guardrailIdentifier")
    if not identity:
        return None
    request = {"guardrailIdentifier": identity, "guardrailVersion": configuration.get("guardrailVersion") or DRAFT}

    def read() -> str:
        bedrock = clients.client("bedrock", region)
        return str(with_retries(bedrock.get_guardrail, request, "Reading a guardrail", str(identity))["name"])

    return _related_text(read, "it cannot be read")


def _related_text(read: Callable[[], str], action: str) -> RelatedText:
    try:
        return RelatedText(text=read())
    except ResourceNotFoundError:
        return RelatedText(problem="it does not exist")
    except LoomError as error:
        return RelatedText(problem=f"{action}: {error.what}")


def _tags(control: Any, arn: str, problems: list[str]) -> dict[str, str]:
    if not arn:
        return {}
    try:
        answer = with_retries(control.list_tags_for_resource, {"resourceArn": arn}, "Reading the tags of an agent", arn)
    except LoomError as error:
        problems.append(error.what)
        return {}
    return dict(answer.get("tags") or {})
