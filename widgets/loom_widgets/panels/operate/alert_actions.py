"""Alerts in the Operate panel: list, add, remove, check, history."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from loomlib import Workbench
from loomlib.alerts import ALARM, AlertRule
from loomlib.errors import LoomError
from loomlib.metrics import NUMBERS, TITLES, limit_text
from loomlib.presentation.formats import exact, plural

from ...kit import Form, PanelPort, action
from ...kit.source import connect_code, frame_rows

_HISTORY = 500


class AlertActions:
    """Actions on the alerts of one of the panel's workbenches.

    Args:
        panel: The panel that shows the alerts.
        benches: The panel's workbenches.
        place_of: Returns the position of the workbench that a form names; by default that of the shown one.
    """

    def __init__(self, panel: PanelPort, benches: Sequence[Workbench], place_of: Callable[[Form], int]) -> None:
        self._panel, self._benches, self._place_of = panel, benches, place_of

    @action(lane="alerts")
    def alerts(self) -> None:
        """Show the stored rules and their history."""
        self.show_alerts()

    @action(lane="alerts")
    def add_alert(self, form: Form) -> None:
        """Store a rule."""
        bench, number, arguments = self._bench(form), form.text("number"), _rule(form)
        rule = AlertRule(number, **arguments)  # may reject it, before it is shown: a name may be an address by mistake
        code = ", ".join(f"{key}={_code(value)}" for key, value in arguments.items())
        self._panel.show_code(
            f"from datetime import timedelta\n\n{connect_code(bench)}bench.alerts.add({number!r}, {code})"
        )
        bench.alerts.add(rule)
        self.show_alerts()
        self._panel.say(f"Added: {rule.name}. Press Check now to evaluate it.")

    @action(lane="alerts")
    def remove_alert(self, form: Form) -> None:
        """Remove a rule; its history stays."""
        bench, name = self._bench(form), form.text("alert")
        self._panel.show_code(f"{connect_code(bench)}bench.alerts.remove({name!r})")
        bench.alerts.remove(name)
        self.show_alerts()
        self._panel.say(f"Removed: {name}. Its history is kept.")

    @action(lane="alerts")
    def check_alerts(self, form: Form) -> Mapping[str, Any]:
        """Check all rules now; notifications are sent only if the user ticked the box."""
        bench, notify = self._bench(form), form.flag("notify")
        self._panel.show_code(f"{connect_code(bench)}bench.alerts.check({'' if notify else 'notify=False'})")
        result = bench.alerts.check(notify=notify)
        is_shown = bench is self._bench(Form())  # another workbench may be shown by now
        self.show_alerts({item.rule.name: item.sentence for item in result.checked} if is_shown else None)
        self._panel.say(result.sentence())
        return {"alarms": len(result.alarms)}

    def show_alerts(self, states: Mapping[str, str] | None = None) -> None:
        """Show the rules with their states.

        Args:
            states: A sentence for each rule by its name, from a check that has just run; by default those of the last
                changes.
        """
        place = self._place_of(Form())
        bench = self._benches[place]
        rows, events = frame_rows(bench.alerts.table()), frame_rows(bench.alerts.history(limit=_HISTORY))
        if states is None:  # no later sentence than that of its last change is stored
            states = {}
            for event in events:
                if event["kind"] == "state":
                    states.setdefault(event["alert"], event["sentence"])
        for row in rows:
            row["place"] = place  # views name it: the same alert may exist on another workbench
            row["rule"] = f"{TITLES[row['number']]} {row['side']} {limit_text(row['number'], row['limit'])}"
            row["sentence"] = states.get(row["alert"]) or "Not checked yet."
        alarms = sum(row["state"] == ALARM for row in rows)
        self._panel.tables.put("alerts", rows)
        self._panel.tables.put("history", events)
        self._panel.show(alerts={"count": len(rows), "alarms": alarms, "sentence": _sentence(len(rows), alarms)})
        self._panel.send_message("alerts")

    def _bench(self, form: Form) -> Workbench:
        return self._benches[self._place_of(form)]


def _sentence(count: int, alarms: int) -> str:
    if not count:
        return (
            "No alerts yet. An alert watches one of the figures above and fires when its whole interval is beyond the "
            "limit."
        )
    in_alarm = "none" if not alarms else str(alarms)
    return f"{plural(count, 'alert')}, {in_alarm} firing at the last check."


def _rule(form: Form) -> dict[str, Any]:
    number, side = form.text("number"), form.text("side", "above")
    if number not in NUMBERS:
        raise LoomError("Unknown figure for an alert", on=number[:40], try_=", ".join(NUMBERS))
    if side not in ("above", "below"):
        raise LoomError("The side of a limit must be above or below", on=side[:40], try_="above")
    if form.get("limit") in (None, ""):
        raise LoomError("An alert needs a limit", on="the field Limit is empty", try_="a number, such as 5")
    limit = form.number("limit") / (100 if NUMBERS[number] == "share" else 1)
    hours = form.number("hours", 24)
    if not 0 < hours <= 24 * 366:
        raise LoomError(
            "The time window of the alert is out of range", on=f"{exact(hours)} hours", try_="1 to 8784 hours"
        )
    notify = [char for char in form.text("notify").replace(",", " ").split() if char]
    rule: dict[str, Any] = {side: limit}
    rule |= {"agent": form.text("agent")} if form.text("agent") else {}
    rule |= {"window": timedelta(hours=hours), "min_n": max(1, form.count("min_n", 20))}
    rule |= {"name": form.text("name").strip()} if form.text("name").strip() else {}
    return rule | ({"notify": notify} if notify else {})


def _code(value: object) -> str:
    return f"timedelta(hours={value.total_seconds() / 3600:g})" if isinstance(value, timedelta) else repr(value)
