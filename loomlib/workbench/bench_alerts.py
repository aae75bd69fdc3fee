"""Alert rules of a workbench: add, remove, check, history."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..deprecation import warn_renamed
from ..errors import LoomError
from .context import Context

if TYPE_CHECKING:
    import pandas as pd

    from ..alerts import AlertRule, Notify
    from ..metrics import Window
    from ..statistics import Estimate
    from .alerts import AlertCheckView


class BenchAlerts:
    """Alerts of a workbench; `bench.alerts`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def add(self, rule: AlertRule | str, **options: Any) -> AlertRule:
        """Store a rule.

            bench.alerts.add("error_rate", above=0.05, agent="calculator", window=timedelta(hours=1), min_n=20)

        Args:
            rule: A `loomlib.alerts.AlertRule`, or the name of its metric, such as "error_rate".
            **options: The other fields of the rule, where `rule` is a name.
        """
        from ..alerts import AlertRule

        added = AlertRule(rule, **options) if isinstance(rule, str) else rule
        self._context.store.alerts.add(self._context.where, added.name, added.to_dict(), at=datetime.now(UTC))
        return added

    def remove(self, name: str) -> None:
        """Remove a rule; its history stays.

        Raises:
            LoomError: There is no rule with that name; the message lists the others.
        """
        alerts = self._context.store.alerts
        if not alerts.remove(self._context.where, name):
            names = ", ".join(row.name for row in alerts.list(self._context.where))
            raise LoomError("There is no alert with that name", on=name, try_=names or "bench.alerts.table()")

    def table(self) -> pd.DataFrame:
        """Return the stored rules with their state at the last check, one row each."""
        from .alerts import alert_frame

        return alert_frame(self._context.store.alerts.list(self._context.where))

    def history(self, name: str | None = None, *, limit: int = 100) -> pd.DataFrame:
        """Return changes of state, notifications and failed notifications, newest first.

        Args:
            name: The alert; all by default.
            limit: Maximum number of rows.
        """
        from .alerts import event_frame

        return event_frame(self._context.store.alerts.events(self._context.where, name, limit=limit))

    def check(self, *, notify: Notify | bool = True) -> AlertCheckView:
        """Check every rule now, store changes of state, and send the notifications that are due.

        A rule compares its limit with the confidence interval of its figure: a few failures among few calls are
        `unclear`, not an alarm.

            bench.alerts.check().alarms

        Args:
            notify: Whether to send notifications; or a function that sends them instead of Apprise.
        """
        from ..alerts import apprise_notify, check_alerts
        from .alerts import AlertCheckView

        sender = apprise_notify() if notify is True else notify or None
        context = self._context
        checked = check_alerts(context.store, context.where, self._measure, sender, now=datetime.now(UTC))
        return AlertCheckView(checked, labels=context.labels)

    def __call__(self) -> pd.DataFrame:
        """Use `table()` instead."""
        warn_renamed("Workbench.alerts()", "Workbench.alerts.table()")
        return self.table()

    def _measure(self, rule: AlertRule, window: Window) -> Estimate:
        from ..metrics import read_figures

        catalog = self._context.catalog
        entries = catalog.list() if rule.agent is None else (catalog.get(rule.agent),)
        figures = read_figures(self._context.store, [entry.id for entry in entries], window)
        return figures.total.number(rule.number)
