"""Ask the questions: of the memory itself (for the context that a model would receive), or of an agent."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from loomlib.errors import AwsError, LoomError, StudyInterruptedError, TransportError
from loomlib.experiments import Procedure, StudyRun, UnitOutcome

from .arms import FULL, PROACTIVE, SUMMARIZING, Arm
from .design import MemoryDesign
from .measurements import AskedQuestion, RecallScore, score_answer, tokens_of
from .script import IDLE, Probe, ScriptedConversation, contains
from .subjects import PromptedAgent, StudiedMemory
from .writing import session_names, wait_until_extracted, write_conversation

_SHOWN_RECORDS = 3
_SHOWN_CHARACTERS = 300
_SHOWN_ANSWER = 600


class MemoryQuestions(Procedure[AskedQuestion]):
    """Questions to the memory: fetches the context that each arm would pass to a model, and scores it.

    Before the first question of a session, everything that comes before it is written to the memory.

    Args:
        memory: The memory.
        design: The study's design.
        run: The run.
    """

    def __init__(self, memory: StudiedMemory, design: MemoryDesign, run: StudyRun) -> None:
        self._memory, self._design, self._run = memory, design, run
        self._prepared = 0
        self._records: dict[tuple[str, int], list[str]] = {}

    def actor(self, conversation: str, arm: Arm) -> str:
        """Return the actor under which a conversation is written."""
        number = 1 + [scripted.name for scripted in self._design.conversations].index(conversation)
        return f"{self._run.ledger.study_id}-{number}"

    async def begin(self, unit: AskedQuestion) -> str | None:
        """Write everything before the question's session, and wait for the extraction."""
        if self._prepared != unit.probe.session:
            try:
                await self._run.blocking(self._prepare, unit.probe.session)
            except TransportError as error:
                raise self._unreachable(str(error)) from error
            self._prepared = unit.probe.session
        return None

    async def measure(self, unit: AskedQuestion, session_id: str | None) -> UnitOutcome:
        """Ask one question. A rejected call is a failure; an unreachable service stops the study."""
        try:
            return await self._run.blocking(self._ask, unit, session_id)
        except TransportError as error:
            raise self._unreachable(str(error)) from error
        except AwsError as error:
            return UnitOutcome(failure=type(error).__name__, values={"error_message": str(error)})

    def _ask(self, unit: AskedQuestion, session_id: str | None) -> UnitOutcome:
        actor = self.actor(unit.probe.conversation, unit.arm)
        fetched = fetch_context(self._memory, unit.arm, unit.probe, actor, self._design)
        return _outcome(
            score_answer(unit.probe, fetched.records, fetched.rest),
            shown=[text[:_SHOWN_CHARACTERS] for text in fetched.records[:_SHOWN_RECORDS]],
            values={"duration_ms": fetched.duration_ms},
            searches=fetched.searches,
            model_calls=fetched.model_calls,
            input_tokens=fetched.input_tokens,
            **self._extracted(unit, actor),
        )

    def _prepare(self, session: int) -> None:
        ledger, run = self._run.ledger, self._run
        study = ledger.stored
        new_conversations: dict[str, ScriptedConversation] = {}
        for conversation in self._design.conversations:
            run.report(f"writing {conversation.name} before session {session}")
            for arm in self._design.arms:
                actor = self.actor(conversation.name, arm)
                if not self._say(conversation, arm, actor, session) and actor not in new_conversations:
                    new_conversations[actor] = conversation
                    write_conversation(
                        self._memory, conversation, actor, before=session, study_id=study.id, began=study.created_at,
                        check=run.check,
                    )  # fmt: skip
        if new_conversations:
            state = wait_until_extracted(
                self._memory,
                [(conversation, actor) for actor, conversation in new_conversations.items()],
                session,
                settle_s=self._design.settle_s,
                quiet_s=self._design.quiet_s,
                report=run.report,
                check=run.check,
            )
            stored_states: list[dict[str, Any]] = list(ledger.stored.environment.get("settled", ()))
            others = [earlier for earlier in stored_states if earlier["session"] != session]
            ledger.save("running", settled=[*others, state.summary()])

    def _say(self, conversation: ScriptedConversation, arm: Arm, actor: str, session: int) -> bool:
        """Return whether the turns were sent to the agent: False, since `begin` writes them as events."""
        return False

    def _extracted(self, unit: AskedQuestion, actor: str) -> dict[str, Any]:
        """Whether a record contained the answer when the session's questions started: nothing is written after that."""
        if not unit.probe.expected:
            return {}
        key = (actor, unit.probe.session)
        if key not in self._records:
            self._records[key] = self._memory.records(actor)
        return {"extracted": any(contains(text, unit.probe.expected) for text in self._records[key])}

    def _unreachable(self, reason: str) -> StudyInterruptedError:
        return StudyInterruptedError(
            f"The service cannot be reached ({reason}); the study's measurements are stored",
            on=self._run.ledger.study_id,
            try_=f'start the service again, then MemoryStudy.resume(bench, "{self._run.ledger.study_id}").run()',
        )


class AgentQuestions(MemoryQuestions):
    """Questions to an agent that takes the payload of the blueprint assistant_with_memory.

    With retrieval each question is asked in a new session, and the conversation is written as events, as the session
    manager of an earlier conversation would have done. Without retrieval, the conversation takes place with the agent
    itself, turn by turn in one long session, in which the questions are asked too.

    Args:
        agent: The agent.
        memory: The agent's memory.
        design: The study's design.
        run: The run.
    """

    def __init__(self, agent: PromptedAgent, memory: StudiedMemory, design: MemoryDesign, run: StudyRun) -> None:
        super().__init__(memory, design, run)
        self._agent = agent
        self._open: set[str] = set()

    def actor(self, conversation: str, arm: Arm) -> str:
        """Return the actor of a conversation in an arm: each arm has its own, because questions are remembered too."""
        return f"{super().actor(conversation, arm)}-{1 + self._design.arms.index(arm)}"

    async def begin(self, unit: AskedQuestion) -> str:
        """Prepare the session's questions, and return the agent's session."""
        await super().begin(unit)
        if unit.arm.searches:
            return _session_id(f"{self._run.ledger.study_id} {unit.position}")
        return self._long_session(f"{unit.probe.conversation} {unit.arm.key}")

    async def end(self, unit: AskedQuestion, session_id: str | None, outcome: UnitOutcome) -> None:
        """End a session that was opened for one question."""
        if unit.arm.searches and session_id is not None:
            await self._run.blocking(self._end, session_id)

    async def close(self) -> None:
        """End the long sessions; a session that cannot be ended expires at its idle timeout."""
        for session_id in sorted(self._open):
            await self._run.blocking(self._end, session_id)

    def _ask(self, unit: AskedQuestion, session_id: str | None) -> UnitOutcome:
        assert session_id is not None
        actor = self.actor(unit.probe.conversation, unit.arm)
        answer = self._call(unit.probe.text, unit.arm, actor, session_id)
        values = {"invocation_id": answer.record.id}
        if not answer.ok:
            return UnitOutcome(failure=answer.failure or "error", values=values | {"error_message": answer.error})
        self._records.clear()  # the agent may have remembered the question
        return _outcome(
            score_answer(unit.probe, [], [answer.text]),
            shown=[answer.text[:_SHOWN_ANSWER]],
            values=values | {"duration_ms": answer.duration_ms, "ttft_ms": answer.ttft_ms},
            **(self._extracted(unit, actor) if unit.arm.searches else {}),
        )

    def _say(self, conversation: ScriptedConversation, arm: Arm, actor: str, session: int) -> bool:
        """Send the remaining turns of the conversation to the agent. A failed turn counts as sent."""
        if arm.searches:
            return False
        environment = self._run.ledger.stored.environment
        sent_turns: dict[str, int] = dict(environment.get("said", {}))
        failed = int(environment.get("said_failed", 0))
        key = f"{conversation.name} {arm.key}"
        for place, (_, _, turn) in enumerate(conversation.turns(session)):
            if place < sent_turns.get(key, 0):
                continue
            answer = self._call(turn.text, arm, actor, self._long_session(key))
            failed += not answer.ok
            sent_turns[key] = place + 1
            self._run.ledger.save("running", said=sent_turns, said_failed=failed)
            self._run.check()
        return True

    def _call(self, prompt: str, arm: Arm, actor: str, session_id: str) -> Any:
        payload: Mapping[str, Any] = {
            "prompt": prompt,
            "actor": actor,
            "retrieval": arm.retrieval,
            "context": arm.context,
            "window": self._design.window,
        }
        self._open.add(session_id)
        answer = self._agent.invoke(payload=payload, session_id=session_id, timeout_s=self._design.timeout_s)
        if answer.failure == "transport":
            raise self._unreachable(answer.error or "no answer")
        return answer

    def _end(self, session_id: str) -> None:
        self._open.discard(session_id)
        with suppress(LoomError):
            self._agent.end_session(session_id)

    def _long_session(self, key: str) -> str:
        return _session_id(f"{self._run.ledger.study_id} {key}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedContext:
    """The context that a model would receive for a question.

    Attributes:
        records: Retrieved records, best first.
        rest: The other messages and summaries of the context.
        duration_ms: Time to fetch them.
        searches: Searches of long-term memory.
        input_tokens: Estimated input tokens. With reactive retrieval the context is sent twice, since the model first
            asks for the search and then answers.
        model_calls: Calls of the model.
    """

    records: tuple[str, ...]
    rest: tuple[str, ...]
    duration_ms: float
    searches: int
    input_tokens: int
    model_calls: int


def fetch_context(memory: StudiedMemory, arm: Arm, probe: Probe, actor: str, design: MemoryDesign) -> FetchedContext:
    """Fetch the context that an arm passes to a model for a question.

    Whether a question needs memory is known from the script: with reactive retrieval, the model is assumed to search
    exactly then, with the script's query; with proactive retrieval, the text of every question is the search query.

    Args:
        memory: The memory.
        arm: The arm.
        probe: The question.
        actor: The actor.
        design: The study's design.
    """
    began = time.perf_counter()
    rest: list[str] = memory.summaries(actor) if arm.context == SUMMARIZING else []
    last = None if arm.context == FULL else 2 * design.window
    rest = [*rest, *memory.messages(actor, session_names(probe.session), last=last)]
    proactive = arm.retrieval == PROACTIVE
    searches = int(proactive or (arm.searches and probe.kind != IDLE))
    records = memory.search(actor, probe.text if proactive else probe.query, design.top_k) if searches else []
    duration_ms = (time.perf_counter() - began) * 1000
    context, retrieved = tokens_of([*rest, probe.text]), tokens_of(records)
    asks_first = searches > 0 and not proactive
    return FetchedContext(
        records=tuple(records),
        rest=tuple(rest),
        duration_ms=duration_ms,
        searches=searches,
        input_tokens=2 * context + tokens_of([probe.query]) + retrieved if asks_first else context + retrieved,
        model_calls=2 if asks_first else 1,
    )


def _outcome(score: RecallScore, *, shown: Sequence[str], values: Mapping[str, Any], **details: Any) -> UnitOutcome:
    return UnitOutcome(values=values, details={"score": asdict(score), **details, "shown": list(shown)})


def _session_id(text: str) -> str:
    """Derive a session id from a text, so that a resumed study continues the same conversation."""
    return f"recall-{hashlib.sha256(text.encode()).hexdigest()[:40]}"
