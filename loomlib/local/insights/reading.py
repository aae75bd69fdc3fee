"""A reader of a query's tokens."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from .malformed import MalformedQueryError
from .tokens import QueryToken, tokens

_DEEPEST: Final = 50  # each level is about ten calls, of the thousand that Python allows


class TokenReader:
    """A position in the tokens of a query."""

    def __init__(self, query: str) -> None:
        self._query, self._tokens, self._index = query, list(tokens(query)), 0
        self._depth = 0

    @property
    def at(self) -> int:
        """The offset at which the next token starts."""
        return self.peek().start

    @property
    def end_of_last(self) -> int:
        """The offset at which the previous token ends."""
        return self._tokens[self._index - 1].end if self._index else 0

    def peek(self) -> QueryToken:
        """Return the next token without reading it."""
        return self._tokens[self._index]

    def next(self) -> QueryToken:
        """Read the next token; at the end, return the end token every time."""
        token = self._tokens[self._index]
        if token.kind != "end":
            self._index += 1
        return token

    def take(self, *words: str) -> str | None:
        """Read the next token if it is one of these keywords or signs.

        Returns:
            The token in lower case; None if it is another one, which stays unread.
        """
        if self.peek().says(*words):
            return self.next().value.lower()
        return None

    def expect(self, sign: str) -> None:
        """Read this sign.

        Raises:
            MalformedQueryError: The next token is another one.
        """
        if not self.take(sign):
            raise self.malformed(f"{sign!r} was expected")

    def name(self, expected: str) -> str:
        """Read a name, with or without backticks."""
        token = self.next()
        if token.kind not in ("name", "quoted"):
            raise self.malformed(f"{expected} was expected", token)
        return token.value

    def text_from(self, start: int) -> str:
        """Return the query's text from `start` to the end of the last token that was read."""
        return self._query[start : self.end_of_last]

    @contextmanager
    def nested(self) -> Generator[None]:
        """Count one level of nesting while the block reads.

        Raises:
            MalformedQueryError: The query is nested too deeply.
        """
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.malformed(f"the query is nested more than {_DEEPEST} levels deep")
        yield
        self._depth -= 1

    def malformed(self, message: str, token: QueryToken | None = None) -> MalformedQueryError:
        """Return the error for a token; without one, for the next token."""
        at = token or self.peek()
        return MalformedQueryError(message, at.start, max(at.end, at.start + 1))
