"""Asking an agent: with retrieval each question in a new session, without in the one long session of all that was told.

The lives of arms without retrieval are told to the agent itself, turn by turn, so that the conversation it keeps is its
own. Those of arms with retrieval are written as events, as the session manager of an earlier conversation would have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loomlib.errors import AwsError, LoomError, StudyInterruptedError

from .arms import Arm
from .asking import extracted
from .design import RecallDesign
from .ledger import Ledger
from .life import Life
from .measurements import Asked
from .ports import RecallMemory
from .scoring import score

if TYPE_CHECKING:
    from .ports import AgentAnswer, RecallAgent, RecallBench

_SHOWN_CHARACTERS = 600


@dataclass(slots=True, kw_only=True)
class AgentAsker:
    """Asks an agent that takes the payload of the blueprint assistant_with_memory."""

    agent: RecallAgent
    memory: RecallMemory
    design: RecallDesign
    ledger: Ledger
    open_sessions: set[str] = field(default_factory=set[str])

    def tell(self, life: Life, arm: Arm, actor: str, *, before: int, said: Callable[[], object]) -> None:
        """Say to the agent what it was not told yet, in the arm's one long session. A failed turn counts as said."""
        done: dict[str, int] = dict(self.ledger.stored().environment.get("said", {}))
        failed = int(self.ledger.stored().environment.get("said_failed", 0))
        key = f"{life.name} {arm.key}"
        for place, (_, _, turn) in enumerate(life.told(before)):
            if place < done.get(key, 0):
                continue
            answer = self._ask(turn.said, arm, actor, self._long_session(key))
            self._stop_if_gone(answer)
            failed += not answer.ok
            done[key] = place + 1
            self.ledger.save("running", said=done, said_failed=failed)
            said()

    def ask(self, owed: Asked, actor: str) -> None:
        """Claim, ask, score and record one question."""
        key = f"{owed.probe.life} {owed.arm.key}"
        fresh = owed.arm.searches
        session_id = _session_id(f"{self.ledger.study_id} {owed.position}") if fresh else self._long_session(key)
        if not self.ledger.claim(owed.position, session_id):
            return
        try:
            answer = self._ask(owed.probe.said, owed.arm, actor, session_id)
            self._stop_if_gone(answer)
            known = self.memory.records(actor) if owed.probe.expected and fresh else None
        except BaseException:
            self.ledger.give_back(owed.position)
            raise
        finally:
            if fresh:
                self._end(session_id)
        if not answer.ok:
            self.ledger.fail(owed.position, answer.failure or "error", answer.error, answer.record.id)
            return
        self.ledger.record(
            owed.position,
            score(owed.probe, [], [answer.text]),
            duration_ms=answer.duration_ms,
            ttft_ms=answer.ttft_ms,
            invocation_id=answer.record.id,
            **({} if known is None else extracted(owed, known)),
            shown=[answer.text[:_SHOWN_CHARACTERS]],
        )

    def end(self) -> None:
        """End the long sessions; one that cannot be ended ends by itself when it has been idle."""
        for session_id in sorted(self.open_sessions):
            self._end(session_id)

    def _ask(self, prompt: str, arm: Arm, actor: str, session_id: str) -> AgentAnswer:
        payload: dict[str, Any] = {
            "prompt": prompt,
            "actor": actor,
            "retrieval": arm.retrieval,
            "context": arm.context,
            "window": self.design.window,
        }
        self.open_sessions.add(session_id)
        return self.agent.invoke(payload=payload, session_id=session_id, timeout_s=self.design.timeout_s)

    def _end(self, session_id: str) -> None:
        self.open_sessions.discard(session_id)
        with suppress(LoomError):
            self.agent.end_session(session_id)

    def _long_session(self, key: str) -> str:
        return _session_id(f"{self.ledger.study_id} {key}")

    def _stop_if_gone(self, answer: AgentAnswer) -> None:
        if answer.failure == "transport":
            raise StudyInterruptedError(
                f"The service behind the agent cannot be reached: {answer.error or 'no answer'}; what was measured is "
                "kept",
                on=self.ledger.study_id,
                try_=f'RecallStudy.resume(bench, "{self.ledger.study_id}", agent=agent).run()',
            )


def collect_tokens(bench: RecallBench, agent: RecallAgent, ledger: Ledger, design: RecallDesign) -> None:
    """Note the tokens and model calls that the traces of the answers tell; without a trace they stay unknown."""
    wanted = {
        each.invocation_id: each
        for each in ledger.asked(design)
        if each.is_done and each.invocation_id is not None and each.input_tokens is None
    }
    rows = [row for id in wanted if (row := bench.store.invocations.get(id)) is not None]
    with suppress(AwsError):
        for view in bench.telemetry.find_traces(agent.entry, rows, progress=lambda _line: None):
            calls = view.case.calls
            counts = [(call.input_tokens, call.output_tokens) for call in calls]
            if view.trace.spans and counts and all(None not in each for each in counts):
                ledger.amend(
                    wanted[view.invocation_id].position,
                    model_calls=len(calls),
                    input_tokens=sum(each[0] for each in counts),
                    output_tokens=sum(each[1] for each in counts),
                )


def _session_id(text: str) -> str:
    """The same for the same text, so that a resumed study goes on in the same conversation."""
    return f"recall-{hashlib.sha256(text.encode()).hexdigest()[:40]}"
