"""What people say about themselves, and questions about it: "My name is Anuja." … "What's my name?"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_VALUE = r"([^.!?;\n]+?)(?=[.!?;\n]|,|\s+(?:and|but)\s+(?:I|my|what|who|where|tell|please)\b|$)"
_STATEMENTS: tuple[tuple[re.Pattern[str], str | None], ...] = (
    (
        re.compile(
            rf"\b(?:my|(?:the )?user's)\s+([a-z][a-z' -]{{1,40}}?)\s+(?:is|are|=)\s+(?:called\s+)?{_VALUE}",
            re.IGNORECASE,
        ),
        None,
    ),
    (re.compile(r"\b(?:call me|I am called|I'm called)\s+([A-Z][\w'-]*(?:\s[A-Z][\w'-]*)*)"), "name"),
    (re.compile(r"\b(?:I'm|I am)\s+([A-Z][\w'-]*(?:\s[A-Z][\w'-]*)*)(?=[.,!;\n]|\s+and\b|$)"), "name"),
    (re.compile(rf"\bI (?:live|am living|'m living) in\s+{_VALUE}", re.IGNORECASE), "home"),
    (re.compile(rf"\bI work (?:for|at)\s+{_VALUE}", re.IGNORECASE), "employer"),
    (re.compile(rf"\bI work as (?:an? )?{_VALUE}", re.IGNORECASE), "job"),
    (re.compile(r"\bI(?:'m| am)\s+(\d{1,3})(?:\s+years old)?\b"), "age"),
    (re.compile(rf"\bI (?:really )?(?:like|love|enjoy|prefer)\s+{_VALUE}", re.IGNORECASE), "likes"),
    (re.compile(rf"\bremember\s+(?:that\s+)?(?!my\b|I\b|me\b){_VALUE}", re.IGNORECASE), "note"),
)
_QUESTIONS: tuple[tuple[re.Pattern[str], str | None], ...] = (
    (re.compile(r"\bwho am i\b", re.IGNORECASE), "name"),
    (re.compile(r"\bwhere do i live\b", re.IGNORECASE), "home"),
    (re.compile(r"\bwhere do i work\b|\bwho do i work for\b", re.IGNORECASE), "employer"),
    (re.compile(r"\bhow old am i\b", re.IGNORECASE), "age"),
    (re.compile(r"\bwhat do i (?:like|love|enjoy|prefer)\b", re.IGNORECASE), "likes"),
    (re.compile(r"\bwhat did i (?:ask|tell) you to remember\b|\bwhat should you remember\b", re.IGNORECASE), "note"),
    (
        re.compile(
            r"\b(?:what(?:'s|’s| is| was| are)|(?:do you )?(?:know|remember)|tell me|recall)\s+my\s+"
            r"([a-z][a-z' -]{1,40}?)(?=[?.!,\n]|\s+(?:and|again|then|please)\b|$)",
            re.IGNORECASE,
        ),
        None,
    ),
)  # fmt: skip
_SAID = {"home": "you live in {}", "employer": "you work for {}", "job": "you work as {}", "likes": "you like {}",
         "age": "you are {}", "note": "{}"}  # fmt: skip
_ASKED = {
    "home": "where you live",
    "employer": "where you work",
    "likes": "what you like",
    "age": "how old you are",
    "note": "anything to remember",
}
_SAME = {"home": "city", "favorite": "favourite", "color": "colour"}


def facts_in(texts: Iterable[str]) -> dict[str, str]:
    """What was stated, by attribute in lower case; a later statement replaces an earlier one."""
    found: dict[str, str] = {}
    for text in texts:
        for pattern, attribute in _STATEMENTS:
            for match in pattern.finditer(text):
                key = attribute or match.group(1)
                value = match.group(match.lastindex or 1).strip(" \"'")
                if value and "?" not in value and not re.match(r"(?:what|who|where|when|how)\b", value, re.IGNORECASE):
                    found[_normal(key)] = value
    return found


def asked_for(text: str) -> list[str]:
    """The attributes a text asks to be told back."""
    found: list[str] = []
    for pattern, attribute in _QUESTIONS:
        found += [_normal(attribute or match.group(1)) for match in pattern.finditer(text)]
    return list(dict.fromkeys(found))


def say_fact(attribute: str, value: str) -> str:
    """ "Your name is Anuja." """
    sentence = _SAID.get(attribute, f"your {attribute} is {{}}").format(value)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def answer_from_facts(attributes: Iterable[str], facts: Mapping[str, str], remembered: str | None = None) -> str:
    """One sentence for each attribute: the fact, else what is `remembered` of earlier conversations, else neither."""
    sentences: list[str] = []
    for attribute in attributes:
        value = facts.get(attribute) or facts.get(_SAME.get(attribute, attribute))
        if value is not None:
            sentences.append(say_fact(attribute, value))
        elif remembered is not None:
            sentences += [remembered] if remembered not in sentences else []
        else:
            sentences.append(f"You have not told me {_ASKED.get(attribute, f'your {attribute}')} in this conversation.")
    return " ".join(sentences)


def _normal(attribute: str) -> str:
    words = " ".join(attribute.lower().split())
    for one, other in _SAME.items():
        words = words.replace(one, other) if one != "home" else words
    return words
