"""Shadow traffic between a Bedrock agent and its successor, refused if it could cause side effects twice."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..aws.bedrock_agents import TEST_ALIAS, BedrockAgent
from ..errors import NotSupportedError
from ..experiments import new_id
from ..imports.bedrock_agents import ImportedAgent
from ..imports.bedrock_agents.parity.names import ToolNames
from ..imports.bedrock_agents.parity.shadow_pairs import ShadowSide, side_effects
from ..presentation.formats import join, percent
from .agent import Agent
from .bedrock_agent_parity import parity_subject, successor_target, version_text
from .bedrock_agent_target import BedrockAgentTarget
from .context import Context
from .shadow_traffic import ShadowTraffic

_log = logging.getLogger(__name__)


def shadow_traffic(
    context: Context,
    agent: BedrockAgent,
    new: Agent,
    *,
    share: float,
    front: ShadowSide = "old",
    alias: str = TEST_ALIAS,
    safe: Iterable[str] = (),
    stubs: Mapping[str, Any] | None = None,
    allow_side_effects: bool = False,
    id: str | None = None,
    salt: str = "",
    imported: ImportedAgent | None = None,
    names: ToolNames | None = None,
    timeout_s: float = 120.0,
) -> ShadowTraffic:
    """Return shadow traffic between a Bedrock agent and its successor.

    Args:
        context: The workbench's resources.
        agent: The Bedrock agent.
        new: Its successor.
        share: The share of sessions that are sampled.
        front: Which of the two agents answers callers.
        alias: The alias of the Bedrock agent.
        safe: Action groups that only read, by name; "memory" and "orchestration" mark these as safe.
        stubs: Results of calls that the shadow agent returns to its caller, by the call's name.
        allow_side_effects: Whether calls that are not marked as safe may be made twice.
        id: The id of shadow traffic to resume; None to start a new one.
        salt: Another salt samples other sessions.
        imported: The Bedrock agent as it was imported; read if omitted.
        names: The names of its tools; by default those of the import.
        timeout_s: Timeout of the shadow agent in seconds.

    Raises:
        NotSupportedError: Calling both agents could cause side effects twice.
    """
    if imported is None:
        from ..imports.bedrock_agents.snapshot import take_snapshot

        imported = take_snapshot(context.clients, agent.id, alias=alias, region=agent.region).agent
    effects = side_effects(imported, frozenset(safe))
    if effects and not allow_side_effects:
        raise NotSupportedError(
            f"Calling both agents could cause side effects twice: {join(effects, most=5)}",
            on=agent.name,
            try_='safe=["…"] for action groups that only read, or allow_side_effects=True',
        )
    if effects:
        _log.warning("Sampled prompts of %s may cause side effects twice: %s", agent.name, join(effects, most=5))
    subject = parity_subject(agent, new, imported=imported, names=names)
    old = BedrockAgentTarget(context, agent, alias=alias, names=subject.names)
    sides = {"old": "Bedrock agent", "new": "successor"}
    note = f"Live prompts: the {sides[front]} answered; the other was also called for {percent(share)} of sessions."
    subject = replace(
        subject, old=f"Bedrock Agent {version_text(old.version)}", notes=(*subject.notes, note, *_warnings(effects))
    )
    return ShadowTraffic(
        context,
        subject,
        front=front,
        old=old,
        new=successor_target(context, new, subject.names),
        share=share,
        id=id or new_id("shadow"),
        salt=salt,
        stubs=stubs,
        timeout_s=timeout_s,
    )


def _warnings(effects: list[str]) -> list[str]:
    return [f"Sampled prompts could cause side effects twice: {join(effects, most=5)}."] if effects else []
