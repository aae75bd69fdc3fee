"""Memory of agents across sessions: summaries of sessions (SESSION_SUMMARY), written by the agent's model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from ..resources import Place, ResourceRecord
from ..resources.store import ResourceStore
from ..tenancy import acting_for, owns_row
from .prompts import step_settings
from .services import AgentServices
from .sessions import AgentSession
from .steps import conversation
from .templates import filled
from .versions import AgentVersion

_KIND: Final = "AgentSessionSummary"
_STORAGE_DAYS: Final = 30  # the service model's default of `storageDays`
_RECENT: Final = 20  # AWS's default of `maxRecentSessions`
_LONGEST: Final = 25_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """The summary of a session.

    Attributes:
        memory_id: The memory.
        session_id: The session.
        text: The summary.
        started_at: Start time of the session.
        expires_at: Expiration time of the summary.
    """

    memory_id: str
    session_id: str
    text: str
    started_at: datetime
    expires_at: datetime


def has_memory(version: AgentVersion) -> bool:
    """Return whether an agent stores summaries of sessions."""
    memory: Mapping[str, Any] = version.document.get("memoryConfiguration") or {}
    return "SESSION_SUMMARY" in (memory.get("enabledMemoryTypes") or ())


class AgentMemories:
    """The summaries of sessions, stored with the resources: they persist across restarts of the service.

    Args:
        store: The store, where they are children of the agent's alias.
    """

    def __init__(self, store: ResourceStore) -> None:
        self._store = store

    async def summaries(self, alias: ResourceRecord, memory_id: str) -> list[SessionSummary]:
        """Return the summaries of a memory that the request may read, the newest session first.

        Expired summaries are deleted.

        Args:
            alias: The agent's alias.
            memory_id: The memory.
        """
        now, summaries = datetime.now(UTC), list[SessionSummary]()
        for record in self._records(alias, memory_id):
            summary = _summary(record)
            if summary.expires_at <= now:
                await asyncio.to_thread(self._store.remove, record)
            else:
                summaries.append(summary)
        return sorted(summaries, key=lambda summary: summary.started_at, reverse=True)

    async def recent(self, alias: ResourceRecord, version: AgentVersion, memory_id: str, *, tenant: str) -> list[str]:
        """Return the texts of a tenant's summaries that the agent's prompts contain, the newest first."""
        memory: Mapping[str, Any] = version.document.get("memoryConfiguration") or {}
        configured: Mapping[str, Any] = memory.get("sessionSummaryConfiguration") or {}
        most: int = configured.get("maxRecentSessions") or _RECENT
        with acting_for(tenant):
            return [summary.text for summary in (await self.summaries(alias, memory_id))[:most]]

    async def keep(
        self, services: AgentServices, alias: ResourceRecord, session_id: str, session: AgentSession
    ) -> None:
        """Summarize an ended session and store the summary, if the agent has memory and the session is not empty.

        Args:
            services: Calls the model.
            alias: The agent's alias.
            session_id: The session's id.
            session: The session.
        """
        version = session.agent
        if version is None or not session.memory_id or not session.turns:
            return
        memory: Mapping[str, Any] = version.document.get("memoryConfiguration") or {}
        days: object = memory.get("storageDays")
        former = await self.recent(alias, version, session.memory_id, tenant=session.tenant)
        text = await _summarized(services, version, session, former, alias.place)
        moment = datetime.now(UTC)
        of = f"{session.memory_id}/{session_id}" + (f"/{quote(session.tenant, safe='')}" if session.tenant else "")
        arn = f"{alias.arn}/memory/{of}"
        record = ResourceRecord(
            kind=_KIND,
            region=alias.region,
            parent=alias.arn,
            id=of,
            name=of,
            arn=arn,
            document={
                "memoryId": session.memory_id,
                "sessionId": session_id,
                "summaryText": text[:_LONGEST],
                "startedAt": session.started_at,
                "storageDays": days if isinstance(days, int) else _STORAGE_DAYS,
            },
            created_at=moment,
            updated_at=moment,
            tenant=session.tenant,
        )
        if same := self._store.of_arn(arn):  # the session id was reused
            record = replace(record, number=same.number, created_at=same.created_at)
        await asyncio.to_thread(self._store.put, [record])

    async def forget(self, alias: ResourceRecord, memory_id: str, session_id: str) -> None:
        """Delete summaries.

        Args:
            alias: The agent's alias.
            memory_id: The memory; "" for all of the alias.
            session_id: The session; "" for all of the memory.
        """
        for record in self._records(alias, memory_id):
            if session_id in ("", record.document["sessionId"]):
                await asyncio.to_thread(self._store.remove, record)

    def _records(self, alias: ResourceRecord, memory_id: str) -> Sequence[ResourceRecord]:
        records = self._store.records(_KIND, parent=alias.arn)
        records = [record for record in records if owns_row(record.tenant)]
        return [record for record in records if memory_id in ("", record.document["memoryId"])]


def shown_summary(summary: SessionSummary) -> dict[str, Any]:
    """Return a summary as GetAgentMemory shows it."""
    document = {
        "memoryId": summary.memory_id,
        "sessionId": summary.session_id,
        "sessionStartTime": summary.started_at.timestamp(),
        "sessionExpiryTime": summary.expires_at.timestamp(),
        "summaryText": summary.text,
    }
    return {"sessionSummary": document}


def _summary(record: ResourceRecord) -> SessionSummary:
    document = record.document
    return SessionSummary(
        memory_id=document["memoryId"],
        session_id=document["sessionId"],
        text=document["summaryText"],
        started_at=datetime.fromtimestamp(document.get("startedAt", time.time()), UTC),
        expires_at=record.updated_at + timedelta(days=document["storageDays"]),
    )


async def _summarized(
    services: AgentServices, version: AgentVersion, session: AgentSession, former: Sequence[str], place: Place
) -> str:
    """Summarize a session with the agent's model (MEMORY_SUMMARIZATION)."""
    settings = step_settings(version, "MEMORY_SUMMARIZATION")
    history = [message for turn in session.turns for message in (turn[0], turn[-1])]
    values = {
        "conversation": conversation(history),
        "past_conversation_summary": "\n".join(former),
        "instruction": str(version.document["instruction"]),
    }
    system, messages = filled(settings.template, values)
    request: dict[str, Any] = {**({"system": [{"text": system}]} if system else {}), "messages": messages}
    if "$conversation$" not in settings.template:  # Loom's own template: the conversation is in the request
        request["messages"] = [*history, *messages]
    if limits := settings.limits:
        request["inferenceConfig"] = limits
    answer = await services.converse(settings.model, request, place)
    content: Sequence[Mapping[str, Any]] = answer["output"]["message"]["content"]
    return "".join(block["text"] for block in content if "text" in block).strip()
