"""The offline extractor: what a user stated and took back, found by rules that always find the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from .facts import facts, introduced
from .preferences import preferences
from .sentences import sentences, statements
from .statement import Statement

LABEL: Final = "offline extractor"
"""Stands beside everything that these rules produced."""

_LONGEST = 20_000
_ENDED: Final = (
    (re.compile(r"^i no longer (?P<rest>.+)$", re.I), "I {rest}"),
    (re.compile(r"^(?:i'm|i am) no longer (?P<rest>.+)$", re.I), "I'm {rest}"),
    (re.compile(r"^(?:i'm|i am) not (?P<rest>.+?) (?:anymore|any more|any longer)\b.*$", re.I), "I'm {rest}"),
    (re.compile(r"^i (?:don't|do not) (?P<rest>.+?) (?:anymore|any more|any longer)\b.*$", re.I), "I {rest}"),
    (re.compile(r"^i used to (?P<rest>.+)$", re.I), "I {rest}"),
    (
        re.compile(
            r"^(?:please )?(?:forget|delete|remove|"
            r"ignore)(?: the fact)? that (?P<rest>(?:i|my)\b.+)$",
            re.I,
        ),
        "{rest}",
    ),
    (re.compile(r"^it's not true that (?P<rest>(?:i|my)\b.+)$", re.I), "{rest}"),
)
_DENIED: Final = (
    (
        re.compile(
            r"^(?:i'm|i am) not (?P<rest>(?:actually |really )?(?:allergic|a |an |vegetarian|"
            r"vegan|pescatarian|married|from|based|on|in|lactose|diabetic|called)\b.*)$",
            re.I,
        ),
        "I'm {rest}",
    ),
    (
        re.compile(
            r"^i (?:don't|do not|didn't) (?P<rest>(?:actually |"
            r"really )?(?:have|live|work|own|drive|speak|study)\b.+)$",
            re.I,
        ),
        "I {rest}",
    ),
    (re.compile(r"^my (?P<rest>[\w' ]+?) (?:is not|isn't) (?P<tail>.+)$", re.I), "my {rest} is {tail}"),
)
_STOPPED: Final = re.compile(
    r"^i(?:'ve| have)? (?:just )?(?:stopped|quit|gave up|given up) (?P<verb>\w+)ing (?P<rest>.+)$", re.I
)
_VERBS: Final = {"liv": "live", "lik": "like", "driv": "drive", "us": "use", "lov": "love"}
_LEFT: Final = re.compile(
    r"^i(?:'ve| have)? (?:just |recently )?(?:left|quit|"
    r"resigned from|was (?:fired|laid off) (?:from|by)) (?P<v>.+)$",
    re.I,
)
_GONE: Final = re.compile(r"^my (?P<what>\w+) (?:has )?(?:died|passed away|ran away)\b", re.I)
_RID: Final = re.compile(
    r"^i(?:'ve| have)? (?:just |recently )?(?:sold|gave away|got rid of|lost) my (?P<what>\w+)", re.I
)
_FORGET: Final = re.compile(
    r"^(?:please )?(?:forget|delete|"
    r"remove) (?:everything about )?my (?P<what>[\w' ]{2,40}?)(?: from your memory)?$",
    re.I,
)
_NOT_BUT: Final = re.compile(
    r"^(?P<head>.*?\b(?:is|in|am|i'm|at|to|as)) (?:not |"
    r"n't )(?P<old>[^,]+?),? but (?:rather )?(?P<new>.+)$",
    re.I,
)
_IS_NOT: Final = re.compile(r"^(?P<said>.+), not (?P<old>.+)$", re.I)
_ANY: Final = frozenset({"anything", "any", "anything at all", "nothing"})


def extract(text: str) -> list[Statement]:
    """What a user's message states of the user, in the order of the text; a later statement of a slot replaces earlier.

    >>> [each.text for each in extract("I moved to Oslo last year. Is it cold? I'm allergic to nuts and eggs.")]
    ['The user lives in Oslo.', 'The user is allergic to nuts.', 'The user is allergic to eggs.']
    """
    return list(_extracted(text[:_LONGEST]))


@lru_cache(maxsize=256)  # several strategies read the same message
def _extracted(text: str) -> tuple[Statement, ...]:
    found: dict[tuple[str, bool, str], Statement] = {}
    text = text.replace("’", "'")
    for each in (*_introductions(text), *(one for clause, _ in statements(text) for one in _in_clause(clause))):
        key = (each.slot, each.retracts, each.value if each.retracts else "")
        found.pop(key, None)
        found[key] = each
    return tuple(found.values())


def _introductions(text: str) -> Iterator[Statement]:
    if parts := sentences(text):
        yield from introduced(" ".join(parts[:2]))


def _in_clause(clause: str) -> Iterator[Statement]:
    if ended := list(_taken_back(clause)):
        yield from ended
        return
    if found := _NOT_BUT.match(clause):
        yield from _retracted(f"{found['head']} {found['old']}")
        clause = f"{found['head']} {found['new']}"
    elif found := _IS_NOT.match(clause):
        clause = found["said"]
    preferred = list(preferences(clause))
    yield from preferred
    if not preferred:
        yield from facts(clause)


def _taken_back(clause: str) -> Iterator[Statement]:
    if found := _FORGET.match(clause):
        what = found["what"].lower()
        for slot in (what, f"my:{what}", f"favorite:{what.removeprefix('favorite ').removeprefix('favourite ')}"):
            yield Statement(kind="fact", slot=slot, value="", retracts=True)
        if "allerg" in what:
            yield Statement(kind="fact", slot="allergy:*", value="", retracts=True)
        return
    if found := _GONE.match(clause) or _RID.match(clause):
        what = found["what"].lower()
        slots = (
            ("vehicle",) if what in ("car", "bike", "motorcycle") else (f"my:{what} name", f"has:{what}", f"my:{what}")
        )
        for slot in slots:
            yield Statement(kind="fact", slot=slot, value="", retracts=True)
        return
    if found := _LEFT.match(clause):
        what = found["v"]
        if what[:1].isupper() or "job" in what.lower():
            value = "" if "job" in what.lower() else what
            yield Statement(kind="fact", slot="employer", value=value, retracts=True)
        return
    if found := _STOPPED.match(clause):
        yield from _retracted(f"I {_VERBS.get(found['verb'].lower(), found['verb'])} {found['rest']}")
        return
    for pattern, form in _ENDED:
        if found := pattern.match(clause):
            yield from _retracted(form.format(**found.groupdict()))
            return
    if _NOT_BUT.match(clause) or any(preferences(clause)):
        return
    for pattern, form in _DENIED:
        if found := pattern.match(clause):
            yield from _retracted(form.format(**found.groupdict()))
            return


def _retracted(clause: str) -> Iterator[Statement]:
    for each in (*preferences(clause), *facts(clause)):
        slot = each.slot
        if each.value.lower() in _ANY:
            slot = slot.partition(":")[0] + ":*"
        if slot.startswith(("taste:", "habit:", "allergy:")):
            yield replace(each, slot=slot, value="", retracts=True)  # the slot itself says which
        else:
            yield replace(each, slot=slot, retracts=True)
