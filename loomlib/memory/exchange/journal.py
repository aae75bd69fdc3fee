"""A journal of what an import has written, stored next to the export, from which an interrupted import resumes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

SETTLED_AFTER_S: Final = 600.0
"""Age in seconds from which an entry counts as settled; until then listings may not show what was written."""


@dataclass(slots=True)
class ImportJournal:
    """New ids of imported events and records, by their ids in the export.

    Attributes:
        path: The journal's file.
        checksum: The export's checksum; lines of an import of another file are ignored.
        done: New ids by old ids.
        settled: Old ids of what was written so long ago that listings show whether it is still stored.
    """

    path: Path
    checksum: str
    done: dict[str, str] = field(default_factory=dict[str, str])
    settled: set[str] = field(default_factory=set[str])
    _file: IO[str] | None = None

    @classmethod
    def of(cls, export: str | os.PathLike[str], memory_id: str, checksum: str) -> ImportJournal:
        """Open the journal of an import.

        Args:
            export: The export's file.
            memory_id: The memory to import into.
            checksum: The export's checksum.
        """
        source = Path(export)
        journal = cls(source.with_name(f"{source.name}.{memory_id}.imported"), checksum)
        if journal.path.exists():
            for raw in journal.path.read_text("utf-8").splitlines():
                with suppress(ValueError, KeyError, TypeError):  # a killed import may leave an incomplete last line
                    line: Any = json.loads(raw)
                    if line["of"] == checksum[:16]:
                        old = str(line["old"])
                        journal.done[old] = str(line["new"])
                        is_settled = time.time() - float(line.get("at") or 0) >= SETTLED_AFTER_S
                        if is_settled:
                            journal.settled.add(old)
                        else:
                            journal.settled.discard(old)
        return journal

    def __enter__(self) -> Self:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._file = os.fdopen(descriptor, "a", encoding="utf-8")
        if self.path.stat().st_size:
            self._file.write("\n")  # ends an incomplete line
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def add(self, new_ids: Mapping[str, str]) -> None:
        """Add new ids by old ids; they are on disk when this returns."""
        self.done.update(new_ids)
        if self._file is not None:
            shared = {"of": self.checksum[:16], "at": int(time.time())}
            lines = (json.dumps({**shared, "old": old, "new": new}) for old, new in new_ids.items())
            self._file.write("".join(f"{line}\n" for line in lines))
            self._file.flush()
