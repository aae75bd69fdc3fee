"""Words: taking a text or an identifier apart, rough stems, and the words that say nothing about a topic."""

from __future__ import annotations

import re
from functools import lru_cache

STOPWORDS = frozenset(
    [
        "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
        "for", "from", "get", "give", "had", "has", "have", "he", "her", "him", "his", "how", "i", "if", "in",
        "into", "is", "it", "its", "just", "let", "like", "me", "more", "my", "need", "no", "not", "of", "on",
        "or", "our", "out", "please", "she", "should", "show", "so", "some", "tell", "than", "that", "the",
        "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "up", "us", "use",
        "using", "want", "was", "we", "were", "what", "what's", "when", "where", "which", "who", "whom",
        "whose", "why", "will", "with", "would", "you", "your", "yours", "also", "about", "any", "all",
        "know", "now", "hello", "hi", "hey", "thanks", "thank", "ok", "okay", "yes",
    ]
)  # fmt: skip

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ENDINGS = (
    ("ations", ""),
    ("ation", ""),
    ("ators", ""),
    ("ator", ""),
    ("ersions", "ert"),
    ("ersion", "ert"),
    ("ingly", ""),
    ("ings", ""),
    ("ing", ""),
    ("ies", "y"),
    ("ures", "ur"),
    ("ers", ""),
    ("ated", ""),
    ("ates", ""),
    ("ate", ""),
    ("ed", ""),
    ("er", ""),
    ("es", ""),
    ("s", ""),
    ("e", ""),
)


def words(text: str) -> list[str]:
    """The words of `text` in lower case."""
    return [match.group().lower().replace("’", "'") for match in _WORD.finditer(text)]


@lru_cache(maxsize=10_000)
def stem(word: str) -> str:
    """A rough stem, the same for "converts", "converting" and "conversion"-like pairs."""
    base = word.lower().removesuffix("'s")
    for ending, instead in _ENDINGS:
        if base.endswith(ending) and len(base) - len(ending) >= 3:
            return base[: len(base) - len(ending)] + instead
    return base


def split_name(name: str) -> list[str]:
    """The words in an identifier: `get_weatherNow` is get, weather, now."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", re.sub(r"[^A-Za-z0-9]+", " ", name)).lower().split()
