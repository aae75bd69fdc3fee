"""The file of a step: its calls, its first start, and the wall-clock start of each of its runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loomlib.errors import StudyError

from ..calls import OfferedCall


def begin_step(folder: Path, calls: Sequence[OfferedCall]) -> datetime:
    """Return when the step first began; record the present time for a new step.

    Args:
        folder: The folder of the step.
        calls: Its calls.

    Raises:
        StudyError: The folder has another step of this name.
    """
    digest = hashlib.sha256()
    for call in calls:
        digest.update(repr((call.index, call.session_id, call.at_s, call.user, call.think_s)).encode())
        digest.update(call.body)
    path = folder / "step.json"
    if path.exists():
        record = json.loads(path.read_text())
        if record["digest"] != digest.hexdigest():
            raise StudyError(
                "The folder has another step of this name",
                on=str(folder),
                try_="another name or folder, or the same calls to continue that step",
            )
        return datetime.fromisoformat(record["started_at"])
    started_at = datetime.now(UTC)
    _write(path, {"digest": digest.hexdigest(), "started_at": started_at.isoformat()})
    return started_at


def note_origin(folder: Path, *, base_ns: int, unix_ns: int) -> None:
    """Record when a run of the step began.

    Args:
        folder: The folder of the step.
        base_ns: The time on the step's scale at which the run begins.
        unix_ns: The time 0 of the step's scale for this run, in Unix nanoseconds.
    """
    path = folder / "step.json"
    record = json.loads(path.read_text())
    _write(path, {**record, "origins": [*record.get("origins", ()), [base_ns, unix_ns]]})


def read_origins(folder: Path) -> tuple[tuple[float, float], ...]:
    """Return for each run of the step its start on the step's scale, and the time 0 of the scale in Unix seconds.

    Args:
        folder: The folder of the step.
    """
    record = json.loads((folder / "step.json").read_text())
    return tuple((base_ns / 1e9, unix_ns / 1e9) for base_ns, unix_ns in record.get("origins", ()))


def _write(path: Path, content: dict[str, Any]) -> None:
    draft = path.with_name("step.json.new")
    draft.write_text(json.dumps(content))
    draft.replace(path)
