"""Names and tags of what a deployment creates: deterministic for an agent, account and region."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Final

from .spec import AgentSpec

AGENT_TAG: Final = "loom:agent"
"""Tag with the agent's name on resources that a deployment creates for one agent. Only tagged resources are deleted."""
SPEC_TAG: Final = "loom:spec"
"""Tag of a runtime with the first 16 digits of the SHA-256 of its `AgentSpec`."""
PURPOSE_TAG: Final = "loom:purpose"
"""Tag of resources that agents share, such as the bucket for their code."""

_ROLE_LENGTH: Final = 64
"""The longest name of a role (IAM quotas)."""


def role_name(agent: str, region: str) -> str:
    """Return the name of an agent's role; it contains the region, because IAM is global.

    Examples:
        >>> role_name("support", "us-east-1")
        'loom-support-us-east-1'
    """
    name = f"loom-{agent}-{region}"
    if len(name) <= _ROLE_LENGTH:
        return name
    return f"{name[: _ROLE_LENGTH - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def spec_digest(spec: AgentSpec) -> str:
    """Return the first 16 digits of the SHA-256 of a spec in canonical JSON."""
    text = json.dumps(asdict(spec), sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def agent_tags(spec: AgentSpec) -> dict[str, str]:
    """Return the tags of resources that are created for this agent only: the agent's own tags, and Loom's."""
    return {**spec.tags, AGENT_TAG: spec.name}
