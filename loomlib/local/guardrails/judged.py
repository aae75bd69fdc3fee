"""Policies that AWS evaluates with its own models: content filters, denied topics and contextual grounding.

Here they are *simulated*: content filters by phrases, topics and relevance by the similarity of text embeddings,
grounding by the words, names and numbers that the source supports.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from loomlib.embeddings import embed
from loomlib.embeddings.stemming import stem

from .findings import NONE, GuardrailFinding, Source, action_for

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LEVELS: Final = ("NONE", "LOW", "MEDIUM", "HIGH")
_TOPIC_SIMILARITY: Final = 0.29
"""Cosine similarity above which a text matches a topic: 6 of 8 questions matched, and 2 of 16 unrelated ones."""
_SAME_MEANING: Final = 0.7
_SAME_SUBJECT: Final = 0.5
_UNSUPPORTED_NUMBER: Final = 0.3
_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]+)*[.!?]*")
_WORD: Final = re.compile(r"\w+(?:[.,]\d+)*")
_COMMON: Final = frozenset(
    [
        "a",
        "about",
        "an",
        "and",
        "any",
        "are",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "may",
        "me",
        "might",
        "must",
        "my",
        "no",
        "not",
        "of",
        "on",
        "one",
        "or",
        "our",
        "shall",
        "she",
        "should",
        "so",
        "some",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "advice",
        "advise",
        "give",
        "given",
        "gives",
        "make",
        "other",
        "person",
        "please",
        "put",
        "recommend",
        "someone",
        "statement",
        "take",
    ]
)


def find_content(policy: Mapping[str, Any], text: str, source: Source) -> Iterator[GuardrailFinding]:
    """Yield the content filters with their confidence, including those without a match.

    Args:
        policy: The guardrail's `contentPolicyConfig`.
        text: The text.
        source: The side of the model that it is on.
    """
    for item in policy.get("filtersConfig") or ():
        strength: str = item[f"{source.lower()}Strength"]
        action = action_for(item, source)
        if action is None or strength == "NONE":
            continue
        confidence = _confidence(item["type"], text)
        # A filter of high strength acts on low confidence already, one of low strength only on high confidence.
        detected = confidence > 0 and confidence + _LEVELS.index(strength) > 3
        entry = {
            "type": item["type"],
            "confidence": _LEVELS[confidence],
            "filterStrength": strength,
            "action": action if detected else NONE,
            "detected": detected,
        }
        yield GuardrailFinding(policy="contentPolicy", entries="filters", entry=entry)


def find_topics(policy: Mapping[str, Any], text: str, source: Source) -> Iterator[GuardrailFinding]:
    """Yield the denied topics, including those that do not match.

    Args:
        policy: The guardrail's `topicPolicyConfig`.
        text: The text.
        source: The side of the model that it is on.
    """
    items = [(item, action) for item in policy.get("topicsConfig") or () if (action := action_for(item, source))]
    sentences = [_content(sentence) for sentence in _SENTENCE.findall(text)]
    rows = embed([sentence for sentence in sentences if sentence] or [""])
    for item, action in items:
        nearest = float((rows @ _topic(item["definition"], tuple(item.get("examples") or ())).T).max())
        detected = nearest >= _TOPIC_SIMILARITY
        entry = {
            "name": item["name"],
            "type": item["type"],
            "action": action if detected else NONE,
            "detected": detected,
        }
        yield GuardrailFinding(policy="topicPolicy", entries="topics", entry=entry)


def find_grounding(
    policy: Mapping[str, Any], text: str, *, sources: Sequence[str], query: str
) -> Iterator[GuardrailFinding]:
    """Yield the contextual grounding filters with the scores of an answer.

    Args:
        policy: The guardrail's `contextualGroundingPolicyConfig`.
        text: The answer.
        sources: The texts in which it should be grounded.
        query: The question that it should be relevant to.
    """
    for item in policy.get("filtersConfig") or ():
        if not item.get("enabled", True):
            continue
        score = round(_grounded(text, sources) if item["type"] == "GROUNDING" else _relevant(text, query), 2)
        detected = score < item["threshold"]
        action = "BLOCKED" if detected and item.get("action", "BLOCK") == "BLOCK" else NONE
        scores = {"type": item["type"], "threshold": item["threshold"], "score": score}
        entry = {**scores, "action": action, "detected": detected}
        yield GuardrailFinding(policy="contextualGroundingPolicy", entries="filters", entry=entry)


def _confidence(kind: str, text: str) -> int:
    """Return the highest level whose phrases occur: 0 for none, 3 for high."""
    patterns = _phrases()[kind]
    return next((_LEVELS.index(level) for level in _LEVELS[:0:-1] if patterns[level].search(text)), 0)


@cache
def _phrases() -> Mapping[str, Mapping[str, re.Pattern[str]]]:
    content = tomllib.loads((Path(__file__).parent / "content.toml").read_text("utf-8"))
    return {
        kind: {
            level: re.compile(
                "|".join(rf"\b(?:{phrase})\b" for phrase in levels.get(level.lower(), ())) or r"(?!)", re.I
            )
            for level in _LEVELS[1:]
        }
        for kind, levels in content.items()
    }


@cache
def _topic(definition: str, examples: tuple[str, ...]) -> NDArray[np.float32]:
    return embed([_content(text) for text in (definition, *examples)])


def _content(text: str) -> str:
    """Return the words of a text that carry its meaning."""
    words = [word for word in _WORD.findall(text.lower()) if word not in _COMMON]
    return " ".join(words)


def _stems(text: str) -> set[str]:
    return {stem(word) for word in _content(text).split()}


def _grounded(text: str, sources: Sequence[str]) -> float:
    """Return the support of an answer's sentences, weighted by their words: 1 for an answer that the sources state."""
    passages = [sentence for source in sources for sentence in _SENTENCE.findall(source) if _stems(sentence)]
    claims = [sentence for sentence in _SENTENCE.findall(text) if _stems(sentence)]
    if not passages or not claims:
        return 0.0 if claims else 1.0
    passage_stems = [_stems(passage) for passage in passages]
    source_stems = set[str]().union(*passage_stems)
    near = embed([_content(claim) for claim in claims]) @ embed([_content(passage) for passage in passages]).T
    total, supported = 0, 0.0
    for row, claim in zip(near, claims, strict=True):
        stems = _stems(claim)
        shared = max(len(stems & passage) for passage in passage_stems) / len(stems)
        score = max(shared, min(1.0, float(row.max()) / _SAME_MEANING))
        if any(word[0].isdigit() and word not in source_stems for word in stems):
            score *= _UNSUPPORTED_NUMBER
        total += len(stems)
        supported += score * len(stems)
    return supported / total


def _relevant(text: str, query: str) -> float:
    query_stems = _stems(query)
    if not query_stems:
        return 1.0
    shared = len(query_stems & _stems(text)) / len(query_stems)
    rows = embed([_content(text), _content(query)])
    return max(0.0, shared, min(1.0, float(rows[0] @ rows[1]) / _SAME_SUBJECT))
