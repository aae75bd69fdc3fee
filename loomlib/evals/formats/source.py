"""The source of an eval set: a file or a text, read as lines or as a whole, in common encodings."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Final

from .problems import Problems, display_value

_SUFFIXES: Final = (".evalset.json", ".test.json", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt")
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def stem_of(path: FilePath) -> str:
    """Return a file name without an eval set's extensions: the default name of a set."""
    name = path.name
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name) or name


def looks_like_text(source: str) -> bool:
    """Return whether a text is an eval set rather than a path: it has lines, or begins like JSON."""
    return "\n" in source or source.lstrip("\ufeff \t\r")[:1] in ("{", "[")


@dataclass(frozen=True, slots=True)
class Source:
    """A file or a text; `label` is its name in messages, `name` the name of a set without one."""

    name: str
    label: str
    path: FilePath | None = None
    content: str = ""

    @classmethod
    def of(cls, source: str | os.PathLike[str]) -> Source:
        """Return the source of a text that looks like an eval set, else of a path."""
        if isinstance(source, str) and looks_like_text(source):
            return cls("evalset", "text", None, source.removeprefix("\ufeff"))
        path = FilePath(source)
        return cls(stem_of(path), path.name, path)

    def lines(self, problems: Problems) -> Iterator[str]:
        """Yield the lines with their ends; stop at the first that is not UTF-8."""
        if self.path is None:
            yield from io.StringIO(self.content, newline="\n")
            return
        with self.path.open("rb") as file:
            start = file.read(3)
            if start.startswith(_UTF16):
                yield from io.StringIO(self.text(problems), newline="\n")
                return
            file.seek(3 if start == codecs.BOM_UTF8 else 0)
            for number, raw in enumerate(file, 1):
                try:
                    yield raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    _tell(error, raw, problems, number)
                    return

    def text(self, problems: Problems) -> str:
        """Return the whole text; "" after adding a problem when it is not text."""
        if self.path is None:
            return self.content
        raw = self.path.read_bytes()
        encoding = "utf-16" if raw.startswith(_UTF16) else "utf-8-sig"
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError as error:
            _tell(error, raw, problems, raw.count(b"\n", 0, error.start) + 1)
            return ""


def _tell(error: UnicodeDecodeError, raw: bytes, problems: Problems, line: int) -> None:
    problem = f"this is not UTF-8 text: {display_value(raw[error.start : error.start + 8])}"
    problems.add((), problem, "save the file as UTF-8", line=line)
