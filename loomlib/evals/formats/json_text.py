"""Strict JSON (no NaN, no duplicate keys) with the line of every value, for error messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from .problems import Path, Problems, display_value

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_CONSTANTS: Final = ("NaN", "Infinity", "-Infinity")

_FIXES: Final = {
    "Expecting property name": "put names in double quotes, and no comma before a closing brace",
    "Illegal trailing comma": "remove the comma before the closing bracket",
    "Expecting ',' delimiter": "put a comma, or close the bracket or the quotes, before this position",
    "Expecting ':' delimiter": "put a colon between the name and its value",
    "Expecting value": "put a value here: JSON has no comments, no None or True, no comma before a closing bracket",
    "Extra data": "keep one JSON document in a file, or one per line (.jsonl)",
    "Unterminated string": "close the quotes",
    "Invalid control character": r"write it as an escape (\n, \t, \u0000)",
    "Invalid \\": r"write a backslash as \\",
}


class _RefusedError(ValueError):
    """JSON that Python's parser accepts but an eval set does not allow."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RefusedError("a duplicate key")
    return members


def _no_constant(name: str) -> Any:
    raise _RefusedError(name)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)


def parse(text: str, problems: Problems, *, line: int = 1) -> Any:
    """Return the value of a JSON text; None after adding a problem.

    Args:
        text: The JSON text.
        problems: Collects the problems.
        line: The line at which the text begins.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        fix = next((m for start, m in _FIXES.items() if error.msg.startswith(start)), "fix the JSON here")
        problem = f"this is not valid JSON: {error.msg} (column {error.colno})"
        problems.add((), problem, fix, line=line - 1 + error.lineno)
    except RecursionError:
        problems.add((), "the JSON is nested too deeply", "keep it below 100 levels", line=line)
    except _RefusedError:
        _report_invalid_json(text, problems, line)
    except ValueError:  # an integer with more digits than the interpreter accepts
        problems.add((), "a number has too many digits", "put it in quotes", line=line)
    return None


def _report_invalid_json(text: str, problems: Problems, line: int) -> None:
    scan = scan_text(text)
    if not scan.twice and not scan.constants:
        problems.add((), "a key occurs twice, or a number is NaN or infinite", "use each key once, and null", line=line)
    for path, at in scan.twice:
        problems.add(path, "this key occurs twice in one object", "keep one of the two", line=line - 1 + at)
    for path, at, name in scan.constants:
        problems.add(path, f"{name} is not JSON", "use a number, or null", line=line - 1 + at)


@dataclass(slots=True)
class Scan:
    """Positions in a JSON text: the lines of the wanted paths, duplicate keys, NaN and infinities."""

    lines: dict[Path, int] = field(default_factory=dict[Path, int])
    twice: list[tuple[Path, int]] = field(default_factory=list[tuple[Path, int]])
    constants: list[tuple[Path, int, str]] = field(default_factory=list[tuple[Path, int, str]])


def lines_of(text: str, paths: Iterable[Path]) -> Mapping[Path, int]:
    """Return the line of each path in a valid JSON text, or of the nearest enclosing value.

    Args:
        text: The JSON text.
        paths: The paths.
    """
    requested_paths = list(paths)
    lines = scan_text(text, {path[:n] for path in requested_paths for n in range(len(path) + 1)}).lines
    return {
        path: next(lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in lines) for path in requested_paths
    }


def scan_text(text: str, requested_paths: frozenset[Path] | set[Path] = frozenset()) -> Scan:
    """Scan a JSON text without recursion, up to the first position where it is not valid.

    Only needed once something is wrong.

    Args:
        text: The JSON text.
        requested_paths: The paths whose lines are wanted.
    """
    scan = Scan()
    with suppress(IndexError, ValueError):
        _scan(text, requested_paths, scan)
    return scan


def _scan(text: str, requested_paths: frozenset[Path] | set[Path], scan: Scan) -> None:
    line, last = 1, 0
    path: list[str | int] = []
    keys: list[set[str] | None] = []  # one for each open bracket: the keys of an object, None for an array
    is_key = False
    for token in _TOKEN.finditer(text):
        line += text.count("\n", last, token.start())
        last, word = token.start(), token.group()
        if is_key and word != "}":
            key = json.loads(word)
            if not isinstance(key, str):
                return
            path[-1], is_key, object_keys = key, False, keys[-1]
            if object_keys is not None:
                if key in object_keys:
                    scan.twice.append((tuple(path), line))
                object_keys.add(key)
        elif word in "}]":
            keys.pop()
            path.pop()
            is_key = False
        elif word == ",":
            if keys[-1] is None:
                path[-1] = int(path[-1]) + 1
            is_key = keys[-1] is not None
        elif word != ":":
            current_path = tuple(path)
            if current_path in requested_paths:
                scan.lines.setdefault(current_path, line)
            if word in _CONSTANTS:
                scan.constants.append((current_path, line, word))
            elif word in "{[":
                keys.append(set() if word == "{" else None)
                path.append(0)
                is_key = word == "{"


def dump(value: Any, *, indent: int | None = None) -> str:
    """Return JSON text for a UTF-8 file: characters unescaped, except lone surrogates.

    Args:
        value: The value.
        indent: Indentation; None writes one line.
    """
    separators = None if indent else (",", ":")
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return _SURROGATES.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def cell(text: str) -> Any:
    """Parse the JSON in a table's cell; raise `ValueError` with the reason when it is invalid."""
    problems = Problems("cell")
    value = parse(text, problems)
    if problems.count:
        raise ValueError(f"{problems.items[0].what}: {display_value(text)}")
    return value
