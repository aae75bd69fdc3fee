"""Shadow traffic: one agent answers its callers, and another gets the same prompts for a sample of sessions."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

from ..agents import FAILURES
from ..closing import Closing
from ..errors import InvocationFailedError, LoomError
from ..evals.targets import Target
from ..evals.values.answers import CaseAnswer, CaseFailure, TurnAnswer
from ..evals.values.cases import Turn
from ..imports.bedrock_agents.parity.agent_parity import AgentParity
from ..imports.bedrock_agents.parity.measuring import ParitySubject, judge_recorded
from ..imports.bedrock_agents.parity.pairs import as_compared
from ..imports.bedrock_agents.parity.returned_calls import STATE_NAME
from ..imports.bedrock_agents.parity.shadow_pairs import ShadowFile, ShadowPair, ShadowSide, is_sampled
from ..presentation.formats import percent, plural
from ..presentation.html import card
from ..redaction import DEFAULT_RULES, Redactor
from .context import Context

_log = logging.getLogger(__name__)
T = TypeVar("T")
MOST_WAITING: Final = 100
"""Maximum number of prompts queued for the shadow agent; further ones are counted as dropped."""
_AT_ONCE: Final = 2
_MOST_SESSIONS: Final = 10_000
"""Maximum number of sampled sessions that are remembered."""


class ShadowTraffic(Closing):
    """Answers callers from one agent, and sends a sample of sessions to the other agent in the background.

    The other agent, the shadow agent, never delays or fails a caller: it is called after the caller has its answer, in
    separate threads, and prompts that it cannot keep up with are counted as dropped. Pairs are stored redacted, and
    judged like those of a comparison.

        with old.shadow(new, share=0.05, safe=["orders"]) as traffic:
            traffic.ask("Where is my parcel?", session_id="…").text
            traffic.drain()
            traffic.parity()

    Args:
        context: The workbench's resources.
        subject: The names of both agents and of their tools.
        front: Which agent answers callers.
        old: The Bedrock agent.
        new: Its successor.
        share: The share of sessions that are sampled, 0 to 1.
        id: The id of the file with the pairs; the same id adds to it.
        salt: Another salt samples other sessions.
        stubs: Results for calls that the shadow agent returns to its caller, by the call's name; they are not executed.
        timeout_s: Timeout of the shadow agent in seconds.

    Attributes:
        counts: Prompts, pairs, prompts that were dropped because too many waited, and pairs that were lost: they could
            not be stored, or `close` cancelled them.
    """

    def __init__(
        self,
        context: Context,
        subject: ParitySubject,
        *,
        front: ShadowSide,
        old: Target,
        new: Target,
        share: float,
        id: str,
        salt: str = "",
        stubs: Mapping[str, Any] | None = None,
        timeout_s: float = 120.0,
    ) -> None:
        if not 0 <= share <= 1:
            raise LoomError("The share of sessions must be between 0 and 1", on=f"share={share}", try_="share=0.05")
        self.id, self.share = id, share
        self.front: ShadowSide = front
        self._context, self._subject, self._salt, self._timeout_s = context, subject, salt, timeout_s
        self._sides: Mapping[ShadowSide, Target] = {"old": old, "new": new}
        self._stubs, self._is_closed = dict(stubs or {}), False
        self._behind: ShadowSide = "old" if front == "new" else "new"
        self._file = ShadowFile(context.settings.home / "shadow" / f"{id}.jsonl")
        self._redactor = Redactor(DEFAULT_RULES)
        # Two event loops, so that waiting for the shadow agent does not occupy the threads that callers need.
        self._front_loop, self._back_loop = _LoopThread("loom-shadow-front"), _LoopThread("loom-shadow-back")
        self._waiting: set[Future[None]] = set()
        self._sessions: dict[str, _ShadowSession] = {}
        self._lock = threading.Lock()
        self._limit: asyncio.Semaphore | None = None
        self.counts: Counter[str] = Counter()

    @property
    def path(self) -> Path:
        """The file with the pairs."""
        return self._file.path

    def ask(
        self,
        prompt: str,
        *,
        session_id: str,
        attributes: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> TurnAnswer:
        """Return the front agent's answer; the other agent is called later, if the session is in the sample.

        Args:
            prompt: The caller's prompt.
            session_id: The caller's session; each agent has its own session for it.
            attributes: Session attributes.
            timeout_s: Timeout of the front agent in seconds.

        Raises:
            InvocationFailedError: The front agent failed, as it would without shadow traffic.
            LoomError: The traffic is closed.
        """
        if self._is_closed:
            raise LoomError("The shadow traffic is closed", on=self.id, try_=f"old.shadow(new, id={self.id!r}) again")
        state = {"sessionAttributes": dict(attributes)} if attributes else None
        request = self._ask(self.front, Turn(prompt=prompt), _own_session(session_id), state, timeout_s)
        answer = self._front_loop.submit(request).result()
        self._shadow(prompt, session_id, answer, state)
        if answer.failure is not None:
            kind = answer.failure.kind
            raise InvocationFailedError(answer.failure.message, failure=kind if kind in FAILURES else "")
        return answer.turns[0]

    def observe(
        self, prompt: str, answer: str, *, session_id: str, attributes: Mapping[str, str] | None = None
    ) -> bool:
        """Record an answer of the front agent given elsewhere, and call the other agent if the session is sampled.

        The front agent's tool calls are unknown in this case, and are not compared.

        Args:
            prompt: The caller's prompt.
            answer: The answer that the caller received.
            session_id: The caller's session.
            attributes: Session attributes.

        Returns:
            Whether the session is in the sample and the other agent will be called.
        """
        state = {"sessionAttributes": dict(attributes)} if attributes else None
        return self._shadow(prompt, session_id, CaseAnswer(turns=(TurnAnswer(text=answer),)), state)

    def drain(self, timeout_s: float | None = 120.0) -> bool:
        """Wait until every queued prompt has been processed; return False if time runs out.

        Args:
            timeout_s: How long to wait, in seconds.
        """
        with self._lock:
            waiting = set(self._waiting)
        return not wait_for(waiting, timeout_s).not_done

    def pairs(self) -> list[ShadowPair]:
        """Return the pairs that are stored."""
        return list(self._file.pairs())

    def parity(self, **options: Any) -> AgentParity:
        """Judge the stored pairs; each session, with all of its prompts, counts as one observation.

        Args:
            **options: `rule` (an `AlikeRule`) and `least` (the share of answers that must be alike).
        """
        pairs = [pair.answer_pair() for pair in self._file.pairs()]
        target: Any = self._sides["new"]
        labels = tuple(dict.fromkeys(("shadow traffic", *target.labels)))
        return judge_recorded(
            pairs, self._subject, store=self._context.store, labels=labels, connect=target.connected, **options
        )

    def close(self) -> None:
        """Stop calling the shadow agent; queued prompts are cancelled and counted as lost."""
        with self._lock:
            self._is_closed, waiting = True, list(self._waiting)
        for future in waiting:
            future.cancel()
        self._front_loop.stop()
        self._back_loop.stop()

    def _shadow(self, prompt: str, session_id: str, answer: CaseAnswer, state: Mapping[str, Any] | None) -> bool:
        """Queue a prompt for the shadow agent. Never raises, never waits."""
        self.counts["prompts"] += 1
        if not is_sampled(session_id, self.share, salt=self._salt):
            return False
        with self._lock:
            if self._is_closed:
                return False
            session = self._sessions.setdefault(session_id, _ShadowSession())
            if len(self._sessions) > _MOST_SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
            number, session.prompts = session.prompts, session.prompts + 1
            # If a prompt of the session is missing, the shadow agent would lack part of the conversation.
            session.is_broken = session.is_broken or len(self._waiting) >= MOST_WAITING
            if session.is_broken:
                self.counts["dropped"] += 1
                return False
            future = self._back_loop.submit(self._ask_behind(prompt, session_id, number, session, answer, state))
            self._waiting.add(future)
        future.add_done_callback(self._on_done)
        return True

    def _on_done(self, future: Future[None]) -> None:
        with self._lock:
            self._waiting.discard(future)
        if future.cancelled():
            self.counts["lost"] += 1
        elif (error := future.exception()) is not None:
            self.counts["lost"] += 1
            _log.warning("A pair of shadow traffic could not be stored: %s: %s", type(error).__name__, error)

    async def _ask_behind(
        self,
        prompt: str,
        session_id: str,
        number: int,
        session: _ShadowSession,
        front: CaseAnswer,
        state: Mapping[str, Any] | None,
    ) -> None:
        if self._limit is None:
            self._limit = asyncio.Semaphore(_AT_ONCE)
        async with session.in_turn(), self._limit:
            own_session, full_state = _own_session(session_id), {**(state or {}), STATE_NAME: self._stubs}
            behind = await self._ask(self._behind, Turn(prompt=prompt), own_session, full_state, self._timeout_s)
            both: dict[ShadowSide, CaseAnswer] = {
                self.front: await self._with_tools(self.front, front),
                self._behind: await self._with_tools(self._behind, behind),
            }
            pair = ShadowPair(
                session_id=sha256(f"{self.id}/{session_id}".encode()).hexdigest()[:16],
                number=number,
                prompt=prompt,
                front=self.front,
                old=both["old"],
                new=as_compared(both["new"], self._subject.names),
            )
            await asyncio.to_thread(self._file.add, pair.redacted(self._redactor))
            self.counts["pairs"] += 1

    async def _ask(
        self, side: ShadowSide, turn: Turn, session_id: str, state: Mapping[str, Any] | None, timeout_s: float | None
    ) -> CaseAnswer:
        """Call one agent; return its failure as a value."""
        target = self._sides[side]
        try:
            answer = await target.ask(turn, session_id=session_id, timeout_s=timeout_s, state=state)
        except Exception as error:  # noqa: BLE001 - an agent's failure must not end the traffic
            kind = str(getattr(error, "failure", "") or "exception")
            answer = CaseFailure(stage="answer", kind=kind, message=str(error)[:2_000])
        if isinstance(answer, CaseFailure):
            return CaseAnswer(turns=(), failure=answer, labels=tuple(target.labels))
        return CaseAnswer(turns=(answer,), labels=tuple(target.labels))

    async def _with_tools(self, side: ShadowSide, answer: CaseAnswer) -> CaseAnswer:
        """Return an answer with the tools of its trace; without them if the trace cannot be read."""
        if not answer.turns or answer.turns[0].invocation_id is None:
            return answer
        try:
            turns: Sequence[TurnAnswer] = await self._sides[side].collect_tools(answer.turns)
        except Exception as error:  # noqa: BLE001 - the answers are available
            _log.info("The trace of an answer could not be read: %s", error)
            return answer
        return CaseAnswer(turns=tuple(turns), labels=answer.labels)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items()) or "no prompts yet"
        asks = f"{self._subject.name}: the {self.front} agent answers, the other is called for {percent(self.share)}"
        return f"<ShadowTraffic {self.id}: {asks} of sessions; {counts}>"

    def _repr_html_(self) -> str:
        facts = [
            ("answers", f"the {self.front} agent"),
            ("shadow", f"the {self._behind} agent, for {percent(self.share)} of sessions"),
            *((name, str(count)) for name, count in self.counts.items()),
            ("stored", plural(len(self.pairs()), "pair")),
        ]
        return card(f"Shadow traffic of {self._subject.name}", labels=self._context.labels, facts=facts)


class _ShadowSession:
    """A sampled session: how many prompts it had, and whose turn it is."""

    def __init__(self) -> None:
        self.prompts, self.is_broken = 0, False
        self._turn: asyncio.Lock | None = None

    def in_turn(self) -> asyncio.Lock:
        """Return the lock that makes prompts run one after another, in order."""
        if self._turn is None:
            self._turn = asyncio.Lock()
        return self._turn


class _LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Stop the loop, and close it."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        if not self._thread.is_alive():
            self._loop.run_until_complete(_cancel_all())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _own_session(session_id: str) -> str:
    """Return a session id that both services accept, always the same for a caller's session."""
    return f"shadow-{uuid.uuid5(uuid.NAMESPACE_URL, session_id)}"
