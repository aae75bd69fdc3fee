"""Names of evaluators on a command line, and the default evaluators of a set."""

from __future__ import annotations

from .eval_set import EvalSet


def split_evaluators(text: str) -> list[str]:
    """Split a comma-separated list of evaluators; commas inside brackets and quotes belong to options.

    Examples:
        >>> split_evaluators("exact, contains(texts=['a', 'b'])")
        ['exact', "contains(texts=['a', 'b'])"]
    """
    names, depth, quote, start = list[str](), 0, "", 0
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"" and depth:
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth <= 0:
            names.append(text[start:index])
            start = index + 1
    return [name for part in (*names, text[start:]) if (name := part.strip())]


def default_evaluators(evalset: EvalSet) -> list[str]:
    """Return the evaluators for a set's expectations; none when the set names evaluators itself."""
    if evalset.evaluators:
        return []
    cases = [case for case in evalset.cases if not case.evaluators]
    candidates = (
        ("contains", any(turn.expected_answer is not None for case in cases for turn in case.turns)),
        ("trajectory", any(case.expected_tools is not None for case in cases)),
        ("forbidden_tools", any(case.forbidden_tools for case in cases)),
    )
    return [name for name, applies in candidates if applies]
