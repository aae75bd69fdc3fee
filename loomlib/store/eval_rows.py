"""Stored values of evaluations: runs as dataclasses, bulk rows as named tuples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

EVAL_RUN_STATES: Final = ("running", "complete", "stopped", "interrupted")
"""States of a run. `stopped`: by a budget. `interrupted`: by its user or by an error. A run whose process was killed
stays `running` without a valid lease. All but complete runs can be resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSet:
    """An eval set, addressed by its hash: the cases as canonical texts, everything else as JSON values in `details`."""

    digest: str
    name: str
    version: str
    description: str | None = None
    case_count: int
    details: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    cases: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRunRow:
    """An evaluation run: eval set, target, options (`design`), state and results (`summary`)."""

    id: str
    name: str | None = None
    set_digest: str
    target_name: str
    target_key: str
    scope: str | None = None
    agent_arn: str | None = None
    repeats: int
    state: str = "running"
    reason: str | None = None
    created_at: datetime
    finished_at: datetime | None = None
    labels: tuple[str, ...] = ()
    design: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    summary: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def __post_init__(self) -> None:
        if self.state not in EVAL_RUN_STATES:
            raise ValueError(f"an evaluation is {', '.join(EVAL_RUN_STATES)}, not {self.state!r}")


class StoredAnswer(NamedTuple):
    """An answer, or a failure to answer. Without a `key`, as for failures, only its own run uses it.

    `body` is ASCII JSON. The store assigns `id`.
    """

    id: int
    key: str | None
    is_failure: bool
    duration_ms: float | None
    ttft_ms: float | None
    input_tokens: int | None
    output_tokens: int | None
    tool_calls: int | None
    cost: float | None
    trace_id: str | None
    body: str


class StoredResult(NamedTuple):
    """The answer that a run uses for a case and a repeat, and the judges that failed.

    `place` is the position of the case in the set.
    """

    run_id: str
    repeat: int
    place: int
    answer_id: int
    is_reused: bool
    judge_failures: str | None = None


class StoredScore(NamedTuple):
    """A score of an answer; `value` is None when the evaluator does not apply. `labels` and `said` are ASCII JSON."""

    answer_id: int
    case_digest: str
    evaluator_digest: str
    position: int
    value: float | None
    passed: bool | None
    part: str | None
    labels: str | None
    said: str | None
