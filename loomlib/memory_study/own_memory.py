"""The memory that a study makes for itself: named before it is made, and deleted when the study is complete.

A study can be killed at any moment. Between the name and the memory: the next run finds it by its name, or makes it.
Between "complete" and the deletion: whichever study starts next in this store deletes what was left. What `keep` says
is stored with the study, so that none of them deletes what was to be kept.
"""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING, Final

from loomlib.errors import LoomError, ResourceNotFoundError, StudyError
from loomlib.jobs import Holding

from .ledger import Ledger

if TYPE_CHECKING:
    from .ports import NamedMemory, RecallBench

_logger = logging.getLogger(__name__)

STRATEGIES: Final = ("semantic", "preferences", "summary")
"""Of the memory that a study makes for itself."""
RENEW_S: Final = 8.0
_LOOKED_AT: Final = 50


def own_memory(bench: RecallBench, ledger: Ledger) -> NamedMemory:
    """The study's own memory, made when there is none yet."""
    environment = ledger.stored().environment
    if known := environment.get("memory_id"):
        return bench.memories.get(str(known))
    if wanted := environment.get("memory_wanted"):
        try:
            return bench.memories.get(str(wanted))
        except ResourceNotFoundError:
            pass  # killed before it was made
    else:
        wanted = f"recall_{uuid.uuid4().hex[:10]}"
        ledger.save("running", memory_wanted=wanted)
    return bench.memories.create(str(wanted), strategies=STRATEGIES)


def tidy(bench: RecallBench, ledger: Ledger) -> None:
    """Deletes the memory of a complete study that made it for itself, unless it was to be kept."""
    if not _is_left(ledger):
        return
    stored = ledger.stored()
    try:
        bench.memories.delete(str(stored.environment["memory_id"]))
    except ResourceNotFoundError:
        pass  # somebody has deleted it
    except LoomError as error:
        _logger.warning("the study's own memory could not be deleted: %s", error, extra={"study_id": stored.id})
        return
    ledger.save(stored.state, finished=True, memory_is_tidied=True)


def tidy_left(bench: RecallBench) -> None:
    """The same for other studies of this place that were killed before they could; not for one that still runs."""
    for row in bench.store.studies.list(scope=bench.where, limit=_LOOKED_AT):
        ledger = Ledger(bench.store, row.id)
        if not _is_left(ledger):
            continue
        try:
            with Holding(bench.store.studies, row.id, renew_every_s=RENEW_S, refused=StudyError):
                tidy(bench, ledger)
        except StudyError:
            continue  # its own process is about to


def _is_left(ledger: Ledger) -> bool:
    stored = ledger.stored()
    known = stored.environment
    is_own = bool(known.get("memory_is_own") and known.get("memory_id"))
    # `keep` is False in so many words: of studies of before nobody knows what was wanted.
    return stored.state == "complete" and is_own and known.get("keep") is False and not known.get("memory_is_tidied")
