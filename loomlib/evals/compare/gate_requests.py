"""Gates in the notation of the command line (`trajectory>=0.95`, `95%`), and the margin against a baseline."""

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
class GateRequest:
    """A requested absolute gate: the minimum rate or score of one evaluator, or of all ("")."""

    limit: float
    evaluator: str = ""

    @classmethod
    def read(cls, text: str) -> GateRequest:
        """Read `trajectory>=0.95`, `trajectory>=95%` or, for every evaluator, `0.95`.

        Raises:
            ValueError: The text is none of these.
        """
        match = _GATE.fullmatch(text.strip())
        limit = float(match["limit"]) / (100 if match["percent"] else 1) if match else 2.0
        if match is None or limit > 1:
            raise ValueError(f"write a gate as trajectory>=0.95, trajectory>=95% or 95%, not {text!r}")
        return cls(limit=limit, evaluator=(match["evaluator"] or "").strip())


def judge_gates(
    summary: Summary,
    requests: Sequence[GateRequest],
    comparison: Comparison | None = None,
    *,
    margin: float | None = None,
    only: Sequence[str] = (),
) -> tuple[GateVerdict, ...]:
    """Return the verdicts of gates: absolute ones first, then those against the baseline.

    An evaluator may be named without its options (`numeric` for `numeric(relative=1e-09)`).

    Args:
        summary: The run's summary.
        requests: The absolute gates.
        comparison: The comparison with the baseline, if any.
        margin: Largest accepted loss against the baseline, by default the comparison's.
        only: Evaluators of the gates against the baseline; all when empty.

    Raises:
        ValueError: There is no such evaluator; the message lists the existing ones.
    """
    gates: list[GateVerdict] = []
    names = [evaluator.evaluator for evaluator in summary.evaluators]
    for request in requests:
        gates += [
            gate_at_least(summary, request.limit, evaluator=name) for name in evaluators_named(request.evaluator, names)
        ]
    if comparison is not None:
        chosen = {name for selector in only for name in evaluators_named(selector, names)}
        gates += [gate for gate in comparison.gates(margin) if not only or gate.evaluator in chosen]
    return tuple(gates)


def evaluators_named(selector: str, names: Sequence[str]) -> list[str]:
    """Return the evaluators that a gate's name selects: all for "", an exact match, or all with that base name."""
    matches = list(names) if not selector else [name for name in names if name == selector]
    matches = matches or [name for name in names if _OPTIONS.split(name, maxsplit=1)[0] == selector]
    if not matches:
        raise ValueError(f"there is no evaluator {selector!r} for a gate; the run has {', '.join(names) or 'none'}")
    return matches
