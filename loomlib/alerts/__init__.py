"""Alerts: rules on metrics, decided on confidence intervals, with one notification for each change of state."""

from .check import AlertCheck, AlertResult, check_alerts
from .notify import Addresses, Notification, Notify, apprise_notify
from .rule import ALARM, ALERT_STATES, NO_DATA, OK, UNCLEAR, AlertRule

__all__ = [
    "ALARM",
    "ALERT_STATES",
    "NO_DATA",
    "OK",
    "UNCLEAR",
    "Addresses",
    "AlertCheck",
    "AlertResult",
    "AlertRule",
    "Notification",
    "Notify",
    "apprise_notify",
    "check_alerts",
]
