"""Pairs of answers to live prompts: sampling of sessions, and the file of pairs."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from loomlib.evals.runs.stored_rows import answer_of_row, writable_row
from loomlib.evals.values.answers import CaseAnswer
from loomlib.evals.values.cases import EvalCase, Turn
from loomlib.store import StoredAnswer

from ..model import ImportedAgent
from .pairs import AnswerPair

if TYPE_CHECKING:
    from loomlib.redaction import Document, Redactor

ShadowSide = Literal["old", "new"]
"""One of both agents: the Bedrock agent, or its successor."""

_BITS: Final = 64


def is_sampled(session_id: str, share: float, *, salt: str = "") -> bool:
    """Return whether a session is in the sample; deterministic for the session, share and salt.

    Args:
        session_id: The session.
        share: The share of sessions, 0 to 1.
        salt: A value that changes the selection of sessions.
    """
    number = int.from_bytes(sha256(f"{salt}/{session_id}".encode()).digest()[: _BITS // 8])
    return number < share * 2**_BITS


def side_effects(agent: ImportedAgent, safe: frozenset[str]) -> list[str]:
    """Return the side effects that asking a second agent could repeat, as sentences; empty if there are none.

    Lambda functions and APIs of action groups may write, unless they are marked as safe. Searches do not write, code
    runs in its own sandbox, and a call that the agent returns is not executed.

    Args:
        agent: The agent.
        safe: Action groups that only read, by name.
    """
    effects: dict[str, None] = {}
    for member in agent.walk():
        for group in member.enabled_action_groups:
            if group.executor == "lambda" and group.name not in safe:
                effects[f"the action group {group.name} of {member.name} calls a Lambda function"] = None
            elif group.executor == "none" and group.tools and group.name not in safe:
                effects[f"the action group {group.name} of {member.name} calls an API"] = None
        if member.orchestration_lambda and "orchestration" not in safe:
            effects[f"a Lambda function orchestrates {member.name}"] = None
        if member.memory is not None and "memory" not in safe:
            effects[f"{member.name} writes its long-term memory"] = None
    return list(effects)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowPair:
    """One live prompt with the answers of both agents.

    Attributes:
        session_id: A hash of the caller's session.
        number: The prompt's number in its session, from 0.
        prompt: The prompt.
        front: Which agent answered the caller.
        old: The Bedrock agent's answer.
        new: Its successor's.
    """

    session_id: str
    number: int
    prompt: str
    front: ShadowSide
    old: CaseAnswer
    new: CaseAnswer

    def answer_pair(self) -> AnswerPair:
        """Return the pair to judge; the prompts of a session count as repeats of one case."""
        case = EvalCase(id=self.session_id, turns=(Turn(prompt=self.prompt),), tags=("shadow",))
        return AnswerPair(case=case, repeat=self.number, old=self.old, new=self.new)

    def redacted(self, redactor: Redactor) -> ShadowPair:
        """Return the pair without secrets and personal data; equal values have equal placeholders on both sides."""
        document = redactor.document()
        return replace(
            self,
            prompt=document.text(self.prompt),
            old=_redacted(self.old, document),
            new=_redacted(self.new, document),
        )


class ShadowFile:
    """The file of pairs: one line of JSON for each, readable only by its owner.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def add(self, pair: ShadowPair) -> None:
        """Add a pair; it is on disk when this returns.

        Raises:
            OSError: The file cannot be written.
        """
        line = json.dumps(
            {
                "session": pair.session_id,
                "number": pair.number,
                "prompt": pair.prompt,
                "front": pair.front,
                "old": writable_row(pair.old, None).body,
                "new": writable_row(pair.new, None).body,
            }
        )
        with self._lock:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                before = (
                    "\n" if os.fstat(descriptor).st_size else ""
                )  # terminates a line that a killed process left incomplete
                os.write(descriptor, f"{before}{line}\n".encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def pairs(self) -> Iterator[ShadowPair]:
        """Yield the pairs; a line that a killed process left incomplete is skipped.

        If a session continued in another process, its numbers start again; they are renumbered consecutively.
        """
        if not self.path.exists():
            return
        used_keys: set[tuple[str, int]] = set()
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                with suppress(ValueError, KeyError, TypeError):
                    pair = _pair(json.loads(line))
                    while (pair.session_id, pair.number) in used_keys:
                        pair = replace(pair, number=pair.number + 1)
                    used_keys.add((pair.session_id, pair.number))
                    yield pair


def _pair(line: Mapping[str, Any]) -> ShadowPair:
    return ShadowPair(
        session_id=str(line["session"]),
        number=int(line["number"]),
        prompt=str(line["prompt"]),
        front=cast("ShadowSide", line["front"]),
        old=_answer(line["old"]),
        new=_answer(line["new"]),
    )


def _answer(body: str) -> CaseAnswer:
    row = StoredAnswer(0, None, False, None, None, None, None, None, None, None, body)
    return answer_of_row(row, repeat=0)


def _redacted(answer: CaseAnswer, document: Document) -> CaseAnswer:
    turns = tuple(
        replace(
            turn,
            text=document.text(turn.text),
            texts=tuple(map(document.text, turn.texts)),
            tools=None
            if turn.tools is None
            else tuple(
                replace(use, arguments=document.value(use.arguments), result=document.value(use.result))
                for use in turn.tools
            ),
        )
        for turn in answer.turns
    )
    failure = answer.failure
    if failure is not None:
        failure = replace(failure, message=document.text(failure.message))
    return replace(answer, turns=turns, failure=failure)
