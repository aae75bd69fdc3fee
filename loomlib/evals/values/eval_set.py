"""An eval set: versioned cases with a hash of their content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from loomlib.dispatch import call

from .canonical import case_digests
from .cases import EvalCase, EvaluatorChoice
from .digests import digest_of
from .losses import Losses

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, repr=False)
class EvalSet:
    """Cases in order, with unique ids.

    Attributes:
        name: The set's name.
        cases: The cases in order.
        version: The set's version, chosen by its author.
        description: What the set tests.
        evaluators: The evaluators that the set itself specifies (ADK's `test_config.json`).
        metadata: Any other data about the set, as plain values.
        notes: Notes on how the set was read, such as fields that the file format cannot represent. Not part of the
            set's hash.

    Examples:
        >>> evalset = EvalSet.read("orders.evalset.json")
        >>> run = agent.evaluate(evalset, ["contains", "trajectory"])
    """

    name: str
    cases: tuple[EvalCase, ...]
    version: str = "1"
    description: str = ""
    evaluators: tuple[EvaluatorChoice, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ids: set[str] = set()
        for case in self.cases:
            if case.id in ids:
                raise ValueError(f"Two cases of {self.name!r} have the id {case.id!r}")
            ids.add(case.id)

    @cached_property
    def digest(self) -> str:
        """Hash of the name, the evaluators and every case."""
        return digest_of(self.name, self.evaluators, case_digests(self.cases))

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
        """Return the set with some of its cases.

        Args:
            keep: Keep the cases for which this function returns true; None keeps all.
            tags: Keep the cases that have all of these tags.
        """
        required_tags = set(tags)
        cases = tuple(case for case in self.cases if required_tags <= set(case.tags) and (keep is None or keep(case)))
        return replace(self, cases=cases)

    def with_cases(self, *cases: EvalCase) -> EvalSet:
        """Return the set with these cases added; a case replaces the one with the same id."""
        new = {case.id: case for case in cases}
        updated = tuple(new.pop(case.id, case) for case in self.cases)
        return replace(self, cases=(*updated, *new.values()))

    @classmethod
    def read(cls, source: str | PathLike[str], format: str | None = None) -> EvalSet:
        """Read a set from a file, a text or the name of a shipped set.

        Formats: Loom's JSON and JSON Lines, CSV, ADK (with the `test_config.json` beside it), strands_evals,
        AgentCore.

        Args:
            source: A path, the content of a file, or a name such as `"calculator"`.
            format: The format's name; None detects it from the content.

        Raises:
            InvalidEvalSetError: The content is invalid; the error lists each problem with its line and a fix.
            EvalError: There is no such file and no shipped set of that name.

        Examples:
            >>> EvalSet.read("orders.evalset.json")
        """
        return call("EvalSet.read", source, format)

    def write(self, path: str | PathLike[str], format: str | None = None, *, strict: bool = False) -> Losses:
        """Write the set to a file.

        `.json` and `.jsonl` lose nothing, `.csv` only the fields of the set itself; `.evalset.json` is ADK's format.

        Args:
            path: The file to write.
            format: The format's name; None detects it from the file extension.
            strict: Raise an error instead of writing a file that loses something.

        Returns:
            The fields that the format cannot represent.
        """
        return call("EvalSet.write", self, path, format, strict=strict)

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per turn."""
        return call("EvalSet.to_frame", self)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, name: str | None = None) -> EvalSet:
        """Return the set of a DataFrame with at least a `prompt` column.

        Args:
            frame: One row per turn, with the columns of `to_frame`.
            name: The set's name; None uses the frame's.
        """
        return call("EvalSet.from_frame", frame, name=name)

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]], *, name: str = "rows") -> EvalSet:
        """Return an eval set created from dicts, each with at least a `prompt`.

        Args:
            rows: One dict per turn, with the columns of `to_frame` as keys.
            name: The set's name.

        Examples:
            >>> EvalSet.from_rows([{"prompt": "2+2?", "expected": "4", "tools": "add"}])
        """
        return call("EvalSet.from_rows", rows, name=name)

    def capture(self, source: object, **options: Any) -> EvalSet:
        """Return the set with one more case: a request to an agent and its answer, redacted.

        Args:
            source: An invocation, a trace, or several of one session.
            **options: `expected`, `tags`, `redact`, `id` and `replace_known` of `loomlib.evals.capture.capture`.

        Examples:
            >>> evalset = evalset.capture(agent.invoke("What is 17 * 23?"), tags=["production"])
        """
        return call("EvalSet.capture", self, source, **options)

    def __repr__(self) -> str:
        return f"<EvalSet {self.name!r}, version {self.version}: {len(self.cases)} cases>"

    def __str__(self) -> str:
        return call("EvalSet.text", self)

    def _repr_html_(self) -> str:
        return call("EvalSet.html", self)
