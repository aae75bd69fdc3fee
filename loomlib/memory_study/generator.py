"""Lives made up from a seed: the same seed, the same lives, on every machine."""

from __future__ import annotations

import random
from collections import defaultdict

from .facts_pool import FACTS, IDLE_QUESTIONS, SMALL_TALK, FactPool
from .life import Life, Question, Turn

SMALLEST_SESSIONS = 4


def make_lives(count: int, *, sessions: int = 10, facts: int = 6, seed: int = 0) -> tuple[Life, ...]:
    """`count` lives of `sessions` sessions with `facts` facts each.

    One fact is told in the first session and asked in the last. About a third of the facts that can change do, and
    about a third of the others that can end do. Everything is asked half-way, as far as it was told, and at the end.
    """
    if count < 1:
        raise ValueError(f"at least one life, not {count}")
    if sessions < SMALLEST_SESSIONS:
        raise ValueError(f"a life has {SMALLEST_SESSIONS} sessions or more, not {sessions}")
    if not 1 <= facts <= len(FACTS):
        raise ValueError(f"a life has 1 to {len(FACTS)} facts, not {facts}")
    return tuple(_life(number, sessions, facts, seed) for number in range(1, count + 1))


def _life(number: int, sessions: int, facts: int, seed: int) -> Life:
    draw = random.Random(f"recall {seed} {number}")  # noqa: S311 - a study is repeatable, not secret
    told: dict[int, list[Turn]] = defaultdict(list)
    questions: list[Question] = []
    middle, last = sessions // 2 + 1, sessions
    for place, pool in enumerate(draw.sample(FACTS, facts)):
        first = 1 if place == 0 else draw.randint(1, max(1, sessions // 2))
        for session, turn in _story(draw, pool, first, last):
            told[session].append(turn)
        for asked in {middle, last}:
            if first < asked:
                questions.append(Question(session=asked, said=draw.choice(pool.asked), fact=pool.key, query=pool.query))
    questions += [Question(session=asked, said=draw.choice(IDLE_QUESTIONS)) for asked in sorted({middle, last})]
    written = tuple(tuple(_session(draw, told[session])) for session in range(1, sessions + 1))
    return Life(name=f"life-{seed}-{number}", sessions=written, questions=tuple(questions))


def _story(draw: random.Random, pool: FactPool, first: int, last: int) -> list[tuple[int, Turn]]:
    """A fact's turns, each with its session: told once, and perhaps changed or ended later."""
    values = draw.sample(pool.values, 2)
    said = draw.choice(pool.told).format(v=values[0])
    story = [(first, Turn(said=said, fact=pool.key, value=values[0]))]
    later = draw.randint(first + 1, last - 1)
    fate = draw.random()
    if pool.changed and fate < 1 / 3:
        story.append((later, Turn(said=pool.changed.format(v=values[1]), fact=pool.key, value=values[1])))
    elif pool.ended and fate > 2 / 3:
        story.append((later, Turn(said=pool.ended.format(v=values[0]), fact=pool.key, ends=True)))
    return story


def _session(draw: random.Random, told: list[Turn]) -> list[Turn]:
    talk = [Turn(said=said, answered=answered) for said, answered in draw.sample(SMALL_TALK, draw.randint(2, 3))]
    turns = [*told, *talk]
    draw.shuffle(turns)
    return turns
