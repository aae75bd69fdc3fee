"""How runs and eval sets are stored, and the check that a resumed run is the same as the stored one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

from loomlib.errors import EvalError
from loomlib.experiments import StudyConditions
from loomlib.store import EvalRunRow, StoredSet

from ..registry import Choice
from ..targets import Target
from ..values.canonical import case_from_text, cases_to_texts
from ..values.cases import EvaluatorChoice, choice_to_dict
from ..values.eval_set import EvalSet
from .assignment import EvaluatorAssignment
from .options import RunOptions


def new_run_id() -> str:
    """Return the id of a new run."""
    return f"eval-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid4().hex[:6]}"


def new_row(
    run_id: str,
    name: str,
    evalset: EvalSet,
    target: Target,
    source: Any,
    assignment: EvaluatorAssignment,
    options: RunOptions,
    choices: Sequence[Choice],
) -> EvalRunRow:
    """Return the row of a new run.

    Args:
        run_id: The run's id.
        name: The run's name, "" for none.
        evalset: The set.
        target: What is evaluated.
        source: The agent or function that the target was made from.
        assignment: The evaluators of each case.
        options: The run's options, with the concurrency that applies.
        choices: The evaluators as the caller named them.
    """
    return EvalRunRow(
        id=run_id,
        name=name or None,
        set_digest=evalset.digest,
        target_name=target.name,
        target_key=target.key,
        scope=getattr(source, "scope", None),
        agent_arn=getattr(source, "arn", None),
        repeats=options.repeats,
        created_at=datetime.now(UTC),
        labels=tuple(target.labels),
        design={
            **assignment.stored(),
            "set_name": evalset.name,
            "chosen": [choice for choice in choices if isinstance(choice, str)],
            "concurrency": options.concurrency,
            "timeout_s": options.timeout_s,
            "retries": options.retries,
            "budget": asdict(options.budget),
        },
    )


def unfinished_summary(conditions: StudyConditions, timed: Sequence[str]) -> dict[str, Any]:
    """Return what a run that is not finished stores in place of its summary; `Summary` has the same fields.

    Args:
        conditions: What the machine did while cases were asked.
        timed: Evaluators that judge durations.
    """
    return {"machine": conditions.summary(), "timed": list(timed)} if conditions.runs else {}


def stored_conditions(row: EvalRunRow) -> StudyConditions:
    """Return what the machine did while the cases of a run were asked, also of one that is not finished."""
    machine: Mapping[str, Any] = row.summary.get("machine", {})
    return StudyConditions.read(machine.get("runs"))


def check_same(stored: EvalRunRow, row: EvalRunRow) -> None:
    """Raise `EvalError` when the stored run differs from the one that is to be resumed."""
    for what, old, new in (
        ("set", stored.set_digest, row.set_digest),
        ("target", stored.target_key, row.target_key),
        ("number of repeats", stored.repeats, row.repeats),
        ("list of evaluators", stored.design.get("evaluators"), row.design.get("evaluators")),
    ):
        if _lists(old) != _lists(new):
            raise EvalError(
                f"The stored run has another {what}",
                on=row.id,
                try_="omit run_id: a new run reuses every stored answer and score that still applies",
            )


def _lists(value: Any) -> Any:
    """Turn tuples into lists, as JSON does."""
    if isinstance(value, (list, tuple)):
        return [_lists(item) for item in cast("Sequence[Any]", value)]
    return value


def stored_set(evalset: EvalSet) -> StoredSet:
    """Return the row of a set: its cases as canonical texts under the set's hash."""
    return StoredSet(
        digest=evalset.digest,
        name=evalset.name,
        version=evalset.version,
        description=evalset.description or None,
        case_count=len(evalset.cases),
        details={
            "evaluators": [choice_to_dict(choice) for choice in evalset.evaluators],
            "metadata": dict(evalset.metadata),
            "notes": list(evalset.notes),
        },
        cases=tuple(cases_to_texts(evalset.cases)),
    )


def read_set(row: StoredSet) -> EvalSet:
    """Return the set of a row."""
    details = row.details
    return EvalSet(
        name=row.name,
        cases=tuple(case_from_text(text) for text in row.cases),
        version=row.version,
        description=row.description or "",
        evaluators=tuple(EvaluatorChoice(**choice) for choice in details.get("evaluators", ())),
        metadata=details.get("metadata", {}),
        notes=tuple(details.get("notes", ())),
    )
