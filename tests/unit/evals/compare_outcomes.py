"""Outcomes for the tests of summaries and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from loomlib.evals import Outcome


def outcome(case: str, value: float | bool | str, **more: Any) -> Outcome:
    """An outcome from a bool (passed or failed), a number (without a bar) or the name of a state."""
    fields: dict[str, Any] = {"case_digest": f"digest of {case}", "repeat": 0, "evaluator": "exact", "level": "answer"}
    if isinstance(value, str):
        fields |= {"state": value, "value": None, "passed": None}
    else:
        fields |= {"state": "scored", "value": float(value), "passed": value if isinstance(value, bool) else None}
    return Outcome(case_id=case, **(fields | more))


def run(values: Iterable[float | bool | str | Sequence[float | bool | str]], **more: Any) -> list[Outcome]:
    """Return one outcome per case ("case 0", "case 1", …); a list holds the values of one case's repeats."""
    outcomes: list[Outcome] = []
    for place, value in enumerate(values):
        repeats = value if isinstance(value, (list, tuple)) else [value]
        outcomes += [outcome(f"case {place}", result, repeat=repeat, **more) for repeat, result in enumerate(repeats)]
    return outcomes
