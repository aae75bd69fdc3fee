"""Which tools fit a prompt, and with which arguments: one call for each thing the prompt asks for.

A prompt is cut into clauses ("the weather in Paris" / "and 3*7"). Every clause is compared with every tool: the words
of the tool's name count most, then its parameters and allowed values, then its description, each less when other
tools share the word; an argument of the right kind (a sum for an expression, an address for a url) counts as well.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loomlib.local.models.arithmetic import find_sums
from loomlib.local.models.filling import fill
from loomlib.local.models.json_values import JsonObject, as_list, as_object, as_text, as_texts
from loomlib.local.models.recognize import find_codes, find_emails, find_places, find_quoted, find_urls
from loomlib.local.models.request import Tool
from loomlib.local.models.schemas import kinds, resolve
from loomlib.local.models.units import units_in
from loomlib.local.models.words import STOPWORDS, split_name, stem, words

_THRESHOLD = 2.5
_NAME_WEIGHT, _PARAMETER_WEIGHT, _DESCRIPTION_WEIGHT = 3.0, 1.0, 1.0
_MAX_CALLS = 128
_CLAUSE_END = re.compile(
    r"(?<=[.?!;\n])\s+|\n+|,\s+(?:and\s+|then\s+|also\s+)*|\s+(?:and|then|also|as well as)\s+(?:then\s+|also\s+)*",
    re.IGNORECASE,
)
# "Write 20 words about…" is a request for a length, not for the tool that counts words.
_LENGTH = re.compile(
    r"\b(?:\d+|a|one|two|three|four|five|six|ten|some|few)[\s-]+(?:word|sentence|paragraph|line)s?\b", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"\b[A-Za-z]+(?:[_-][A-Za-z0-9]+)*(?:_[A-Za-z0-9]+)\b")
_SEARCH = re.compile(r"\s*(?:please\s+)?(?:search|look up|find)\b", re.IGNORECASE)
_GENERIC = frozenset(
    stem(word)
    for word in [
        "get", "fetch", "tool", "return", "returns", "use", "used", "given", "value", "current", "input",
        "run", "do", "string", "name", "type", "data", "result", "results", "text", "number", "info",
        "information", "list", "show", "read", "example", "optional", "default", "user",
    ]
)  # fmt: skip
_RELATED = [
    frozenset(stem(word) for word in group.split())
    for group in (
        "weather forecast rain sunny sun snow umbrella temperature hot cold warm windy humidity",
        "time clock hour now o'clock date day today",
        "calculate compute math arithmetic evaluate calculator sum",
        "search find lookup look query",
        "docs doc documentation document knowledge manual guide handbook",
        "convert conversion unit units",
        "mail email send",
        "database db order orders customer record records",
        "translate translation language",
        "roll dice die",
        "remember memory recall note store save",
    )
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A tool and the arguments it would get."""

    tool: Tool
    arguments: JsonObject

    @property
    def key(self) -> str:
        """The same for two calls that would do the same."""
        return call_key(self.tool.name, self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfilled:
    """A tool that fits although the prompt leaves out what it needs."""

    tool: Tool
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the prompt asks for: calls to make, and tools that lack an argument."""

    calls: tuple[PlannedCall, ...] = ()
    unfilled: tuple[Unfilled, ...] = ()


def call_key(name: str, arguments: object) -> str:
    """A text that two equal calls share."""
    return f"{name} {json.dumps(arguments, sort_keys=True, default=repr)}"


def plan_calls(
    prompt: str, tools: Sequence[Tool], *, previous: str | None = None, threshold: float = _THRESHOLD
) -> Plan:
    """The calls that fit `prompt`, in its order. `previous` names the tool of the turn before, for "and in London?"."""
    scorer = _Scorer(tools)
    calls: dict[str, PlannedCall] = {}
    unfilled: dict[str, Unfilled] = {}
    last = next((tool for tool in tools if tool.name == previous), None) if _is_follow_up(prompt) else None
    parts = clauses(prompt)
    for clause in parts:
        chosen = scorer.fitting(clause, threshold)
        # "…and London": a clause that names no tool of its own goes on with the one before.
        elliptical = not chosen and last is not None and _is_elliptical(clause)
        for tool in [last] if elliptical and last is not None else chosen:
            made, missing = _calls_of(tool, clause, prompt if len(parts) > 1 and not elliptical else clause)
            for call in made:
                calls.setdefault(call.key, call)
            if made:
                unfilled.pop(tool.name, None)
                last = tool
            elif not elliptical and not any(call.tool.name == tool.name for call in calls.values()):
                unfilled[tool.name] = Unfilled(tool=tool, missing=missing)
                last = tool
    return Plan(calls=tuple(calls.values())[:_MAX_CALLS], unfilled=tuple(unfilled.values()))


def clauses(prompt: str) -> list[str]:
    """The parts of a prompt that may ask for different things; sums and quotations stay whole."""
    whole = [(found.start, found.end) for found in find_sums(prompt)]
    whole += [(match.start(), match.end()) for match in re.finditer(r"\"[^\"]*\"|“[^”]*”|https?://\S+", prompt)]
    parts: list[str] = []
    start = 0
    for cut in _CLAUSE_END.finditer(prompt):
        if any(low < cut.end() and cut.start() < high for low, high in whole):
            continue
        parts.append(prompt[start : cut.start()])
        start = cut.end()
    parts.append(prompt[start:])
    return [part.strip() for part in parts if part.strip()] or [prompt]


class _Scorer:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools
        # A name that is an everyday word, such as "calculator", is no sign that the tool is meant.
        self._names = {tool.name: tool for tool in tools if _IDENTIFIER.fullmatch(tool.name)}
        self._vocabularies = [_vocabulary(tool) for tool in tools]
        self._shared: dict[str, float] = {}
        for vocabulary in self._vocabularies:
            for word, weight in vocabulary.items():
                self._shared[word] = self._shared.get(word, 0.0) + weight

    def fitting(self, clause: str, threshold: float) -> list[Tool]:
        """The tools that a clause calls by name, else the one that fits it best."""
        if named := [self._names[name] for name in _IDENTIFIER.findall(clause) if name in self._names]:
            return named
        asked = _LENGTH.sub(" ", clause)
        spoken = {stem(word) for word in words(asked) if word not in STOPWORDS or word == "now"}
        scored = [
            (self._score(spoken, vocabulary) + _argument_score(tool, clause), -i, tool)
            for i, (tool, vocabulary) in enumerate(zip(self._tools, self._vocabularies, strict=True))
        ]
        best = sorted((entry for entry in scored if entry[0] >= threshold), reverse=True, key=lambda entry: entry[:2])
        return [best[0][2]] if best else []

    def _score(self, spoken: set[str], vocabulary: dict[str, float]) -> float:
        total = 0.0
        for word in spoken:
            if word in vocabulary:
                total += vocabulary[word] * math.sqrt(vocabulary[word] / self._shared[word])
            else:
                related = (
                    vocabulary[other] for group in _RELATED if word in group for other in group if other in vocabulary
                )
                total += 0.8 * max(related, default=0.0)
        return total


def _vocabulary(tool: Tool) -> dict[str, float]:
    """The stems that speak for a tool, with their weights."""
    found: dict[str, float] = {}

    def note(texts: Iterable[str], weight: float) -> None:
        for text in texts:
            base = stem(text)
            if text not in STOPWORDS and len(text) > 1:
                found[base] = max(found.get(base, 0.0), weight * (0.1 if base in _GENERIC else 1.0))

    top = resolve(tool.schema, tool.schema)
    for name, declared in as_object(top.get("properties")).items():
        parameter = resolve(declared, tool.schema)
        note(split_name(name), _PARAMETER_WEIGHT)
        note((word for allowed in as_texts(as_list(parameter.get("enum"))) for word in split_name(allowed)), 1.5)
    opening = re.split(r"\n\s*\n|\bArgs:|\bReturns:", tool.description, maxsplit=1)[0]
    note(words(opening[:600]), _DESCRIPTION_WEIGHT)
    note(split_name(tool.name), _NAME_WEIGHT)
    return found


def _argument_score(tool: Tool, clause: str) -> float:
    """How much the clause offers what only this kind of tool would take."""
    top = resolve(tool.schema, tool.schema)
    score = 0.0
    for name in as_object(top.get("properties")):
        own = set(split_name(name))
        if own & {"expression", "formula", "equation", "expr", "calculation"} and find_sums(clause):
            score += 4
        elif (own & {"url", "uri", "link"} and find_urls(clause)) or ("email" in own and find_emails(clause)):
            score += 3
        elif own & {"unit", "units"} and len(units_in(clause)) >= 2:
            score += 1.5
        elif own & {"city", "location", "place"} and find_places(clause):
            score += 0.5
        elif own & {"query", "q"} and _SEARCH.match(clause):
            score += 1.5
        elif own & {"id", "number", "reference", "sku"} and find_codes(clause):
            score += 1
    numeric = [
        n
        for n, d in as_object(top.get("properties")).items()
        if set(kinds(resolve(d, tool.schema))) & {"number", "integer"}
    ]
    if len(numeric) >= 2 and (sums := find_sums(clause)):
        operators = {
            "+": "add sum plus",
            "-": "subtract minus difference",
            "*": "multiply times product",
            "/": "divide quotient",
            "**": "power",
        }
        meant = {
            stem(w) for sign, names in operators.items() if f" {sign} " in sums[0].expression for w in names.split()
        }
        score += 3 if meant & {stem(word) for word in split_name(tool.name)} else 0
    return score


def _calls_of(tool: Tool, clause: str, prompt: str) -> tuple[list[PlannedCall], tuple[str, ...]]:
    """One call for each candidate that the clause names; the whole prompt helps out with what it leaves open."""
    made: dict[str, PlannedCall] = {}
    missing: tuple[str, ...] = ()
    for nth in range(8):
        filled = fill(tool.schema, clause, nth=nth)
        if filled.missing and clause != prompt:
            filled = fill(tool.schema, prompt, nth=nth)
        if filled.missing:
            missing = missing or filled.missing
            break
        call = PlannedCall(tool=tool, arguments=filled.arguments)
        told = {repr(value) for other in made.values() for value in other.arguments.values()}
        # Another candidate is another call only if it brings something new: "10 miles to km" is one conversion.
        if made and told.issuperset(map(repr, call.arguments.values())):
            break
        made[call.key] = call
    return list(made.values()), missing


def _is_follow_up(prompt: str) -> bool:
    return re.match(r"\s*(?:and|what about|how about|same|again|now|then|also)\b", prompt, re.IGNORECASE) is not None


def _is_elliptical(clause: str) -> bool:
    content = [word for word in words(clause) if word not in STOPWORDS]
    return len(content) <= 4 and bool(
        find_places(clause) or find_sums(clause) or find_quoted(clause) or units_in(clause) or re.search(r"\d", clause)
    )


def describe(tool: Tool) -> str:
    """The first sentence of what a tool says about itself."""
    opening = as_text(tool.description).strip().split("\n", 1)[0]
    return re.split(r"(?<=\.)\s", opening, maxsplit=1)[0].rstrip(".")
