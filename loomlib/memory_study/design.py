"""What a recall study is asked to do, as a value that can be stored and compared."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from loomlib.errors import StudyError

from .arms import Arm
from .life import Life, Probe

RETRIEVAL_ONLY, AGENT = "retrieval", "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQuestion:
    """One question of one life, put to one arm; `position` is its place in the order."""

    position: int
    arm: Arm
    probe: Probe

    @property
    def plan(self) -> str:
        """Which question, as it is stored."""
        return f"{self.probe.life}/{self.probe.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallDesign:
    """`mode` is "retrieval" (what the model would be given) or "agent" (what an agent says).

    `top_k` records are brought; `ks` are the places that recall is told for. `window` counts turns. `settle_s` bounds
    the wait for extraction before questions, which ends earlier when nothing has changed for `quiet_s`. `priced_as` is
    the model whose list price tokens are valued at.
    """

    lives: tuple[Life, ...]
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
            raise ValueError(f"mode is {RETRIEVAL_ONLY} or {AGENT}, not {self.mode!r}")
        if not self.lives or len({each.name for each in self.lives}) < len(self.lives):
            raise ValueError("a study has lives, each with a name of its own")
        if not self.arms or len(set(self.arms)) < len(self.arms):
            raise ValueError("a study has arms, each of them once")
        if not 1 <= self.top_k <= 100:
            raise ValueError(f"top_k is 1 to 100, not {self.top_k}")
        if not self.ks or not all(1 <= k <= self.top_k for k in self.ks):
            raise ValueError(f"recall is told at 1 to {self.top_k} records, not {self.ks}")
        if self.window < 1:
            raise ValueError(f"a window has 1 turn or more, not {self.window}")

    def checkpoints(self) -> tuple[int, ...]:
        """The sessions in which questions are asked, in their order."""
        return tuple(sorted({each.session for life in self.lives for each in life.questions}))

    def questions(self) -> tuple[PlannedQuestion, ...]:
        """Every question to every arm: session by session, within a session in a random order."""
        draw = random.Random(f"order {self.seed}")  # noqa: S311 - a study is repeatable, not secret
        planned: list[PlannedQuestion] = []
        for session in self.checkpoints():
            pairs = [
                (arm, probe)
                for life in self.lives
                for probe in life.probes()
                if probe.session == session
                for arm in self.arms
            ]
            draw.shuffle(pairs)
            begin = len(planned)
            planned += [
                PlannedQuestion(position=begin + n, arm=arm, probe=probe) for n, (arm, probe) in enumerate(pairs)
            ]
        return tuple(planned)

    def stored(self) -> dict[str, Any]:
        """The design as JSON-ready values."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return values | {
            "kind": "recall",
            "lives": [each.stored() for each in self.lives],
            "arms": [each.key for each in self.arms],
            "ks": list(self.ks),
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> RecallDesign:
        """The design from its stored form; a field that a later release added is refused, not ignored."""
        given = {name: value for name, value in stored.items() if name != "kind"}
        unknown = sorted(set(given) - {each.name for each in fields(cls)})
        if stored.get("kind") != "recall" or unknown:
            raise StudyError(
                "The stored study is no recall study that this release can run",
                on=", ".join(unknown) or f"kind {stored.get('kind')!r}",
                try_="upgrade loomlib" if unknown else "LatencyStudy.resume(…) for a latency study",
            )
        given["lives"] = tuple(Life.read(each) for each in stored["lives"])
        given["arms"] = tuple(Arm.read(each) for each in stored["arms"])
        given["ks"] = tuple(stored["ks"])
        return cls(**given)
