"""Records of one namespace that say the same: word for word, or nearly."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ...aws.memory_shapes import MemoryRecord
from ...embeddings import MODEL_NAME, embed
from ..displays import safe_id
from .finding import Finding
from .scan import MemoryScan
from .statements import is_negated, plain_words, statement_text

ALIKE_FROM: Final = 0.88
"""The least cosine of two records that say the same in other words. "lives in Berlin" and "lives in Rome" lie at 0.32,
"owns a dog called Rex" and "has a dog named Rex" at 0.91; where words differ, `_SAME_WORDS_FROM` decides as well."""
_SAME_WORDS_FROM: Final = 0.4
_AT_ONCE: Final = 512
_MOST_NEAR: Final = 8  # a record is compared with the nearest alone where thousands are made of one form
_SPACE: Final = re.compile(r"\W+")


def find_duplicates(scan: MemoryScan) -> Iterator[Finding]:
    """One finding for each group; the newest is to be kept."""
    for namespace, records in scan.namespaces.items():
        place = safe_id(namespace)
        exact: defaultdict[str, list[MemoryRecord]] = defaultdict(list)
        for record in records:
            exact[_SPACE.sub(" ", record.text).strip().casefold()].append(record)
        for group in exact.values():
            if len(group) > 1:
                yield _finding(scan, group, f"{len(group)} records in {place} say the same, word for word", "told")
        single = [group[-1] for group in exact.values()]
        for group in _near(single):
            what = f"{len(group)} records in {place} say nearly the same"
            yield _finding(scan, group, what, f"inferred ({MODEL_NAME}, from {ALIKE_FROM:g} on)")


def _finding(scan: MemoryScan, group: Sequence[MemoryRecord], what: str, certainty: str) -> Finding:
    keep = group[-1].record_id
    return Finding(
        kind="duplicate",
        severity="warning",
        what=what,
        certainty=certainty,
        count=len(group),
        evidence=tuple(scan.of_record(each) for each in reversed(group)),
        fix=f"keep {keep}, the newest, and delete the other{'s' if len(group) > 2 else ''} "
        "(BatchDeleteMemoryRecords); each is retrieved, and paid for, beside the other",
    )


def _near(records: Sequence[MemoryRecord]) -> Iterator[list[MemoryRecord]]:
    """Groups of records that say the same in other words."""
    if len(records) < 2:
        return
    texts = [statement_text(each.text) for each in records]
    vectors, told = embed(texts), [(is_negated(each), plain_words(each)) for each in texts]
    group = list(range(len(records)))
    for start in range(0, len(records), _AT_ONCE):
        scores = np.triu(vectors[start : start + _AT_ONCE] @ vectors.T, k=start + 1)
        for row in np.flatnonzero((scores >= ALIKE_FROM).any(axis=1)).tolist():
            near = np.flatnonzero(scores[row] >= ALIKE_FROM)
            a = start + int(row)
            for column in near[np.argsort(-scores[row, near])[:_MOST_NEAR]].tolist():
                b = int(column)
                if _root(group, a) != _root(group, b) and _says_the_same(told[a], told[b]):
                    group[_root(group, b)] = _root(group, a)
    found: defaultdict[int, list[MemoryRecord]] = defaultdict(list)
    for place, record in enumerate(records):
        found[_root(group, place)].append(record)
    yield from (each for each in found.values() if len(each) > 1)


def _root(group: list[int], place: int) -> int:
    while group[place] != place:
        group[place] = group[group[place]]
        place = group[place]
    return place


def _says_the_same(a: tuple[bool, list[str]], b: tuple[bool, list[str]]) -> bool:
    """Whether what differs in two texts that are close is only how it is said: no number, no name, no "not"."""
    if a[0] != b[0]:
        return False
    first, second = a[1], b[1]
    only_a, only_b = [each for each in first if each not in second], [each for each in second if each not in first]
    if any(any(char.isdigit() for char in each) for each in (*only_a, *only_b)):
        return False
    if not only_a or not only_b:
        return True
    x, y = embed([" ".join(only_a), " ".join(only_b)])
    return float(x @ y) >= _SAME_WORDS_FROM
