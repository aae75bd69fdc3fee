"""The files of a home folder: checked before the service opens them, and when one proves to be damaged in use."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from ..errors import MissingExtraError
from ..recovery import (
    find_damage,
    full_disk_message,
    is_damage,
    is_full_disk,
    mark_damaged,
    recover_if_damaged,
    set_aside,
)
from .knowledge.store import FILE_NAME as KNOWLEDGE
from .logs.journal import FILE_NAME as LOGS
from .memory.records.store import FILE_NAME as RECORDS
from .memory.store import FILE_NAME as EVENTS
from .otlp.store import FILE_NAME as TELEMETRY
from .resources import FILE_NAME as RESOURCES
from .state import has_damaged_state, state_file

_log = logging.getLogger(__name__)
_DATABASES: Final = (RESOURCES, LOGS, EVENTS, RECORDS, KNOWLEDGE, TELEMETRY, "runtimes.db")


def recover_home(home: Path) -> None:
    """Set every damaged file aside and save its readable content to a new one; call it before any of them is opened."""
    if has_damaged_state(home):
        set_aside(state_file(home), "it does not contain the state of a service")
    for name in _DATABASES:
        recover_if_damaged(home / name)


def explain_failure(home: Path, error: BaseException, failed: str) -> str:
    """Log why a request failed, and return the message for its sender.

    Databases that the error says are damaged are recovered at the next start.

    Args:
        home: The home folder.
        error: The error.
        failed: The operation that failed.
    """
    if isinstance(error, MissingExtraError):
        _log.error("%s failed: %s", failed, error)
        return str(error)
    if is_full_disk(error):
        message = full_disk_message(home)
        _log.error("%s failed: %s", failed, message)
        return message
    _log.error("%s failed", failed, exc_info=error)
    damaged = [name for name in _DATABASES if find_damage(home / name)] if is_damage(error) else []
    for name in damaged:
        mark_damaged(home / name)
    if not damaged:
        return "The local AgentCore failed; see its service.log"
    names = ", ".join(damaged)
    _log.error("Damaged: %s in %s; restarting the service recovers what is readable", names, home)
    return (
        f"The local AgentCore's database is damaged ({names}); "
        "loom down and loom up set it aside and recover what is readable"
    )
