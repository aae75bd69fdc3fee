"""The part of the workbench that keeps alerts and checks them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..errors import LoomError
from .bench_operations import BenchOperations

if TYPE_CHECKING:
    import pandas as pd

    from ..alerts import AlertRule, Notify
    from ..metrics import Window
    from ..statistics import Estimate
    from .alerts import AlertCheckView


class BenchAlerts(BenchOperations):
    """What `Workbench` offers about alerts."""

    def add_alert(self, rule: AlertRule | str, **options: Any) -> AlertRule:
        """Store a rule: a `loomlib.alerts.AlertRule`, or the name of its number with the rule's own options.

        bench.add_alert("error_rate", above=0.05, agent="calculator", window=timedelta(hours=1), min_n=20)
        """
        from ..alerts import AlertRule

        made = AlertRule(rule, **options) if isinstance(rule, str) else rule
        self.store.alerts.add(self.where, made.name, made.to_dict(), at=datetime.now(UTC))
        return made

    def remove_alert(self, name: str) -> None:
        """Remove a rule; its history stays. Raises `LoomError` naming what there is."""
        if not self.store.alerts.remove(self.where, name):
            known = ", ".join(each.name for each in self.store.alerts.list(self.where))
            raise LoomError("No alert of that name", on=name, try_=known or "bench.alerts()")

    def alerts(self) -> pd.DataFrame:
        """The stored rules, and how each stood when it was last checked."""
        from .alerts import alert_frame

        return alert_frame(self.store.alerts.list(self.where))

    def alert_history(self, name: str | None = None, *, limit: int = 100) -> pd.DataFrame:
        """What happened to the alerts (to one): changes of state, what was told, what could not be; newest first."""
        from .alerts import event_frame

        return event_frame(self.store.alerts.events(self.where, name, limit=limit))

    def check_alerts(self, *, notify: Notify | bool = True) -> AlertCheckView:
        """Judge every rule now, note what changed, and tell whom the rules name (nobody with `notify=False`).

        Decided on intervals: a few bad calls among few are `unclear`, no alarm.

            bench.check_alerts().alarms
        """
        from ..alerts import apprise_notify, check_alerts
        from .alerts import AlertCheckView

        teller = apprise_notify() if notify is True else notify or None
        found = check_alerts(self.store, self.where, self._measure, teller, now=datetime.now(UTC))
        return AlertCheckView(found, labels=self.labels)

    def _measure(self, rule: AlertRule, window: Window) -> Estimate:
        entries = self.catalog.list() if rule.agent is None else (self.catalog.get(rule.agent),)
        return self.read_figures(entries, since=window.since, until=window.until).total.number(rule.number)
