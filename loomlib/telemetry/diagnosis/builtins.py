"""The shipped rules, registered through the same hook as a plugin's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from loomlib.plugins import hookimpl

from .rulebook import Rule, rule_book


@hookimpl
def loom_rules() -> dict[str, Callable[[], Rule]]:
    """Register the rules of the shipped table; a user's `rules.toml` is applied when a rule book is created."""
    book = rule_book()
    return {rule.name: partial(book.__getitem__, rule.name) for rule in book.rules}
