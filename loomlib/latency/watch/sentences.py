"""The conclusions of a watch in sentences, and its table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from loomlib.presentation.formats import day, figure, join, number, percent, plural
from loomlib.presentation.formats import points as points_text

from .change import IMPROVEMENT, REGRESSION, UNCLEAR, UNDONE, WITHIN, Change, ChangeGroup, group_changes
from .result import FigureHistory, WatchResult

_MOST_CHANGES = 4
_BEGINNINGS = {
    REGRESSION: "Regression since {since}",
    UNCLEAR: "{worse} since {since}, but the interval contains the limit of {limit}",
    WITHIN: "{worse} since {since}, within the limit of {limit}",
    UNDONE: "{worse} from {since}, recovered since then",
    IMPROVEMENT: "Improvement since {since}",
}


def sentences(result: WatchResult) -> list[str]:
    """Return the conclusions, regressions first."""
    groups = group_changes(result.changes)
    order = [REGRESSION, UNCLEAR, WITHIN, UNDONE, IMPROVEMENT]
    groups.sort(key=lambda group: order.index(group.changes[0].state))
    texts = [_group(group, result) for group in groups]
    if not result.regressions:
        texts.insert(0, _nothing(result))
    if result.earlier:
        texts.append(
            f"{plural(len(result.earlier), 'older change')} of more than {plural(result.days, 'day')} ago: later "
            "nights are compared with the level since then."
        )
    left_out = list(dict.fromkeys(f"{why} ({join(names, most=3)})." for why, names in _left_out(result).items()))
    return [*texts, *result.notes, *left_out]


def table(result: WatchResult) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return the head and one row for each watched figure."""
    head = ("figure", "nights", "level now", "night to night", "last change", "since", "effect [95 %]", "state")
    rows: list[list[str]] = []
    for history in result.histories:
        of = [change for change in (*result.changes, *result.earlier) if change.figure == history.figure]
        newest = max(of, key=lambda change: change.since, default=None)
        rows.append(
            [
                history.figure.title,
                str(len(history.values)),
                figure(history.present, history.figure.kind),
                _spread(history),
                "none" if newest is None else _direction(newest),
                "" if newest is None else day(newest.since),
                "" if newest is None else newest.effect_text(),
                "" if newest is None else newest.state,
            ]
        )
    return head, rows


def facts_text(facts: Mapping[str, tuple[str, str]]) -> str:
    """Return what changed, for the end of a sentence: `with version 7 (before: 6); the code changed`."""
    parts: list[str] = []
    for name, (before, after) in facts.items():
        if name == "version":
            parts.append(f"with version {after} (before: {before})")
        elif name == "code":
            parts.append("the code changed")
        elif name == "labels":
            former, new = before.split(" · "), after.split(" · ")
            removed, added = [one for one in former if one not in new], [one for one in new if one not in former]
            parts.append(f"the labels changed from {join(removed) or 'none'} to {join(added) or 'none'}")
        elif name == "platform":
            parts.append(f"the platform changed from {before} to {after}")
        elif name == "libraries of the client":
            former, new = before.split(", "), after.split(", ")
            added = [one for one in new if one not in former]
            parts.append(f"the client changed to {join(added) or 'fewer libraries'}")
        else:
            parts.append(f"{name} changed from {before} to {after}")
    return "; ".join(parts)


def _group(group: ChangeGroup, result: WatchResult) -> str:
    state = group.changes[0].state
    limit = join(list(dict.fromkeys(result.limits.text(change.figure) for change in group.changes)))
    worse = _upper(join(list(dict.fromkeys(_direction(change) for change in group.changes))))
    beginning = _BEGINNINGS[state].format(since=day(group.since), limit=limit, worse=worse)
    facts = facts_text(group.facts)
    cause = f", {facts}" if facts.startswith("with") else f"; {facts}" if facts else ""
    cause = cause or "; nothing that Loom records changed with it"
    texts = [change.sentence() for change in group.changes[:_MOST_CHANGES]]
    if more := len(group.changes) - len(texts):
        texts.append(f"{plural(more, 'more figure')} changed too")
    text = "; ".join(texts)
    return f"{beginning}: the change came {_between(group.last_before, group.first_after)}{cause}. {_upper(text)}."


def _direction(change: Change) -> str:
    figure = change.figure
    if figure.kind == "ms":
        return "slower" if change.is_worse else "faster"
    if figure.kind == "USD":
        return "more expensive" if change.is_worse else "cheaper"
    return "worse" if change.is_worse else "better"


def _between(last_before: datetime, first_after: datetime) -> str:
    if last_before.date() == first_after.date():
        return f"on {day(last_before)}"
    first = day(last_before)
    if (last_before.year, last_before.month) == (first_after.year, first_after.month):
        first = first.split()[0]
    return f"between {first} and {day(first_after)}"


def _nothing(result: WatchResult) -> str:
    times = [at for history in result.histories for at in history.at]
    if not times:
        return f"Nothing to compare: no complete latency study or evaluation is stored since {day(result.since)}."
    if not result.is_enough:
        return (
            f"Too few nights: {plural(result.nights, 'night')} under the same conditions since "
            f"{day(min(times, default=result.since))}; a change can be found with {result.fewest_nights} or more."
        )
    slower = result.limits.max_slower
    limit = f" of more than {percent(slower)}" if slower else ""
    return (
        f"No regression{limit} in {plural(result.nights, 'night')} from {day(min(times))} to {day(max(times))}, in "
        f"{plural(len(result.histories), 'figure')}."
    )


def _left_out(result: WatchResult) -> dict[str, list[str]]:
    titles_by_reason: dict[str, list[str]] = {}
    for history in result.histories:
        for why in history.left_out:
            titles_by_reason.setdefault(why, []).append(history.figure.title)
    return titles_by_reason


def _spread(history: FigureHistory) -> str:
    if history.spread is None:
        return ""
    if history.figure.kind == "number":
        return number(history.spread)
    if history.figure.is_difference:
        return points_text(history.spread).removeprefix("+")
    return percent(history.spread)


def _upper(text: str) -> str:
    return text if re.match(r"p\d", text) else text[:1].upper() + text[1:]
