"""A snapshot of an agent of Bedrock Agents."""

from __future__ import annotations

from dataclasses import dataclass

from ..features import Feature, assess_features
from ..model import ImportedAgent


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSnapshot:
    """An agent with its collaborators, as read from Bedrock, without secrets.

    Attributes:
        agent: The agent.
        region: The AWS region that it is in.
        is_immutable: Whether its version is immutable, unlike the working draft.
        digest: A hash of the agent's behaviour, "sha256:…": independent of its alias, its version number, the
            times, and the order in which Bedrock lists its parts.
        notes: What was approximated or could not be read, in sentences.
    """

    agent: ImportedAgent
    region: str
    is_immutable: bool
    digest: str
    notes: tuple[str, ...] = ()

    @property
    def agents(self) -> tuple[ImportedAgent, ...]:
        """The agent and its collaborators at every level, each version once."""
        by_version: dict[tuple[str, str], ImportedAgent] = {}
        for item in self.agent.walk():
            by_version.setdefault((item.id, item.version), item)
        return tuple(by_version.values())

    @property
    def features(self) -> tuple[Feature, ...]:
        """The eleven features of the agent, each with its outcome and the reason."""
        return assess_features(self.agent)
