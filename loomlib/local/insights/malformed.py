"""A query that cannot be run, with the place in it."""

from __future__ import annotations


class MalformedQuery(ValueError):
    """`start` and `end` are offsets of characters in the query."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message, self.start, self.end = message, start, end
