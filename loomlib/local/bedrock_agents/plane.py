"""PrepareAgent, DeleteAgent and the operations on versions of agents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from ..paging import page_request
from ..resources import Place, ResourceRecord
from ..resources.engine import ResourceEngine
from ..wire import conflict, invalid, not_found
from .prompts import check_prompts, shown_prompts
from .resources import AGENT, AGENT_ALIAS, TEST_ALIAS
from .tools import version_tools, with_schemas
from .versions import AgentVersion, find_version, numbers, with_prepared, without_version

_PAGE: Final = 100


class AgentPlane:
    """Prepares agents, and shows and deletes their versions.

    Args:
        engine: The agents and their aliases.
    """

    def __init__(self, engine: ResourceEngine) -> None:
        self._engine, self._store = engine, engine.store
        self.handlers = {"DeleteAgent": self.delete_agent}

    async def prepare_agent(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Check the working draft and store it as the state that the test alias runs."""
        async with self._engine.changing:
            agent = self._find(parameters, place)
            groups = await asyncio.to_thread(_checked, find_version(agent, "DRAFT"), place)
            agent = replace(with_prepared(agent, groups), updated_at=datetime.now(UTC))
            agent = (await asyncio.to_thread(self._store.put, [agent]))[0]
        prepared_at = agent.internal["prepared"]["createdAt"]
        summary = {"agentId": agent.id, "agentStatus": "PREPARING", "agentVersion": "DRAFT"}
        return {**summary, "preparedAt": prepared_at}

    async def delete_agent(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Delete an agent with its versions and aliases."""
        agent = self._find(parameters, place)
        aliases = self._store.records(AGENT_ALIAS.noun, place=place, parent=agent.arn)
        used = [alias.name for alias in aliases if alias.id != TEST_ALIAS]
        if used and not parameters.get("skipResourceInUseCheck"):
            message = "delete them first, or set skipResourceInUseCheck"
            raise conflict(f"The agent {agent.id} has the aliases {', '.join(used)}; {message}")
        return await self._engine.call("DeleteAgent", parameters, region=place.region, account_id=place.account_id)

    async def get_agent_version(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Return a numbered version."""
        agent = self._find(parameters, place)
        version = find_version(agent, parameters["agentVersion"])
        prompts = {"promptOverrideConfiguration": shown_prompts(version.document)}
        document = {**version.document, **prompts, **_summary(version), "version": version.version}
        return {"agentVersion": {**document, "agentId": agent.id, "agentArn": agent.arn}}

    async def list_agent_versions(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """List the working draft and the numbered versions, the newest first."""
        agent = self._find(parameters, place)
        request = page_request(parameters, "ListAgentVersions", int, size=_PAGE)
        names = [*numbers(agent), "DRAFT"]
        start: int = request.after[0] + 1 if request.after else 0
        summaries: list[dict[str, Any]] = []
        for name in names[start : start + request.fetch]:
            summary = {**_summary(find_version(agent, name)), "agentVersion": name}
            summaries.append({**summary, "agentStatus": agent.status} if name == "DRAFT" else summary)
        return request.page("agentVersionSummaries", summaries, lambda at: [start + at])

    async def delete_agent_version(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Delete a numbered version that no alias routes to."""
        async with self._engine.changing:
            agent, version = self._find(parameters, place), parameters["agentVersion"]
            find_version(agent, version)
            aliases = self._store.records(AGENT_ALIAS.noun, place=place, parent=agent.arn)
            used = [
                item.name for item in aliases if item.document["routingConfiguration"][0]["agentVersion"] == version
            ]
            if used and not parameters.get("skipResourceInUseCheck"):
                message = "route them elsewhere first, or set skipResourceInUseCheck"
                raise conflict(f"The aliases {', '.join(used)} route to version {version}; {message}")
            await asyncio.to_thread(self._store.put, [without_version(agent, version)])
        return {"agentId": agent.id, "agentVersion": version, "agentStatus": "DELETING"}

    def _find(self, parameters: Mapping[str, Any], place: Place) -> ResourceRecord:
        if record := self._store.visible(AGENT.noun, place, parameters["agentId"]):
            return record
        raise not_found(f"Agent not found: {parameters['agentId']}")


def _summary(version: AgentVersion) -> dict[str, Any]:
    summary = {
        "agentName": version.name,
        "agentStatus": "PREPARED",
        "createdAt": version.created_at,
        "updatedAt": version.created_at,
    }
    optional = ("description", "guardrailConfiguration")
    return {**summary, **{name: version.document[name] for name in optional if name in version.document}}


def _checked(version: AgentVersion, place: Place) -> dict[str, Any]:
    """Refuse a draft that AWS would not prepare or that cannot be executed here; return its action groups."""
    document = version.document
    for member in ("foundationModel", "instruction"):
        if not document.get(member):
            raise invalid(f"The agent {version.id} cannot be prepared: {member} is missing")
    check_prompts(document)
    if document["agentCollaboration"] != "DISABLED" and not version.parts["collaborators"]:
        mode = document["agentCollaboration"]
        raise invalid(f"The agent {version.id} cannot be prepared: it is a {mode} without collaborators")
    groups = with_schemas(version.parts["actionGroups"], place)
    version_tools(replace(version, parts={**version.parts, "actionGroups": groups}), place)
    return groups
