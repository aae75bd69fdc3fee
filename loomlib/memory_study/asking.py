"""Asking without an agent: what the model would be given is fetched from the memory and scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from loomlib.errors import AwsError, StudyInterruptedError, TransportError

from .context import gather
from .design import RecallDesign
from .ledger import Ledger
from .life import holds
from .measurements import Asked
from .ports import RecallMemory
from .scoring import score
from .telling import session_names

_SHOWN_RECORDS = 3
_SHOWN_CHARACTERS = 300


@dataclass(slots=True, kw_only=True)
class MemoryAsker:
    """Asks the memory itself."""

    memory: RecallMemory
    design: RecallDesign
    ledger: Ledger
    _known: dict[tuple[str, int], list[str]] = field(default_factory=dict[tuple[str, int], list[str]])

    def ask(self, owed: Asked, actor: str) -> None:
        """Claim, fetch, score and record one question. A refused call is a failure; one that cannot be made raises."""
        if not self.ledger.claim(owed.position):
            return
        try:
            given = gather(
                self.memory,
                owed.arm,
                owed.probe,
                actor,
                session_names(owed.probe.session),
                top_k=self.design.top_k,
                window=self.design.window,
            )
            known = self._records(actor, owed.probe.session)
        except TransportError as error:
            self.ledger.give_back(owed.position)
            raise StudyInterruptedError(
                "The service takes no connections any more; what was measured is kept",
                on=self.ledger.study_id,
                try_=f'start it again, then RecallStudy.resume(bench, "{self.ledger.study_id}").run()',
            ) from error
        except AwsError as error:
            self.ledger.fail(owed.position, type(error).__name__, str(error))
            return
        except BaseException:
            self.ledger.give_back(owed.position)
            raise
        self.ledger.record(
            owed.position,
            score(owed.probe, given.records, given.rest),
            duration_ms=given.duration_ms,
            searches=given.searches,
            model_calls=given.model_calls,
            input_tokens=given.input_tokens,
            **extracted(owed, known),
            shown=[each[:_SHOWN_CHARACTERS] for each in given.records[:_SHOWN_RECORDS]],
        )

    def _records(self, actor: str, session: int) -> list[str]:
        """All records of the actor when the session's questions began: nothing is told between them."""
        if (actor, session) not in self._known:
            self._known[actor, session] = self.memory.records(actor)
        return self._known[actor, session]


def extracted(owed: Asked, known: Sequence[str]) -> dict[str, Any]:
    """Whether a record holds the answer, for questions that have one."""
    if not owed.probe.expected:
        return {}
    return {"extracted": any(holds(text, owed.probe.expected) for text in known)}
