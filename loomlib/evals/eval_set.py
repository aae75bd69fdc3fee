"""An eval set: cases that belong together, with a version and a hash of their content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from .cases import EvalCase, EvaluatorChoice
from .digests import digest_of


@dataclass(frozen=True, kw_only=True)
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
        return digest_of(self.name, self.evaluators, [case.digest for case in self.cases])

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
