"""Output of the command line: progress lines that begin with `loom`, plain tables, or JSON with `--json`."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

import click

from ..presentation.formats import cell, seconds
from ..presentation.text import printable as printable
from ..reports.summary import json_ready

if TYPE_CHECKING:
    import pandas as pd


def say(text: str) -> None:
    """Print a progress line to standard error; standard output is for results."""
    click.echo(f"loom  {text}", err=True)


_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_CONNECT = re.compile(r'loom\.connect\("aws", region="([a-z0-9-]+)"\)\.register\(…\)')
_COMMANDS = {
    'bench.deploy("calculator")': "loom deploy calculator",
    "`loom up`, or loom.connect() in a cell": "loom up",
    "AWS_PROFILE, or loom.connect() for the local service": "AWS_PROFILE, or no --where for the local service",
    "AWS_PROFILE, or loom.connect()": "AWS_PROFILE, or no --where for the local service",
    'bench.register("arn:…")': "loom register arn:…",
    "inv.trace()": "loom trace AGENT",
}
"""Advice in Python, as errors of the library give it, and the command that does the same."""


def as_commands(advice: str) -> str:
    """Return an error's message with commands in place of Python, for whoever reads it in a terminal."""
    for python, command in _COMMANDS.items():
        advice = advice.replace(python, command)
    return _CONNECT.sub(r"loom --where aws --region \1 register …", advice)


def emit_json(value: object) -> None:
    """Print a result as JSON: NaN and infinities become null, and lone surrogates are escaped."""
    text = json.dumps(json_ready(value), default=_plain, ensure_ascii=False, indent=2)
    click.echo(_SURROGATES.sub(lambda match: f"\\u{ord(match.group()):04x}", text))


def emit_table(rows: Sequence[Mapping[str, Any]], *, empty: str) -> None:
    """Print rows as an aligned table.

    Args:
        rows: The rows; the first one's keys are the head.
        empty: Printed instead when there are no rows.
    """
    if not rows:
        click.echo(empty)
        return
    head = list(rows[0])
    cells = [[_text(row[name]) for name in head] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(head)]
    for line in (head, *cells):
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a DataFrame's rows as plain Python values; missing values are None."""
    columns: dict[str, list[Any]] = {str(name): frame[name].tolist() for name in frame.columns}
    return [{name: _python(values[i]) for name, values in columns.items()} for i in range(len(frame))]


def seconds_since(start: float) -> str:
    """Format the time since `start` (`time.perf_counter()`), such as `0.42 s`."""
    return seconds(time.perf_counter() - start)


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def _python(value: Any) -> Any:
    if hasattr(value, "tolist"):  # a NumPy array, such as a list of DuckDB, or a NumPy number
        value = value.tolist()
    if isinstance(value, list):
        return [_python(item) for item in cast("list[Any]", value)]
    # pd.NA, of columns of whole numbers and booleans, has no truth value; NaN and NaT differ from themselves.
    if value is None or type(value).__name__ == "NAType" or value != value:
        return None
    return value.to_pydatetime() if hasattr(value, "to_pydatetime") else value


def _text(value: object) -> str:
    return printable(cell(value)).replace("\n", " ")


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple | set | frozenset):
        return list(value)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    return str(value)
