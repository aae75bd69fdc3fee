"""Replies of a check as text and as a card, and the progress of a lesson as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..presentation.html import card, table, view
from .progress import Done

_KINDS = {"right": "good", "not yet": "wait"}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExerciseReply:
    """The reply to an answer. `state` is "right", "not yet", "open" (no answer yet) or "hint 1 of 3"."""

    id: str
    title: str
    state: str
    sentence: str
    done: int
    of: int

    @property
    def is_right(self) -> bool:
        """Whether the answer is right."""
        return self.state == "right"

    def __repr__(self) -> str:
        return f"Exercise {self.id} · {self.state}: {self.sentence}"

    def _repr_html_(self) -> str:
        title = f"Exercise {self.id}: {self.title}" if self.title else f"Exercise {self.id}"
        facts = [("done", f"{self.done} of {self.of} in this lesson")] if self.is_right else []
        return card(title, state=(_KINDS.get(self.state, "wait"), self.state), note=self.sentence, facts=facts)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProgressTable:
    """The exercises of a lesson with their states, attempts and hints."""

    title: str
    rows: Sequence[tuple[str, str, Done]]

    @property
    def done(self) -> int:
        """The number of solved exercises."""
        return sum(result.right for _, _, result in self.rows)

    def __repr__(self) -> str:
        lines = [f"{self.title} · {self.done} of {len(self.rows)} done"]
        lines += [f"  {id}  {_state(result):<8}  {title}" for id, title, result in self.rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return progress_html(self)


def progress_html(progress: ProgressTable) -> str:
    """Render the table as HTML."""
    rows = [(id, title, _state(result), result.tries, result.hints) for id, title, result in progress.rows]
    caption = f"{progress.title}: {progress.done} of {len(progress.rows)} done"
    return str(view(table(("exercise", "", "state", "tries", "hints"), rows, caption=caption)))


def _state(result: Done) -> str:
    if result.right:
        return "right"
    return "not yet" if result.tries else "open"
