"""What became of one proposal: the words of the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from .proposals import Proposal

KEPT, DROPPED, FAILED = "kept", "dropped", "failed"
DECISIONS: Final = (KEPT, DROPPED, FAILED)
"""Better on the evidence; not shown to be better (or worse elsewhere); it could not be tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One proposal, tried against what was best until then.

    `alpha` is what its test was allowed of the whole error, 0 for one that failed before a test. `value` and
    `baseline` are the objective's shares or means, `difference` is theirs with its 95 % interval `low` to `high`.
    `configuration` is the digest of all variables. `cost` is in US dollars, None when not known.
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
            raise ValueError(f"a trial is {', '.join(DECISIONS)}, not {self.decision!r}")

    def plain(self) -> dict[str, Any]:
        """As JSON values; `Trial.read` takes them back."""
        return {**asdict(self), "proposal": self.proposal.plain()}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Trial:
        """The trial that `plain()` wrote down; raises `KeyError`, `TypeError` or `ValueError` for anything else."""
        told: dict[str, Any] = {each.name: stored[each.name] for each in fields(cls)}
        for name in ("won", "lost", "labels"):
            told[name] = tuple(map(str, told[name]))
        number, alpha = told["number"], told["alpha"]
        if not isinstance(number, int) or not isinstance(alpha, (int, float)):
            raise TypeError("a trial's number and alpha are numbers")
        told["proposal"] = Proposal.read(stored["proposal"])
        return cls(**told)
