"""Choose the tools that fit a prompt, with their arguments: one call per request in the prompt.

A prompt is split into clauses ("the weather in Paris" / "and 3*7"), and each clause is compared with each tool: the
words of the tool's name count most, then its parameters and allowed values, then its description, each less if other
tools share the word. An argument of the right kind (a sum for an expression, a web address for a url) also counts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..json_values import JsonObject, as_list, as_object, as_text, as_texts
from ..request import Tool
from .filling import fill
from .language import STOPWORDS, pattern, split_name, stem, table, word_list, words
from .recognize import find_codes, find_emails, find_places, find_quoted, find_units, find_urls
from .schemas import kinds, resolve
from .script import script
from .sums import find_sums

_THRESHOLD = 2.5
_NAME_WEIGHT, _ENUM_WEIGHT, _PARAMETER_WEIGHT, _DESCRIPTION_WEIGHT = 3.0, 1.5, 1.0, 1.0
_GENERIC_FACTOR, _RELATED_FACTOR = 0.1, 0.8
_MOST_CALLS = 128
_MOST_OF_A_TOOL = 8
_IDENTIFIER = re.compile(r"\b[A-Za-z]+(?:[_-][A-Za-z0-9]+)*(?:_[A-Za-z0-9]+)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateCall:
    """A tool with the arguments of a possible call."""

    tool: Tool
    arguments: JsonObject

    @property
    def key(self) -> str:
        """The key of the call; equal calls have the same key."""
        return call_key(self.tool.name, self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfilled:
    """A tool that fits, but for which the prompt lacks a required argument."""

    tool: Tool
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlan:
    """The plan for a prompt: tool calls, and tools that lack an argument."""

    calls: tuple[CandidateCall, ...] = ()
    unfilled: tuple[Unfilled, ...] = ()


def call_key(name: str, arguments: object) -> str:
    """Return the key of a call; equal calls have the same key."""
    return f"{name} {json.dumps(arguments, sort_keys=True, default=repr)}"


def describe(tool: Tool) -> str:
    """Return the first sentence of a tool's description."""
    opening = as_text(tool.description).strip().split("\n", 1)[0]
    return re.split(r"(?<=\.)\s", opening, maxsplit=1)[0].rstrip(".")


def plan_calls(
    prompt: str, tools: Sequence[Tool], *, previous: str | None = None, threshold: float = _THRESHOLD
) -> CallPlan:
    """Choose the calls that fit a prompt, in the prompt's order.

    Args:
        prompt: What the user asks.
        tools: What may be called.
        previous: The tool that the previous turn called, for prompts such as "and in London?".
        threshold: The minimum score for a tool to fit a clause.
    """
    scorer = _Scorer(tools)
    calls: dict[str, CandidateCall] = {}
    unfilled: dict[str, Unfilled] = {}
    is_follow_up = pattern("choosing", "follow_up").match(prompt) is not None
    last = next((tool for tool in tools if tool.name == previous), None) if is_follow_up else None
    parts = clauses(prompt)
    for clause in parts:
        fitting = scorer.fitting(clause, threshold)
        # "…and London": a clause that fits no tool itself continues with the previous tool.
        is_elliptical = not fitting and last is not None and _is_elliptical(clause)
        for tool in [last] if is_elliptical and last is not None else fitting:
            new_calls, missing = _calls_of(tool, clause, prompt if len(parts) > 1 and not is_elliptical else clause)
            for call in new_calls:
                calls.setdefault(call.key, call)
            if new_calls:
                unfilled.pop(tool.name, None)
                last = tool
            elif not is_elliptical and not any(call.tool.name == tool.name for call in calls.values()):
                unfilled[tool.name] = Unfilled(tool=tool, missing=missing)
                last = tool
    return CallPlan(calls=tuple(calls.values())[:_MOST_CALLS], unfilled=tuple(unfilled.values()))


def clauses(prompt: str) -> list[str]:
    """Split a prompt into the parts that may ask for different things; sums and quotations stay whole."""
    whole = [(total.start, total.end) for total in find_sums(prompt)]
    whole += [match.span() for match in re.finditer(r"```.*?```|\"[^\"]*\"|“[^“”]*”|https?://\S+", prompt, re.DOTALL)]
    parts: list[str] = []
    start = 0
    for cut in pattern("choosing", "clause_end").finditer(prompt):
        if not any(low < cut.end() and cut.start() < high for low, high in whole):
            parts.append(prompt[start : cut.start()])
            start = cut.end()
    parts.append(prompt[start:])
    return [part.strip() for part in parts if part.strip()] or [prompt]


class _Scorer:
    def __init__(self, tools: Sequence[Tool]) -> None:
        # A name that is an everyday word, such as "calculator", is not a sign that the tool is meant.
        self._names = {tool.name: tool for tool in tools if _IDENTIFIER.fullmatch(tool.name)}
        self._vocabularies = [(tool, _vocabulary(tool)) for tool in tools]
        self._related = [
            frozenset(map(stem, group.split())) for group in (*table("choosing")["related"], *script().related)
        ]
        self._shared: dict[str, float] = {}
        for _, vocabulary in self._vocabularies:
            for word, weight in vocabulary.items():
                self._shared[word] = self._shared.get(word, 0.0) + weight

    def fitting(self, clause: str, threshold: float) -> list[Tool]:
        """Return the tools that a clause names, otherwise the one that fits it best."""
        if named_tools := [self._names[name] for name in _IDENTIFIER.findall(clause) if name in self._names]:
            return named_tools
        text = pattern("choosing", "length").sub(" ", clause)
        spoken = {stem(word) for word in words(text) if word not in STOPWORDS or word == "now"}
        scored = [
            (self._score(spoken, vocabulary) + _argument_score(tool, clause), tool)
            for tool, vocabulary in self._vocabularies
        ]
        best = max((entry for entry in scored if entry[0] >= threshold), key=lambda entry: entry[0], default=None)
        return [best[1]] if best else []

    def _score(self, spoken: set[str], vocabulary: dict[str, float]) -> float:
        total = 0.0
        for word in spoken:
            if word in vocabulary:
                total += vocabulary[word] * math.sqrt(vocabulary[word] / self._shared[word])
            else:
                related = (other for group in self._related if word in group for other in group)
                total += _RELATED_FACTOR * max((vocabulary.get(other, 0.0) for other in related), default=0.0)
        return total


def _vocabulary(tool: Tool) -> dict[str, float]:
    """Return the stems that indicate a tool, with their weights."""
    weights: dict[str, float] = {}
    generic = {stem(word) for word in word_list("choosing", "generic")}

    def note(texts: Iterable[str], weight: float) -> None:
        for text in texts:
            base = stem(text)
            if text not in STOPWORDS and len(text) > 1:
                weights[base] = max(weights.get(base, 0.0), weight * (_GENERIC_FACTOR if base in generic else 1.0))

    for name, parameter in _parameters(tool):
        note(split_name(name), _PARAMETER_WEIGHT)
        for allowed in as_texts(as_list(parameter.get("enum"))):
            note(split_name(allowed), _ENUM_WEIGHT)
    opening = re.split(r"\n\s*\n|\bArgs:|\bReturns:", tool.description, maxsplit=1)[0]
    note(words(opening[:600]), _DESCRIPTION_WEIGHT)
    note(split_name(tool.name), _NAME_WEIGHT)
    return weights


def _parameters(tool: Tool) -> list[tuple[str, JsonObject]]:
    properties = as_object(resolve(tool.schema, tool.schema).get("properties"))
    return [(name, dict(resolve(declared, tool.schema))) for name, declared in properties.items()]


def _argument_score(tool: Tool, clause: str) -> float:
    """Return how well a clause fits arguments that only this kind of tool takes."""
    score = 0.0
    for name, _ in _parameters(tool):
        own = set(split_name(name))
        if own & {"expression", "formula", "equation", "expr", "calculation"} and find_sums(clause):
            score += 4
        elif (own & {"url", "uri", "link"} and find_urls(clause)) or ("email" in own and find_emails(clause)):
            score += 3
        elif own & {"unit", "units"} and len(find_units(clause)) >= 2:
            score += 1.5
        elif own & {"city", "location", "place"} and find_places(clause):
            score += 0.5
        elif own & {"query", "q"} and pattern("choosing", "search").match(clause):
            score += 1.5
        elif own & {"id", "number", "reference", "sku"} and find_codes(clause):
            score += 1
    numeric = [name for name, parameter in _parameters(tool) if {"number", "integer"} & set(kinds(parameter))]
    if len(numeric) >= 2 and (sums := find_sums(clause)):
        operations = table("choosing")["operations"].items()
        operation_stems = {
            stem(word) for sign, names in operations if f" {sign} " in sums[0].expression for word in names.split()
        }
        score += 3 if operation_stems & {stem(word) for word in split_name(tool.name)} else 0
    return score


def _calls_of(tool: Tool, clause: str, prompt: str) -> tuple[list[CandidateCall], tuple[str, ...]]:
    """Return one call per candidate in a clause, completed from the whole prompt; otherwise the missing arguments."""
    calls: dict[str, CandidateCall] = {}
    for nth in range(_MOST_OF_A_TOOL):
        filled = fill(tool.schema, clause, nth=nth)
        if filled.missing and clause != prompt:
            filled = fill(tool.schema, prompt, nth=nth)
        if filled.missing:
            return list(calls.values()), filled.missing
        call = CandidateCall(tool=tool, arguments=filled.arguments)
        known_values = {repr(value) for other in calls.values() for value in other.arguments.values()}
        # Another candidate is another call only if it brings something new: "10 miles to km" is one conversion.
        if calls and known_values.issuperset(map(repr, call.arguments.values())):
            break
        calls[call.key] = call
    return list(calls.values()), ()


def _is_elliptical(clause: str) -> bool:
    content = [word for word in words(clause) if word not in STOPWORDS]
    return len(content) <= 4 and bool(
        find_places(clause)
        or find_sums(clause)
        or find_quoted(clause)
        or find_units(clause)
        or re.search(r"\d", clause)
    )
