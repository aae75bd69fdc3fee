"""The tokens of a query, with their positions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .malformed import MalformedQueryError

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<quoted>`[^`]+`)
    |(?P<period>\d+(?:ms|[a-z]+))(?![\w.])
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<name>[@A-Za-z_][\w.@]*)
    |(?P<sign>=~|!=|<=|>=|[=<>+\-*/^%()\[\],|])""",
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/((?:[^/\\\n]|\\.)*)/")


class QueryToken(NamedTuple):
    """`kind` is "text", "regex", "period", "number", "name", "quoted" (a name in backticks), "sign" or "end"."""

    kind: str
    value: str
    start: int
    end: int

    def says(self, *words: str) -> bool:
        """Return whether this is one of these keywords or signs; keywords match in any case."""
        return self.kind in ("name", "sign") and self.value.lower() in words


def tokens(query: str) -> Iterator[QueryToken]:
    """Split a query into tokens, without comments, with an "end" token last.

    Raises:
        MalformedQueryError: A character starts no token.
    """
    at, command, before = 0, "", QueryToken("sign", "|", 0, 0)
    while at < len(query):
        # A slash means division, except where only a pattern can follow.
        pattern_place = before.says("like", "=~") or (command == "parse" and before.kind in ("name", "quoted"))
        match = _REGEX.match(query, at) if pattern_place else None
        if match is not None:
            token = QueryToken("regex", match[1].replace("\\/", "/"), at, match.end())
        else:
            match = _TOKEN.match(query, at)
            if match is None:
                raise MalformedQueryError(f"unexpected symbol {query[at]!r}", at, at + 1)
            token = QueryToken(match.lastgroup or "", match[0], at, match.end())
        at = match.end()
        if token.kind == "space":
            continue
        if token.kind == "text":
            token = token._replace(value=re.sub(r"\\(.)", _unescaped, token.value[1:-1], flags=re.DOTALL))
        elif token.kind == "quoted":
            token = token._replace(value=token.value[1:-1])
        if before.says("|"):
            command = token.value.lower()
        before = token
        yield token
    yield QueryToken("end", "", len(query), len(query))


def _unescaped(match: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t", "r": "\r"}.get(match[1], match[1] if match[1] in "\"'\\`" else match[0])
