"""Adding one conversation to the file of a set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

from ...deprecation import renamed_members
from ..values.cases import EvalCase
from ..values.eval_set import EvalSet
from .capturing import capture
from .case_making import asked_key


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedInto:
    """A case in a file.

    Attributes:
        path: The file.
        evalset: The set in it.
        case: The case.
        is_new: False when the set had a case with the same request; the file is unchanged.
    """

    path: Path
    evalset: EvalSet
    case: EvalCase
    is_new: bool

    @property
    def redactions(self) -> Mapping[str, int]:
        """Number of redactions in the new case, by rule."""
        captured: Any = self.case.metadata.get("captured")
        counts: Any = cast("Mapping[str, Any]", captured).get("redacted") if isinstance(captured, Mapping) else None
        if not isinstance(counts, Mapping):
            return {}
        return {str(name): int(count) for name, count in cast("Mapping[str, int]", counts).items()}

    def __getattr__(self, name: str) -> Any:
        return renamed_members(self, {"struck_out": "redactions"}, name)

    def sentence(self) -> str:
        """Return what was added to the file."""
        if not self.is_new:
            return f"{self.path.name} is unchanged: {self.case.id} has the same request."
        redacted = ", ".join(f"{count} × {name}" for name, count in self.redactions.items()) or "nothing"
        return f"{self.case.id} is case {len(self.evalset)} of {self.path.name}; redacted: {redacted}."


def capture_into(path: str | PathLike[str], source: object, *, write: bool = True, **options: Any) -> CapturedInto:
    """Add a conversation to the set of a file, which is created when it does not exist.

    Args:
        path: The file.
        source: An invocation, a trace, or several of one session.
        write: False returns what would be written without writing it.
        **options: Options of `capture`.
    """
    file = Path(path)
    name = file.name.partition(".")[0] or "captured"
    before = EvalSet.read(file) if file.exists() else EvalSet(name=name, cases=())
    after = capture(before, source, **options)
    cases_by_id = {case.id: case for case in before.cases}
    changed = [case for case in after.cases if cases_by_id.get(case.id) is not case]
    if changed:
        if write:
            after.write(file)
        return CapturedInto(path=file, evalset=after, case=changed[-1], is_new=True)
    captured = capture(EvalSet(name=name, cases=()), source, **options).cases[0]
    case = next(case for case in before.cases if asked_key(case) == asked_key(captured))
    return CapturedInto(path=file, evalset=before, case=case, is_new=False)
