"""Telling the lives to the memory, and waiting until what was told has been extracted.

Every turn is one event. Its time and its token follow from the study, so that telling again, after a kill, writes
nothing twice.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from .life import Life, holds
from .ports import Progress, RecallMemory, Saying

_POLL_S: Final = 0.1
_SLOWEST_POLL_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How far extraction was when the questions of `session` began.

    Of the `wanted` values that held by then `found` stood in a record, and `lingering` former ones still did;
    `waited_s` is how long was waited. `missing` names the values without a record, as `life/fact`.
    """

    session: int
    waited_s: float
    wanted: int
    found: int
    lingering: int
    missing: tuple[str, ...] = ()

    def summary(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "session": self.session, "waited_s": round(self.waited_s, 3), "wanted": self.wanted, "found": self.found,
            "lingering": self.lingering, "missing": list(self.missing),
        }  # fmt: skip

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Settled:
        """From its stored form."""
        values: dict[str, Any] = {**stored, "missing": tuple(stored["missing"])}
        return cls(**values)


def session_names(before: int) -> list[str]:
    """The memory's sessions before session `before`, oldest first."""
    return [f"session-{number:03d}" for number in range(1, before)]


def tell(
    memory: RecallMemory,
    life: Life,
    actor: str,
    *,
    before: int,
    study_id: str,
    began: datetime,
    said: Callable[[], object] = lambda: None,
) -> int:
    """Write every turn of the sessions before `before` as an event; how many. What was told already stays as it is."""
    count = sum(map(len, life.sessions))
    names = session_names(len(life.sessions) + 1)
    told = 0
    for number, place, turn in life.told(before):
        token = hashlib.sha256(f"{study_id} {actor} {number} {place}".encode()).hexdigest()
        at = began - timedelta(seconds=count - told)
        memory.tell(
            Saying(
                actor=actor, session=names[number - 1], at=at, said=turn.said, answered=turn.answered, token=token[:48]
            )
        )
        told += 1
        said()
    return told


def wait_until_settled(
    memory: RecallMemory,
    lives: Sequence[tuple[Life, str]],
    session: int,
    *,
    settle_s: float,
    quiet_s: float,
    progress: Progress,
    alive: Callable[[], object] = lambda: None,
) -> Settled:
    """Wait until every value that holds has its record and no former one is left, or nothing changes for `quiet_s`.

    `lives` come with their actors; `settle_s` bounds the wait.
    """
    began = changed_at = time.monotonic()
    before: list[list[str]] | None = None
    pause_s = _POLL_S
    while True:
        now = [sorted(memory.records(actor)) for _, actor in lives]
        at = time.monotonic()
        if now != before:
            before, changed_at, pause_s = now, at, _POLL_S
        settled = _settled(lives, now, session, at - began)
        if not settled.missing and not settled.lingering:
            return settled
        if at - changed_at >= quiet_s or at - began >= settle_s:
            return settled
        progress(
            f"waiting for extraction before session {session}: {settled.found} of {settled.wanted} facts · "
            f"{at - began:.0f} of at most {settle_s:.0f} s"
        )
        alive()
        time.sleep(min(pause_s, max(0.0, settle_s - (at - began))))
        pause_s = min(_SLOWEST_POLL_S, quiet_s / 4, pause_s * 1.5)


def _settled(
    lives: Iterable[tuple[Life, str]], records: Sequence[Sequence[str]], session: int, waited_s: float
) -> Settled:
    wanted = found = lingering = 0
    missing: list[str] = []
    for (life, _), texts in zip(lives, records, strict=True):
        for fact, (value, former) in values_before(life, session).items():
            if value:
                wanted += 1
                if any(holds(text, value) for text in texts):
                    found += 1
                else:
                    missing.append(f"{life.name}/{fact}")
            lingering += any(holds(text, each) for each in former for text in texts)
    return Settled(
        session=session, waited_s=waited_s, wanted=wanted, found=found, lingering=lingering, missing=tuple(missing)
    )


def values_before(life: Life, session: int) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Each fact told before `session`: the value that holds ("" when none does) and the former ones."""
    told: dict[str, list[str]] = {}
    for _, _, turn in life.told(session):
        if turn.fact:
            told.setdefault(turn.fact, []).append(turn.value)
    return {
        fact: (values[-1], tuple(each for each in dict.fromkeys(values) if each and each != values[-1]))
        for fact, values in told.items()
    }
