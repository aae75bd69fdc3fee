"""One conversation into a set's file, with what was struck out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .capturing import capture
from .case_making import asked_key

if TYPE_CHECKING:
    from ..values.cases import EvalCase
    from ..values.eval_set import EvalSet


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedInto:
    """A case as it stands in a file. `is_new` is false when the set asked this before: the file is as it was."""

    path: Path
    evalset: EvalSet
    case: EvalCase
    is_new: bool

    @property
    def struck_out(self) -> Mapping[str, int]:
        """How much of which rule was struck out of the new case, by the rules' names."""
        told: Any = self.case.metadata.get("captured")
        found: Any = cast("Mapping[str, Any]", told).get("redacted") if isinstance(told, Mapping) else None
        if not isinstance(found, Mapping):
            return {}
        return {str(name): int(count) for name, count in cast("Mapping[str, int]", found).items()}

    def sentence(self) -> str:
        """What became of the file."""
        if not self.is_new:
            return f"{self.path.name} stays as it is: {self.case.id} asks this already."
        struck = ", ".join(f"{count} × {name}" for name, count in self.struck_out.items()) or "nothing"
        return f"{self.case.id} is case {len(self.evalset)} of {self.path.name}; struck out: {struck}."


def capture_into(path: str | PathLike[str], source: object, *, write: bool = True, **options: Any) -> CapturedInto:
    """`capture` into the set of a file, which is made when it is new. The options are those of `capture`.

    Without `write` nothing is kept: what would be is told.
    """
    from ..values.eval_set import EvalSet

    file = Path(path)
    name = file.name.partition(".")[0] or "captured"
    before = EvalSet.read(file) if file.exists() else EvalSet(name=name, cases=())
    after = capture(before, source, **options)
    known = {each.id: each for each in before.cases}
    changed = [each for each in after.cases if known.get(each.id) is not each]
    if changed:
        if write:
            after.write(file)
        return CapturedInto(path=file, evalset=after, case=changed[-1], is_new=True)
    asked = capture(EvalSet(name=name, cases=()), source, **options).cases[0]
    case = next(each for each in before.cases if asked_key(each) == asked_key(asked))
    return CapturedInto(path=file, evalset=before, case=case, is_new=False)
