"""Database rows of evaluation runs and eval sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from loomlib.jobs.dask import DASK, PROCESS
from loomlib.store import EvalRunRow, StoredSet

from ..registry import Choice
from ..targets import Target
from ..values.canonical import case_from_text, cases_to_texts
from ..values.cases import EvaluatorChoice, choice_to_dict
from ..values.eval_set import EvalSet
from .assignment import EvaluatorAssignment
from .options import RunOptions


def new_row(
    run_id: str,
    name: str,
    evalset: EvalSet,
    target: Target,
    assignment: EvaluatorAssignment,
    options: RunOptions,
    choices: Sequence[Choice],
) -> EvalRunRow:
    """Return the row of a new run.

    Args:
        run_id: The run's id.
        name: The run's name, "" for none.
        evalset: The set.
        target: The target of the evaluation.
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
        scope=getattr(target, "scope", None),
        agent_arn=getattr(target, "arn", None),
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
            "runner": PROCESS if options.cluster is None else DASK,
        },
    )


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
