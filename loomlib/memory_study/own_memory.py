"""The memory that a study creates for itself: named before it is created, and deleted when the study is complete.

A study can be killed at any moment. If that happens after the name is stored, the next run finds the memory by its name
or creates it. If it happens between "complete" and the deletion, the next study that starts in this store deletes it.
Whether to keep the memory is stored with the study, so that other studies do not delete it.
"""

from __future__ import annotations

import logging
import uuid
from typing import Final

from loomlib.errors import LoomError, ResourceNotFoundError, StudyError
from loomlib.experiments import StudyLedger
from loomlib.jobs import Holding

from .subjects import MemoryBench, NamedMemory

_logger = logging.getLogger(__name__)

STRATEGIES: Final = ("semantic", "preferences", "summary")
"""Strategies of the memory that a study creates for itself."""
_RENEW_S: Final = 8.0
_MOST_STUDIES: Final = 50


def own_memory(bench: MemoryBench, ledger: StudyLedger) -> NamedMemory:
    """Return the study's own memory; create it if it does not exist.

    Args:
        bench: The workbench.
        ledger: The study.
    """
    environment = ledger.stored.environment
    if memory_id := environment.get("memory_id"):
        return bench.memories.get(str(memory_id))
    if name := environment.get("memory_wanted"):
        try:
            return bench.memories.get(str(name))
        except ResourceNotFoundError:
            pass  # killed before it was created
    else:
        name = f"recall_{uuid.uuid4().hex[:10]}"
        ledger.save("running", memory_wanted=name)
    return bench.memories.create(str(name), strategies=STRATEGIES)


def delete_own_memory(bench: MemoryBench, ledger: StudyLedger) -> None:
    """Delete a completed study's own memory, unless the study keeps it.

    Args:
        bench: The workbench.
        ledger: The study.
    """
    if not _is_left(ledger):
        return
    study = ledger.stored
    try:
        bench.memories.delete(str(study.environment["memory_id"]))
    except ResourceNotFoundError:
        pass  # deleted by another process
    except LoomError as error:
        _logger.warning("the study's own memory could not be deleted: %s", error, extra={"study_id": study.id})
        return
    ledger.save(study.state, finished=True, memory_is_tidied=True)


def delete_left_memories(bench: MemoryBench) -> None:
    """Delete memories left by completed studies that were killed; those of running studies are not deleted."""
    for row in bench.context.store.studies.list(scope=bench.where, limit=_MOST_STUDIES):
        ledger = StudyLedger(bench.context.store, row.id)
        if not _is_left(ledger):
            continue
        try:
            with Holding(bench.context.store.studies, row.id, renew_every_s=_RENEW_S, refused=StudyError):
                delete_own_memory(bench, ledger)
        except StudyError:
            continue  # its own process is about to delete it


def _is_left(ledger: StudyLedger) -> bool:
    study = ledger.stored
    environment = study.environment
    is_own = bool(environment.get("memory_is_own") and environment.get("memory_id"))
    # Compare with False: studies of earlier releases did not store `keep`, so their choice is unknown.
    return (
        study.state == "complete"
        and is_own
        and environment.get("keep") is False
        and not environment.get("memory_is_tidied")
    )
