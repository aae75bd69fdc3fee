"""One tried proposal, as the journal records it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from .proposals import Proposal

KEPT, DROPPED, FAILED = "kept", "dropped", "failed"
DECISIONS: Final = (KEPT, DROPPED, FAILED)
"""Significantly better; not significantly better, or worse in another evaluator; could not be tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One proposal compared with the best candidate before it.

    Attributes:
        number: Number of the trial, from 1.
        proposal: The proposal.
        configuration: Hash of all variables of the candidate.
        decision: One of `DECISIONS`.
        reason: Reason for the decision.
        alpha: Significance level of the test; 0 when the candidate failed before a test.
        p_value: The two-sided p value.
        value: The objective's pass rate or mean.
        baseline: The objective's pass rate or mean for the best candidate before this trial.
        difference: The paired difference.
        low: Lower end of its 95 % interval.
        high: Upper end of its 95 % interval.
        cases: Number of paired cases.
        won: Ids of the cases that passed only with the change.
        lost: Ids of the cases that passed only without it.
        run_id: The candidate's run.
        against: The run of the best candidate before this trial.
        seconds: Duration in seconds.
        tokens: Model tokens, both directions, judges included.
        cost: US dollars as far as they are known, judges included; None when no cost is known.
        labels: Provenance labels.
        at: When the trial began (ISO 8601, UTC).
    """

    number: int
    proposal: Proposal
    configuration: str
    decision: str
    reason: str
    alpha: float = 0.0
    p_value: float | None = None
    value: float | None = None
    baseline: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    cases: int = 0
    won: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    run_id: str = ""
    against: str = ""
    seconds: float = 0.0
    tokens: int = 0
    cost: float | None = None
    labels: tuple[str, ...] = ()
    at: str = ""

    def __post_init__(self) -> None:
        if self.decision not in DECISIONS:
            raise ValueError(f"A decision is {', '.join(DECISIONS)}, not {self.decision!r}")

    def plain(self) -> dict[str, Any]:
        """Return JSON values that `Trial.read` reads."""
        return {**asdict(self), "proposal": self.proposal.plain()}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Trial:
        """Return the trial that `plain` wrote; raise `KeyError`, `TypeError` or `ValueError` for anything else."""
        values: dict[str, Any] = {field.name: stored[field.name] for field in fields(cls)}
        for name in ("won", "lost", "labels"):
            values[name] = tuple(map(str, values[name]))
        number, alpha = values["number"], values["alpha"]
        if not isinstance(number, int) or not isinstance(alpha, (int, float)):
            raise TypeError("The number and alpha of a trial are numbers")
        values["proposal"] = Proposal.read(stored["proposal"])
        return cls(**values)
