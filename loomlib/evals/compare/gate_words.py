"""Gates as a command line writes them: `trajectory>=0.95`, `95%`, and the margin against a baseline."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .comparison import Comparison
from .gates import GateVerdict, gate_at_least
from .summaries import Summary

_GATE = re.compile(r"(?:(?P<evaluator>.+?)\s*>=?)?\s*(?P<limit>\d+(?:\.\d+)?|\.\d+)\s*(?P<percent>%?)\s*", re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateWish:
    """An absolute gate that somebody asks for: the least rate or score, of one evaluator or of all ("")."""

    limit: float
    evaluator: str = ""

    @classmethod
    def read(cls, text: str) -> GateWish:
        """`trajectory>=0.95`, `trajectory>=95%` or, for every evaluator, `0.95`. `ValueError` for anything else."""
        found = _GATE.fullmatch(text.strip())
        limit = float(found["limit"]) / (100 if found["percent"] else 1) if found else 2.0
        if found is None or limit > 1:
            raise ValueError(f"a gate is written trajectory>=0.95, trajectory>=95% or 95%, not {text!r}")
        return cls(limit=limit, evaluator=(found["evaluator"] or "").strip())


def judge_gates(
    summary: Summary, wishes: Sequence[GateWish], comparison: Comparison | None = None, margin: float | None = None
) -> tuple[GateVerdict, ...]:
    """The verdicts, absolute ones first, then those against the baseline that `comparison` is about.

    `ValueError` names the evaluators that there are, when a gate is about another one.
    """
    known = [each.evaluator for each in summary.evaluators]
    gates: list[GateVerdict] = []
    for wish in wishes:
        if wish.evaluator and wish.evaluator not in known:
            raise ValueError(f"a gate is about {wish.evaluator!r}, but the evaluators are {', '.join(known) or 'none'}")
        gates += [gate_at_least(summary, wish.limit, evaluator=name) for name in known if wish.evaluator in ("", name)]
    if comparison is not None:
        gates += comparison.gates(margin)
    return tuple(gates)
