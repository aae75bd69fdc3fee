"""An eval set: cases that belong together, with a version and a hash of their content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from .cases import EvalCase, EvaluatorChoice
from .digests import digest_of

if TYPE_CHECKING:
    import pandas as pd

    from .formats import Losses


@dataclass(frozen=True, kw_only=True, repr=False)
class EvalSet:
    """Cases in their order, each id once. `evaluators` are what the set itself asks for (ADK's test_config.json).

    `notes` are things worth knowing about how it was read (what a format could not say); they are no part of its hash.
    """

    name: str
    cases: tuple[EvalCase, ...]
    version: str = "1"
    description: str = ""
    evaluators: tuple[EvaluatorChoice, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for case in self.cases:
            if case.id in seen:
                raise ValueError(f"two cases of {self.name!r} have the id {case.id!r}")
            seen.add(case.id)

    @cached_property
    def digest(self) -> str:
        """A hash of every case and of what the set asks for."""
        from .canonical import digests_of_cases

        return digest_of(self.name, self.evaluators, digests_of_cases(self.cases))

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[EvalCase]:
        return iter(self.cases)

    def __getitem__(self, id: str) -> EvalCase:
        for case in self.cases:
            if case.id == id:
                return case
        raise KeyError(id)

    def where(self, keep: Callable[[EvalCase], bool] | None = None, *, tags: Sequence[str] = ()) -> EvalSet:
        """The cases for which `keep` is true and which carry all of `tags`."""
        wanted = set(tags)
        chosen = tuple(c for c in self.cases if wanted <= set(c.tags) and (keep is None or keep(c)))
        return replace(self, cases=chosen)

    def with_cases(self, *cases: EvalCase) -> EvalSet:
        """The set with these cases added; one with a known id takes the place of the old one."""
        new = {case.id: case for case in cases}
        kept = tuple(new.pop(case.id, case) for case in self.cases)
        return replace(self, cases=(*kept, *new.values()))

    @classmethod
    def read(cls, source: str | PathLike[str], format: str | None = None) -> EvalSet:
        """The set of a file, or of a text that looks like one; the form is found by its content.

            EvalSet.read("orders.evalset.json")

        Forms: Loom's own JSON and JSON lines, CSV, ADK (with the `test_config.json` beside it), strands_evals,
        AgentCore. `InvalidEvalSetError` says line by line what to mend; nothing is half-read.
        """
        from .formats import read

        return read(source, format)

    def write(self, path: str | PathLike[str], format: str | None = None, *, strict: bool = False) -> Losses:
        """Writes the set, in the form of the path's ending unless `format` names one, and returns what it lost.

        `.json`, `.jsonl` and DataFrames lose nothing, `.csv` only what is said of the set itself, `.evalset.json` is
        ADK's. With `strict` a form that loses something raises instead of writing.
        """
        from .formats import write

        return write(self, path, format, strict=strict)

    def to_frame(self) -> pd.DataFrame:
        """A DataFrame with one row a turn (the columns are those of `loomlib.evals.formats.rows`)."""
        from .formats import to_frame

        return to_frame(self)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, name: str | None = None) -> EvalSet:
        """The set of a DataFrame with at least a `prompt` column."""
        from .formats import from_frame

        return from_frame(frame, name=name)

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]], *, name: str = "rows") -> EvalSet:
        """The set of dicts with at least a `prompt`: `[{"prompt": "2+2?", "expected": "4", "tools": "add"}]`."""
        from .formats import from_rows

        return from_rows(rows, name=name)

    def capture(self, source: object, **options: Any) -> EvalSet:
        """The set with one more case: what an invocation, a trace or several of a session were asked, cleaned.

            evalset = evalset.capture(agent.invoke("What is 17 * 23?"), tags=["production"])

        The options: `expected` (the answer and tools are what the case expects), `tags`, `redact` (rules), `id`,
        `replace_known` (see `loomlib.evals.capture.capture`).
        """
        from .capture import capture

        return capture(self, source, **options)

    def __repr__(self) -> str:
        return f"<EvalSet {self.name!r}, version {self.version}: {len(self.cases)} cases>"

    def __str__(self) -> str:
        from .displays import set_text

        return set_text(self)

    def _repr_html_(self) -> str:
        from .displays import set_html

        return set_html(self)
