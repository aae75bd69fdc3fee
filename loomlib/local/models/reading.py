"""What a text says about one named parameter: its label, its kind, and the candidates of that kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from loomlib.local.models import recognize
from loomlib.local.models.arithmetic import find_sums
from loomlib.local.models.json_values import as_text
from loomlib.local.models.numerals import find_numbers
from loomlib.local.models.schemas import Schema
from loomlib.local.models.units import unit_names, units_in
from loomlib.local.models.words import STOPWORDS, split_name, stem, words

_Default = TypeVar("_Default")

_EXPRESSION = frozenset([
        "expression", "formula", "equation", "calculation", "math", "arithmetic", "sum", "expr",
    ])  # fmt: skip
_PLACE = frozenset(
    [
        "city", "location", "place", "town", "country", "destination", "origin", "region", "where", "capital",
    ]
)  # fmt: skip
_ZONE = frozenset(["timezone", "zone", "tz"])
_NAME = frozenset(
    [
        "name", "person", "customer", "user", "author", "who", "contact", "recipient", "owner", "employee",
        "patient", "guest", "attendee",
    ]
)  # fmt: skip
_TEXT = frozenset(
    [
        "text", "content", "body", "message", "passage", "sentence", "document", "input", "paragraph", "note",
        "draft",
    ]
)  # fmt: skip
_QUERY = frozenset(
    [
        "query", "question", "topic", "subject", "term", "keyword", "keywords", "search", "prompt", "task",
        "title", "theme", "about", "request", "instruction", "q",
    ]
)  # fmt: skip
_CODE = frozenset([
        "id", "identifier", "number", "sku", "order", "ticket", "reference", "code", "key",
    ])  # fmt: skip
_TO = frozenset(["to", "target", "destination", "output", "into"])
_FROM = frozenset(["from", "source", "origin", "input"])
_NEGATIONS = re.compile(r"\b(?:no|not|without|never|disable[ds]?|off|don't|isn't|aren't|exclud\w+)\b", re.IGNORECASE)
_REQUEST_WORDS = frozenset(
    [
        "write", "compose", "draft", "create", "make", "generate", "search", "find", "look", "lookup", "tell",
        "explain", "describe", "summarize", "summarise", "show", "give", "want", "need", "story", "poem",
        "essay", "article", "paragraph", "sentence", "sentences", "words", "word", "outline", "information",
        "info", "details",
    ]
)  # fmt: skip


def labelled(name: str, evidence: str) -> str | None:
    """What follows the parameter's own name: "age: 30", "the title is Autumn", "priority = high", "the word 'loom'"."""
    label = r"[\s_-]*".join(map(re.escape, split_name(name)))
    if not label:
        return None
    value = r"(\"[^\"]+\"|'[^']+'|[^\n;]+?)"
    found = re.search(
        rf"\b{label}\b\s*(?:is|are|=|:|should be|must be|of|set to)\s*:?\s*{value}(?=[.;!?](?:\s|$)|,\s|\n|$|\s+and\s)",
        evidence,
        re.IGNORECASE,
    ) or re.search(rf"\b{label}\s+(\"[^\"\n]+\"|'[^'\n]+'(?!\w))", evidence, re.IGNORECASE)
    return found[1].strip().strip("\"'").strip() or None if found else None


def strings_for(name: str, hint: str, schema: Schema, evidence: str, *, needed: bool) -> list[str]:
    """Candidates for a text parameter, best first; free text takes the request itself when it is `needed`."""
    own = frozenset(split_name(name))
    about = own | frozenset(words(hint.split(".", 1)[0]))
    found: list[str] = []
    label = labelled(name, evidence)
    shape = as_text(schema.get("format"))
    for applies, find in _kinds_of_text(own, about, shape):
        if applies:
            found = find(evidence)
            # What the text labels with the parameter's name wins, unless it is a sum or a date that has its own form.
            return ([label] if label and not found else []) + found
    if label:
        return [label]
    if own & _NAME:
        return recognize.find_names(evidence)
    if own & _TEXT:
        given = recognize.find_quoted(evidence) or [*_after_colon(evidence), *_to_translate(evidence)]
        return given or ([evidence.strip()] if needed else [])
    if own & _QUERY or (needed and about & _QUERY):
        return [*recognize.find_quoted(evidence), *([topic(evidence) or evidence.strip()] if needed else [])]
    if own & _CODE and (codes := recognize.find_codes(evidence)):
        return codes
    if own & _CODE:
        return [str(number) for number in find_numbers(evidence)] if needed else []
    named = recognize.find_names(evidence) if about & _NAME or needed else []
    return [*recognize.find_quoted(evidence), *named] if needed else recognize.find_quoted(evidence)


def _kinds_of_text(
    own: frozenset[str], about: frozenset[str], shape: str
) -> list[tuple[bool, Callable[[str], list[str]]]]:
    return [
        (bool(own & _EXPRESSION), _expressions),
        (bool(own & {"url", "uri", "link", "website", "webpage"}) or shape in ("uri", "url"), recognize.find_urls),
        (
            "email" in own or shape == "email" or ("email" in about and bool(own & {"to", "recipient"})),
            recognize.find_emails,
        ),
        (bool(own & _ZONE) or (("timezone" in about or "iana" in about) and not own & _PLACE), recognize.find_zones),
        (shape in ("date", "date-time"), _iso_dates),
        (
            "unit" in own or "units" in own or ("unit" in about and bool(own & (_TO | _FROM))),
            lambda text: _units(own, text),
        ),
        ("date" in own or "day" in own or "when" in own, recognize.find_dates),
        ("time" in own, recognize.find_times),
        (bool(own & _PLACE), recognize.find_places),
        ("language" in own, _languages),
    ]


def number_for(name: str, evidence: str, *, taken: int, whole: bool, needed: bool) -> int | float | None:
    """The number a parameter means: the one beside its name, else the next unused one when it is `needed`."""
    label = labelled(name, evidence)
    beside = find_numbers(label) if label else []
    if not beside:
        for word in split_name(name):
            match = re.search(
                rf"(-?[\d.,]+)\s*-?{re.escape(word)}s?\b|\b{re.escape(word)}s?\b\D{{0,12}}?(-?\d[\d.,]*)",
                evidence,
                re.IGNORECASE,
            )
            if match and len(word) > 1:
                beside = find_numbers(match[1] or match[2])
                break
    if not beside and "age" in split_name(name):
        years = re.search(r"(\d+)[\s-]*years?[\s-]*old|\bI(?:'m| am) (\d+)\b", evidence, re.IGNORECASE)
        beside = find_numbers(years[1] or years[2]) if years else []
    numbers = beside or (find_numbers(evidence)[taken:] if needed else [])
    fitting = [number for number in numbers if not whole or isinstance(number, int)]
    return fitting[0] if fitting else None


def said(name: str, evidence: str, unsaid: _Default) -> bool | _Default:
    """True when the text names the parameter, False when it does so with a "no", `unsaid` when it does not name it."""
    stems = {stem(word) for word in split_name(name)} - {"is", "has", "includ", "with", "us"}
    for clause in re.split(r"[.,;!?\n]", evidence):
        if stems & {stem(word) for word in words(clause)}:
            label = labelled(name, clause)
            return not (_NEGATIONS.search(clause) or (label or "").lower() in ("false", "no"))
    return unsaid


def enum_in(allowed: list[object], name: str, hint: str, evidence: str, used: list[object]) -> object | None:
    """The allowed value that the text mentions; `from…` and `to…` parameters look at their own side of the text."""
    side = _side(frozenset(split_name(name)), evidence)
    for text in (side, evidence) if side else (evidence,):
        spoken = words(text)
        stems = {stem(word) for word in spoken}
        joined = f" {' '.join(spoken)} "
        units = set(units_in(text))
        for value in allowed:
            if not isinstance(value, str) or value in used:
                continue
            parts = split_name(value)
            if (
                f" {' '.join(parts)} " in joined
                or (parts and all(stem(part) in stems for part in parts))
                or units & unit_names(value)
            ):
                return value
    numbers = [number for number in find_numbers(evidence) if number in allowed and not isinstance(number, bool)]
    return numbers[0] if numbers else None


@lru_cache(maxsize=1_000)
def topic(text: str) -> str:
    """What a request is about: "Write a poem about autumn in two sentences" is about "autumn"."""
    given = [*recognize.find_quoted(text), *_after_colon(text)]
    if given and len(given[0]) < 200 and "\n" not in given[0]:
        return given[0]
    about = re.search(
        r"\b(?:about|on|regarding|concerning|titled|called|explain|describe|summari[sz]e|search for|look up|find|of)\s+"
        r"(?:the topic of\s+|me\s+)?(.+)",
        text,
        re.IGNORECASE,
    )
    rest = about[1] if about else text
    rest = re.split(
        r"[.?!;\n]|,\s|\b(?:in|with|using|of)\s+(?:about\s+|exactly\s+|at most\s+|around\s+)?"
        r"(?:\d+|one|two|three|four|five|six|ten|a few)\s+(?:word|sentence|paragraph|line)",
        rest,
        maxsplit=1,
    )[0]
    if about:
        return rest.strip(" ,")
    kept = [word for word in rest.split() if word.lower().strip(",'\"") not in STOPWORDS | _REQUEST_WORDS]
    return " ".join(kept).strip(" ,")


def _expressions(text: str) -> list[str]:
    return [found.expression for found in find_sums(text)]


def _iso_dates(text: str) -> list[str]:
    found = recognize.iso_date(text)
    return [found] if found else []


def _units(own: frozenset[str], text: str) -> list[str]:
    found = units_in(text, spoken=True)
    measured = next((unit for unit in found if re.search(rf"\d\s*(?:degrees\s+)?{re.escape(unit)}\b", text)), None)
    others = [unit for unit in found if unit != measured]
    if measured is not None:
        return others if own & _TO and others else [measured, *others]
    return found[1:] if len(found) >= 2 and own & _TO else found


def _languages(text: str) -> list[str]:
    match = re.search(r"\b(?:in|into|to)\s+([A-Z][a-z]+)\b", text)
    return [match[1]] if match else []


def _to_translate(text: str) -> list[str]:
    match = re.search(r"\btranslate\s+(.+?)\s+(?:in)?to\s+[A-Z]", text, re.IGNORECASE)
    return [match[1]] if match else []


def _after_colon(text: str) -> list[str]:
    _, colon, rest = text.partition(": ")
    return [rest.strip()] if colon and rest.strip() else []


def _side(own: frozenset[str], evidence: str) -> str:
    parts = re.split(r"\b(?:to|into|in)\b", evidence, maxsplit=1, flags=re.IGNORECASE)
    if len(parts) != 2:
        return ""
    return parts[1] if own & _TO else parts[0] if own & _FROM else ""
