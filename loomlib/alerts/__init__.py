"""Alerts: rules on the numbers of operations, decided on intervals, told once for each change of state."""

from .check import AlertCheck, Checked, check_alerts
from .notify import Addresses, Notify, Telling, apprise_notify
from .rule import ALARM, ALERT_STATES, NO_DATA, OK, UNCLEAR, Rule

__all__ = [
    "ALARM",
    "ALERT_STATES",
    "NO_DATA",
    "OK",
    "UNCLEAR",
    "Addresses",
    "AlertCheck",
    "Checked",
    "Notify",
    "Rule",
    "Telling",
    "apprise_notify",
    "check_alerts",
]
