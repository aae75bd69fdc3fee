"""Recall and precision of redaction on a labelled corpus of 22 kinds, beside Presidio's on the same texts.

The corpus is generated (tests/labelled_texts.py). Presidio is not meant for keys and tokens, so personal data is also
compared alone.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from loomlib.redaction import Redactor
from tests.labelled_texts import KINDS, LabelledText, corpus

from .bench_evals import OTHERS
from .table import Row

_EACH, _HARMLESS, _SEED = 100, 2_000, 11
_SCRIPT = Path(__file__).parent / "others" / "presidio_corpus.py"
_PERSONAL = frozenset(
    {
        "email", "email in words", "phone", "card", "iban", "us social security number", "national id", "ipv4", "ipv6",
        "mac address", "date of birth",
    }
)  # fmt: skip


def rows() -> Iterator[Row]:
    """One row for all kinds, one for personal data."""
    texts = list(corpus(_SEED, each=_EACH, harmless=_HARMLESS))
    loom = _loom(texts)
    presidio = _presidio(texts)
    for subject, kinds in (("all kinds", frozenset(KINDS)), ("personal data", _PERSONAL)):
        recall, precision = _shares(loom, kinds)
        reference = ""
        if presidio is not None:
            other_recall, other_precision = _shares(presidio, kinds)
            reference = f"Presidio: recall {other_recall:.3f}, precision {other_precision:.3f}"
        yield Row(
            what=f"redaction of {subject} ({len(kinds)} kinds)",
            ours=f"recall {recall:.3f}, precision {precision:.3f}, {1e6 * loom['took_s'] / len(texts):.0f} µs a text",
            reference=reference or "not measured: make bench-others",
            aim="≥ 0.95 both",
            met=recall >= 0.95 and precision >= 0.95,
            n=_EACH * len(kinds),
        )


def _shares(measured: Mapping[str, object], kinds: frozenset[str]) -> tuple[float, float]:
    hits = sum(count for kind, count in measured["hits"].items() if kind in kinds)
    return hits / (_EACH * len(kinds)), hits / (hits + measured["mistakes"])


def _loom(texts: list[LabelledText]) -> dict[str, object]:
    redactor, hits, mistakes = Redactor(), dict.fromkeys(KINDS, 0), 0
    began = time.perf_counter()
    for labelled in texts:
        matches = redactor.redact(labelled.text).found
        for value in labelled.values:
            hits[value.kind] += any(match.start <= value.start and value.end <= match.end for match in matches)
        mistakes += sum(
            not any(match.start < value.end and value.start < match.end for value in labelled.values)
            for match in matches
        )
    return {"hits": hits, "mistakes": mistakes, "took_s": time.perf_counter() - began}


def _presidio(texts: list[LabelledText]) -> dict[str, object] | None:
    if not OTHERS.exists():
        return None
    lines = "\n".join(
        json.dumps({"text": text.text, "values": [(value.kind, value.start, value.end) for value in text.values]})
        for text in texts
    )
    process = subprocess.run([str(OTHERS), str(_SCRIPT)], input=lines, capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(process.stderr[-2000:])
    return json.loads(process.stdout.splitlines()[-1])
