"""The arms of a memory study: combinations of a retrieval mode and a context window strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PROACTIVE, REACTIVE, NONE = "proactive", "reactive", "none"
RETRIEVALS: Final = (PROACTIVE, REACTIVE, NONE)
FULL, WINDOW, SUMMARIZING = "full", "window", "summarizing"
CONTEXTS: Final = (FULL, WINDOW, SUMMARIZING)

_MEANINGS: Final = {
    PROACTIVE: "memories are searched before every turn",
    REACTIVE: "the model searches when it needs to",
    NONE: "long-term memory is not used",
    FULL: "the whole history is in the context",
    WINDOW: "the last messages are in the context",
    SUMMARIZING: "summaries of the earlier sessions and the last messages are in the context",
}


@dataclass(frozen=True, slots=True, order=True)
class Arm:
    """One arm: `retrieval` is proactive, reactive or none; `context` is full, window or summarizing."""

    retrieval: str
    context: str

    def __post_init__(self) -> None:
        if self.retrieval not in RETRIEVALS:
            raise ValueError(f"retrieval must be one of {', '.join(RETRIEVALS)}, not {self.retrieval!r}")
        if self.context not in CONTEXTS:
            raise ValueError(f"context must be one of {', '.join(CONTEXTS)}, not {self.context!r}")

    @property
    def key(self) -> str:
        """The arm's stored name: `proactive+window`."""
        return f"{self.retrieval}+{self.context}"

    @property
    def searches(self) -> bool:
        """Whether it searches long-term memory."""
        return self.retrieval != NONE

    @property
    def meaning(self) -> str:
        """A description of the arm, as part of a sentence."""
        return f"{_MEANINGS[self.retrieval]}, {_MEANINGS[self.context]}"

    def __str__(self) -> str:
        return f"{self.retrieval}, {self.context}" if self.searches else f"no retrieval, {self.context}"

    @classmethod
    def read(cls, key: str) -> Arm:
        """Return the arm of a key such as `proactive+window`."""
        retrieval, plus, context = key.partition("+")
        if not plus:
            raise ValueError(f"an arm is retrieval+context, such as proactive+window, not {key!r}")
        return cls(retrieval.strip(), context.strip())


DEFAULT_ARMS: Final = (
    Arm(NONE, WINDOW),
    Arm(NONE, SUMMARIZING),
    Arm(NONE, FULL),
    Arm(REACTIVE, WINDOW),
    Arm(PROACTIVE, WINDOW),
)
