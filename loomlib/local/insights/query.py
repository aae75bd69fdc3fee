"""A query of CloudWatch Logs Insights, compiled and run.

Supported are fields, display, filter, parse, stats, sort, limit (or head) and dedup, in any order and number. Source:
CloudWatch Logs user guide, "Logs Insights QL query syntax".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..patterns import LONGEST_PATTERN
from .commands import LARGEST_LIMIT, Stage, read_command, sort_stage
from .expressions import Expression
from .malformed import MalformedQueryError
from .reading import TokenReader
from .rows import Row
from .values import result_text

_KEEP_COUNT = frozenset({"fields", "display", "parse"})


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The result of a query: rows of (field, value), and how much of the log it read."""

    rows: list[list[tuple[str, str]]]
    matched: int
    scanned: int
    scanned_bytes: int


class Query:
    """A compiled query.

    Raises:
        MalformedQueryError: The query cannot be run.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST_PATTERN:
            raise MalformedQueryError(
                f"the query is longer than {LONGEST_PATTERN:,} characters", LONGEST_PATTERN, len(text)
            )
        reader = TokenReader(text)
        stages: list[Stage] = []
        while True:
            if not stages and reader.peek().kind == "end":
                raise reader.malformed("the query is empty")
            stages.append(read_command(reader))
            if reader.peek().kind == "end":
                break
            reader.expect("|")
        self._stages = stages
        self._columns = _columns(stages)

    @property
    def required(self) -> tuple[str, ...]:
        """Texts that a message must contain to affect the result."""
        texts: list[str] = []
        for stage in self._stages:
            texts += stage.required
            if stage.defines or stage.kind in ("limit", "dedup"):
                break
        return tuple(texts)

    def run(self, rows: Iterable[Row], *, limit: int = LARGEST_LIMIT) -> QueryOutcome:
        """Run the query over rows. Without a sort command, the newest events come first.

        Args:
            rows: The rows of the log events.
            limit: The largest number of rows in the result.
        """
        counter = _Counter()
        flowing: Iterator[Row] = counter.scan(rows)
        for stage in self._planned(limit):
            if stage.kind in ("stats", "sort"):
                flowing = counter.match(flowing)
            flowing = stage.run(flowing)
        result: list[list[tuple[str, str]]] = []
        for row in flowing:
            if len(result) >= limit:
                break
            cells = [(name, value) for name in self._columns if (value := row.get(name)) is not None]
            if row.pointer is not None:
                cells.append(("@ptr", row.pointer))
            result.append([(name, result_text(value)) for name, value in cells])
        return QueryOutcome(result, counter.matched, counter.scanned, counter.scanned_bytes)

    def _planned(self, limit: int) -> list[Stage]:
        stages = list(self._stages)
        if not any(stage.kind in ("sort", "stats") for stage in stages):
            newest = Expression(lambda row: row.get("@timestamp"), "@timestamp", "@timestamp")
            place = next((at for at, planned in enumerate(stages) if planned.kind in ("limit", "dedup")), len(stages))
            stages.insert(place, sort_stage([(newest, True)], limit))
        for at, stage in enumerate(stages):
            if stage.kind == "sort":
                # No later stage reads more rows than these, so no more are stored.
                stages[at] = replace(sort_stage(stage.keys, _row_limit(stages[at + 1 :], limit)), keys=stage.keys)
        return stages


def _row_limit(following: list[Stage], limit: int) -> int:
    for stage in following:
        if stage.kind == "limit":
            return min(stage.count, limit)
        if stage.kind not in _KEEP_COUNT:
            return 10_000_000
    return limit


def _columns(stages: list[Stage]) -> list[str]:
    """Return the fields of a result: those of `display`, or all fields that the query names."""
    columns: list[str] = []
    names_fields = any(stage.kind in ("fields", "display", "stats") for stage in stages)
    if not names_fields:
        columns += ["@timestamp", "@message"]
    for stage in stages:
        columns = list(stage.only) if stage.only is not None else [*columns, *stage.shows]
    if any(stage.kind == "display" for stage in stages):
        last = max(at for at, stage in enumerate(stages) if stage.kind == "display")
        if not any(stage.kind == "stats" for stage in stages[last:]):
            columns = list(stages[last].only or ())
    return list(dict.fromkeys(columns))


class _Counter:
    """Counts the rows that are read, and those that reach the aggregating or sorting command."""

    def __init__(self) -> None:
        self.scanned = self.scanned_bytes = self.matched = 0
        self._matching = False

    def scan(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            self.scanned += 1
            self.scanned_bytes += len(row.get("@message") or "")
            yield row

    def match(self, rows: Iterator[Row]) -> Iterator[Row]:
        if self._matching:
            yield from rows
            return
        self._matching = True
        for row in rows:
            self.matched += 1
            yield row
