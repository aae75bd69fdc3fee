"""A snapshot of a Bedrock agent in a notebook: what becomes of its features, and its folder."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..imports.bedrock_agents import ImportedAgent, assess_features
from ..imports.bedrock_agents.snapshot import AgentSnapshot, write_snapshot
from ..presentation.html import card
from ..presentation.text import one_line, text_table
from .context import Context
from .frames import feature_frame

if TYPE_CHECKING:
    import pandas as pd

    from ..imports.bedrock_agents.emit import FrameworkName
    from .agent_code import AgentCodeView


class AgentSnapshotView:
    """A snapshot of an agent of Bedrock Agents.

    Args:
        context: The workbench's resources.
        value: The snapshot.
    """

    def __init__(self, context: Context, value: AgentSnapshot) -> None:
        self._context, self.value = context, value

    @property
    def agent(self) -> ImportedAgent:
        """The agent with its collaborators, as values."""
        return self.value.agent

    @property
    def digest(self) -> str:
        """A hash of the agent's definition, without its versions and aliases; equal definitions have equal hashes."""
        return self.value.digest

    def features(self) -> pd.DataFrame:
        """Return what becomes of each feature, one row for each feature of the agent and of each of its collaborators.

        Returns:
            agent, feature, state ("kept", "approximated", "lost", "needs you" or "unused"), reason.
        """
        return feature_frame(self.value.agents)

    def write(self, folder: str | PathLike[str]) -> Path:
        """Write the snapshot as a folder of readable files without secrets, either completely or not at all.

        Args:
            folder: The folder; an existing snapshot in it is replaced.

        Raises:
            LoomError: The folder contains other files, or files of a snapshot that were changed.
        """
        return write_snapshot(self.value, folder)

    def generate(self, folder: str | PathLike[str], framework: FrameworkName = "strands") -> AgentCodeView:
        """Write the agent's code for AgentCore into a folder; nothing is written to AWS.

        Edits made in the folder since it was last written are kept: each file is merged, and conflicts are marked.

            code = bench.bedrock.agents.get("order-desk").snapshot("live").generate("order_desk")
            bench.deploy(code.folder)

        Args:
            folder: The folder; created if it does not exist.
            framework: "strands" or "langgraph".

        Raises:
            LoomError: There is no such framework, or the folder has files that were not generated.
        """
        from ..imports.bedrock_agents.emit import generate_agent, write_agent  # imported only when code is generated
        from .agent_code import AgentCodeView

        generated = generate_agent(self.agent, framework)
        written_agent = write_agent(generated, Path(folder))
        features = [feature for agent in self.agent.walk() for feature in assess_features(agent)]
        return AgentCodeView(generated, written_agent, features, self._context.labels)

    def __repr__(self) -> str:
        """Return its agent, version and features."""
        rows = [(item.name.replace("_", " "), item.label, item.reason) for item in self.value.features]
        notes = [one_line(note, 300) for note in self.value.notes]
        return "\n".join((self._title(), text_table(("feature", "state", "why"), rows, longest=120), *notes))

    def _repr_html_(self) -> str:
        agent = self.agent
        facts = [("version", agent.version), ("alias", agent.alias_name), ("model", agent.model.identifier)]
        facts += [("immutable", "yes" if self.value.is_immutable else "no: a working draft can change")]
        facts += [("secrets removed", str(count)) for count in [_secrets(agent)] if count]
        facts += [
            (item.name.replace("_", " "), f"{item.label}: {item.reason}")
            for item in self.value.features
            if item.state != "unused"
        ]
        notes = "\n".join(one_line(note, 300) for note in self.value.notes)
        return card(self._title(), labels=self._context.labels, facts=facts, text=notes or None)

    def _title(self) -> str:
        return f"Snapshot of {one_line(self.agent.name)}, version {self.agent.version}"


def _secrets(agent: ImportedAgent) -> int:
    return sum(sum(item.redactions.values()) for item in agent.walk())
