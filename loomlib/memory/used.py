"""Which records were retrieved into an answer's prompt: texts of records found again in what the model was given.

No span says which records a retrieval brought. What can be known is that a record's text stands in a tool's result or
in the prompt beside what the caller asked, and whether the trace has a call that reads records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ..aws.memory_shapes import MemoryRecord

READING_CALLS: Final = ("RetrieveMemoryRecords", "ListMemoryRecords", "GetMemoryRecord")
"""The calls that bring records into an agent."""
CONFIDENCES: Final = ("high", "medium", "low")
"""`high`: the text stands there and the trace has a call that reads records. `medium`: one of the two is missing or
the text is short. `low`: the text is short and no call is seen."""

_SHORT: Final = 16
_Span = tuple[int, int]
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptText:
    """A text that the model was given: where it stood (`tool result`, `system prompt`, `prompt`), and in which span."""

    where: str
    text: str = field(repr=False)
    span_id: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedRecord:
    """A record that stood in the prompt, with the evidence for it."""

    memory_id: str
    record: MemoryRecord
    where: str
    confidence: str
    because: str
    span_ids: tuple[str, ...] = ()
    call_span_ids: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """As a table has it."""
        return {
            "memory_id": self.memory_id,
            "record_id": self.record.record_id,
            "text": self.record.text,
            "where": self.where,
            "confidence": self.confidence,
            "because": self.because,
            "namespace": ", ".join(self.record.namespaces),
            "extractor": self.record.extractor,
            "span_ids": ", ".join(self.span_ids),
            "call_span_ids": ", ".join(self.call_span_ids),
        }


def find_used(
    memory_id: str,
    records: Iterable[MemoryRecord],
    given: Sequence[PromptText],
    *,
    asked: str = "",
    calls: Sequence[str] = (),
    answered_at: datetime | None = None,
) -> Iterator[UsedRecord]:
    """The records whose text stands in what the model was given, apart from what the caller `asked`.

    `calls` are the spans that read records. A record that was made after `answered_at` cannot have been there, and one
    whose text stands only within a longer record's was not brought by that.
    """
    hay = [_plain(each.text).replace(_plain(asked), " ") if asked.strip() else _plain(each.text) for each in given]
    possible = (each for each in records if answered_at is None or each.created_at <= answered_at)
    found = [(each, spans) for each in possible if any(spans := _spans(each, hay))]
    own = [_outermost(span for _, spans in found for span in spans[at]) for at in range(len(hay))]
    for record, spans in found:
        places = [each for at, each in enumerate(given) if own[at].intersection(spans[at])]
        if not places:
            continue
        short = len(_plain(record.text)) < _SHORT
        doubts = [
            *(["the text is short"] if short else []),
            *([] if calls else ["no span of a call that reads records"]),
        ]
        where = places[0].where + (f" of {places[0].tool}" if places[0].tool else "")
        changed = record.updated_at is not None and answered_at is not None and record.updated_at > answered_at
        yield UsedRecord(
            memory_id=memory_id,
            record=record,
            where=where,
            confidence=CONFIDENCES[len(doubts)],
            because="; ".join(
                [
                    f"its text stands in the {where}",
                    *([f"{len(calls)} call(s) read records"] if calls else []),
                    *doubts,
                    *(["it was changed after the answer"] if changed else []),
                ]
            ),
            span_ids=tuple(dict.fromkeys(each.span_id for each in places if each.span_id)),
            call_span_ids=tuple(calls),
        )


def _spans(record: MemoryRecord, hay: Sequence[str]) -> list[list[_Span]]:
    """Where a record's text stands in each of the texts, as whole words."""
    needles = {_plain(each) for each in _forms(record.text)} - {""}
    return [[span for needle in needles for span in _places(needle, text)] for text in hay]


def _places(needle: str, text: str) -> Iterator[_Span]:
    begin = text.find(needle)
    while begin >= 0:
        end = begin + len(needle)
        if not _one_word(text[begin - 1 : begin], needle[0]) and not _one_word(needle[-1], text[end : end + 1]):
            yield begin, end
        begin = text.find(needle, begin + 1)


def _one_word(left: str, right: str) -> bool:
    """Whether two neighbours belong to one word. Scripts without spaces between words, from U+2E80 on, have none."""
    return left.isalnum() and right.isalnum() and max(left, right) < "\u2e80"


def _outermost(spans: Iterable[_Span]) -> set[_Span]:
    """The spans that lie within no longer one."""
    kept, furthest = set[_Span](), -1
    for begin, end in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if end > furthest:
            kept.add((begin, end))
            furthest = end
    return kept


def texts_in(value: Any) -> str:
    """All texts within a tool's result, a line each; JSON within a text is opened."""
    return "\n".join(_texts(value, 8))


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        if depth and value.lstrip()[:1] in ("{", "["):
            try:
                inner: Any = json.loads(value)
            except ValueError:
                return
            yield from _texts(inner, depth - 1)
    elif isinstance(value, Mapping) and depth:
        for each in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(each, depth - 1)
    elif isinstance(value, Sequence) and depth:
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(each, depth - 1)


def _forms(text: str) -> Iterator[str]:
    """A text as it is and as JSON has it; of a preference's JSON what it says."""
    yield text
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    if text.startswith("{"):
        try:
            inner: Any = json.loads(text)
        except ValueError:
            return
        said = inner.get("preference") if isinstance(inner, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
        if isinstance(said, str):
            yield said


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text).strip().casefold()
