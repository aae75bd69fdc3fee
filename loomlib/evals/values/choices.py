"""Evaluators as a command line names them, and those that a set calls for when nobody names any."""

from __future__ import annotations

from .eval_set import EvalSet


def split_evaluators(text: str) -> list[str]:
    """The names in a text with commas between; commas inside brackets and quotes belong to options.

    >>> split_evaluators("exact, contains(texts=['a', 'b'])")
    ['exact', "contains(texts=['a', 'b'])"]
    """
    found, depth, quote, start = list[str](), 0, "", 0
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"" and depth:
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth <= 0:
            found.append(text[start:place])
            start = place + 1
    return [name for each in (*found, text[start:]) if (name := each.strip())]


def default_evaluators(evalset: EvalSet) -> list[str]:
    """What the set's expectations call for: nothing where it names evaluators itself."""
    if evalset.evaluators:
        return []
    cases = [case for case in evalset.cases if not case.evaluators]
    wanted = (
        ("contains", any(turn.expected_answer is not None for case in cases for turn in case.turns)),
        ("trajectory", any(case.expected_tools is not None for case in cases)),
        ("forbidden_tools", any(case.forbidden_tools for case in cases)),
    )
    return [name for name, is_wanted in wanted if is_wanted]
