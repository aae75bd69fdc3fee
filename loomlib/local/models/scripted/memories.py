"""Facts about the user for the scripted model: from the conversation, and from retrieved memory records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..json_values import as_list, as_texts
from ..request import ConverseRequest, Tool, record_lines
from .choosing import CandidateCall
from .language import content_stems, pattern, split_name, stem, words
from .numbers import find_numbers
from .script import script
from .sums import find_sums

_READS = frozenset({"memory", "memories", "recall", "remembered"})
_WRITES = frozenset({"store", "save", "add", "write", "create", "update", "delete", "forget"})
_CONVERSATION = re.compile(r"^(?:the user|you) asked\b|^the assistant\b|\?$", re.IGNORECASE)
_QUESTION = re.compile(r"\?\s*$")
_ASKING = re.compile(r"(?:what|who|where|when|how)\b", re.IGNORECASE)
_MOST_SHOWN = 3
_IRREGULAR = {"is": "are", "was": "were", "has": "have", "does": "do", "goes": "go", "studies": "study"}


def facts_in(texts: Iterable[str]) -> dict[str, str]:
    """Extract what users stated about themselves, by attribute in lower case.

    A later statement replaces an earlier one.
    """
    facts: dict[str, str] = {}
    for text in texts:
        for form, attribute in script().statements:
            for match in form.finditer(text):
                value = match.group(match.lastindex or 1).strip(" \"'")
                if value and "?" not in value and not _ASKING.match(value):
                    facts[_normal(attribute or match.group(1))] = value
    return facts


def asked_for(text: str) -> list[str]:
    """Return the user attributes that a text asks for."""
    attributes = [
        _normal(attribute or match.group(1)) for form, attribute in script().questions for match in form.finditer(text)
    ]
    return list(dict.fromkeys(attributes))


def say_fact(attribute: str, value: str) -> str:
    """Express a fact as a sentence, such as "Your name is Anuja."."""
    sentence = script().answers.get(attribute, f"your {attribute} is {{}}").format(value)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def answer_from_facts(attributes: Iterable[str], facts: Mapping[str, str], remembered: str | None = None) -> str:
    """Answer a question about the user, one sentence for each attribute.

    Args:
        attributes: The requested attributes.
        facts: The facts that the conversation states.
        remembered: Lines from a memory, for attributes that the conversation does not state.
    """
    sentences: list[str] = []
    for attribute in attributes:
        value = facts.get(attribute) or facts.get(script().same.get(attribute, attribute))
        if value is not None:
            sentences.append(say_fact(attribute, value))
        elif remembered is not None:
            sentences += [remembered] if remembered not in sentences else []
        else:
            name = script().unknown.get(attribute, f"your {attribute}")
            sentences.append(f"You have not told me {name} in this conversation.")
    return " ".join(sentences)


def memory_call(prompt: str, tools: Sequence[Tool]) -> CandidateCall | None:
    """Plan a memory search, if a tool for it exists and the prompt asks about the user."""
    if not asked_for(prompt) and not (_QUESTION.search(prompt) and pattern("answers", "own").search(prompt)):
        return None
    for tool in tools:
        required = as_texts(as_list(tool.schema.get("required")))
        if is_memory_tool(tool.name) and len(required) == 1:
            return CandidateCall(tool=tool, arguments={required[0]: prompt})
    return None


def is_memory_tool(name: str) -> bool:
    """Return whether a tool with this name reads a memory."""
    name_parts = set(split_name(name))
    return bool(name_parts & _READS) and not name_parts & _WRITES


def remembered(request: ConverseRequest) -> list[str]:
    """Return the lines that a memory added to the conversation, newest first, without lines about the dialogue."""
    lines: list[str] = []
    names = {call.id: call.name for turn in request.turns for call in turn.calls}
    for turn in reversed(request.turns):
        lines += turn.remembered
        for outcome in turn.outcomes:
            if is_memory_tool(names.get(outcome.id, "")) and not outcome.failed:
                lines += (line for value in outcome.values if isinstance(value, str) for line in record_lines(value))
    return [line for line in dict.fromkeys(lines) if not _CONVERSATION.search(line)]


def fitting(question: str, lines: Iterable[str]) -> str | None:
    """Find the remembered line with most content words of a question, reworded to address the user."""
    question_stems = content_stems(question)
    best, most = None, 0
    for line in lines:
        shared = len(question_stems & {stem(word) for word in words(line)} - {"user"})
        if shared > most:
            best, most = line, shared
    return None if best is None else to_you(best)


def possibly_relevant(question: str, lines: Sequence[str]) -> str | None:
    """Return the first remembered lines, for a question that shares no word with any of them."""
    if not pattern("answers", "own").search(question) or not lines:
        return None
    return f"What I remember: {' '.join(to_you(line) for line in lines[:_MOST_SHOWN])}"


def to_you(line: str) -> str:
    """Rewrite "The user lives in Lisbon." as "You live in Lisbon."."""
    own = re.sub(r"\bthe user's\b", "your", line, flags=re.IGNORECASE)
    spoken = re.sub(r"\bthe user (\w+)", lambda verb: f"you {_second_person(verb[1])}", own, flags=re.IGNORECASE)
    sentence = spoken[:1].upper() + spoken[1:]
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."


def referred(prompt: str, answer: str) -> str:
    """Return `prompt` with references to the previous answer replaced by that answer.

    "multiply that by 3" after "2 + 2 = 4." becomes "multiply 4 by 3", "and times 5?" becomes "4 times 5?"; a prompt
    about "that text" gets the text in quotation marks.
    """
    if pattern("answers", "earlier_text").search(prompt) and '"' not in prompt and len(answer) > 40:
        return f'{prompt} "{answer.replace(chr(34), chr(39))}"'
    numbers = find_numbers(answer)
    if not numbers or find_sums(prompt):
        return prompt
    replaced = pattern("answers", "pronoun").sub(str(numbers[-1]), prompt, count=1)
    continued = f"{numbers[-1]} {pattern('answers', 'lead').sub('', prompt)}"
    return next((candidate for candidate in (replaced, continued) if find_sums(candidate)), prompt)


def _second_person(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith(("shes", "ches", "sses", "xes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb


def _normal(attribute: str) -> str:
    words = " ".join(attribute.lower().split())
    for spelling, usual in script().same.items():
        words = words.replace(spelling, usual) if spelling != "home" else words
    return words
