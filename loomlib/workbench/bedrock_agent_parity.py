"""Comparison of a Bedrock agent with its successor on AgentCore, on the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..aws.bedrock_agents import TEST_ALIAS, BedrockAgent
from ..evals import EvalSet, evaluate
from ..evals.targets import Target
from ..imports.bedrock_agents import ImportedAgent, assess_all_features
from ..imports.bedrock_agents.parity.agent_parity import AgentParity
from ..imports.bedrock_agents.parity.golden import AnswerSource, golden_set
from ..imports.bedrock_agents.parity.measuring import ParitySubject, answered, measure_parity
from ..imports.bedrock_agents.parity.names import ToolNames
from ..imports.bedrock_agents.parity.prompts import CasesSource, cases_of
from .agent import Agent
from .bedrock_agent_target import BedrockAgentTarget
from .context import Context
from .imported_agent_target import ImportedAgentTarget

if TYPE_CHECKING:
    from ..redaction import RedactionRule, Redactor


def compare_with_successor(
    context: Context,
    agent: BedrockAgent,
    new: Agent,
    cases: CasesSource,
    *,
    alias: str = TEST_ALIAS,
    imported: ImportedAgent | None = None,
    names: ToolNames | None = None,
    stream: bool = False,
    **options: Any,
) -> AgentParity:
    """Run the same cases on a Bedrock agent and its successor, and judge whether they behave alike.

    Args:
        context: The workbench's resources.
        agent: The Bedrock agent.
        new: Its successor.
        cases: The cases.
        alias: The alias of the Bedrock agent.
        imported: The Bedrock agent as it was imported.
        names: The names of its tools; by default those of the import.
        stream: Whether the Bedrock agent streams its final answer.
        **options: Options of `measure_parity`.
    """
    subject = parity_subject(agent, new, imported=imported, names=names)
    old = BedrockAgentTarget(context, agent, alias=alias, names=subject.names)
    subject = replace(subject, old=f"Bedrock Agent {version_text(old.version)}")
    return measure_parity(
        old,
        successor_target(context, new, subject.names),
        cases_of(cases, name=agent.name),
        subject,
        store=context.store,
        **options,
    )


def create_golden_set(
    context: Context,
    agent: BedrockAgent,
    cases: CasesSource | None,
    *,
    alias: str = TEST_ALIAS,
    imported: ImportedAgent | None = None,
    redact: Redactor | Sequence[RedactionRule] | None = None,
    **options: Any,
) -> EvalSet:
    """Ask a Bedrock agent, and return its answers as the expectations of an eval set.

    Args:
        context: The workbench's resources.
        agent: The Bedrock agent.
        cases: The cases; None uses the prompts of its stored invocations.
        alias: The alias.
        imported: The Bedrock agent as it was imported.
        redact: Redaction rules; None uses Loom's.
        **options: Options of `loom.evaluate`.
    """
    names = ToolNames() if imported is None else ToolNames.of(imported)
    target = BedrockAgentTarget(context, agent, alias=alias, names=names)
    evalset = cases_of(target.stored_prompts() if cases is None else cases, name=agent.name)
    run = evaluate(target, evalset, [answered], store=context.store, **options)
    source = AnswerSource(
        agent=agent.name, arn=target.arn, version=target.version, alias=alias, names=names, labels=target.labels
    )
    cases_by_id = {case.id: case for case in evalset.cases}
    first_answers = ((cases_by_id[item.case_id], item.answer) for item in run.judgements() if item.repeat == 0)
    return golden_set(first_answers, source, redact=redact)


def successor_target(context: Context, new: Agent, names: ToolNames) -> Target:
    """Return a successor as the target of an evaluation.

    Args:
        context: The workbench's resources.
        new: The successor.
        names: The names of the Bedrock agent's tools.
    """
    if new.protocol != "HTTP" or new.entry.has_authorizer:  # not code that Loom generates
        return new.targets.eval_target()
    entry = context.catalog.refresh(new.entry)
    return ImportedAgentTarget(context, entry, new.qualifier, names=names)


def parity_subject(
    agent: BedrockAgent, new: Agent, *, imported: ImportedAgent | None, names: ToolNames | None
) -> ParitySubject:
    """Return the names of an agent and its successor, and of their tools.

    Args:
        agent: The Bedrock agent.
        new: Its successor.
        imported: The Bedrock agent as it was imported.
        names: The names of its tools; by default those of the import.
    """
    tool_names = names or (ToolNames() if imported is None else ToolNames.of(imported))
    notes = () if imported is not None or names is not None else (_NOT_IMPORTED,)
    version = str(new.entry.raw_metadata.get("agentRuntimeVersion") or "")
    return ParitySubject(
        name=agent.name,
        old="Bedrock Agent",
        new=" ".join(filter(None, (new.name, "on AgentCore", version and f"v{version}"))),
        names=tool_names,
        features=() if imported is None else assess_all_features(imported),
        notes=notes,
    )


def version_text(version: str) -> str:
    """Return a version as it is displayed: `v7`, or `DRAFT`."""
    return f"v{version}" if version.isdecimal() else version


_NOT_IMPORTED = (
    "The agent was not imported: tools are compared by the old agent's own names, and what becomes of its features "
    "is unknown."
)
