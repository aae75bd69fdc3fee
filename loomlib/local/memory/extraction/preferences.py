"""Rules for preferences: likes and dislikes, choices, habits, and how the user wants to be served."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .statement import Statement
from .values import head, items, normal, trimmed

_ADV: Final = (
    r"(?:(?:really|absolutely|just|also|generally|usually|typically|personally|mostly|much|strongly|"
    r"still|now|always|do|especially|particularly|totally|truly|simply|actually|kind of|quite) )*"
)
_PREFER: Final = re.compile(
    rf"^(?:i {_ADV}(?:prefer|favou?r)|i'd (?:rather have|rather|"
    rf"prefer)|i would (?:rather|prefer)|my preference is) (?P<v>.+)$",
    re.IGNORECASE,
)
_OVER: Final = re.compile(
    r"^(?P<a>.+?) (?:over|to|rather than|"
    r"instead of|than|more than) (?P<b>.+)$",
    re.IGNORECASE,
)
_LIKE: Final = re.compile(
    rf"^(?:i {_ADV}(?:like|love|enjoy|adore|am into|appreciate)|i'm {_ADV}(?:into|fond of|keen on|"
    rf"a (?:big |huge |great )?fan of)|i am {_ADV}(?:into|"
    rf"fond of|keen on|a (?:big |huge |great )?fan of)) (?P<v>.+)$",
    re.IGNORECASE,
)
_DISLIKE: Final = re.compile(
    rf"^(?:i {_ADV}(?:hate|dislike|detest|loathe|can't stand|cannot stand|"
    rf"can't bear|don't like|do not like|don't enjoy|do not enjoy|"
    rf"don't love|don't care for|avoid)|(?:i'm|i am) {_ADV}not (?:{_ADV}into|"
    rf"fond of|keen on|a (?:big |huge |great )?fan of)) (?P<v>.+)$",
    re.IGNORECASE,
)
_FAVORITE: Final = re.compile(
    r"^my (?:all[- ]time )?favou?rite (?P<what>[\w' -]{2,40}?) (?:is|are) (?P<v>.+)$", re.IGNORECASE
)
_HABIT: Final = re.compile(
    r"^i (?P<how>always|usually|never|only|typically|normally) (?P<v>(?:fly|"
    r"travel|book|take|order|drink|eat|stay|sit|choose|pick|pay|work|read|"
    r"use|wear|buy|go|get|wake|cook|shop|commute|run|listen|watch)\b.+)$",
    re.IGNORECASE,
)
_ORDER: Final = re.compile(
    r"^(?:(?:from now on|in (?:the )?future|going forward|next time|"
    r"whenever possible)[, ]+(?:please )?|please )(?P<how>always |never |don't ever )?(?P<v>.+)$",
    re.IGNORECASE,
)
_LASTING: Final = re.compile(
    r"^(?:from now on|in (?:the )?future|going forward|please (?:always|never|don't ever))\b", re.IGNORECASE
)
_STYLE: Final = re.compile(
    r"^(?:please )?(?:(?:always )?(?:answer|reply|respond|write|speak|"
    r"talk)(?: to me)? in (?P<language>[A-Z]\w+)|keep (?:your |the )?(?:answers|replies|responses|it|them) "
    r"(?P<length>short|brief|concise|simple|detailed|formal|informal|to the point).*)$",
    re.IGNORECASE,
)
_NO_OBJECT: Final = re.compile(
    r"^(?:it|that|this|these|those|them|him|her|you|your|how|what|when|"
    r"where|the (?:idea|way|sound|look|plan|answer|first|second|last|other)|"
    r"to (?:book|order|know|ask|see|complain|return|cancel|change|buy|"
    r"get|make|schedule|check|say|add|have|find|think|report|speak|talk)|"
    r"my (?:stay|trip|visit)|one|something|everything|both|not|if|so|there|a (?:refund|lot)|being able)\b",
    re.IGNORECASE,
)
_CATEGORIES: Final = (
    (
        "food",
        r"food|eat|drink|coffee|tea|wine|beer|pizza|sushi|cuisine|restaurant|dish|spicy|chocolate|"
        r"cook|meal|breakfast|dinner|lunch|cheese|meat|vegetarian|vegan|diet|juice|dessert",
    ),
    (
        "travel",
        r"travel|flights?|fly|seats?|hotels?|airline|window|"
        r"aisle|train|trip|hike|hiking|beach|mountain|room|luggage",
    ),
    (
        "entertainment",
        r"music|movies?|films?|books?|novels?|jazz|rock|games?|"
        r"concert|series|podcasts?|theat(?:er|re)|sci-fi|fiction",
    ),
    (
        "sports",
        r"sports?|football|soccer|tennis|running|run|swim|"
        r"swimming|cycling|yoga|gym|climbing|basketball",
    ),
    (
        "communication",
        r"answers?|repl(?:y|ies)|e-?mails?|calls?|phone|"
        r"respond|language|speak|write|tone|messages?",
    ),
    (
        "technology",
        r"python|java|rust|javascript|editor|laptop|linux|mac|"
        r"windows|phone|dark mode|code|programming|framework",
    ),
)


def preferences(clause: str) -> Iterator[Statement]:
    """What `clause`, a sentence's part in the first person, says about the user's taste."""
    if found := _STYLE.match(clause):
        topic, value = ("language", found["language"]) if found["language"] else ("length", found["length"].lower())
        how = f"answers in {value}" if found["language"] else f"answers that are {value}"
        yield _preference(f"wish:{topic}", value, f"The user wants {how}.")
    elif found := _FAVORITE.match(clause):
        what, value = found["what"].lower(), trimmed(found["v"])
        if value and not _NO_OBJECT.match(value):
            yield _preference(f"favorite:{normal(what)}", value, f"The user's favorite {what} is {value}.")
    elif found := _PREFER.match(clause):
        yield from _preferred(found["v"])
    elif found := _DISLIKE.match(clause):
        yield from _tastes(found["v"], "dislikes")
    elif found := _LIKE.match(clause):
        yield from _tastes(found["v"], "likes")
    elif found := _HABIT.match(clause):
        value, how = trimmed(found["v"]), found["how"].lower()
        yield _preference(f"habit:{normal(value)}", how, f'The user says of themselves: "I {how} {value}".')
    elif (found := _ORDER.match(clause)) and _LASTING.match(clause):
        value, how = trimmed(found["v"]), (found["how"] or "").strip().lower()
        word = {"always": "always ", "never": "never ", "don't ever": "never "}.get(how, "")
        if value:
            yield _preference(f"wish:{normal(value)}", word or "yes", f"The user's standing wish: {word}{value}.")


def _preferred(value: str) -> Iterator[Statement]:
    value = re.sub(r"\s+rather than\s+", " over ", value)
    value = trimmed(value)
    if not value or _NO_OBJECT.match(value):
        return
    over = _OVER.match(value) if not value.lower().startswith("to ") else None
    if over:
        a, b = over["a"], over["b"]
        slot = "choice:" + " | ".join(sorted((normal(a), normal(b))))
        yield _preference(slot, a, f"The user prefers {a} over {b}.")
    else:
        yield _preference(f"prefer:{head(value)}", value, f"The user prefers {value}.")


def _tastes(value: str, how: str) -> Iterator[Statement]:
    value = trimmed(value)
    if not value or _NO_OBJECT.match(value):
        return
    for each in items(value):
        if normal(each) and not _NO_OBJECT.match(each):
            yield _preference(f"taste:{normal(each)}", how, f"The user {how} {each}.")


def _preference(slot: str, value: str, text: str) -> Statement:
    lowered = text.lower()
    category = next((name for name, words in _CATEGORIES if re.search(rf"\b(?:{words})\b", lowered)), "general")
    return Statement(kind="preference", slot=slot, value=value, text=text, category=category)
