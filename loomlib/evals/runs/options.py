"""The options and the budget of an evaluation run."""

from __future__ import annotations

from dataclasses import dataclass

from loomlib.jobs.dask import DaskCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of a run; None means no limit.

    The costs of judges are included. The cost of an answer is often known only afterwards, from its trace, so a run
    sends cases in growing groups and never more than the remaining budget should cover. It can exceed the limit by the
    forecast error of one group. The time limit stops new requests; requests in progress finish.

    Attributes:
        money: US dollars.
        tokens: Model tokens, both directions.
        time_s: Seconds.
    """

    money: float | None = None
    tokens: int | None = None
    time_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("money", "tokens", "time_s"):
            value: float | None = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"a budget's {name} must be above zero, not {value}")

    @property
    def is_metered(self) -> bool:
        """Whether the run must know what each answer costs."""
        return self.money is not None or self.tokens is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of an evaluation run; `evaluate` documents each of them."""

    repeats: int = 1
    concurrency: int | None = None
    timeout_s: float | None = None
    budget: Budget = Budget()
    retries: int = 2
    reuse: bool = True
    measure: bool = True
    judge_concurrency: int = 8
    judge_timeout_s: float | None = 300.0
    cluster: DaskCluster | None = None

    def __post_init__(self) -> None:
        for name in ("repeats", "concurrency", "judge_concurrency"):
            count: int | None = getattr(self, name)
            if count is not None and count < 1:
                raise ValueError(f"{name} must be at least 1, not {count}")
        for name in ("timeout_s", "judge_timeout_s"):
            limit: float | None = getattr(self, name)
            if limit is not None and not limit > 0:
                raise ValueError(f"{name} must be above zero, not {limit}")
        if self.retries < 0:
            raise ValueError(f"retries must be at least 0, not {self.retries}")
