"""Chunking strategies: how a document's text is cut into passages.

Tokens are estimated as elsewhere here (one for four characters). The defaults are AWS's: 300 tokens with an overlap of
20 %, cut between sentences (Bedrock user guide, "How content chunking works for knowledge bases").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from loomlib.embeddings import embed

from ..models.tokens import CHARACTERS_PER_TOKEN

_DEFAULT_TOKENS: Final = 300
_DEFAULT_OVERLAP: Final = 0.2
_SENTENCE: Final = re.compile(r"[^.!?\n]*(?:[.!?](?=\S)[^.!?\n]*)*(?:[.!?]+|\n+|$)\s*")


@dataclass(frozen=True, slots=True)
class DocumentChunk:
    """A passage of a document.

    Attributes:
        text: The text that is compared with questions.
        shown: The text in a response: the parent of a hierarchical chunk, otherwise the same text.
    """

    text: str
    shown: str


def chunks_of(text: str, configuration: Mapping[str, Any] | None) -> list[DocumentChunk]:
    """Cut a text into chunks.

    Args:
        text: A document's text.
        configuration: The data source's `chunkingConfiguration`; None for AWS's default.
    """
    strategy: str = (configuration or {}).get("chunkingStrategy", "")
    if not text.strip():
        return []
    if strategy == "NONE":
        return [DocumentChunk(text, text)]
    if strategy == "HIERARCHICAL":
        return list(_hierarchical(text, (configuration or {})["hierarchicalChunkingConfiguration"]))
    if strategy == "SEMANTIC":
        passages = _semantic(text, (configuration or {})["semanticChunkingConfiguration"])
    else:
        fixed: Mapping[str, Any] = (configuration or {}).get("fixedSizeChunkingConfiguration") or {}
        most = fixed.get("maxTokens", _DEFAULT_TOKENS)
        share = fixed["overlapPercentage"] / 100 if fixed else _DEFAULT_OVERLAP
        passages = _packed(_sentences(text, most), most, int(most * share))
    return [DocumentChunk(passage, passage) for passage in passages]


def _hierarchical(text: str, configuration: Mapping[str, Any]) -> Iterator[DocumentChunk]:
    upper, lower = (level["maxTokens"] for level in configuration["levelConfigurations"])
    overlap = configuration["overlapTokens"]
    for parent in _packed(_sentences(text, upper), upper, overlap):
        for child in _packed(_sentences(parent, lower), lower, min(overlap, lower // 2)):
            yield DocumentChunk(child, parent)


def _semantic(text: str, configuration: Mapping[str, Any]) -> list[str]:
    """Cut where the meaning changes most between neighbouring sentences."""
    most, buffer = configuration["maxTokens"], configuration["bufferSize"]
    sentences = _sentences(text, most)
    if len(sentences) < 2:
        return sentences
    windows = ["".join(sentences[max(0, at - buffer) : at + buffer + 1]) for at in range(len(sentences))]
    vectors = embed(windows)
    distances = 1 - (vectors[:-1] * vectors[1:]).sum(axis=1)
    import numpy as np

    breakpoint_at = float(np.percentile(distances, configuration["breakpointPercentileThreshold"]))
    groups, size = [[sentences[0]]], len(sentences[0])
    for sentence, distance in zip(sentences[1:], distances, strict=True):
        if distance > breakpoint_at or size + len(sentence) > most * CHARACTERS_PER_TOKEN:
            groups.append([])
            size = 0
        groups[-1].append(sentence)
        size += len(sentence)
    passages = ("".join(group).strip() for group in groups)
    return [passage for passage in passages if passage]


def _sentences(text: str, most: int) -> list[str]:
    """Return a text's sentences, longer ones cut to `most` tokens between words."""
    most_characters = most * CHARACTERS_PER_TOKEN
    pieces: list[str] = []
    for match in _SENTENCE.finditer(text):
        begin, end = match.span()
        while end - begin > most_characters:
            at = text.rfind(" ", begin + 1, begin + most_characters)
            at = at if at > 0 else begin + most_characters
            pieces.append(text[begin:at])
            begin = at
        if begin < end:
            pieces.append(text[begin:end])
    return pieces


def _packed(sentences: Sequence[str], most: int, overlap: int) -> list[str]:
    """Join sentences to passages of at most `most` tokens, each begun with the end of the one before."""
    most_characters, overlap_characters = most * CHARACTERS_PER_TOKEN, overlap * CHARACTERS_PER_TOKEN
    passages: list[str] = []
    current: list[str] = []
    size = 0
    for sentence in sentences:
        if current and size + len(sentence) > most_characters:
            passages.append("".join(current).strip())
            begin, size = len(current), 0
            while begin and size + len(current[begin - 1]) <= overlap_characters:
                begin -= 1
                size += len(current[begin])
            if size + len(sentence) > most_characters:
                begin, size = len(current), 0
            current = current[begin:]
        current.append(sentence)
        size += len(sentence)
    return [passage for passage in (*passages, "".join(current).strip()) if passage]
