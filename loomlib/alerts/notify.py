"""Send notifications through apprise, to addresses that are referred to by name and never shown or stored."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ..errors import MissingExtraError
from ..settings import read_table

VARIABLE: Final = "LOOM_ALERT_URL_"
"""Prefix of the environment variables that hold addresses, followed by the name in capitals."""

_NOISY: Final = ("apprise", "urllib3.connectionpool", "urllib3.util.retry")
"""Loggers that would log addresses with their secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A notification to send.

    Attributes:
        alert: The alert's name.
        state: "alarm", or "over" when an alarm has ended.
        title: One line.
        body: The state with its evidence.
        names: Names of the addresses to notify.
    """

    alert: str
    state: str
    title: str
    body: str
    names: tuple[str, ...]


Notify: TypeAlias = Callable[[Notification], Sequence[str]]
"""Sends a notification; returns a sentence for each name that could not be notified, with the name in quotes."""


class Addresses:
    """Addresses by name: from the environment, then from the table `[alerts]` of the settings file."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    def names(self) -> tuple[str, ...]:
        """Return the names that have an address."""
        prefixed = {name.removeprefix(VARIABLE).lower() for name in self._environ if name.startswith(VARIABLE)}
        return tuple(sorted(prefixed | {name.lower() for name in read_table("alerts", self._environ)}))

    def find(self, name: str) -> Secret | None:
        """Return the address with a name, or None."""
        if address := self._environ.get(VARIABLE + name.upper()):
            return Secret(address)
        table = {key.lower(): value for key, value in read_table("alerts", self._environ).items()}
        return Secret(table[name.lower()]) if table.get(name.lower()) else None


@dataclass(frozen=True, slots=True)
class Secret:
    """An address that is not shown in its repr."""

    text: str = field(repr=False)


def apprise_notify(addresses: Addresses | None = None) -> Notify:
    """Return a `Notify` that uses apprise (https://github.com/caronc/apprise: mail, Slack, Teams, JSON and many more).

    Args:
        addresses: The addresses; by default those of the environment and the settings file.
    """
    address_book = addresses or Addresses()

    def send(notification: Notification) -> Sequence[str]:
        return [problem for name in notification.names if (problem := _send(address_book, name, notification))]

    return send


def _send(addresses: Addresses, name: str, notification: Notification) -> str:
    address = addresses.find(name)
    if address is None:
        return f"there is no address {name!r}: set {VARIABLE}{name.upper()}, or {name} in [alerts] of loom.toml"
    apprise = _apprise()
    with _quiet():
        try:
            service = apprise.Apprise()
            if not service.add(address.text):
                return f"apprise does not recognize the address {name!r}"
            kind = {"alarm": apprise.NotifyType.FAILURE, "over": apprise.NotifyType.SUCCESS}
            is_sent = service.notify(
                title=notification.title,
                body=notification.body,
                notify_type=kind.get(notification.state, apprise.NotifyType.INFO),
            )
        except Exception as error:  # noqa: BLE001 -- foreign code; its message may hold the address
            return f"sending to {name!r} failed ({type(error).__name__})"
    return "" if is_sent else f"{name!r} could not be reached, or refused the message"


def _apprise() -> Any:
    try:
        import apprise  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise MissingExtraError(
            "Notifications need apprise", on="loomlib.alerts", try_="pip install 'loomlib[alerts]'"
        ) from error
    return apprise


@contextmanager
def _quiet() -> Generator[None]:
    """Silence the loggers that would log addresses; apprise sends from its own threads."""

    def silent(record: logging.LogRecord) -> bool:
        return False

    loggers = [logging.getLogger(name) for name in _NOISY]
    for logger in loggers:
        logger.addFilter(silent)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # apprise imports over a hundred services, some with deprecated imports
            yield
    finally:
        for logger in loggers:
            logger.removeFilter(silent)
