"""The commands of a query: each is a stage that transforms rows."""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..patterns import Pattern, PatternError
from .expressions import Expression, compile_regex, names_of, read_expression
from .reading import TokenReader
from .rows import Row
from .statistics import Statistic, read_statistic
from .tokens import QueryToken
from .values import result_text, sort_key

Rows = Iterable[Row]
CommandRun = Callable[[Rows], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class Stage:
    """A command: `shows` are the columns that it adds, `only` those that replace all others.

    `required` are texts contained in every message that passes a filter. `defines` is true if fields of the message may
    have another meaning in later commands.
    """

    kind: str
    run: CommandRun
    shows: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    required: tuple[str, ...] = ()
    defines: bool = False
    count: int = 0
    keys: tuple[tuple[Expression, bool], ...] = ()


def read_command(reader: TokenReader) -> Stage:
    """Read the command at the reader's position.

    Raises:
        MalformedQueryError: The command is not supported, or its arguments cannot be read.
    """
    token = reader.next()
    read = _COMMANDS.get(token.value.lower()) if token.kind == "name" else None
    if read is None:
        problem = f"the command {token.value!r} is not supported here" if token.value else "a command is missing"
        raise reader.malformed(f"{problem}; there are {', '.join(sorted(_COMMANDS))}", token)
    return read(reader)


def sort_stage(keys: Sequence[tuple[Expression, bool]], keep: int) -> Stage:
    """Build the stage that keeps the first rows in an order; rows without a value come last either way.

    Args:
        keys: The expressions to sort by; True means descending.
        keep: The largest number of rows.
    """

    def value(row: Row, key: Expression) -> Any:
        # After stats a column is named as it was written, such as bin(1h).
        return row.values[key.text] if key.text in row.values else key.evaluate(row)

    def order(row: Row) -> tuple[Any, ...]:
        parts: list[Any] = []
        for key, descends in keys:
            cell = value(row, key)
            parts.append(cell is None)
            parts.append(() if cell is None else _Descending(sort_key(cell)) if descends else sort_key(cell))
        return tuple(parts)

    return Stage("sort", lambda rows: iter(heapq.nsmallest(keep, rows, key=order)), keys=tuple(keys))


class _Descending:
    __slots__ = ("_key",)

    def __init__(self, key: Any) -> None:
        self._key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and self._key == other._key

    def __lt__(self, other: _Descending) -> bool:
        return other._key < self._key


def _fields(reader: TokenReader) -> Stage:
    fields = _named_expressions(reader)
    computed = [(name, expression.evaluate) for name, expression in fields if name != expression.name]

    def run(rows: Rows) -> Iterator[Row]:
        for row in rows:
            for name, evaluate in computed:
                value = evaluate(row)
                if value is not None:
                    row.values[name] = value
            yield row

    return Stage("fields", run, shows=tuple(name for name, _ in fields), defines=bool(computed))


def _display(reader: TokenReader) -> Stage:
    stage = _fields(reader)
    return Stage("display", stage.run, only=stage.shows, defines=stage.defines)


def _filter(reader: TokenReader) -> Stage:
    condition = read_expression(reader)
    test = condition.evaluate
    return Stage("filter", lambda rows: (row for row in rows if test(row)), required=condition.required)


def _parse(reader: TokenReader) -> Stage:
    source = "@message"
    if reader.peek().kind in ("name", "quoted"):
        source = reader.next().value
    token = reader.next()
    names: list[str] = []
    if token.kind == "regex":
        pattern = compile_regex(reader, token.value)
        names = pattern.group_names
        if not names:
            raise reader.malformed("the pattern names no group, as in /(?<duration>[0-9.]+)/", token)
    elif token.kind == "text":
        pattern = _glob(reader, token)
        if reader.take("as"):
            names.append(reader.name("a name"))
            while reader.take(","):
                names.append(reader.name("a name"))
        if len(names) != pattern.group_count:
            raise reader.malformed(f"{pattern.group_count} asterisks need as many names, not {len(names)}", token)
    else:
        raise reader.malformed('parse takes a "text with *" or a /pattern/', token)

    def fields_in(text: str) -> dict[str, str | None]:
        if token.kind == "regex":
            return pattern.named_groups(text)
        return dict(zip(names, pattern.groups(text) or [None] * len(names), strict=True))

    def run(rows: Rows) -> Iterator[Row]:
        for row in rows:
            if (value := row.get(source)) is not None:
                row.values.update(
                    (name, text) for name, text in fields_in(result_text(value)).items() if text is not None
                )
            yield row

    return Stage("parse", run, shows=tuple(names), defines=True)


def _glob(reader: TokenReader, token: QueryToken) -> Pattern:
    parts = [re.escape(part) for part in token.value.split("*")]
    # Each asterisk matches as little as it can; one at the end matches the rest.
    body = "(.*?)".join(parts[:-1]) + ("(.*)" if not parts[-1] else "(.*?)" + parts[-1]) if len(parts) > 1 else parts[0]
    try:
        return Pattern(body, dot_all=True)
    except PatternError as error:
        raise reader.malformed(f"the text cannot be searched for: {error}", token) from error


def _stats(reader: TokenReader) -> Stage:
    columns: list[Statistic] = [read_statistic(reader)]
    while reader.take(","):
        columns.append(read_statistic(reader))
    groups = _named_expressions(reader) if reader.take("by") else []

    def run(rows: Rows) -> Iterator[Row]:
        gathered: dict[tuple[str | None, ...], tuple[dict[str, Any], list[Any]]] = {}
        for row in rows:
            values = {name: expression.evaluate(row) for name, expression in groups}
            key = tuple(None if value is None else result_text(value) for value in values.values())
            if key not in gathered:
                present = {name: value for name, value in values.items() if value is not None}
                gathered[key] = (present, [column.begin() for column in columns])
            for gathering in gathered[key][1]:
                gathering.add(row)
        if not gathered and not groups:
            gathered[()] = ({}, [column.begin() for column in columns])
        for values, gatherings in gathered.values():
            results = zip(columns, (gathering.result() for gathering in gatherings), strict=True)
            yield Row(values=values | {column.name: result for column, result in results if result is not None})

    shown_columns = (*(name for name, _ in groups), *(column.name for column in columns))
    return Stage("stats", run, only=shown_columns, defines=True)


def _sort(reader: TokenReader) -> Stage:
    keys: list[tuple[Expression, bool]] = []
    while True:
        key = read_expression(reader)
        keys.append((key, reader.take("asc", "desc") == "desc"))
        if not reader.take(","):
            break
    return sort_stage(keys, _ALL)


def _limit(reader: TokenReader) -> Stage:
    token = reader.next()
    if token.kind != "number" or not token.value.isdecimal() or not 1 <= int(token.value) <= LARGEST_LIMIT:
        raise reader.malformed(f"limit takes a number between 1 and {LARGEST_LIMIT:,}", token)
    count = int(token.value)
    return Stage("limit", lambda rows: itertools.islice(rows, count), count=count)


def _dedup(reader: TokenReader) -> Stage:
    keys = [expression for _, expression in _named_expressions(reader)]

    def run(rows: Rows) -> Iterator[Row]:
        seen_keys: set[tuple[str, ...]] = set()
        for row in rows:
            values = [key.evaluate(row) for key in keys]
            # CloudWatch does not remove events that lack one of the fields.
            mark = tuple(result_text(value) for value in values)
            if None in values or mark not in seen_keys:
                seen_keys.add(mark)
                yield row

    return Stage("dedup", run)


def _named_expressions(reader: TokenReader) -> list[tuple[str, Expression]]:
    fields: list[tuple[str, Expression]] = []
    while True:
        expression = read_expression(reader)
        (name,) = names_of([expression])
        if reader.take("as"):
            name = reader.name("a name")
        fields.append((name, expression))
        if not reader.take(","):
            return fields


LARGEST_LIMIT = 10_000
"""GetQueryResults gives at most 10,000 rows."""

_ALL = 10_000_000
_COMMANDS: dict[str, Callable[[TokenReader], Stage]] = {
    "fields": _fields,
    "display": _display,
    "filter": _filter,
    "parse": _parse,
    "stats": _stats,
    "sort": _sort,
    "limit": _limit,
    "head": _limit,
    "dedup": _dedup,
}
