"""Agents and their aliases as resources of Bedrock's control plane."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ..resources import Behaviour, Draft, Resource, ResourceRecord
from ..resources.store import ResourceStore
from ..wire import conflict, invalid, not_implemented
from .prompts import shown_prompts
from .versions import find_version, numbers, with_new_version

AGENT: Final = Resource(
    noun="Agent",
    service="bedrock",
    arn="agent/{id}",
    id="{suffix}",
    letters="upper",
    partitioned=False,
    update="replace",
    aliases={"agentStatus": "status"},
)
AGENT_ALIAS: Final = Resource(
    noun="AgentAlias",
    service="bedrock",
    arn="agent-alias/{parent}/{id}",
    id="{suffix}",
    letters="upper",
    partitioned=False,
    parent=AGENT,
    aliases={"agentAliasStatus": "status"},
)
TEST_ALIAS: Final = "TSTALIASID"
"""The alias of every agent that runs its working draft."""

_DEFAULTS: Final = {
    "idleSessionTTLInSeconds": 600, "orchestrationType": "DEFAULT", "agentCollaboration": "DISABLED",
}  # fmt: skip


class AgentBehaviour(Behaviour):
    """Creates the test alias of each agent, and adds its versions.

    A configuration is stored unchanged; PrepareAgent refuses settings that cannot be executed here.

    Args:
        store: The resources.
    """

    def __init__(self, store: ResourceStore) -> None:
        self._store = store

    async def before_create(self, draft: Draft) -> None:
        """Fill in AWS's defaults and create the test alias."""
        record = draft.record
        draft.record = agent = replace(record, document={**_DEFAULTS, **record.document})
        routing = [{"agentVersion": "DRAFT"}]
        draft.also.append(
            ResourceRecord(
                kind=AGENT_ALIAS.noun,
                region=agent.region,
                parent=agent.arn,
                id=TEST_ALIAS,
                name="AgentTestAlias",
                arn=AGENT_ALIAS.arn_of(id=TEST_ALIAS, name="", **agent.place._asdict(), parent=agent),
                status="PREPARED",
                document={"routingConfiguration": routing, "aliasInvocationState": "ACCEPT_INVOCATIONS"},
                created_at=agent.created_at,
                updated_at=agent.updated_at,
            )
        )

    async def before_update(self, draft: Draft) -> None:
        """Apply the new name."""
        record, name = draft.record, draft.parameters["agentName"]
        same = self._store.find(AGENT.noun, record.place, name, by_name=True)
        if same is not None and same.arn != record.arn:
            raise conflict(f"Agent with name {name} already exists: {same.id}")
        draft.record = replace(record, name=name, document={**_DEFAULTS, **record.document})

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Return the versions."""
        prepared: Mapping[str, Any] = record.internal.get("prepared") or {}
        members: dict[str, Any] = {"promptOverrideConfiguration": shown_prompts(record.document)}
        members |= {"agentVersion": "DRAFT", "latestAgentVersion": (*numbers(record), "DRAFT")[0]}
        if prepared:
            members["preparedAt"] = prepared["createdAt"]
        return members


class AgentAliasBehaviour(Behaviour):
    """Routes an alias to a version, which is created if the request does not name one.

    Args:
        store: The resources.
    """

    def __init__(self, store: ResourceStore) -> None:
        self._store = store

    async def before_create(self, draft: Draft) -> None:
        """Create a version, or check the named one."""
        if draft.parent is None:  # an alias is always below its agent
            return
        routing: Sequence[Mapping[str, Any]] = draft.parameters.get("routingConfiguration") or ()
        if routing:
            _check(draft.parent, routing)
        else:
            agent, number = with_new_version(draft.parent)
            draft.also.append(agent)
            routing = [{"agentVersion": number}]
        document = {**draft.record.document, "aliasInvocationState": "ACCEPT_INVOCATIONS"}
        draft.record = replace(draft.record, document=_routed(document, routing))

    async def before_update(self, draft: Draft) -> None:
        """Route to another version, and apply the new name."""
        former, parameters = draft.former, draft.parameters
        if former is None or draft.parent is None:
            return
        _refuse_test_alias(former)
        name = parameters["agentAliasName"]
        same = self._store.find(AGENT_ALIAS.noun, former.place, name, parent=former.parent, by_name=True)
        if same is not None and same.arn != former.arn:
            raise conflict(f"Agent alias with name {name} already exists: {same.id}")
        document = draft.record.document
        if routing := parameters.get("routingConfiguration"):
            _check(draft.parent, routing)
            document = _routed({**document, "routingConfiguration": former.document["routingConfiguration"]}, routing)
        else:
            document = {**document, "routingConfiguration": former.document["routingConfiguration"]}
        draft.record = replace(draft.record, name=name, document=document)

    async def before_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Refuse to delete the test alias."""
        _refuse_test_alias(record)


def _check(agent: ResourceRecord, routing: Sequence[Mapping[str, Any]]) -> None:
    for item in routing:
        if item.get("provisionedThroughput"):
            raise not_implemented("provisioned throughput of agent aliases")
        if not (version := item.get("agentVersion")):
            raise invalid("routingConfiguration does not name an agentVersion")
        if version == "DRAFT":
            raise invalid(f"Only the alias {TEST_ALIAS} can route to DRAFT; specify a numbered version")
        find_version(agent, version)


def _routed(document: Mapping[str, Any], routing: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an alias's document that routes to a version, with the change in its history."""
    moment, events = time.time(), list[dict[str, Any]](document.get("agentAliasHistoryEvents") or ())
    if events:
        events[-1] = {**events[-1], "endDate": moment}
    events.append({"routingConfiguration": list(routing), "startDate": moment})
    return {**document, "routingConfiguration": list(routing), "agentAliasHistoryEvents": events[-10:]}


def _refuse_test_alias(record: ResourceRecord) -> None:
    if record.id == TEST_ALIAS:
        raise invalid(f"The alias {TEST_ALIAS} always routes to the working draft and cannot be changed or deleted")
