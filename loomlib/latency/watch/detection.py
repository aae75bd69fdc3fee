"""Search for changes of level, night by night, in all watched figures at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from loomlib.statistics.changes import ALPHA, ChangeEvidence, change_evidence
from loomlib.statistics.multiplicity import closed_e_values

WORSE = 1.0
BETTER = -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NightSeries:
    """One figure over the nights on which it is known.

    Attributes:
        nights: Numbers of the nights, ascending.
        levels: The figure of each, on a scale on which changes add up and more is worse.
        hints: Places in `nights` before which a fact is known to have changed.
    """

    nights: Sequence[int]
    levels: Sequence[float] = field(repr=False)
    hints: Sequence[int] = ()

    def evidence(self, first: int, last: int, direction: float) -> ChangeEvidence:
        """Return the evidence for a change within the places from `first` up to, and without, `last`."""
        return change_evidence(
            [direction * level for level in self.levels[first:last]],
            hints=[hint - first for hint in self.hints if first < hint < last],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChange:
    """A change of one series.

    Attributes:
        series: Number of the series.
        direction: `WORSE` or `BETTER`.
        begin: Place where the level before it begins.
        place: Most probable place of the first night after it.
        first: First place of the set that contains that night in at least 95 % of histories.
        last: Last place of that set.
        end: Place after the last one of the level after it.
        found: Number of the night on which it was found.
    """

    series: int
    direction: float
    begin: int
    place: int
    first: int
    last: int
    end: int
    found: int


@dataclass(slots=True)
class _Track:
    """The state of the search in one series: its present level begins at `start`."""

    start: int = 0
    seen: int = 0
    e_values: dict[float, float] = field(default_factory=lambda: {WORSE: 1.0, BETTER: 1.0})
    found: list[tuple[int, float, int]] = field(default_factory=list[tuple[int, float, int]])


def find_changes(series: Sequence[NightSeries], *, alpha: float = ALPHA) -> list[FoundChange]:
    """Search after every night, as a daily check would have done, and return the changes.

    Each direction has a probability of at most `alpha` of any false alarm in all series and at all looks together, by
    closed testing of the series' e-processes. After a change, the search in its series starts again.

    Args:
        series: The series.
        alpha: Probability of a false alarm.
    """
    tracks = [_Track() for _ in series]
    for night in sorted({night for one in series for night in one.nights}):
        for one, track in zip(series, tracks, strict=True):
            if track.seen < len(one.nights) and one.nights[track.seen] == night:
                track.seen += 1
                if track.seen - track.start >= 2:
                    for direction in (WORSE, BETTER):
                        track.e_values[direction] = one.evidence(track.start, track.seen, direction).e_value
        for direction in (WORSE, BETTER):
            adjusted = closed_e_values([track.e_values[direction] for track in tracks])
            for place, (one, track) in enumerate(zip(series, tracks, strict=True)):
                if adjusted[place] >= 1 / alpha:
                    begin = track.start
                    track.start += one.evidence(begin, track.seen, direction).night
                    track.e_values = {WORSE: 1.0, BETTER: 1.0}
                    track.found.append((track.start, direction, night))
    return [
        change
        for number, (one, track) in enumerate(zip(series, tracks, strict=True))
        for change in _located(number, one, track.found)
    ]


def _located(number: int, series: NightSeries, detections: Sequence[tuple[int, float, int]]) -> list[FoundChange]:
    """Locate each change again with all nights up to the next change, which were not yet known when it was found."""
    if not detections:
        return []
    changes: list[FoundChange] = []
    ends = [*(place for place, _, _ in detections[1:]), len(series.nights)]
    begin = 0
    for (_, direction, night), end in zip(detections, ends, strict=True):
        evidence = series.evidence(begin, end, direction)
        first, last = evidence.nights()
        place = begin + evidence.night
        changes.append(
            FoundChange(
                series=number,
                direction=direction,
                begin=begin,
                place=place,
                first=begin + first,
                last=begin + last,
                end=end,
                found=night,
            )
        )
        begin = place
    return changes
