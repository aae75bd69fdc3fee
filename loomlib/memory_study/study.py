"""A recall study: lives told to a memory, questions asked, runs resumed."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self

from loomlib.errors import StoreError, StudyError
from loomlib.jobs import Holding

from .access import MemoryAccess
from .arms import DEFAULT_ARMS, SUMMARIZING, Arm
from .asking import MemoryAsker
from .asking_agent import AgentAsker, collect_tokens
from .design import AGENT, RETRIEVAL_ONLY, RecallDesign
from .generator import make_lives
from .ledger import Ledger
from .life import Life
from .notebook_line import NotebookLine
from .own_memory import RENEW_S, own_memory, tidy, tidy_left
from .shipped import read_life
from .telling import tell, wait_until_settled

if TYPE_CHECKING:
    import pandas as pd

    from .ports import NamedMemory, Progress, RecallAgent, RecallBench, RecallMemory
    from .result import RecallResult

_SETTLE_S: Final = {"local": (20.0, 2.0), "aws": (300.0, 60.0)}


def reached(memory: NamedMemory) -> RecallMemory:
    """A workbench's memory, reached through AgentCore's operations."""
    return MemoryAccess(reader=memory.reader)


class RecallStudy:
    """What a memory brings back, sessions later: scripted lives are told, and asked about.

    >>> study = RecallStudy(bench)                                   # a little memory of its own, deleted afterwards
    >>> study = RecallStudy(bench, memory="assistant", lives=5)
    >>> study = RecallStudy(bench, memory=memory, agent=agent)       # what an agent says, instead of what it is given
    >>> result = study.run()
    >>> result.table()

    `script` is a shipped life's name, a file or a `Life`, and comes before `lives` made-up ones of `sessions` sessions
    with `facts` facts each (drawn from `seed`). `arms` are what is compared, such as "proactive+window". `top_k`
    records are brought; `window` turns stay in the context. `priced_as` values tokens at a model's list price.

    Without an agent it measures what the model would be given; with one, whether its answers say it. The plan is stored
    before the first question, and a study that was killed goes on with `RecallStudy.resume(bench, study_id).run()`.
    Everything is told under actors of the study's own; `keep` leaves its own memory in place, also
    when it is resumed. `access` reaches another kind of memory than AgentCore's.
    """

    def __init__(
        self,
        bench: RecallBench,
        *,
        memory: NamedMemory | str | None = None,
        agent: RecallAgent | None = None,
        script: str | Life | None = "shellfish",
        lives: int = 3,
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
        access: Callable[[NamedMemory], RecallMemory] = reached,
    ) -> None:
        if agent is not None and memory is None:
            raise StudyError(
                "An agent remembers in a memory of its own: name it",
                on=agent.name,
                try_='memory=bench.memories.get(…), as given to bench.deploy("assistant_with_memory", memory=…)',
            )
        self.bench, self.agent, self.keep, self._access = bench, agent, keep, access
        self._memory_given = memory
        scripted = () if script is None else (script if isinstance(script, Life) else read_life(script),)
        longest, quiet = _SETTLE_S.get(bench.where, _SETTLE_S["aws"])
        self.design = RecallDesign(
            lives=(*scripted, *(make_lives(lives, sessions=sessions, facts=facts, seed=seed) if lives else ())),
            arms=tuple(each if isinstance(each, Arm) else Arm.read(each) for each in arms),
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
        self.study_id = study_id or f"recall-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"

    @classmethod
    def resume(
        cls,
        bench: RecallBench,
        study_id: str,
        *,
        agent: RecallAgent | None = None,
        access: Callable[[NamedMemory], RecallMemory] = reached,
    ) -> Self:
        """The stored study of that id, with its stored design; `run()` asks what is still owed."""
        stored = Ledger(bench.store, study_id).stored()
        design = RecallDesign.read(stored.design)
        if design.mode == AGENT and (agent is None or agent.arn != stored.agent_arn):
            raise StudyError(f"The study asks the agent {stored.agent_name}: name it", on=study_id, try_="agent=…")
        memory = stored.environment.get("memory_id")
        own = bool(stored.environment.get("memory_is_own"))
        named = str(memory) if memory and not own else None
        if agent is not None and named is None:
            raise StudyError("The study's memory is not known any more", on=study_id, try_="a new study")
        study = cls(bench, memory=named, agent=agent, lives=1, study_id=study_id, access=access)
        study.design, study.keep = design, bool(stored.environment.get("keep"))
        return study

    def plan(self) -> pd.DataFrame:
        """The questions in the order in which they are asked."""
        import pandas as pd

        rows = [
            (each.position, each.probe.session, str(each.arm), each.probe.life, each.probe.kind, each.probe.said,
             each.probe.expected or None, each.probe.age or None)
            for each in self.design.questions()
        ]  # fmt: skip
        names = ["position", "session", "arm", "life", "kind", "question", "expected", "sessions since"]
        return pd.DataFrame(rows, columns=names)

    def run(self, progress: Progress | None = None) -> RecallResult:
        """Tell and ask what is still owed, and return the result.

        Raises `StudyInterruptedError` when the service goes away, `StudyError` when another process runs this study.
        """
        said = progress or NotebookLine()
        ledger = Ledger(self.bench.store, self.study_id)
        tidy_left(self.bench)
        stored = ledger.open(
            self.design,
            scope=self.bench.where,
            subject=self._subject(),
            name=self.agent.name if self.agent is not None else "",
            labels=tuple(self.bench.labels),
        )
        if stored.state == "complete":
            return self.result()
        with Holding(self.bench.store.studies, self.study_id, renew_every_s=RENEW_S, refused=StudyError) as held:
            try:
                memory = self._memory(ledger)
                ledger.settle_unseen()
                self._check(memory)
                self._run(ledger, memory, said, held.renew)
                ledger.save("complete", finished=True)
            except BaseException:
                with suppress(StoreError):  # a full disk cannot note the interruption either; the rows say enough
                    ledger.save("interrupted")
                raise
            tidy(self.bench, ledger)
        return self.result()

    def result(self) -> RecallResult:
        """What is stored so far, without asking anything."""
        from .result import RecallResult

        return RecallResult.load(self.bench.store, self.study_id, settings=self.bench.settings)

    def actor(self, life: str, arm: Arm) -> str:
        """Under whose name a life is told: with an agent each arm has its own, since asking leaves traces."""
        number = 1 + [each.name for each in self.design.lives].index(life)
        name = f"{self.study_id}-{number}"
        return f"{name}-{1 + self.design.arms.index(arm)}" if self.agent is not None else name

    def _run(self, ledger: Ledger, memory: RecallMemory, said: Progress, renew: Callable[[], object]) -> None:
        asker = (
            MemoryAsker(memory=memory, design=self.design, ledger=ledger)
            if self.agent is None
            else AgentAsker(agent=self.agent, memory=memory, design=self.design, ledger=ledger)
        )
        total, done = len(self.design.questions()), 0
        began = time.monotonic()
        try:
            for session in self.design.checkpoints():
                of_session = [each for each in ledger.asked(self.design) if each.probe.session == session]
                owed = [each for each in of_session if each.is_owed]
                done += len(of_session) - len(owed)
                if owed:
                    self._prepare(session, ledger, memory, asker, said, renew)
                for each in owed:
                    renew()
                    asker.ask(each, self.actor(each.probe.life, each.arm))
                    done += 1
                    said(f"recall study · session {session} · {done}/{total} asked · {time.monotonic() - began:.0f} s")
        finally:
            if isinstance(asker, AgentAsker):
                asker.end()
        if self.agent is not None:
            said("recall study · reading the answers' traces")
            collect_tokens(self.bench, self.agent, ledger, self.design)

    def _prepare(
        self,
        session: int,
        ledger: Ledger,
        memory: RecallMemory,
        asker: MemoryAsker | AgentAsker,
        said: Progress,
        renew: Callable[[], object],
    ) -> None:
        """Tell everything before `session`, and wait until it is extracted."""
        began = ledger.stored().created_at
        told: dict[str, Life] = {}
        for life in self.design.lives:
            said(f"recall study · telling {life.name} before session {session}")
            for arm in self.design.arms:
                actor = self.actor(life.name, arm)
                if isinstance(asker, AgentAsker) and not arm.searches:
                    asker.tell(life, arm, actor, before=session, said=renew)
                elif actor not in told:
                    told[actor] = life
                    tell(
                        memory, life, actor, before=session, study_id=self.study_id, began=began, said=renew
                    )  # fmt: skip
        if told:
            settled = wait_until_settled(
                memory,
                [(life, actor) for actor, life in told.items()],
                session,
                settle_s=self.design.settle_s,
                quiet_s=self.design.quiet_s,
                progress=said,
                alive=renew,
            )
            known: list[dict[str, Any]] = list(ledger.stored().environment.get("settled", ()))
            others = [each for each in known if each["session"] != session]
            ledger.save("running", settled=[*others, settled.summary()])

    def _subject(self) -> str:
        """What is studied, as the store's list of studies names it."""
        if self.agent is not None:
            return self.agent.arn
        given = self._memory_given
        return "memory/of-its-own" if given is None else f"memory/{given}" if isinstance(given, str) else given.arn

    def _memory(self, ledger: Ledger) -> RecallMemory:
        """The memory named, else the study's own, made when there is none yet."""
        environment = ledger.stored().environment
        given = self._memory_given
        own = given is None
        ledger.save("running", keep=self.keep)
        if given is None:
            given = own_memory(self.bench, ledger)
        elif isinstance(given, str):
            given = self.bench.memories.get(given)
        if environment.get("memory_id") not in (None, given.id):
            raise StudyError("The study was begun with another memory", on=self.study_id, try_="a new study")
        ledger.save("running", memory_id=given.id, memory_name=given.name, memory_arn=given.arn, memory_is_own=own)
        return self._access(given)

    def _check(self, memory: RecallMemory) -> None:
        if isinstance(memory, MemoryAccess):
            arms = self.design.arms
            needs_summaries = self.agent is None and any(each.context == SUMMARIZING for each in arms)
            memory.check(facts=any(each.searches for each in arms), summaries=needs_summaries)
