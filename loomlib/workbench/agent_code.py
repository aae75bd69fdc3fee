"""The code that was generated from a Bedrock agent, in a notebook: which files were written, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..imports.bedrock_agents import Feature
from ..imports.bedrock_agents.emit import FileChange, GeneratedAgent, WrittenAgent
from ..presentation.formats import plural
from ..presentation.html import card
from ..presentation.text import one_line

_WORDS: Final[dict[FileChange, str]] = {
    "created": "created",
    "updated": "updated",
    "merged": "merged with your edits",
    "conflict": "in conflict with your edits",
    "removed": "removed because no longer generated",
    "kept": "kept as you left them",
    "unchanged": "unchanged",
}


class AgentCodeView:
    """The code of an agent in a folder; returned by `snapshot.generate(folder)`.

    Args:
        generated: The code.
        files: The result for each of the folder's files.
        features: What becomes of the agent's features.
        labels: Provenance labels of the agent.
    """

    def __init__(
        self, generated: GeneratedAgent, files: WrittenAgent, features: Sequence[Feature], labels: Sequence[str]
    ) -> None:
        self.value, self.written = generated, files
        self._features, self._labels = tuple(features), tuple(labels)

    @property
    def folder(self) -> Path:
        """The folder, to deploy: `bench.deploy(code.folder)`."""
        return self.written.folder

    @property
    def name(self) -> str:
        """The name of the runtime that the folder is for."""
        return self.value.name

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The files with unresolved conflicts."""
        return tuple(dict.fromkeys((*self.written.conflicts, *self.written.unresolved)))

    def __repr__(self) -> str:
        """Return the folder, the result for each file, and what you must do yourself."""
        return "\n".join([self._title(), *self._lines()])

    def _repr_html_(self) -> str:
        return card(self._title(), labels=self._labels, facts=self._facts(), text=self._next())

    def _title(self) -> str:
        return f"Code of {one_line(self.name)} for {self.value.framework}"

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("folder", str(self.folder))]
        for change, words in _WORDS.items():
            paths = self.written.with_change(change)
            if paths:
                names = "" if change in ("created", "unchanged") else f": {', '.join(paths)}"
                facts.append((words, plural(len(paths), "file") + names))
        facts += [(feature.label, feature.reason) for feature in self._features if feature.state == "needs you"]
        return facts

    def _lines(self) -> list[str]:
        return [*(f"{name}: {text}" for name, text in self._facts()), self._next()]

    def _next(self) -> str:
        if self.conflicts:
            return f"Resolve the marked conflicts in {', '.join(self.conflicts)}, then deploy the folder."
        return f'Next: bench.deploy("{self.folder}"), or read {self.folder / "README.md"}'
