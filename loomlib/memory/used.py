"""Memory records in the prompt of an answer, inferred from the texts in its trace.

No span names the records that a retrieval returned. What a trace shows is whether a record's text is in a tool result
or in the prompt (apart from the caller's own words), and whether the agent called an operation that reads records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ..aws.memory_shapes import MemoryRecord
from ..json_values import as_text, parse_embedded, parse_object
from ..presentation.formats import plural

READING_CALLS: Final = ("RetrieveMemoryRecords", "ListMemoryRecords", "GetMemoryRecord")
"""The operations that return records."""
CONFIDENCES: Final = ("high", "medium", "low")
"""`high`: the text is in the prompt, is not short, and the trace has a call that reads records. `medium`: the text is
short or there is no such call. `low`: both."""

_SHORT: Final = 16
_Range = tuple[int, int]
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptText:
    """A part of the prompt.

    Attributes:
        where: `tool result`, `system prompt` or `prompt`.
        text: The text.
        span_id: The span that has it.
        tool: The tool of a result.
    """

    where: str
    text: str = field(repr=False)
    span_id: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedRecord:
    """A record whose text was in the prompt, with the evidence.

    Attributes:
        memory_id: The record's memory.
        record: The record.
        where: Where the text was first found.
        confidence: One of `CONFIDENCES`.
        because: The evidence, in a sentence.
        span_ids: Spans with the text.
        call_span_ids: Spans of calls that read records.
    """

    memory_id: str
    record: MemoryRecord
    where: str
    confidence: str
    because: str
    span_ids: tuple[str, ...] = ()
    call_span_ids: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """Return the record as a table row."""
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
    prompt_texts: Sequence[PromptText],
    *,
    caller_text: str = "",
    calls: Sequence[str] = (),
    answered_at: datetime | None = None,
) -> Iterator[UsedRecord]:
    """Find the records whose text is in the prompt, apart from the caller's own text.

    A record whose text only occurs inside that of a longer record is left out.

    Args:
        memory_id: The records' memory.
        records: The records to look for.
        prompt_texts: The parts of the prompt.
        caller_text: What the caller asked.
        calls: Ids of the spans that read records.
        answered_at: Records created later are left out.
    """
    caller = _plain(caller_text)
    texts = [_plain(part.text) for part in prompt_texts]
    asked = [list(_occurrences(caller, text)) if caller else [] for text in texts]
    possible = (record for record in records if answered_at is None or record.created_at <= answered_at)
    matches = [(record, ranges) for record in possible if any(ranges := _ranges(record, texts, asked))]
    own = [_outermost(span for _, ranges in matches for span in ranges[index]) for index in range(len(texts))]
    for record, ranges in matches:
        parts = [part for index, part in enumerate(prompt_texts) if own[index].intersection(ranges[index])]
        if not parts:
            continue
        is_short = len(_plain(record.text)) < _SHORT
        weaknesses = [
            *(["the text is short"] if is_short else []),
            *([] if calls else ["the trace has no call that reads records"]),
        ]
        where = parts[0].where + (f" of {parts[0].tool}" if parts[0].tool else "")
        changed = record.updated_at is not None and answered_at is not None and record.updated_at > answered_at
        yield UsedRecord(
            memory_id=memory_id,
            record=record,
            where=where,
            confidence=CONFIDENCES[len(weaknesses)],
            because="; ".join(
                [
                    f"its text is in the {where}",
                    *([f"{plural(len(calls), 'call')} read records"] if calls else []),
                    *weaknesses,
                    *(["it was changed after the answer"] if changed else []),
                ]
            ),
            span_ids=tuple(dict.fromkeys(part.span_id for part in parts if part.span_id)),
            call_span_ids=tuple(calls),
        )


def _ranges(record: MemoryRecord, texts: Sequence[str], asked: Sequence[Sequence[_Range]]) -> list[list[_Range]]:
    """Return where a record's text occurs in each of the texts, as whole words and not within the caller's own text.

    Args:
        record: The record.
        texts: The texts of the prompt.
        asked: Where the caller's own text occurs in each of them.
    """
    forms = {_plain(form) for form in _forms(record.text)} - {""}
    return [
        [
            (begin, end)
            for form in forms
            for begin, end in _occurrences(form, text)
            if not any(first <= begin and end <= last for first, last in own)
        ]
        for text, own in zip(texts, asked, strict=True)
    ]


def _occurrences(form: str, text: str) -> Iterator[_Range]:
    begin = text.find(form)
    while begin >= 0:
        end = begin + len(form)
        if not _is_one_word(text[begin - 1 : begin], form[0]) and not _is_one_word(form[-1], text[end : end + 1]):
            yield begin, end
        begin = text.find(form, begin + 1)


def _is_one_word(left: str, right: str) -> bool:
    """Return whether adjacent characters belong to one word; scripts from U+2E80 on have no spaces between words."""
    return left.isalnum() and right.isalnum() and max(left, right) < "\u2e80"


def _outermost(ranges: Iterable[_Range]) -> set[_Range]:
    """Return the ranges that are not within a longer one."""
    outermost, furthest = set[_Range](), -1
    for begin, end in sorted(set(ranges), key=lambda span: (span[0], -span[1])):
        if end > furthest:
            outermost.add((begin, end))
            furthest = end
    return outermost


def texts_in(value: Any) -> str:
    """Return all texts within a tool's result, one per line; JSON within a text is parsed."""
    return "\n".join(_texts(value, 8))


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        inner = parse_embedded(value) if depth else value
        if inner is not value:
            yield from _texts(inner, depth - 1)
    elif isinstance(value, Mapping) and depth:
        for item in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(item, depth - 1)
    elif isinstance(value, Sequence) and depth:
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(item, depth - 1)


def _forms(text: str) -> Iterator[str]:
    """Yield a text as it is, as JSON escapes it, and, of a preference's JSON, the preference."""
    yield text
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    if text.startswith("{") and (preference := as_text(parse_object(text).get("preference"))):
        yield preference


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text).strip().casefold()
