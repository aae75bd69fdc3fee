"""Deliver notifications: pending ones are stored for each address, retried, and finally abandoned.

An alarm is sent once to each address, and again as a reminder while it lasts. A failed notification is retried at the
next check after a delay of 1 minute that doubles each time, `MOST_TRIES` attempts in all (over two hours); after that
the address is skipped until there is something new to send, and every check reports it. Retries do not delay reminders.
The end of an alarm is sent once, to those who received the alarm. A notification whose process was killed is sent
again: a duplicate is better than none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from ..errors import LoomError
from ..presentation.formats import exact, timestamp
from ..store import AlertRow, Store
from .notify import Notification, Notify
from .rule import ALARM, OK, AlertRule

RESOLVED: Final = "over"
"""Kind of the notification that an alarm has ended (the stored value)."""
MOST_TRIES: Final = 8
_FIRST_DELAY: Final = timedelta(minutes=1)
_TITLES: Final[Mapping[str, str]] = {"alarm": "ALARM", "reminder": "STILL IN ALARM", RESOLVED: "RESOLVED"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The names that were notified, and a sentence for each notification that failed or was abandoned."""

    notified: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    """A notification that is due: its kind, the attempts so far for each name, and the time of the first attempt."""

    kind: str
    tries: Mapping[str, int]
    sent_at: datetime


def deliver(
    store: Store, row: AlertRow, rule: AlertRule, state: str, sentence: str, reading: Mapping[str, Any], *,
    notify: Notify, now: datetime,
) -> Delivered:  # fmt: skip
    """Send the notification that is due, if any, and store which addresses are still pending.

    Args:
        store: Where alerts are stored.
        row: The alert as stored before this check.
        rule: The alert's rule.
        state: The alert's state now.
        sentence: The state with its evidence.
        reading: The metric's value, for the history.
        notify: Sends a notification.
        now: The time of the check.
    """
    due = _due(row, rule, state, now)
    if due is None:
        return Delivered(problems=_abandoned(row, rule, state))
    is_again = row.notified_state == state and _kind(row) == due.kind
    others = {name: count for name, count in _tries(row).items() if is_again and name not in due.tries}
    pending = {"kind": due.kind, "tries": {**others, **due.tries}, "sent_at": due.sent_at.isoformat()}
    # Claim before sending, so that only one of two concurrent checks sends.
    if not store.alerts.claim_notification(row, state, at=now, pending=pending) or not due.tries:
        return Delivered()
    notification = Notification(
        alert=rule.name,
        state=RESOLVED if due.kind == RESOLVED else ALARM,
        title=f"Loom: {_TITLES[due.kind]} · {rule.name}",
        body=f"{sentence}\nChecked {timestamp(now)} over {_span(rule)}.",
        names=tuple(due.tries),
    )
    problems = _problems(notify, notification)
    # A problem that mentions no name concerns all of them.
    is_mentioned = {name: any(repr(name) in problem for problem in problems) for name in due.tries}
    missed = (
        [name for name in due.tries if is_mentioned[name]]
        if any(is_mentioned.values())
        else list(due.tries)
        if problems
        else []
    )
    tries = others | {name: due.tries[name] + 1 for name in missed}
    store.alerts.set_pending(row.id, {**pending, "tries": tries})
    notified = tuple(name for name in due.tries if name not in missed)

    def record(kind: str, text: str) -> None:
        store.alerts.add_event(
            row.scope, row.name, at=now, kind=kind, state=state, before=None, sentence=text, reading=reading
        )

    if notified:
        record("reminder" if due.kind == "reminder" else "notified", f"{sentence} Notified: {', '.join(notified)}.")
    if problems:
        record("not notified", "; ".join(problems))
    if final := [_gave_up(name) for name in missed if tries[name] >= MOST_TRIES]:
        record("gave up", "; ".join(final))
    abandoned = [_gave_up(name) for name, count in others.items() if count >= MOST_TRIES and name in rule.notify]
    return Delivered(notified=notified, problems=(*problems, *final, *abandoned))


def _due(row: AlertRow, rule: AlertRule, state: str, now: datetime) -> _Due | None:
    everybody = dict.fromkeys(rule.notify, 0)
    tries = _tries(row)
    in_alarm = row.notified_state == ALARM
    if state == OK and in_alarm:  # only those who received the alarm receive its end
        reached = everybody if _kind(row) == "reminder" else {name: 0 for name in everybody if not tries.get(name)}
        return _Due(kind=RESOLVED, tries=reached, sent_at=now)
    if state == ALARM and not in_alarm:
        return _Due(kind="alarm", tries=everybody, sent_at=now)
    if state not in (OK, ALARM) or row.notified_state != state:
        return None
    sent_at = _sent_at(row)
    if state == ALARM and rule.remind_every is not None and (sent_at is None or now - sent_at >= rule.remind_every):
        return _Due(kind="reminder", tries=everybody, sent_at=now)
    waited = timedelta.max if row.notified_at is None else now - row.notified_at
    retries = {
        name: count for name, count in tries.items()
        if name in everybody and count < MOST_TRIES and waited >= _FIRST_DELAY * 2 ** max(0, count - 1)
    }  # fmt: skip
    return _Due(kind=_kind(row) or "alarm", tries=retries, sent_at=sent_at or now) if retries else None


def _abandoned(row: AlertRow, rule: AlertRule, state: str) -> tuple[str, ...]:
    if state != row.notified_state:
        return ()
    return tuple(_gave_up(name) for name, count in _tries(row).items() if count >= MOST_TRIES and name in rule.notify)


def _gave_up(name: str) -> str:
    return f"{name!r}: {MOST_TRIES} attempts failed; not retried until the alert changes or a reminder is due"


def _kind(row: AlertRow) -> str:
    return str((row.pending or {}).get("kind") or "")


def _tries(row: AlertRow) -> dict[str, int]:
    return dict((row.pending or {}).get("tries") or {})


def _sent_at(row: AlertRow) -> datetime | None:
    """Return when the last notification was first sent; `notified_at` is the time of the last attempt."""
    sent_at: str | None = (row.pending or {}).get("sent_at")
    return datetime.fromisoformat(sent_at) if sent_at else row.notified_at


def _problems(notify: Notify, notification: Notification) -> Sequence[str]:
    try:
        return notify(notification)
    except LoomError as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001 -- foreign code; its message may hold an address
        why = f"{type(error).__name__} in the notify function"
    return [f"cannot notify {name!r}: {why}" for name in notification.names]


def _span(rule: AlertRule) -> str:
    hours = rule.window.total_seconds() / 3600
    return f"the last {exact(hours)} h" if hours >= 1 else f"the last {exact(hours * 60)} min"
