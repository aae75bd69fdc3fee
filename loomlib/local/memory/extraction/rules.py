"""The offline extractor: finds the facts that a user states or retracts, with the patterns of `english.toml`.

It is simulated: it knows a fixed set of English sentence forms, does not understand other sentences, and always returns
the same result for the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final, Literal

from .english import compiled, pattern, tables
from .text import clauses, head, items, normal, sentences, trimmed

LABEL: Final = "offline extractor"
"""Provenance label in the metadata of every record that these rules produced."""

_LONGEST = 20_000
_ANY: Final = frozenset({"anything", "any", "anything at all", "nothing"})
_NO_VALUE: Final = frozenset(
    {"it", "that", "this", "them", "these", "those", "you", "him", "her", "there", "here", "so", "much"}
)
_NUMBERS: Final = frozenset({"one", "two", "three", "four", "five", "six"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A fact that a user stated or retracted.

    Attributes:
        kind: "fact" or "preference".
        slot: What the statement is about, such as "home" or "allergy:peanut". A slot holds one value: another value
            of the same slot replaces it.
        value: The stated value, such as "Berlin".
        text: The statement as a sentence about the user.
        retracts: True if the statement no longer holds: any value of the slot if `value` is empty, otherwise those that
            match `value`.
        category: The category of a preference, such as "food".
    """

    kind: Literal["fact", "preference"]
    slot: str
    value: str
    text: str = ""
    retracts: bool = False
    category: str = "general"


def extract(text: str) -> list[Statement]:
    """Extract what a user's message states about the user, in the order of the text.

    A later statement about a slot replaces an earlier one. Only the first 20,000 characters are read.

    Examples:
        >>> [s.text for s in extract("I moved to Oslo last year. Is it cold? I'm allergic to nuts and eggs.")]
        ['The user lives in Oslo.', 'The user is allergic to nuts.', 'The user is allergic to eggs.']
    """
    return list(_extracted(text[:_LONGEST]))


@lru_cache(maxsize=256)  # several strategies read the same message
def _extracted(text: str) -> tuple[Statement, ...]:
    text = text.replace("’", "'")
    stated = [*_introduced(text), *(statement for clause in clauses(text) for statement in _in_clause(clause))]
    latest: dict[tuple[str, bool, str], Statement] = {}
    for statement in stated:
        key = (statement.slot, statement.retracts, statement.value if statement.retracts else "")
        latest.pop(key, None)
        latest[key] = statement
    return tuple(latest.values())


def _introduced(text: str) -> Iterator[Statement]:
    """Find the name with which a greeting introduces the user."""
    greeting = pattern("greeted").match(" ".join(sentences(text)[:2]))
    if greeting and greeting["v"].lower() not in tables()["words"]["nationalities"]:
        yield _fact("name", greeting["v"], f"The user's name is {greeting['v']}.")


def _in_clause(clause: str) -> Iterator[Statement]:
    if retracted := list(_retracted(clause)):
        yield from retracted
        return
    if correction := pattern("not_but").match(clause):
        yield from _no_longer(f"{correction['head']} {correction['old']}")
        clause = f"{correction['head']} {correction['new']}"
    elif correction := pattern("is_not").match(clause):
        clause = correction["said"]
    yield from list(_preferences(clause)) or _facts(clause)


# -- Facts


@cache
def _fact_rules() -> tuple[tuple[re.Pattern[str], dict[str, Any]], ...]:
    return tuple((compiled(rule["pattern"] + "$"), rule) for rule in tables()["facts"])


def _facts(clause: str) -> Iterator[Statement]:
    if person := pattern("named").match(clause):
        who, name = person["who"].lower(), person["v"]
        if name[0].isupper():
            yield _fact(f"my:{who} name", name, f"The user's {who} is called {name}.")
        return
    owned = pattern("owned").match(clause)
    possessions = items(owned["v"]) if owned else []
    if len(possessions) > 1 and any(map(pattern("ownable").search, possessions)):
        for possession in possessions:
            article = "" if possession[:1].isdigit() or possession.split()[0].lower() in _NUMBERS else "a "
            yield from _facts(f"I have {article}{possession}")
        return
    for form in dict.fromkeys((clause, trimmed(clause))):
        matches = [(rule, match["v"]) for regex, rule in _fact_rules() if (match := regex.match(form))]
        if matches:
            for rule, value in matches:
                yield from _by_rule(rule, trimmed(value))
            return
    if mine := pattern("mine").match(clause):
        noun, value = mine["noun"], trimmed(mine["v"])
        if value and not pattern("no_attribute").search(noun) and not pattern("no_value").match(value):
            yield _fact(f"my:{normal(noun)}", value, f"The user's {noun} is {value}.")


def _by_rule(rule: dict[str, Any], value: str) -> Iterator[Statement]:
    for item in items(value) if rule.get("many") else [value]:
        plain = normal(item)
        if plain and plain not in _NO_VALUE:
            yield _fact(rule["slot"].format(n=plain, h=plain.split()[-1]), item, rule["text"].format(v=item))


def _fact(slot: str, value: str, text: str) -> Statement:
    return Statement(kind="fact", slot=slot, value=value, text=text)


# -- Preferences


def _preferences(clause: str) -> Iterator[Statement]:
    if style := pattern("style").match(clause):
        topic, value = ("language", style["language"]) if style["language"] else ("length", style["length"].lower())
        how = f"answers in {value}" if style["language"] else f"answers that are {value}"
        yield _preference(f"wish:{topic}", value, f"The user wants {how}.")
    elif favorite := pattern("favorite").match(clause):
        subject, value = favorite["what"].lower(), trimmed(favorite["v"])
        if _is_object(value):
            yield _preference(f"favorite:{normal(subject)}", value, f"The user's favorite {subject} is {value}.")
    elif preferred := pattern("prefer").match(clause):
        yield from _choice(trimmed(re.sub(r"\s+rather than\s+", " over ", preferred["v"])))
    elif disliked := pattern("dislike").match(clause):
        yield from _tastes(trimmed(disliked["v"]), "dislikes")
    elif liked := pattern("like").match(clause):
        yield from _tastes(trimmed(liked["v"]), "likes")
    elif habit := pattern("habit").match(clause):
        value, how = trimmed(habit["v"]), habit["how"].lower()
        yield _preference(f"habit:{normal(value)}", how, f'The user says of themselves: "I {how} {value}".')
    elif (order := pattern("order").match(clause)) and pattern("lasting").match(clause):
        value, how = trimmed(order["v"]), (order["how"] or "").strip().lower()
        word = {"always": "always ", "never": "never ", "don't ever": "never "}.get(how, "")
        if value:
            yield _preference(f"wish:{normal(value)}", word or "yes", f"The user's standing request: {word}{value}.")


def _choice(value: str) -> Iterator[Statement]:
    if not _is_object(value):
        return
    over = None if value.lower().startswith("to ") else pattern("over").match(value)
    if over:
        slot = "choice:" + " | ".join(sorted((normal(over["a"]), normal(over["b"]))))
        yield _preference(slot, over["a"], f"The user prefers {over['a']} over {over['b']}.")
    else:
        yield _preference(f"prefer:{head(value)}", value, f"The user prefers {value}.")


def _tastes(value: str, how: str) -> Iterator[Statement]:
    for item in items(value) if _is_object(value) else ():
        if normal(item) and _is_object(item):
            yield _preference(f"taste:{normal(item)}", how, f"The user {how} {item}.")


def _is_object(value: str) -> bool:
    """Whether a value names a thing, rather than "it" or "to book a table"."""
    return bool(value) and not pattern("no_object").match(value)


def _preference(slot: str, value: str, text: str) -> Statement:
    categories: dict[str, str] = tables()["categories"]
    category = next((name for name, words in categories.items() if _mentions(words, text)), "general")
    return Statement(kind="preference", slot=slot, value=value, text=text, category=category)


def _mentions(words: str, text: str) -> bool:
    return re.search(rf"\b(?:{words})\b", text.lower()) is not None


# -- Retractions


@cache
def _retraction_rules(table: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((compiled(rule["pattern"]), rule["form"]) for rule in tables()[table])


def _retracted(clause: str) -> Iterator[Statement]:
    if forgotten := pattern("forget").match(clause):
        subject = forgotten["what"].lower()
        favorite = subject.removeprefix("favorite ").removeprefix("favourite ")
        slots = [subject, f"my:{subject}", f"favorite:{favorite}", *(["allergy:*"] if "allerg" in subject else [])]
        yield from map(_emptied, slots)
    elif retraction := pattern("gone").match(clause) or pattern("rid").match(clause):
        subject = retraction["what"].lower()
        is_vehicle = subject in ("car", "bike", "motorcycle")
        yield from map(
            _emptied, ["vehicle"] if is_vehicle else [f"my:{subject} name", f"has:{subject}", f"my:{subject}"]
        )
    elif departure := pattern("left").match(clause):
        is_job = "job" in departure["v"].lower()
        if is_job or departure["v"][:1].isupper():
            yield Statement(kind="fact", slot="employer", value="" if is_job else departure["v"], retracts=True)
    elif stopped := pattern("stopped").match(clause):
        verb = tables()["verbs"].get(stopped["verb"].lower(), stopped["verb"])
        yield from _no_longer(f"I {verb} {stopped['rest']}")
    elif (ended := _in_first_person("ended", clause)) is not None:
        yield from _no_longer(ended)
    elif not pattern("not_but").match(clause) and not any(_preferences(clause)):
        denied = _in_first_person("denied", clause)
        yield from _no_longer(denied) if denied is not None else ()


def _in_first_person(table: str, clause: str) -> str | None:
    for regex, form in _retraction_rules(table):
        if match := regex.match(clause):
            return form.format(**match.groupdict())
    return None


def _no_longer(clause: str) -> Iterator[Statement]:
    for statement in (*_preferences(clause), *_facts(clause)):
        slot = statement.slot
        if statement.value.lower() in _ANY:
            slot = slot.partition(":")[0] + ":*"
        # In these slots the slot itself says which value is meant.
        value = "" if slot.startswith(("taste:", "habit:", "allergy:")) else statement.value
        yield replace(statement, slot=slot, value=value, retracts=True)


def _emptied(slot: str) -> Statement:
    return Statement(kind="fact", slot=slot, value="", retracts=True)
