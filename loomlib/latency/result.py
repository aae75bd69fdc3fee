"""What a study found: the stored measurements, and every face they have."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from loomlib.errors import StudyError

from .design import StudyDesign
from .floor import Floor
from .ledger import Ledger
from .measurements import Measurement
from .numbers import plural

if TYPE_CHECKING:
    from loomlib.store import Store


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """A study as it is stored now. It may be unfinished: `state` says so, and every face of it says it too.

    >>> result.sentences()
    >>> result.table()
    >>> result.gate(max_p90_ms=900).outcome
    """

    study_id: str
    agent_name: str
    agent_arn: str
    qualifier: str
    scope: str
    labels: tuple[str, ...]
    design: StudyDesign
    state: str
    created_at: datetime
    finished_at: datetime | None
    calls: tuple[Measurement, ...] = field(repr=False)
    floor: Floor = field(repr=False)
    client: dict[str, Any] = field(repr=False)
    store: Store = field(repr=False, compare=False)

    @classmethod
    def load(cls, store: Store, study_id: str) -> StudyResult:
        """The result of a stored study; `StudyError` when there is none."""
        stored = store.studies.get(study_id)
        if stored is None:
            raise StudyError("No such study in the store", on=study_id, try_="LatencyStudy(agent).run() starts one")
        return cls(
            study_id=stored.id,
            agent_name=stored.agent_name or stored.agent_arn,
            agent_arn=stored.agent_arn,
            qualifier=str(stored.environment.get("qualifier", "DEFAULT")),
            scope=stored.scope,
            labels=stored.labels,
            design=StudyDesign.read(stored.design),
            state=stored.state,
            created_at=stored.created_at,
            finished_at=stored.finished_at,
            calls=tuple(Ledger(store, study_id).measurements()),
            floor=Floor.read(stored.environment.get("floor")),
            client=dict(stored.environment.get("client", {})),
            store=store,
        )

    @property
    def answered(self) -> int:
        """How many calls were answered in full."""
        return sum(each.is_done for each in self.calls)

    @property
    def failed(self) -> int:
        """How many calls failed."""
        return sum(each.is_failed for each in self.calls)

    def __repr__(self) -> str:
        owed = sum(each.is_owed for each in self.calls)
        still = f", {plural(owed, 'call')} still owed" if owed else ""
        return (
            f"StudyResult({self.study_id!r}, {self.agent_name!r}, {self.state}: "
            f"{self.answered} answered, {self.failed} failed{still})"
        )
