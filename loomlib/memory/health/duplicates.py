"""Finds records of one namespace with the same words or the same meaning."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ...aws.memory_shapes import MemoryRecord
from ...embeddings import MODEL_NAME, embed
from ...presentation.formats import exact, plural
from ..displays import safe_id
from .finding import Finding
from .scan import MemoryScan
from .statements import is_negated, plain_words, statement_text

ALIKE_FROM: Final = 0.88
"""Minimum cosine similarity of two records with the same meaning.

"lives in Berlin" and "lives in Rome" are at 0.32, "owns a dog called Rex" and "has a dog named Rex" at 0.91. The words
that differ must reach `_SAME_WORDS_FROM` as well.
"""
_SAME_WORDS_FROM: Final = 0.4
_BATCH: Final = 512
_MOST_NEIGHBORS: Final = 8  # bounds the comparisons when thousands of records follow one pattern
_SPACE: Final = re.compile(r"\s+")
_AROUND: Final = " .,;:!?\"'"  # characters that are ignored at both ends of a text


def find_duplicates(scan: MemoryScan) -> Iterator[Finding]:
    """Yield one finding per group of duplicates; the advice is to keep the newest record."""
    for namespace, records in scan.namespaces.items():
        place = safe_id(namespace)
        same: defaultdict[str, list[MemoryRecord]] = defaultdict(list)
        for record in records:
            same[_SPACE.sub(" ", record.text).strip(_AROUND).casefold() or record.text].append(record)
        for group in same.values():
            if len(group) > 1:
                yield _finding(scan, group, f"{plural(len(group), 'record')} in {place} have the same text", "stated")
        single = [group[-1] for group in same.values()]
        for group in _similar_groups(single):
            description = f"{plural(len(group), 'record')} in {place} have nearly the same meaning"
            yield _finding(scan, group, description, f"inferred ({MODEL_NAME}, cosine from {exact(ALIKE_FROM)})")


def _finding(scan: MemoryScan, group: Sequence[MemoryRecord], description: str, certainty: str) -> Finding:
    keep = group[-1].record_id
    return Finding(
        kind="duplicate",
        severity="warning",
        what=description,
        certainty=certainty,
        count=len(group),
        evidence=tuple(scan.record_evidence(record) for record in reversed(group)),
        fix=f"keep {keep}, the newest, and delete the other{'s' if len(group) > 2 else ''} "
        "(BatchDeleteMemoryRecords); retrieval returns all of them, and each is billed",
    )


def _similar_groups(records: Sequence[MemoryRecord]) -> Iterator[list[MemoryRecord]]:
    """Yield groups of records with the same meaning."""
    if len(records) < 2:
        return
    texts = [statement_text(record.text) for record in records]
    vectors, meanings = embed(texts), [(is_negated(text), plain_words(text)) for text in texts]
    group = list(range(len(records)))
    for start in range(0, len(records), _BATCH):
        scores = np.triu(vectors[start : start + _BATCH] @ vectors.T, k=start + 1)
        for row in np.flatnonzero((scores >= ALIKE_FROM).any(axis=1)).tolist():
            near = np.flatnonzero(scores[row] >= ALIKE_FROM)
            a = start + int(row)
            for column in near[np.argsort(-scores[row, near])[:_MOST_NEIGHBORS]].tolist():
                b = int(column)
                if _root(group, a) != _root(group, b) and _differ_only_in_wording(meanings[a], meanings[b]):
                    group[_root(group, b)] = _root(group, a)
    groups: defaultdict[int, list[MemoryRecord]] = defaultdict(list)
    for index, record in enumerate(records):
        groups[_root(group, index)].append(record)
    yield from (members for members in groups.values() if len(members) > 1)


def _root(group: list[int], index: int) -> int:
    while group[index] != index:
        group[index] = group[group[index]]
        index = group[index]
    return index


def _differ_only_in_wording(a: tuple[bool, list[str]], b: tuple[bool, list[str]]) -> bool:
    """Return whether two similar texts differ only in wording, and not in a number, a name or a negation."""
    if a[0] != b[0]:
        return False
    first, second = a[1], b[1]
    only_a, only_b = [word for word in first if word not in second], [word for word in second if word not in first]
    if any(any(char.isdigit() for char in word) for word in (*only_a, *only_b)):
        return False
    if not only_a or not only_b:
        return True
    x, y = embed([" ".join(only_a), " ".join(only_b)])
    return float(x @ y) >= _SAME_WORDS_FROM
