"""An eval set as the store keeps it: its cases as canonical texts under the set's hash."""

from __future__ import annotations

from loomlib.store import StoredSet

from ..values.canonical import case_from_text, cases_to_texts
from ..values.cases import EvaluatorChoice, choice_to_dict
from ..values.eval_set import EvalSet


def stored_set(evalset: EvalSet) -> StoredSet:
    """The row of a set."""
    return StoredSet(
        digest=evalset.digest,
        name=evalset.name,
        version=evalset.version,
        description=evalset.description or None,
        case_count=len(evalset.cases),
        details={
            "evaluators": [choice_to_dict(each) for each in evalset.evaluators],
            "metadata": dict(evalset.metadata),
            "notes": list(evalset.notes),
        },
        cases=tuple(cases_to_texts(evalset.cases)),
    )


def set_of_row(row: StoredSet) -> EvalSet:
    """The set that a row means."""
    details = row.details
    return EvalSet(
        name=row.name,
        cases=tuple(case_from_text(each) for each in row.cases),
        version=row.version,
        description=row.description or "",
        evaluators=tuple(EvaluatorChoice(**each) for each in details.get("evaluators", ())),
        metadata=details.get("metadata", {}),
        notes=tuple(details.get("notes", ())),
    )
