"""The files of a home folder: checked before the service opens them, and when one turns out to be damaged in use."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..recovery import find_damage, is_damage, mark_damaged, recover_if_damaged, set_aside
from .logs.journal import FILE_NAME as LOGS
from .memory.records.store import FILE_NAME as RECORDS
from .memory.store import FILE_NAME as EVENTS
from .otlp.store import FILE_NAME as TELEMETRY
from .resources import FILE_NAME as RESOURCES
from .state import has_damaged_state, state_file

_log = logging.getLogger(__name__)
_DATABASES: Final = (RESOURCES, LOGS, EVENTS, RECORDS, TELEMETRY, "runtimes.db")


def recover_home(home: Path) -> None:
    """Set every damaged file aside, with what is readable in a new one; call it before any of them is opened."""
    if has_damaged_state(home):
        set_aside(state_file(home), "its content is not a service's state")
    for name in _DATABASES:
        recover_if_damaged(home / name)


def name_damage(home: Path, error: BaseException) -> Sequence[str]:
    """Return the names of the databases that are damaged, if an error says so, and have the next start recover them."""
    if not is_damage(error):
        return ()
    damaged = [name for name in _DATABASES if find_damage(home / name)]
    for name in damaged:
        mark_damaged(home / name)
    if damaged:
        _log.error("Damaged: %s in %s; restarting the service recovers what is readable", ", ".join(damaged), home)
    return damaged
