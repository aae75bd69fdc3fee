"""The parts of an agent: action groups, knowledge bases and collaborators, declared over the service model.

Their operations name a version of an agent; only the working draft can be changed.
"""

from __future__ import annotations

import asyncio
import secrets
import string
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from moto.core.model import ServiceModel

from ..knowledge.ingestion import find_base
from ..paging import page_request
from ..resources import Place, ResourceRecord
from ..resources.engine import ResourceEngine
from ..service_models import service_model
from ..wire import conflict, invalid, not_found
from .resources import AGENT, AGENT_ALIAS, TEST_ALIAS
from .tools import group_tools
from .versions import draft_parts, find_version

_LETTERS: Final = string.ascii_uppercase + string.digits
_PAGE: Final = 100

Parameters = Mapping[str, Any]
Result = dict[str, Any]
PartHandler = Callable[[Parameters, Place], Awaitable[Result]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPart:
    """One family of operations on the parts of an agent.

    Attributes:
        noun: The noun in the operations' names.
        kind: The kind of part in a version; one of `versions.KINDS`.
        identifier: The member that identifies a part.
        name: The member with its name, which is unique within a version.
        create: The verb of the operation that adds a part.
        delete: The verb of the operation that removes a part.
        defaults: Members that AWS fills in.
    """

    noun: str
    kind: str
    identifier: str
    name: str
    create: str = "Associate"
    delete: str = "Disassociate"
    defaults: Mapping[str, str]

    @property
    def operations(self) -> dict[str, str]:
        """The operations' names by verb."""
        return {
            "create": f"{self.create}{self.noun}",
            "get": f"Get{self.noun}",
            "list": f"List{self.noun}s",
            "update": f"Update{self.noun}",
            "delete": f"{self.delete}{self.noun}",
        }


ACTION_GROUP: Final = AgentPart(
    noun="AgentActionGroup",
    kind="actionGroups",
    identifier="actionGroupId",
    name="actionGroupName",
    create="Create",
    delete="Delete",
    defaults={"actionGroupState": "ENABLED"},
)
KNOWLEDGE_BASE: Final = AgentPart(
    noun="AgentKnowledgeBase",
    kind="knowledgeBases",
    identifier="knowledgeBaseId",
    name="knowledgeBaseId",
    defaults={"knowledgeBaseState": "ENABLED"},
)
COLLABORATOR: Final = AgentPart(
    noun="AgentCollaborator",
    kind="collaborators",
    identifier="collaboratorId",
    name="collaboratorName",
    defaults={"relayConversationHistory": "DISABLED"},
)


class AgentParts:
    """Answers the operations on action groups, knowledge bases and collaborators of agents.

    Args:
        engine: The agents.
    """

    def __init__(self, engine: ResourceEngine) -> None:
        self._engine, self._store = engine, engine.store
        model = service_model("bedrock-agent")
        checks = {"actionGroups": self._check_group, "knowledgeBases": self._check_base}
        self.handlers: dict[str, PartHandler] = {}
        for part in (ACTION_GROUP, KNOWLEDGE_BASE, COLLABORATOR):
            family = _Family(self, part, model, checks.get(part.kind, self._check_collaborator))
            for verb, operation in part.operations.items():
                self.handlers[operation] = partial(getattr(family, verb))

    def agent(self, parameters: Parameters, place: Place) -> ResourceRecord:
        """Return the agent that a request names.

        Raises:
            RefusedError: The agent does not exist (404).
        """
        if record := self._store.visible(AGENT.noun, place, parameters["agentId"]):
            return record
        raise not_found(f"Agent not found: {parameters['agentId']}")

    async def change(self, agent: ResourceRecord, kind: str, parts: Mapping[str, Any]) -> None:
        """Store the working draft with new parts of a kind; the agent must be prepared again."""
        internal = {**agent.internal, "parts": {**draft_parts(agent), kind: dict(parts)}}
        changed = replace(agent, internal=internal, status="NOT_PREPARED", updated_at=datetime.now(UTC))
        await asyncio.to_thread(self._store.put, [changed])

    @property
    def changing(self) -> asyncio.Lock:
        """The lock that is held while an agent is read and changed."""
        return self._engine.changing

    def _check_group(self, agent: ResourceRecord, document: Mapping[str, Any]) -> None:
        signature = document.get("parentActionGroupSignature")
        members = [name for name in ("actionGroupExecutor", "apiSchema", "functionSchema") if document.get(name)]
        if signature:
            if members or (signature.startswith("AMAZON.") and document.get("description")):
                raise invalid(
                    f"An action group of signature {signature} cannot have {', '.join(members) or 'a description'}"
                )
            return
        if not document.get("actionGroupExecutor"):
            raise invalid("actionGroupExecutor is missing: name a Lambda function, or RETURN_CONTROL")
        if len(members) != 2:
            raise invalid("An action group requires either apiSchema or functionSchema")
        group_tools(document, agent.place)

    def _check_base(self, agent: ResourceRecord, document: Mapping[str, Any]) -> None:
        find_base(self._store, document["knowledgeBaseId"], agent.place)

    def _check_collaborator(self, agent: ResourceRecord, document: Mapping[str, Any]) -> None:
        if agent.document.get("agentCollaboration", "DISABLED") == "DISABLED":
            raise invalid(f"The agent {agent.id} is not a supervisor; set its agentCollaboration to SUPERVISOR first")
        arn: str = document["agentDescriptor"].get("aliasArn") or ""
        alias = self._store.visible(AGENT_ALIAS.noun, agent.place, arn) if arn else None
        if alias is None:
            raise not_found(f"Agent alias not found: {arn}")
        if alias.id == TEST_ALIAS:
            raise invalid(f"A collaborator requires the alias of a numbered version, not {TEST_ALIAS}")
        if alias.parent == agent.arn:
            raise invalid("An agent cannot be its own collaborator")


class _Family:
    """The operations of one declaration."""

    def __init__(
        self,
        parts: AgentParts,
        part: AgentPart,
        model: ServiceModel,
        check: Callable[[ResourceRecord, Mapping[str, Any]], None],
    ) -> None:
        self._parts, self._part, self._check = parts, part, check
        shape: Any = model.operation_model(part.operations["get"]).output_shape
        self._envelope = next(iter(shape.members))
        self._members = tuple(shape.members[self._envelope].members)
        listed: Any = model.operation_model(part.operations["list"]).output_shape
        self._list = next(name for name, member in listed.members.items() if member.type_name == "list")
        self._summary = tuple(listed.members[self._list].member.members)

    async def create(self, parameters: Parameters, place: Place) -> Result:
        part, token = self._part, parameters.get("clientToken") or ""
        async with self._parts.changing:
            agent = self._parts.agent(parameters, place)
            items = draft_parts(agent)[part.kind]
            if token and (same := next((item for item in items.values() if item["token"] == token), None)):
                return {self._envelope: self._response(agent, "DRAFT", same, self._members)}
            document = self._document_of(parameters)
            self._check_name(items, document, "")
            await asyncio.to_thread(self._check, agent, document)
            moment = time.time()
            identity = document.get(part.identifier) or "".join(secrets.choice(_LETTERS) for _ in range(10))
            item = {"id": identity, "token": token, "document": document, "createdAt": moment, "updatedAt": moment}
            await self._parts.change(agent, part.kind, {**items, identity: item})
        return {self._envelope: self._response(agent, "DRAFT", item, self._members)}

    async def get(self, parameters: Parameters, place: Place) -> Result:
        agent = self._parts.agent(parameters, place)
        item = self._find(find_version(agent, parameters["agentVersion"]).parts[self._part.kind], parameters)
        return {self._envelope: self._response(agent, parameters["agentVersion"], item, self._members)}

    async def list(self, parameters: Parameters, place: Place) -> Result:
        agent, operation = self._parts.agent(parameters, place), self._part.operations["list"]
        request = page_request(parameters, operation, str, size=_PAGE)
        version: str = parameters["agentVersion"]
        items = list(find_version(agent, version).parts[self._part.kind].values())
        if request.after is not None:
            item_ids = [item["id"] for item in items]
            items = items[item_ids.index(request.after[0]) + 1 :] if request.after[0] in item_ids else []
        summaries = [self._response(agent, version, item, self._summary) for item in items[: request.fetch]]
        return request.page(self._list, summaries, lambda at: [items[at]["id"]])

    async def update(self, parameters: Parameters, place: Place) -> Result:
        part = self._part
        async with self._parts.changing:
            agent = self._parts.agent(parameters, place)
            items = draft_parts(agent)[part.kind]
            former = self._find(items, parameters)
            document = self._document_of(parameters)
            if part.name == part.identifier:  # members that an update omits are unchanged: all are optional
                document = {**former["document"], **document}
            self._check_name(items, document, former["id"])
            await asyncio.to_thread(self._check, agent, document)
            item = {**former, "document": document, "updatedAt": time.time()}
            await self._parts.change(agent, part.kind, {**items, former["id"]: item})
        return {self._envelope: self._response(agent, "DRAFT", item, self._members)}

    async def delete(self, parameters: Parameters, place: Place) -> Result:
        part = self._part
        async with self._parts.changing:
            agent = self._parts.agent(parameters, place)
            items = draft_parts(agent)[part.kind]
            item = self._find(items, parameters)
            if part is ACTION_GROUP and not parameters.get("skipResourceInUseCheck"):
                state = {**part.defaults, **item["document"]}["actionGroupState"]
                if state == "ENABLED":
                    message = "disable it first, or set skipResourceInUseCheck"
                    raise conflict(f"The action group {item['id']} is ENABLED; {message}")
            rest = {identity: other for identity, other in items.items() if identity != item["id"]}
            await self._parts.change(agent, part.kind, rest)
        return {}

    def _find(self, items: Mapping[str, Any], parameters: Parameters) -> Mapping[str, Any]:
        identity: str = parameters[self._part.identifier]
        if identity not in items:
            spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in self._part.noun)
            raise not_found(f"{spaced.strip().capitalize()} not found in {parameters['agentId']}: {identity}")
        return items[identity]

    def _check_name(self, items: Mapping[str, Any], document: Mapping[str, Any], own: str) -> None:
        name = self._part.name
        if any(item["document"][name] == document[name] and item["id"] != own for item in items.values()):
            raise conflict(f"The agent's working draft already has {document[name]}")

    def _document_of(self, parameters: Parameters) -> dict[str, Any]:
        excluded_names = {"agentId", "agentVersion", "clientToken", "skipResourceInUseCheck"}
        if self._part.name != self._part.identifier:
            excluded_names.add(self._part.identifier)
        document = {
            name: value for name, value in parameters.items() if name not in excluded_names and value is not None
        }
        return {**self._part.defaults, **document}

    def _response(
        self, agent: ResourceRecord, version: str, item: Mapping[str, Any], members: tuple[str, ...]
    ) -> dict[str, Any]:
        document = item["document"]
        fields = {
            **document,
            "agentId": agent.id,
            "agentVersion": version,
            self._part.identifier: item["id"],
            "createdAt": item["createdAt"],
            **dict.fromkeys(("updatedAt", "lastUpdatedAt"), item["updatedAt"]),
        }
        if signature := document.get("parentActionGroupSignature"):
            fields["parentActionSignature"] = signature
        return {name: fields[name] for name in members if name in fields}
