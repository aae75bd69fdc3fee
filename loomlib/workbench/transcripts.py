"""The transcript of a protocol request as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..agents.protocols.transcript import TranscriptEntry
from .frames import rows_frame

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("at_ms", "direction", "kind", "method", "bytes", "message")


def transcript_frame(entries: Sequence[TranscriptEntry]) -> pd.DataFrame:
    """Return one row per message; `at_ms` is the time at the socket, after the request was sent."""
    rows = [
        {
            "at_ms": entry.at_ms,
            "direction": entry.direction,
            "kind": entry.kind,
            "method": entry.method,
            "bytes": entry.size,
            "message": json.dumps(entry.message, ensure_ascii=False),
        }
        for entry in entries
    ]
    return rows_frame(rows, _COLUMNS)
