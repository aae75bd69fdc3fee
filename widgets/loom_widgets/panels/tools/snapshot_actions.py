"""What becomes of a Bedrock agent's features on AgentCore, and its snapshot as a folder, in the Tools panel."""

# pyright: basic

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from loomlib.aws.bedrock_agents import TEST_ALIAS
from loomlib.errors import LoomError
from loomlib.presentation.text import one_line

from ...kit import Form, PanelPort, action
from ...kit.source import connect_code
from ...kit.texts import short_text

if TYPE_CHECKING:
    from loomlib.workbench.agent_snapshot import AgentSnapshotView

_HEAD: Final = ("agent", "feature", "on AgentCore", "why")
_LONGEST_REASON: Final = 300


class SnapshotActions:
    """Reads the chosen Bedrock agent and writes what it read."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel

    @action(lane="agent")
    def assess_agent(self, form: Form) -> None:
        """Show what becomes of each feature of the agent and of its collaborators."""
        key, alias = self._chosen(form)
        self._panel.show_code(f"{self._code(key, alias)}snapshot.features()")
        snapshot = self._read(key, alias)
        needing = sum(item.state == "needs you" for item in snapshot.value.features)
        self._panel.say(
            f"Features that need a manual step: {needing} of 11." if needing else "No manual step is needed."
        )

    @action(lane="agent")
    def write_agent(self, form: Form) -> None:
        """Write the agent's snapshot as a folder of readable files, without secrets."""
        (key, alias), folder = self._chosen(form), form.text("folder").strip()
        if not folder:
            raise LoomError("No folder is given", try_="write a name for the folder, such as order-desk")
        self._panel.show_code(f"{self._code(key, alias)}snapshot.write({folder!r})")
        path = self._read(key, alias).write(folder)
        self._panel.say(f"Written to {path}.")

    def _chosen(self, form: Form) -> tuple[str, str]:
        key = form.text("key")
        if not key:
            raise LoomError("No agent is chosen", try_="choose a row of the table")
        return key, form.text("alias").strip() or TEST_ALIAS

    def _code(self, key: str, alias: str) -> str:
        opened = f"snapshot = bench.bedrock.agents.get({key!r}).snapshot({alias!r})\n"
        return f"{connect_code(self._panel.bench)}{opened}"

    def _read(self, key: str, alias: str) -> AgentSnapshotView:
        from loomlib.imports.bedrock_agents.features import state_label

        self._panel.say("Reading …")
        snapshot = self._panel.bench.bedrock.agents.get(key).snapshot(alias)
        assessed: dict[str, Any] = {
            "key": key,
            "version": f"version {snapshot.agent.version}",
            "needs": any(item.state == "needs you" for item in snapshot.value.features),
            "labels": list(self._panel.bench.context.labels),
            "head": list(_HEAD),
            "rows": [
                [
                    short_text(str(row["agent"])),
                    str(row["feature"]).replace("_", " "),
                    state_label(str(row["state"])),
                    one_line(str(row["reason"]), _LONGEST_REASON),
                ]
                for row in snapshot.features().to_dict("records")
                if row["state"] != "unused"
            ],
            "notes": [one_line(note, _LONGEST_REASON) for note in snapshot.value.notes],
        }
        self._panel.show(assessed=assessed)
        return snapshot
