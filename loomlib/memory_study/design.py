"""The design of a memory study: conversations, arms, and the order of the questions."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from loomlib.experiments import design_values

from .arms import Arm
from .script import Probe, ScriptedConversation

RETRIEVAL_ONLY, AGENT = "retrieval", "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQuestion:
    """One question of one conversation, asked in one arm; `position` is its index in the order."""

    position: int
    arm: Arm
    probe: Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDesign:
    """The design of a memory study.

    Attributes:
        conversations: The conversations.
        arms: The arms; the first one is the baseline of comparisons.
        mode: "retrieval" (scores the context that a model would receive) or "agent" (scores an agent's answers).
        top_k: Records that a search returns.
        ks: The ranks k of recall@k.
        window: Turns that a window keeps in the context.
        seed: Seed of generated conversations and of the order.
        settle_s: Maximum wait for extraction before questions, in seconds.
        quiet_s: The wait ends early when nothing has changed for this many seconds.
        timeout_s: Time limit of each call to the agent, in seconds.
        priced_as: Model whose list price is used for tokens; empty for none.
        name: Name of the study.
    """

    conversations: tuple[ScriptedConversation, ...]
    arms: tuple[Arm, ...]
    mode: str = RETRIEVAL_ONLY
    top_k: int = 5
    ks: tuple[int, ...] = (1, 3, 5)
    window: int = 5
    seed: int = 0
    settle_s: float = 20.0
    quiet_s: float = 3.0
    timeout_s: float | None = None
    priced_as: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        if self.mode not in (RETRIEVAL_ONLY, AGENT):
            raise ValueError(f"mode must be {RETRIEVAL_ONLY} or {AGENT}, not {self.mode!r}")
        if not self.conversations or len({conversation.name for conversation in self.conversations}) < len(
            self.conversations
        ):
            raise ValueError("a study needs conversations with unique names")
        if not self.arms or len(set(self.arms)) < len(self.arms):
            raise ValueError("a study needs at least one arm, and each arm once")
        if not 1 <= self.top_k <= 100:
            raise ValueError(f"top_k must be 1 to 100, not {self.top_k}")
        if not self.ks or not all(1 <= k <= self.top_k for k in self.ks):
            raise ValueError(f"each k of recall@k must be from 1 to {self.top_k}, not {self.ks}")
        if self.window < 1:
            raise ValueError(f"a window must have at least 1 turn, not {self.window}")

    def questions(self) -> tuple[PlannedQuestion, ...]:
        """Return every question in every arm: session by session, within a session in a random order."""
        draw = random.Random(f"order {self.seed}")  # noqa: S311 - a study is repeatable, not secret
        ordered: list[tuple[Arm, Probe]] = []
        for session in sorted(
            {question.session for conversation in self.conversations for question in conversation.questions}
        ):
            pairs = [
                (arm, probe)
                for conversation in self.conversations
                for probe in conversation.probes()
                if probe.session == session
                for arm in self.arms
            ]
            draw.shuffle(pairs)
            ordered += pairs
        return tuple(
            PlannedQuestion(position=position, arm=arm, probe=probe) for position, (arm, probe) in enumerate(ordered)
        )

    def stored(self) -> dict[str, Any]:
        """Return the design as JSON-ready values."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "conversations"}
        return values | {
            "kind": "recall",
            "lives": [conversation.stored() for conversation in self.conversations],
            "arms": [arm.key for arm in self.arms],
            "ks": list(self.ks),
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> MemoryDesign:
        """Return a stored design; raise `StudyError` for one that this release cannot run."""
        stored = {("conversations" if name == "lives" else name): value for name, value in stored.items()}
        values = design_values(cls, stored, kind="recall")
        values["conversations"] = tuple(map(ScriptedConversation.read, values["conversations"]))
        values["arms"] = tuple(Arm.read(key) for key in values["arms"])
        values["ks"] = tuple(values["ks"])
        return cls(**values)
