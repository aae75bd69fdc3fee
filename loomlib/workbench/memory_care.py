"""The part of a memory that keeps it in order: health, moments compared, copies, forgetting, isolation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .wait_line import WaitLine

if TYPE_CHECKING:
    from ..memory import MemoryReader
    from ..memory.differences import MemoryDiff
    from ..memory.exchange import Exported, ExportPreview, ImportPreview
    from ..memory.forgetting import ForgetPreview
    from ..memory.health import HealthReport
    from ..memory.isolation import IsolationReport
    from ..memory.snapshots import MemorySnapshot
    from ..redaction import Redactor

Progress = Callable[[str], None]
PathText = str | os.PathLike[str]


class MemoryCare:
    """What `Memory` offers to those who answer for what is in it."""

    reader: MemoryReader
    labels: tuple[str, ...]

    def health(self, *, progress: Progress | None = None, **options: Any) -> HealthReport:
        """What should be mended: leaks, secrets and personal data, contradictions, stale and double records, strategies
        that bring nothing, growth and cost. Each with evidence, in which secrets are struck out.

        Options (`loomlib.memory.health.check_health`): `records=` and `events=` to read at most (20,000; None: all),
        `allow=["email"]` for personal data that may be here, `presidio=True`, `redactor=`, `untouched=timedelta`,
        `extraction=timedelta`, `tenant=` (an actor's tenant from its id), `prices=`, `retrievals=` a month.

            memory.health(allow=["email"]).problems
        """
        from ..memory.health import check_health

        return check_health(self.reader, progress=progress or WaitLine(), labels=self.labels, **options)

    def snapshot(self, *, events: bool = True, progress: Progress | None = None) -> MemorySnapshot:
        """What is here now, without secrets; `.save(path)` keeps it, `loomlib.memory.read_snapshot(path)` reads it.
        AgentCore keeps no former states."""
        from ..memory.snapshots import take_snapshot

        return take_snapshot(self.reader, events=events, progress=progress or WaitLine())

    def diff(self, before: MemorySnapshot | PathText, after: MemorySnapshot | PathText | None = None) -> MemoryDiff:
        """What was created, updated, moved and deleted between two snapshots (or their files); without `after`, since.

        before = memory.snapshot()
        memory.diff(before)
        """
        from ..memory.differences import diff_snapshots

        then = _snapshot(before)
        now = self.snapshot(events=then.events is not None) if after is None else _snapshot(after)
        return diff_snapshots(then, now, labels=self.labels)

    def export(
        self,
        path: PathText,
        *,
        actors: Sequence[str] | None = None,
        redact: bool | Redactor = True,
        progress: Progress | None = None,
    ) -> Exported:
        """Write events and records (of these `actors` alone) to a file of JSON lines.

        Secrets and personal data are struck out; `redact=False` keeps them, a `Redactor` brings rules of one's own.
        """
        from ..memory.exchange import export_memory
        from ..redaction import Redactor

        rules = Redactor() if redact is True else redact or None
        return export_memory(
            self.reader, path, actors=actors, redactor=rules, progress=progress or WaitLine(), labels=self.labels
        )

    def preview_export(
        self, *, actors: Sequence[str] | None = None, redact: bool | Redactor = True, lines: int = 20
    ) -> ExportPreview:
        """The first lines as `export` would write them, half of them events; nothing is written."""
        from ..memory.exchange import preview_export
        from ..redaction import Redactor

        rules = Redactor() if redact is True else redact or None
        return preview_export(self.reader, actors=actors, redactor=rules, lines=lines, labels=self.labels)

    def import_(self, path: PathText, *, progress: Progress | None = None) -> ImportPreview:
        """What a file that `export` wrote would bring; `.confirm()` writes it. An import that was stopped goes on where
        it was when it is asked for again, and what is here already does not come twice."""
        from ..memory.exchange import preview_import

        return preview_import(self.reader, path, progress=progress or WaitLine(), labels=self.labels)

    def forget(self, actor: str, *, progress: Progress | None = None) -> ForgetPreview:
        """What is this actor's here: events by session, records by namespace. Nothing is deleted until `.confirm()`,
        which looks again afterwards and says where something may be still.

            preview = memory.forget("anna")
            preview.confirm()
        """
        from ..memory.forgetting import preview_forgetting

        return preview_forgetting(self.reader, actor, progress=progress or WaitLine(), labels=self.labels)

    def check_isolation(
        self,
        patterns: Iterable[str] | None = None,
        *,
        actors: int = 12,
        seed: int = 0,
        slashes: bool = False,
        settle_s: float = 60.0,
        progress: Progress | None = None,
    ) -> IsolationReport:
        """Whether reads cross from one actor or tenant to another, tried with seeded actors whose ids are nearly alike.

        `patterns` are namespaces with {actorId}, {sessionId}, {tenantId}, {userId} …, else the memory's own. It writes
        into a scratch namespace with scratch actors and takes all of it away; `slashes` lets their ids have slashes.
        """
        from ..memory.isolation import check_isolation

        return check_isolation(
            self.reader,
            patterns=patterns,
            actors=actors,
            seed=seed,
            slashes=slashes,
            settle_s=settle_s,
            progress=progress or WaitLine(),
            labels=self.labels,
        )


def _snapshot(given: MemorySnapshot | PathText) -> MemorySnapshot:
    from ..memory.snapshots import read_snapshot

    return read_snapshot(given) if isinstance(given, (str, Path, os.PathLike)) else given
