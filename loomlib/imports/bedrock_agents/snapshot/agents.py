"""One version of an agent, from the JSON values that Bedrock returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from loomlib.aws.bedrock_agent_parts import AgentRoute, RelatedText, VersionDocuments
from loomlib.json_values import as_list, as_mapping, as_text, count_or_none

from ..model import (
    AgentGuardrail,
    AgentKnowledgeBase,
    Collaboration,
    Collaborator,
    ImportedAgent,
    MemorySettings,
    ModelChoice,
)
from .action_groups import read_action_group
from .prompts import read_prompts
from .scrubbing import Scrubber
from .tool_names import with_tool_names

_COLLABORATION: Final[Mapping[str, Collaboration]] = {"SUPERVISOR": "supervisor", "SUPERVISOR_ROUTER": "router"}
_IDLE_TIMEOUT_S: Final = 600
"""Bedrock's default of `idleSessionTTLInSeconds` (API reference, "CreateAgent")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAgent:
    """An agent without the agents of its collaborators, and approximations made in reading it.

    Attributes:
        agent: The agent; its collaborators have no agents.
        notes: What was approximated or could not be read, in sentences.
    """

    agent: ImportedAgent
    notes: tuple[str, ...] = ()


def read_agent(documents: VersionDocuments, route: AgentRoute) -> ReadAgent:
    """Return a version of an agent as a value, without secrets.

    Args:
        documents: The version as returned by Bedrock.
        route: The alias by which it was found.
    """
    members, scrubber = documents.agent, Scrubber()
    read = [
        read_action_group(item, documents.schemas.get(as_text(item.get("actionGroupId"))), scrubber)
        for item in sorted(documents.action_groups, key=_key("actionGroupName"))
    ]
    notes = [f"{problem.rstrip('.')}." for problem in documents.problems]
    notes += [note for group in read for note in group.notes]
    model, model_notes = _model(documents, route)
    custom = as_mapping(as_mapping(members.get("customOrchestration")).get("executor"))
    agent = ImportedAgent(
        id=as_text(members.get("agentId")),
        name=scrubber.identifier(as_text(members.get("agentName"))),
        arn=as_text(members.get("agentArn")),
        version=route.version,
        alias_id=route.id,
        alias_name=route.name,
        description=scrubber.text(as_text(members.get("description"))),
        instruction=scrubber.text(as_text(members.get("instruction"))),
        model=model,
        prompts=read_prompts(as_mapping(members.get("promptOverrideConfiguration")), scrubber),
        action_groups=with_tool_names(item.group for item in read),
        knowledge_bases=tuple(
            _knowledge_base(item, documents.base_names, scrubber)
            for item in sorted(documents.knowledge_bases, key=_key("knowledgeBaseId"))
        ),
        guardrail=_guardrail(as_mapping(members.get("guardrailConfiguration")), documents.guardrail_name),
        memory=_memory(as_mapping(members.get("memoryConfiguration"))),
        idle_timeout_s=count_or_none(members.get("idleSessionTTLInSeconds")) or _IDLE_TIMEOUT_S,
        collaboration=_COLLABORATION.get(as_text(members.get("agentCollaboration")), "none"),
        collaborators=tuple(
            _collaborator(item, scrubber) for item in sorted(documents.collaborators, key=_key("collaboratorName"))
        ),
        orchestration_lambda=as_text(custom.get("lambda")),
        role_arn=as_text(members.get("agentResourceRoleArn")),
        encryption_key_arn=as_text(members.get("customerEncryptionKeyArn")),
        tags=scrubber.values(dict(sorted(documents.tags.items()))),
        redactions=scrubber.counts,
    )
    return ReadAgent(agent=agent, notes=(*notes, *model_notes))


def _key(member: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda item: as_text(item.get(member))


def _model(documents: VersionDocuments, route: AgentRoute) -> tuple[ModelChoice, list[str]]:
    model = documents.model
    configured = as_text(documents.agent.get("foundationModel"))
    ids = model.model_ids if model else ()
    problem = model.problem.rstrip(".") if model else ""
    notes = [f"The models behind {configured} cannot be read: {problem}."] if problem else []
    if route.provisioned_throughput:
        choice = ModelChoice(identifier=route.provisioned_throughput, kind="provisioned throughput", model_ids=ids)
        return choice, notes
    if not configured:
        return ModelChoice(identifier=""), ["The agent has no model."]
    return ModelChoice(identifier=configured, kind=model.kind if model else "foundation model", model_ids=ids), notes


def _knowledge_base(
    members: Mapping[str, Any], names: Mapping[str, RelatedText], scrubber: Scrubber
) -> AgentKnowledgeBase:
    identity = as_text(members.get("knowledgeBaseId"))
    name = names.get(identity, RelatedText())
    return AgentKnowledgeBase(
        id=identity,
        name=scrubber.identifier(name.text),
        description=scrubber.text(as_text(members.get("description"))),
        is_enabled=members.get("knowledgeBaseState") != "DISABLED",
        problem=scrubber.text(name.problem).rstrip("."),
    )


def _guardrail(configuration: Mapping[str, Any], name: RelatedText | None) -> AgentGuardrail | None:
    identity = as_text(configuration.get("guardrailIdentifier"))
    if not identity:
        return None
    related_name = name or RelatedText()
    return AgentGuardrail(
        id=identity,
        version=as_text(configuration.get("guardrailVersion")) or "DRAFT",
        name=related_name.text,
        problem=related_name.problem.rstrip("."),
    )


def _memory(configuration: Mapping[str, Any]) -> MemorySettings | None:
    if "SESSION_SUMMARY" not in as_list(configuration.get("enabledMemoryTypes")):
        return None
    default = MemorySettings()
    summary = as_mapping(configuration.get("sessionSummaryConfiguration"))
    days, sessions = count_or_none(configuration.get("storageDays")), count_or_none(summary.get("maxRecentSessions"))
    return MemorySettings(
        storage_days=default.storage_days if days is None else days,
        max_recent_sessions=default.max_recent_sessions if sessions is None else sessions,
    )


def _collaborator(members: Mapping[str, Any], scrubber: Scrubber) -> Collaborator:
    return Collaborator(
        id=as_text(members.get("collaboratorId")),
        name=scrubber.identifier(as_text(members.get("collaboratorName"))),
        instruction=scrubber.text(as_text(members.get("collaborationInstruction"))),
        shares_history=members.get("relayConversationHistory") == "TO_COLLABORATOR",
        alias_arn=as_text(as_mapping(members.get("agentDescriptor")).get("aliasArn")),
    )
