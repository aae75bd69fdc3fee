"""Versions of an agent: the working draft, its last prepared state, and the numbered ones, which never change."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..resources import ResourceRecord
from ..wire import conflict, not_found

DRAFT: Final = "DRAFT"
KINDS: Final = ("actionGroups", "knowledgeBases", "collaborators")
"""The parts of an agent, in addition to its own members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentVersion:
    """One state of an agent.

    Attributes:
        id: The agent's id.
        version: `DRAFT` or a number.
        name: The agent's name.
        document: The members of CreateAgent or UpdateAgent.
        parts: Its action groups, knowledge bases and collaborators, each by id.
        created_at: Creation time in seconds since 1970.
    """

    id: str
    version: str
    name: str
    document: Mapping[str, Any] = field(repr=False)
    parts: Mapping[str, Mapping[str, Any]] = field(repr=False)
    created_at: float

    def enabled(self, kind: str) -> list[Mapping[str, Any]]:
        """Return the enabled parts of a kind."""
        states = {"actionGroups": "actionGroupState", "knowledgeBases": "knowledgeBaseState"}
        member = states.get(kind, "")
        return [part for part in self.parts[kind].values() if part["document"].get(member, "ENABLED") == "ENABLED"]


def draft_parts(agent: ResourceRecord) -> dict[str, dict[str, Any]]:
    """Return the action groups, knowledge bases and collaborators of the working draft, each by id."""
    parts: Mapping[str, Mapping[str, Any]] = agent.internal.get("parts") or {}
    return {kind: dict(parts.get(kind) or {}) for kind in KINDS}


def find_version(agent: ResourceRecord, version: str) -> AgentVersion:
    """Return the working draft, or a numbered version.

    Args:
        agent: The agent.
        version: `DRAFT` or a number.

    Raises:
        RefusedError: The version does not exist (404).
    """
    if version == DRAFT:
        return AgentVersion(
            id=agent.id,
            version=DRAFT,
            name=agent.name,
            document=agent.document,
            parts=draft_parts(agent),
            created_at=agent.created_at.timestamp(),
        )
    snapshot = _versions(agent).get(version)
    if snapshot is None:
        raise not_found(f"Agent version not found in {agent.id}: {version}")
    return _of(agent, version, snapshot)


def prepared_version(agent: ResourceRecord) -> AgentVersion | None:
    """Return the working draft as it was when PrepareAgent was last called, or None."""
    snapshot = agent.internal.get("prepared")
    return _of(agent, DRAFT, snapshot) if snapshot else None


def numbers(agent: ResourceRecord) -> list[str]:
    """Return the numbers of an agent's versions, the newest first."""
    return sorted(_versions(agent), key=int, reverse=True)


def with_prepared(agent: ResourceRecord, groups: Mapping[str, Any]) -> ResourceRecord:
    """Return the agent with its working draft marked as prepared.

    Args:
        agent: The agent.
        groups: Its action groups by id, with the texts of their schemas.
    """
    parts = {**draft_parts(agent), "actionGroups": dict(groups)}
    snapshot = {"name": agent.name, "document": dict(agent.document), "parts": parts, "createdAt": time.time()}
    return replace(agent, status="PREPARED", internal={**agent.internal, "prepared": snapshot})


def with_new_version(agent: ResourceRecord) -> tuple[ResourceRecord, str]:
    """Return the agent with a new version of its prepared draft, and the version's number.

    Raises:
        RefusedError: The working draft is not prepared (409).
    """
    prepared = agent.internal.get("prepared")
    if not prepared or agent.status != "PREPARED":
        raise conflict(f"The agent {agent.id} is {agent.status}; call PrepareAgent before you create a version")
    number = str(int(agent.internal.get("last", 0)) + 1)
    versions = {**_versions(agent), number: {**prepared, "createdAt": time.time()}}
    return replace(agent, internal={**agent.internal, "last": int(number), "versions": versions}), number


def without_version(agent: ResourceRecord, version: str) -> ResourceRecord:
    """Return an agent without one of its numbered versions."""
    rest = {number: snapshot for number, snapshot in _versions(agent).items() if number != version}
    return replace(agent, internal={**agent.internal, "versions": rest})


def _versions(agent: ResourceRecord) -> Mapping[str, Any]:
    return agent.internal.get("versions") or {}


def _of(agent: ResourceRecord, version: str, snapshot: Mapping[str, Any]) -> AgentVersion:
    return AgentVersion(
        id=agent.id,
        version=version,
        name=snapshot["name"],
        document=snapshot["document"],
        parts=snapshot["parts"],
        created_at=snapshot["createdAt"],
    )
