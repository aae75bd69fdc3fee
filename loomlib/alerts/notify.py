"""Telling somebody: through apprise, to addresses that are known by name and never shown or stored."""

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
"""With a name in capitals: the environment variable that holds its address."""

_WORDY: Final = ("apprise", "urllib3.connectionpool", "urllib3.util.retry")
"""Loggers that write addresses with their secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """What is to be told. `state` is the alert's, or `over` where an alarm has ended."""

    alert: str
    state: str
    title: str
    body: str
    names: tuple[str, ...]


Notify: TypeAlias = Callable[[Notification], Sequence[str]]
"""Tells it; returns what went wrong, a sentence for each name that was not reached."""


class Addresses:
    """The addresses by name: the environment's, then those of the settings file's table `[alerts]`."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    def names(self) -> tuple[str, ...]:
        """The names that have an address."""
        prefixed = {each.removeprefix(VARIABLE).lower() for each in self._environ if each.startswith(VARIABLE)}
        return tuple(sorted(prefixed | {each.lower() for each in read_table("alerts", self._environ)}))

    def find(self, name: str) -> Secret | None:
        """The address of that name."""
        if found := self._environ.get(VARIABLE + name.upper()):
            return Secret(found)
        table = {key.lower(): value for key, value in read_table("alerts", self._environ).items()}
        return Secret(table[name.lower()]) if table.get(name.lower()) else None


@dataclass(frozen=True, slots=True)
class Secret:
    """An address that no repr shows."""

    text: str = field(repr=False)


def apprise_notify(addresses: Addresses | None = None) -> Notify:
    """A `Notify` that asks apprise (https://github.com/caronc/apprise: mail, Slack, Teams, JSON and many more)."""
    known = addresses or Addresses()

    def tell(notification: Notification) -> Sequence[str]:
        return [problem for name in notification.names if (problem := _tell(known, name, notification))]

    return tell


def _tell(addresses: Addresses, name: str, notification: Notification) -> str:
    found = addresses.find(name)
    if found is None:
        return f"nobody knows the address {name!r}: set {VARIABLE}{name.upper()}, or {name} in [alerts] of loom.toml"
    apprise = _apprise()
    with _quiet():
        try:
            service = apprise.Apprise()
            if not service.add(found.text):
                return f"the address {name!r} is in no form that apprise knows"
            kind = {"alarm": apprise.NotifyType.FAILURE, "over": apprise.NotifyType.SUCCESS}
            told = service.notify(
                title=notification.title,
                body=notification.body,
                notify_type=kind.get(notification.state, apprise.NotifyType.INFO),
            )
        except Exception as error:  # noqa: BLE001 -- foreign code; its message may hold the address
            return f"telling {name!r} failed ({type(error).__name__})"
    return "" if told else f"{name!r} could not be reached, or refused the message"


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
    """The loggers that write addresses out say nothing meanwhile (apprise sends from threads of its own)."""

    def silent(record: logging.LogRecord) -> bool:
        return False

    loggers = [logging.getLogger(name) for name in _WORDY]
    for each in loggers:
        each.addFilter(silent)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # apprise loads its hundred services, some with old imports
            yield
    finally:
        for each in loggers:
            each.removeFilter(silent)
