"""Generate scripted conversations from a seed; equal seeds give equal conversations on every machine."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .script import ScriptedConversation, ScriptedQuestion, ScriptedTurn

SMALLEST_SESSIONS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTemplate:
    """A fact that a simulated user may state. `{v}` is the placeholder for a value in its sentences.

    A value does not occur in any other sentence of the pool, so finding it means that the fact was found.

    Attributes:
        key: Name of the fact.
        values: Possible values.
        statements: Sentences that state the fact.
        questions: Questions about it.
        query: What a model would search for.
        changed: Sentence that changes the value; empty where that makes no sense.
        ended: Sentence that takes the fact back; empty where that makes no sense.
    """

    key: str
    values: tuple[str, ...]
    statements: tuple[str, ...]
    questions: tuple[str, ...]
    query: str
    changed: str = ""
    ended: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Sentences of simulated users: facts, small talk with replies, and questions that need no memory."""

    facts: tuple[FactTemplate, ...]
    small_talk: tuple[tuple[str, str], ...]
    idle_questions: tuple[str, ...]


@cache
def pool() -> Pool:
    """Return the shipped pool."""
    stored: dict[str, Any] = json.loads(Path(__file__).with_name("facts_pool.json").read_text("utf-8"))
    facts = [_fact(fact) for fact in stored["facts"]]
    return Pool(
        facts=tuple(facts),
        small_talk=tuple((text, reply) for text, reply in stored["small_talk"]),
        idle_questions=tuple(stored["idle_questions"]),
    )


def _fact(stored: dict[str, Any]) -> FactTemplate:
    lists: dict[str, Any] = {name: tuple(stored[name]) for name in ("values", "statements", "questions")}
    values: dict[str, Any] = {**stored, **lists}
    return FactTemplate(**values)


def make_conversations(
    count: int, *, sessions: int = 10, facts: int = 6, seed: int = 0
) -> tuple[ScriptedConversation, ...]:
    """Generate conversations.

    One fact is stated in the first session and is the subject of a question in the last. About a third of the facts
    that can change do, and about a third of the others that can end do. All facts stated so far are asked about
    half-way and at the end.

    Args:
        count: Number of conversations.
        sessions: Sessions in each.
        facts: Facts in each.
        seed: Seed.
    """
    if count < 1:
        raise ValueError(f"conversations must be at least 1, not {count}")
    if sessions < SMALLEST_SESSIONS:
        raise ValueError(f"a conversation must have at least {SMALLEST_SESSIONS} sessions, not {sessions}")
    if not 1 <= facts <= len(pool().facts):
        raise ValueError(f"a conversation must have 1 to {len(pool().facts)} facts, not {facts}")
    return tuple(_conversation(number, sessions, facts, seed) for number in range(1, count + 1))


def _conversation(number: int, sessions: int, facts: int, seed: int) -> ScriptedConversation:
    draw = random.Random(f"recall {seed} {number}")  # noqa: S311 - a study is repeatable, not secret
    turns: dict[int, list[ScriptedTurn]] = defaultdict(list)
    questions: list[ScriptedQuestion] = []
    middle, last = sessions // 2 + 1, sessions
    for place, fact in enumerate(draw.sample(pool().facts, facts)):
        first = 1 if place == 0 else draw.randint(1, max(1, sessions // 2))
        for session, turn in _turns_of(draw, fact, first, last):
            turns[session].append(turn)
        for position in {middle, last}:
            if first < position:
                text = draw.choice(fact.questions)
                questions.append(ScriptedQuestion(session=position, text=text, fact=fact.key, query=fact.query))
    idle = pool().idle_questions
    questions += [ScriptedQuestion(session=session, text=draw.choice(idle)) for session in sorted({middle, last})]
    return ScriptedConversation(
        # The prefix is stored with studies, which are looked up by it.
        name=f"life-{seed}-{number}",
        sessions=tuple(tuple(_session(draw, turns[session])) for session in range(1, sessions + 1)),
        questions=tuple(questions),
    )


def _turns_of(draw: random.Random, fact: FactTemplate, first: int, last: int) -> list[tuple[int, ScriptedTurn]]:
    """Return a fact's turns, each with its session: stated once, and possibly changed or taken back later."""
    values = draw.sample(fact.values, 2)
    text = draw.choice(fact.statements).format(v=values[0])
    turns = [(first, ScriptedTurn(text=text, fact=fact.key, value=values[0]))]
    later = draw.randint(first + 1, last - 1)
    chance = draw.random()
    if fact.changed and chance < 1 / 3:
        text = fact.changed.format(v=values[1])
        turns.append((later, ScriptedTurn(text=text, fact=fact.key, value=values[1])))
    elif fact.ended and chance > 2 / 3:
        text = fact.ended.format(v=values[0])
        turns.append((later, ScriptedTurn(text=text, fact=fact.key, ends=True)))
    return turns


def _session(draw: random.Random, stated: list[ScriptedTurn]) -> list[ScriptedTurn]:
    talk = [ScriptedTurn(text=text, reply=reply) for text, reply in draw.sample(pool().small_talk, draw.randint(2, 3))]
    turns = [*stated, *talk]
    draw.shuffle(turns)
    return turns
