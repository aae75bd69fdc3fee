"""Gates as a command line writes them: `trajectory>=0.95`, `95%`, and the margin against a baseline."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .comparison import Comparison
from .gates import GateVerdict, gate_at_least
from .summaries import Summary

_GATE = re.compile(r"(?:(?P<evaluator>.+?)\s*>=?)?\s*(?P<limit>\d+(?:\.\d+)?|\.\d+)\s*(?P<percent>%?)\s*", re.S)

_OPTIONS = re.compile(r"[(:]")


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
    summary: Summary,
    wishes: Sequence[GateWish],
    comparison: Comparison | None = None,
    *,
    margin: float | None = None,
    only: Sequence[str] = (),
) -> tuple[GateVerdict, ...]:
    """The verdicts, absolute ones first, then those against the baseline that `comparison` is about.

    An evaluator may be named without its options (`numeric` for `numeric(relative=1e-09)`). `only` are those that the
    gates against the baseline are about; all when empty. `ValueError` names those that there are when one is not.
    """
    gates: list[GateVerdict] = []
    known = [each.evaluator for each in summary.evaluators]
    for wish in wishes:
        gates += [gate_at_least(summary, wish.limit, evaluator=name) for name in named(wish.evaluator, known)]
    if comparison is not None:
        chosen = {name for each in only for name in named(each, known)}
        gates += [gate for gate in comparison.gates(margin) if not only or gate.evaluator in chosen]
    return tuple(gates)


def named(wanted: str, known: Sequence[str]) -> list[str]:
    """The evaluators that a name means: all for "", the one called so, else those that are called so with options."""
    found = list(known) if not wanted else [name for name in known if name == wanted]
    found = found or [name for name in known if _OPTIONS.split(name, maxsplit=1)[0] == wanted]
    if not found:
        raise ValueError(f"a gate is about {wanted!r}, but the evaluators are {', '.join(known) or 'none'}")
    return found
