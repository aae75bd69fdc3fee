"""Who is told of an alert, and who is still to be told: kept for each address, tried again, and given up in the end.

An alarm is told once to each address, and again as a reminder while it lasts. An address that was not reached is tried
again at the next check, after 1 minute first and each time twice as long, `MOST_TRIES` times in all (over two hours);
then it is given up until there is something new to tell, which every check says. Its end is told once, to those who
were told of the alarm. What was under way when its process was killed is told again: rather twice than never.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from ..errors import LoomError
from .notify import Notification, Notify
from .rule import ALARM, OK, AlertRule

if TYPE_CHECKING:
    from ..store import AlertRow, Store

OVER: Final = "over"
"""What is told when an alarm has ended."""
MOST_TRIES: Final = 8
_FIRST_WAIT: Final = timedelta(minutes=1)
_WORDS: Final[Mapping[str, str]] = {"alarm": "ALARM", "reminder": "STILL IN ALARM", OVER: "over"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The names that were told something now, and a sentence for each that was not or will not be."""

    told: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    """What is to be told, to whom, and how often each of them was tried before."""

    kind: str
    tries: Mapping[str, int]


def deliver(
    store: Store, row: AlertRow, rule: AlertRule, state: str, sentence: str, reading: Mapping[str, Any], *,
    notify: Notify, now: datetime,
) -> Delivered:  # fmt: skip
    """Tells whoever is due, and keeps who was not reached."""
    due = _due(row, rule, state, now)
    if due is None:
        return Delivered(problems=_given_up(row, rule, state))
    is_again = row.told_state == state and _kind(row) == due.kind
    others = {name: count for name, count in _tries(row).items() if is_again and name not in due.tries}
    untold = {"kind": due.kind, "tries": {**others, **due.tries}}
    # Claimed before it is told, so that of two who check at once one tells.
    if not store.alerts.claim_notification(row, state, at=now, untold=untold) or not due.tries:
        return Delivered()
    notification = Notification(
        alert=rule.name,
        state=OVER if due.kind == OVER else ALARM,
        title=f"Loom: {_WORDS[due.kind]} · {rule.name}",
        body=f"{sentence}\nChecked {now:%Y-%m-%d %H:%M:%S} UTC over {_span(rule)}.",
        names=tuple(due.tries),
    )
    problems = _problems(notify, notification)
    # A problem that names nobody is everybody's.
    named = {name: any(repr(name) in problem for problem in problems) for name in due.tries}
    missed = [name for name in due.tries if named[name]] if any(named.values()) else list(due.tries) if problems else []
    tries = others | {name: due.tries[name] + 1 for name in missed}
    store.alerts.set_pending(row.id, {"kind": due.kind, "tries": tries})
    told = tuple(name for name in due.tries if name not in missed)

    def remember(kind: str, words: str) -> None:
        store.alerts.add_event(
            row.scope, row.name, at=now, kind=kind, state=state, before=None, sentence=words, reading=reading
        )

    if told:
        remember("reminder" if due.kind == "reminder" else "told", f"{sentence} Told: {', '.join(told)}.")
    if problems:
        remember("not told", "; ".join(problems))
    if final := [_no_more(name) for name in missed if tries[name] >= MOST_TRIES]:
        remember("given up", "; ".join(final))
    given_up = [_no_more(name) for name, count in others.items() if count >= MOST_TRIES and name in rule.notify]
    return Delivered(told=told, problems=(*problems, *final, *given_up))


def _due(row: AlertRow, rule: AlertRule, state: str, now: datetime) -> _Due | None:
    everybody = dict.fromkeys(rule.notify, 0)
    tries = _tries(row)
    stands = row.told_state == ALARM
    if state == OK and stands:  # who never heard of the alarm need not hear of its end
        reached = everybody if _kind(row) == "reminder" else {name: 0 for name in everybody if not tries.get(name)}
        return _Due(kind=OVER, tries=reached)
    if state == ALARM and not stands:
        return _Due(kind="alarm", tries=everybody)
    if state not in (OK, ALARM) or row.told_state != state:
        return None
    waited = timedelta.max if row.told_at is None else now - row.told_at
    if state == ALARM and rule.remind_every is not None and waited >= rule.remind_every:
        return _Due(kind="reminder", tries=everybody)
    owed = {
        name: count for name, count in tries.items()
        if name in everybody and count < MOST_TRIES and waited >= _FIRST_WAIT * 2 ** max(0, count - 1)
    }  # fmt: skip
    return _Due(kind=_kind(row) or "alarm", tries=owed) if owed else None


def _given_up(row: AlertRow, rule: AlertRule, state: str) -> tuple[str, ...]:
    if state != row.told_state:
        return ()
    return tuple(_no_more(name) for name, count in _tries(row).items() if count >= MOST_TRIES and name in rule.notify)


def _no_more(name: str) -> str:
    return f"{name!r} was not reached in {MOST_TRIES} tries and is not tried again until there is something new to tell"


def _kind(row: AlertRow) -> str:
    return str((row.untold or {}).get("kind") or "")


def _tries(row: AlertRow) -> dict[str, int]:
    return dict((row.untold or {}).get("tries") or {})


def _problems(notify: Notify, notification: Notification) -> Sequence[str]:
    try:
        return notify(notification)
    except LoomError as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001 -- foreign code; its message may hold an address
        why = f"{type(error).__name__} in what tells it"
    return [f"{name!r} was not told: {why}" for name in notification.names]


def _span(rule: AlertRule) -> str:
    hours = rule.window.total_seconds() / 3600
    return f"the last {hours:g} h" if hours >= 1 else f"the last {hours * 60:g} min"
