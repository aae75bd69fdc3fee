"""How the scripted model uses what an agent remembers: in questions about the user, tool calls and summaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from loomlib.local.models.choosing import PlannedCall
from loomlib.local.models.json_values import as_list, as_texts
from loomlib.local.models.recall import asked_for
from loomlib.local.models.remembered_lines import record_lines
from loomlib.local.models.request import ConverseRequest, Tool
from loomlib.local.models.words import STOPWORDS, split_name, stem, words

_READS = frozenset({"memory", "memories", "recall", "remembered"})
_WRITES = frozenset({"store", "save", "add", "write", "create", "update", "delete", "forget"})
_OWN = re.compile(r"\b(?:i|my|me|mine|myself)\b", re.IGNORECASE)
_SUMMARIZE = re.compile(r"\s*please summari[sz]e this conversation\.?\s*", re.IGNORECASE)
_TALK = re.compile(r"^(?:the user|you) asked\b|^the assistant\b|\?$", re.IGNORECASE)
_SAID = re.compile(r"^\* The user said: ")
_QUESTION = re.compile(r"\?\s*$")
_MOST_SAID = 40
_LONGEST_SAID = 300
_MOST_TOLD = 3
_IRREGULAR = {"is": "are", "was": "were", "has": "have", "does": "do", "goes": "go", "studies": "study"}


def memory_call(prompt: str, tools: Sequence[Tool]) -> PlannedCall | None:
    """A look into memory, where a tool offers one and the prompt asks about its writer."""
    if not asked_for(prompt) and not (_QUESTION.search(prompt) and _OWN.search(prompt)):
        return None
    for tool in tools:
        required = as_texts(as_list(tool.schema.get("required")))
        if is_memory_tool(tool.name) and len(required) == 1:
            return PlannedCall(tool=tool, arguments={required[0]: prompt})
    return None


def is_memory_tool(name: str) -> bool:
    """Whether a tool of that name reads a memory."""
    named = set(split_name(name))
    return bool(named & _READS) and not named & _WRITES


def remembered(request: ConverseRequest) -> list[str]:
    """What memory brought into this conversation, the newest first; not what only tells who asked what."""
    found: list[str] = []
    names = {call.id: call.name for turn in request.turns for call in turn.calls}
    for turn in reversed(request.turns):
        found += turn.remembered
        for outcome in turn.outcomes:
            if is_memory_tool(names.get(outcome.id, "")) and not outcome.failed:
                found += (line for value in outcome.values if isinstance(value, str) for line in record_lines(value))
    return [line for line in dict.fromkeys(found) if not _TALK.search(line)]


def fitting(question: str, lines: Iterable[str]) -> str | None:
    """The remembered line that shares most content words with the question, said to the user; the first of equals."""
    asked = {stem(word) for word in words(question) if word not in STOPWORDS}
    best, most = None, 0
    for line in lines:
        shared = len(asked & {stem(word) for word in words(line)} - {"user"})
        if shared > most:
            best, most = line, shared
    return None if best is None else to_you(best)


def what_may_matter(question: str, lines: Sequence[str]) -> str | None:
    """The first of what is remembered, for a question about the user that shares no word with it."""
    if not _OWN.search(question) or not lines:
        return None
    return f"What I remember: {' '.join(to_you(line) for line in lines[:_MOST_TOLD])}"


def to_you(line: str) -> str:
    """ "The user lives in Lisbon." as "You live in Lisbon."."""
    own = re.sub(r"\bthe user's\b", "your", line, flags=re.IGNORECASE)
    spoken = re.sub(r"\bthe user (\w+)", lambda found: f"you {_second_person(found[1])}", own, flags=re.IGNORECASE)
    sentence = spoken[:1].upper() + spoken[1:]
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."


def summary_reply(request: ConverseRequest) -> str | None:
    """A summary of the conversation, where that is all that is asked: what the user stated, word for word."""
    if not _SUMMARIZE.fullmatch(request.turns[request.newest_question].text):
        return None
    said: list[str] = []
    for turn in request.turns[: request.newest_question]:
        if turn.role != "user":
            continue
        for line in turn.text.splitlines():
            plain = _SAID.sub("", line).strip()
            if plain and not plain.startswith("##") and not _QUESTION.search(plain):
                said.append(plain[:_LONGEST_SAID])
    kept = list(dict.fromkeys(said))[-_MOST_SAID:]
    told = [f"* The user said: {line}" for line in kept] or ["* The user stated nothing."]
    return "\n".join(["## Conversation Summary", *told])


def _second_person(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith(("shes", "ches", "sses", "xes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb
