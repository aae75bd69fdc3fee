"""The values in clauses: where they end, what they are called once, when two of them are the same."""

from __future__ import annotations

import re
from typing import Final

_TRAILING: Final = re.compile(
    r"(?:[,\s]+(?:now|nowadays|these days|at the moment|"
    r"currently|right now|anymore|any more|any longer|too|as well|"
    r"by the way|btw|though|actually|instead|again|lately|"
    r"recently|already|anyway|please|thanks|thank you|you know|"
    r"to be honest|honestly|so much|a lot|very much|the most|"
    r"best|yesterday|today|this (?:week|month|year|morning)|"
    r"last (?:week|month|year|night|spring|summer|autumn|fall|"
    r"winter)|(?:a few|\w+) (?:days|weeks|months|years) ago|"
    r"(?:since|in) (?:19|20)\d\d|for (?:\w+ )?(?:\w+ )?(?:days|weeks|months|years)(?: now)?))+$",
    re.IGNORECASE,
)
_CUT: Final = re.compile(
    r"\s+(?:because|since|which|where|when|whenever|so that|"
    r"so|but|although|though|unless|until|if|as it|as they|"
    r"due to|even though|rather than|if possible|with (?:my|our))\b.*$|\s*[;(].*$|"
    r",\s+(?:which|where|so|not|since|because|but|as|and i|"
    r"if|even|in case|could|can|what|do|please|thanks)\b.*$",
    re.IGNORECASE,
)
_LEADING: Final = re.compile(r"^(?:now|currently|actually|still|just|indeed|basically)\s+", re.IGNORECASE)
_ARTICLE: Final = re.compile(
    r"^(?:a|an|the|some|any|all|both|quite|really|very|my|our|lots of|a lot of)\s+", re.IGNORECASE
)
_AND: Final = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|&|nor|as well as)\s+", re.IGNORECASE)
_LONGEST: Final = 120
_IRREGULAR: Final = {"children": "child", "kids": "kid", "wives": "wife", "people": "person", "cookies": "cookie"}
_SAME: Final = {
    "nyc": "new york",
    "new york city": "new york",
    "the big apple": "new york",
    "sf": "san francisco",
    "la": "los angeles",
    "uk": "united kingdom",
    "the uk": "united kingdom",
    "usa": "united states",
    "us": "united states",
    "the us": "united states",
    "the usa": "united states",
    "prawn": "shrimp",
    "aeroplane": "airplane",
    "favourite": "favorite",
    "colour": "color",
    "veggie": "vegetarian",
}


def trimmed(text: str) -> str:
    """`text` without what follows a value: reasons, times, fillers."""
    text, before = _CUT.sub("", _LEADING.sub("", text.strip(" .!,;:'\""))), ""
    while text != before:
        before, text = text, _TRAILING.sub("", text).strip(" .!,;:'\"")
    return text[:_LONGEST].strip()


def items(text: str) -> list[str]:
    """The things that a list names: "nuts, eggs and milk" are three."""
    return [part for each in _AND.split(text) if (part := _ARTICLE.sub("", each.strip()).strip(" .!,;:'\""))]


def normal(text: str) -> str:
    """One spelling for what is the same: lower case, no articles, singular, usual synonyms.

    >>> normal("The Peanuts") == normal("peanut")
    True
    """
    plain = re.sub(r"[^\w\s@.+#/%-]", "", _ARTICLE.sub("", " ".join(text.lower().split()))).strip(" .")
    plain = _SAME.get(plain, plain)
    words = [_SAME.get(word, word) for word in map(_singular, plain.split())]
    return _SAME.get(" ".join(words), " ".join(words))


def head(text: str) -> str:
    """The word that says what kind of thing it is: "window seats" are seats, "tea with milk" is tea."""
    words = re.split(r"\s+(?:in|on|at|with|without|for|from|of|over|to|by|near|that|during)\s+", normal(text))[
        0
    ].split()
    return words[-1] if words else ""


def _singular(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "toes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
