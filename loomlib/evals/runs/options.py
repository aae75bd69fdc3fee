"""How a run is done."""

from __future__ import annotations

from dataclasses import dataclass

from .ports import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the caller of `evaluate` chose; its docstring says what each means."""

    repeats: int
    concurrency: int
    judge_concurrency: int
    timeout_s: float | None
    judge_timeout_s: float | None
    retries: int
    budget: Budget
    measure: bool
    reuse: bool
