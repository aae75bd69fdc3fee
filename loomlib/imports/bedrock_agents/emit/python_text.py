"""Python literals, wrapped as a formatter wraps them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

WIDTH: Final = 100
"""Longest line of generated code, in characters."""

_INDENT: Final = 4
_WORD: Final = re.compile(r"[^ \n]+[ \n]*|[ \n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """A call of a class in generated code.

    Attributes:
        name: The called class.
        arguments: The keyword arguments.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class PythonName:
    """A name in generated code."""

    name: str


def python_text(value: Any, *, indent: int = 0, before: int = 0, after: int = 0) -> str:
    """Return a value as Python source.

    Args:
        value: None, a boolean, number, text, sequence, mapping, `PythonCall` or `PythonName`.
        indent: The column at which its line begins.
        before: Number of characters before it on its first line, including the indentation.
        after: Number of characters after it on its last line.
    """
    flat = _flat(value)
    if before + _width(flat) + after <= WIDTH:
        return flat
    inner = indent + _INDENT
    pad, end = " " * inner, " " * indent
    match value:
        case str():
            return _long_text(value, indent)
        case PythonCall():
            lines = [_member(f"{name}=", member, inner) for name, member in value.arguments.items()]
            opening, closing = f"{value.name}(", ")"
        case Mapping():
            members = cast("Mapping[str, Any]", value)
            lines = [_member(f"{_text(name)}: ", member, inner) for name, member in members.items()]
            opening, closing = "{", "}"
        case list() | tuple():
            items = cast("Sequence[Any]", value)
            lines = [_member("", item, inner) for item in items]
            opening, closing = ("(", ")") if isinstance(value, tuple) else ("[", "]")
        case _:
            return flat
    if not lines:
        return flat
    return "\n".join([opening, *(f"{pad}{line}," for line in lines), f"{end}{closing}"])


def _member(name: str, value: Any, indent: int) -> str:
    return name + python_text(value, indent=indent, before=indent + len(name), after=1)


def _long_text(text: str, indent: int) -> str:
    """Return a text as string literals on separate lines, each of which ends after a space or a line break."""
    pad, end = " " * (indent + _INDENT), " " * indent
    room = WIDTH - indent - _INDENT - 2
    if _width(_text(text)) - 2 <= room:
        return _text(text)  # ruff joins parts that fit in a line
    parts: list[str] = []
    for line in text.splitlines(keepends=True) if "\n" in text else [text]:
        part = ""
        for word in _words(line, room):
            if part and _width(_text(part + word)) - 2 > room:
                parts.append(part)
                part = ""
            part += word
        parts.append(part)
    if len(parts) == 1:
        return _text(text)
    return "\n".join(["(", *(f"{pad}{_text(part)}" for part in parts), f"{end})"])


def _words(line: str, room: int) -> Iterator[str]:
    """Yield the words of a line with their trailing spaces, splitting words that are too long."""
    for word in _WORD.findall(line):
        piece = ""
        for character in word:
            if piece and _width(_text(piece + character)) - 2 > room:
                yield piece
                piece = ""
            piece += character
        yield piece


def _flat(value: Any) -> str:
    """Return a value on one line."""
    match value:
        case None | bool() | int() | float():
            return repr(value)
        case str():
            return _text(value)
        case PythonName():
            return value.name
        case PythonCall():
            parts = [f"{name}={_flat(member)}" for name, member in value.arguments.items()]
            return f"{value.name}({', '.join(parts)})"
        case Mapping():
            members = cast("Mapping[str, Any]", value)
            return "{" + ", ".join(f"{_text(name)}: {_flat(member)}" for name, member in members.items()) + "}"
        case list() | tuple():
            items = cast("Sequence[Any]", value)
            inner = ", ".join(map(_flat, items))
            if isinstance(value, tuple):
                return f"({inner},)" if len(items) == 1 else f"({inner})"
            return f"[{inner}]"
        case _:
            raise TypeError(f"a {type(value).__name__} cannot be represented in generated code")


def _text(text: str) -> str:
    """Return a text as a literal with the quotes that need fewer escapes."""
    if text.count('"') > text.count("'"):
        return "'" + _escaped(text, "'") + "'"
    return '"' + _escaped(text, '"') + '"'


def _escaped(text: str, quote: str) -> str:
    parts: list[str] = []
    for character in text:
        if character in (quote, "\\"):
            parts.append("\\" + character)
        elif character == "\n":
            parts.append("\\n")
        elif character == "\t":
            parts.append("\\t")
        elif character.isprintable():
            parts.append(character)
        else:
            parts.append(repr(character)[1:-1])
    return "".join(parts)


def _width(text: str) -> int:
    """Return the width of a text in columns."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(bool(unicodedata.combining(character)) for character in text)
