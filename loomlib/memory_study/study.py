"""The memory study: conversations written to a memory, questions asked sessions later, run and resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final, Self

from loomlib.errors import AwsError, StudyError
from loomlib.experiments import Study, StudyLedger, StudyRun
from loomlib.store import PlannedMeasurement, StudyRow

from .access import MemoryAccess
from .arms import DEFAULT_ARMS, SUMMARIZING, Arm
from .asking import AgentQuestions, MemoryQuestions
from .design import AGENT, RETRIEVAL_ONLY, MemoryDesign
from .generator import make_conversations
from .measurements import AskedQuestion
from .own_memory import delete_left_memories, delete_own_memory, own_memory
from .result import MemoryResult
from .script import ScriptedConversation, read_conversation
from .subjects import MemoryBench, NamedMemory, PromptedAgent, StudiedMemory

if TYPE_CHECKING:
    import pandas as pd


_OF_ITS_OWN: Final = "of-its-own"
"""Stands for the name of a memory that the study creates itself; AgentCore's names have no hyphens."""
_SETTLE_S: Final = {"local": (20.0, 2.0), "aws": (300.0, 60.0)}


def reached(memory: NamedMemory) -> StudiedMemory:
    """Return a workbench's memory, accessed through AgentCore's operations."""
    return MemoryAccess(reader=memory.reader)


def _memory_of(stored: StudyRow, design: MemoryDesign) -> str | None:
    """Return the memory with which a study was started, None for one of its own, "" if it is unknown."""
    if stored.environment.get("memory_is_own"):
        return None
    memory_id: str | None = stored.environment.get("memory_id")
    if memory_id is not None or design.mode == AGENT:
        return memory_id or ""
    # The study was stopped before it had found the memory: its subject names it.
    name = stored.agent_arn.rpartition("/")[2]
    return None if name == _OF_ITS_OWN else name


def _ignored(_line: str) -> None:
    pass


class MemoryStudy(Study[AskedQuestion, MemoryResult]):
    """A study of what a memory recalls in later sessions: scripted conversations are written, then asked about.

    Without an agent, it measures whether a model would receive the facts; with an agent, whether its answers contain
    them. The plan is stored before the first question; `MemoryStudy.resume(bench, study_id).run()` resumes a stopped
    study. Everything is written under the study's own actors.

    Examples:
        >>> study = MemoryStudy(bench)  # with a memory of its own, deleted afterwards
        >>> study = MemoryStudy(bench, memory="assistant", conversations=5)
        >>> study = MemoryStudy(bench, memory=memory, agent=agent)
        >>> study.run().table()

    Args:
        bench: The workbench.
        memory: The memory or its name; by default the study creates its own.
        agent: The agent to ask; it takes the payload of the blueprint assistant_with_memory.
        script: A shipped conversation's name, a file or a `ScriptedConversation`; None for none.
        conversations: Number of generated conversations in addition to the script.
        sessions: Number of sessions of a generated conversation.
        facts: Number of facts of a generated conversation.
        arms: The compared arms, each as "retrieval+context": proactive, reactive or none; full, window or summarizing.
        top_k: Records that a search returns.
        window: Turns that a window keeps in the context.
        seed: Seed of the generated conversations and of the order.
        settle_s: Maximum wait for extraction before questions, in seconds.
        quiet_s: Seconds without a change after which that wait ends.
        timeout_s: Time limit of each call to the agent, in seconds.
        priced_as: Model whose list price is used for tokens.
        keep: Whether to keep the study's own memory.
        study_id: Id of a stored study to resume.
        name: Name of the study.
        access: Accesses a memory that is not AgentCore's.
    """

    design: MemoryDesign
    kind: ClassVar[str] = "memory"

    def __init__(
        self,
        bench: MemoryBench,
        *,
        memory: NamedMemory | str | None = None,
        agent: PromptedAgent | None = None,
        script: str | ScriptedConversation | None = "shellfish",
        conversations: int = 3,
        sessions: int = 10,
        facts: int = 6,
        arms: Sequence[str | Arm] = DEFAULT_ARMS,
        top_k: int = 5,
        window: int = 5,
        seed: int = 0,
        settle_s: float | None = None,
        quiet_s: float | None = None,
        timeout_s: float | None = None,
        priced_as: str = "",
        keep: bool = False,
        study_id: str | None = None,
        name: str = "",
        access: Callable[[NamedMemory], StudiedMemory] = reached,
    ) -> None:
        if agent is not None and memory is None:
            raise StudyError(
                "The study of an agent needs the agent's memory",
                on=agent.name,
                try_='memory=bench.memories.get(…), as passed to bench.deploy("assistant_with_memory", memory=…)',
            )
        super().__init__(bench.context.store, study_id)
        self.bench, self.agent, self.keep, self._access, self._chosen_memory = bench, agent, keep, access, memory
        scripted: list[ScriptedConversation] = []
        if script is not None:
            scripted.append(script if isinstance(script, ScriptedConversation) else read_conversation(script))
        if conversations:
            scripted += make_conversations(conversations, sessions=sessions, facts=facts, seed=seed)
        longest, quiet = _SETTLE_S.get(bench.where, _SETTLE_S["aws"])
        self.design = MemoryDesign(
            conversations=tuple(scripted),
            arms=tuple(arm if isinstance(arm, Arm) else Arm.read(arm) for arm in arms),
            mode=AGENT if agent is not None else RETRIEVAL_ONLY,
            top_k=top_k,
            ks=tuple(k for k in sorted({1, 3, top_k}) if k <= top_k),
            window=window,
            seed=seed,
            settle_s=longest if settle_s is None else settle_s,
            quiet_s=quiet if quiet_s is None else quiet_s,
            timeout_s=timeout_s,
            priced_as=priced_as,
            name=name,
        )

    @classmethod
    def resume(
        cls,
        bench: MemoryBench,
        study_id: str,
        *,
        agent: PromptedAgent | None = None,
        access: Callable[[NamedMemory], StudiedMemory] = reached,
    ) -> Self:
        """Return a stored study with its stored design; `run()` asks its pending questions.

        Args:
            bench: The workbench.
            study_id: The study's id.
            agent: The study's agent, if it has one.
            access: Accesses a memory that is not AgentCore's.
        """
        stored = StudyLedger(bench.context.store, study_id).stored
        design = MemoryDesign.read(stored.design)
        if design.mode == AGENT and (agent is None or agent.arn != stored.agent_arn):
            raise StudyError(f"The study asks the agent {stored.agent_name}", on=study_id, try_="agent=…")
        memory = _memory_of(stored, design)
        if memory == "":
            raise StudyError("The study's memory is unknown", on=study_id, try_="a new study")
        study = cls(bench, memory=memory, agent=agent, study_id=study_id, access=access)
        study.design, study.keep = design, bool(stored.environment.get("keep"))
        return study

    def plan(self) -> pd.DataFrame:
        """Return the questions in the order in which they are asked."""
        import pandas as pd

        rows = [
            (planned.position, probe.session, str(planned.arm), probe.conversation, probe.kind, probe.text,
             probe.expected or None, probe.age or None)
            for planned in self.design.questions()
            for probe in [planned.probe]
        ]  # fmt: skip
        names = ["position", "session", "arm", "conversation", "kind", "question", "expected", "sessions since"]
        return pd.DataFrame(rows, columns=names)

    def result(self) -> MemoryResult:
        """Return the result from the answers stored so far; nothing is asked."""
        return MemoryResult.load(self.store, self.study_id, settings=self.bench.context.settings)

    # The methods that the kernel calls (see `Study`).

    @property
    def how_to_resume(self) -> str:
        """Python code that opens the stored study."""
        agent = ", agent=agent" if self.agent is not None else ""
        return f'MemoryStudy.resume(bench, "{self.study_id}"{agent})'

    def header(self) -> StudyRow:
        """Return the row to store for the study."""
        memory = self._chosen_memory
        if self.agent is not None:
            subject = self.agent.arn
        elif memory is None or isinstance(memory, str):
            subject = f"memory/{memory or _OF_ITS_OWN}"
        else:
            subject = memory.arn
        return self.row(
            scope=self.bench.where,
            agent_arn=subject,
            agent_name=self.agent.name if self.agent is not None else "",
            labels=tuple(self.bench.context.labels),
        )

    def planned(self) -> Sequence[PlannedMeasurement]:
        """Return the questions in the order in which they are asked."""
        return [
            PlannedMeasurement(
                position=planned.position,
                block=planned.probe.session,
                scenario=planned.arm.key,
                session_plan=f"{planned.probe.conversation}/{planned.probe.index}",
            )
            for planned in self.design.questions()
        ]

    def condition(self, unit: AskedQuestion) -> str:
        """Return the name under which progress counts the question."""
        return "questions"

    async def procedure(self, run: StudyRun) -> MemoryQuestions:
        """Return the procedure that asks the questions; create or find the memory first."""
        memory = await run.blocking(self._memory, run)
        if self.agent is None:
            return MemoryQuestions(memory, self.design, run)
        return AgentQuestions(self.agent, memory, self.design, run)

    async def finish(self, run: StudyRun) -> None:
        """Read the tokens and model calls from the traces of an agent's answers."""
        if self.agent is not None:
            run.report("reading the traces of the answers")
            await run.blocking(self._collect_tokens, self.agent, run.ledger)

    async def clean_up(self, run: StudyRun) -> None:
        """Delete the study's own memory."""
        await run.blocking(delete_own_memory, self.bench, run.ledger)

    def _memory(self, run: StudyRun) -> StudiedMemory:
        """Return the named memory, else the study's own, which is created if it does not exist."""
        ledger, chosen = run.ledger, self._chosen_memory
        different = StudyError("The study was started with a different memory", on=self.study_id, try_="a new study")
        if chosen is None and _memory_of(ledger.stored, self.design) is not None:
            raise different
        delete_left_memories(self.bench)
        stored_id = ledger.stored.environment.get("memory_id")
        ledger.save("running", keep=self.keep)
        if chosen is None:
            memory = own_memory(self.bench, ledger)
        else:
            memory: NamedMemory = self.bench.memories.get(chosen) if isinstance(chosen, str) else chosen
        if stored_id not in (None, memory.id):
            raise different
        ledger.save(
            "running", memory_id=memory.id, memory_name=memory.name, memory_arn=memory.arn, memory_is_own=chosen is None
        )
        studied = self._access(memory)
        if isinstance(studied, MemoryAccess):
            arms = self.design.arms
            summaries = self.agent is None and any(arm.context == SUMMARIZING for arm in arms)
            studied.check(facts=any(arm.searches for arm in arms), summaries=summaries)
        return studied

    def _collect_tokens(self, agent: PromptedAgent, ledger: StudyLedger) -> None:
        """Store tokens and model calls from the answers' traces; without a trace they stay unknown."""
        by_invocation = {
            question.invocation_id: question
            for question in self.units()
            if question.is_done and question.invocation_id is not None and question.input_tokens is None
        }
        rows = [row for id in by_invocation if (row := self.store.invocations.get(id)) is not None]
        with suppress(AwsError):
            for view in self.bench.telemetry.find_traces(agent.entry, rows, progress=_ignored):
                calls = view.case.calls
                counts = [(call.input_tokens, call.output_tokens) for call in calls]
                if view.trace.spans and counts and all(None not in pair for pair in counts):
                    tokens = {"input_tokens": sum(pair[0] for pair in counts)}
                    tokens |= {"output_tokens": sum(pair[1] for pair in counts), "model_calls": len(calls)}
                    ledger.amend(by_invocation[view.invocation_id].position, details=tokens)
