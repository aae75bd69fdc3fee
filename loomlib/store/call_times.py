"""Finished invocations as arrays: when each was sent, how long it took, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .figure_days import FigureDay
from .figures import TimedCall

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTimes:
    """Finished invocations in the order of their requests, as arrays of equal length.

    Attributes:
        asked_s: Time of the request in Unix seconds.
        durations_ms: Duration in ms; NaN where it is unknown.
        failed: Whether the invocation failed.
        kinds: The index of each invocation's failure class in `failures`.
        failures: The failure classes; None for none.
    """

    asked_s: NDArray[np.float64]
    durations_ms: NDArray[np.float64]
    failed: NDArray[np.bool_]
    kinds: NDArray[np.int64]
    failures: tuple[str | None, ...]

    @classmethod
    def of(cls, calls: Sequence[TimedCall]) -> CallTimes:
        """Return the arrays of calls."""
        import numpy as np

        failures = tuple(dict.fromkeys(call.failure for call in calls))
        places = {failure: place for place, failure in enumerate(failures)}
        return cls(
            asked_s=np.array([call.asked_s for call in calls], dtype=np.float64),
            durations_ms=np.array([call.duration_ms for call in calls], dtype=np.float64),
            failed=np.array([call.failed for call in calls], dtype=np.bool_),
            kinds=np.array([places[call.failure] for call in calls], dtype=np.int64),
            failures=failures,
        )

    @classmethod
    def of_day(cls, day: FigureDay) -> CallTimes:
        """Return the finished calls of a stored day."""
        import numpy as np

        assert day.asked is not None
        assert day.places is not None
        places = day.places.astype(np.int64)
        statuses = [status for status, _, _ in day.outcomes]
        ended = np.array([status in ("complete", "error") for status in statuses], dtype=np.bool_)[places]
        return cls(
            asked_s=day.asked[ended],
            durations_ms=day.durations[ended],
            failed=np.array([status == "error" for status in statuses], dtype=np.bool_)[places][ended],
            kinds=places[ended],
            failures=tuple(failure for _, failure, _ in day.outcomes),
        )

    @classmethod
    def joined(cls, parts: Sequence[CallTimes]) -> CallTimes:
        """Concatenate one or more `CallTimes`, in the order of their requests."""
        import numpy as np

        failures = tuple(dict.fromkeys(failure for part in parts for failure in part.failures))
        places = {failure: place for place, failure in enumerate(failures)}
        kinds = [np.array([places[one] for one in part.failures], dtype=np.int64)[part.kinds] for part in parts]
        asked_s = np.concatenate([part.asked_s for part in parts])
        order = np.argsort(asked_s, kind="stable")
        return cls(
            asked_s=asked_s[order],
            durations_ms=np.concatenate([part.durations_ms for part in parts])[order],
            failed=np.concatenate([part.failed for part in parts])[order],
            kinds=np.concatenate(kinds)[order],
            failures=failures,
        )
