"""The error of a query that cannot be run, with its position."""

from __future__ import annotations


class MalformedQueryError(ValueError):
    """A query that cannot be run; `start` and `end` are character offsets in it."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message, self.start, self.end = message, start, end
