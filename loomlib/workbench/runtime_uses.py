"""CPU and memory of invocations: kept in the store once the runtime's usage log has told them whole."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..telemetry.cost import RuntimeUse, UsageLogs

if TYPE_CHECKING:
    from ..agents import AgentEntry
    from ..store import Store
    from .tracer import TracedInvocation

_log = logging.getLogger(__name__)


class RuntimeUses:
    """Finds them for one workbench. What was read `settled_s` after an answer is whole, and kept beside the trace."""

    def __init__(self, store: Store, logs: UsageLogs, *, settled_s: float) -> None:
        self._store, self._logs, self._settled_s = store, logs, settled_s

    def of(self, entry: AgentEntry, found: TracedInvocation) -> RuntimeUse:
        """What an invocation used; unknown when nothing tells."""
        if found.use is not None:
            return found.use
        row = found.row
        use = self._logs.use_of(entry.arn, row.session_id, row.client_invoke_time, row.client_done_time)
        is_settled = row.client_done_time is not None and time.time() - row.client_done_time > self._settled_s
        if use.vcpu_s is not None and is_settled:
            try:
                self._store.traces.note(row.id, use=_plain(use))
            except StoreError as error:  # it is known all the same, and can be read again
                _log.warning("What an invocation used is not kept: %s", error, extra={"id": row.id})
        return use


def kept_use(details: Mapping[str, Any]) -> RuntimeUse | None:
    """The use that stands among the details of a kept trace."""
    kept: Mapping[str, Any] | None = details.get("use")
    if kept is None:
        return None
    memory = kept["memory_gb_s"]
    return RuntimeUse(
        vcpu_s=Decimal(kept["vcpu_s"]),
        memory_gb_s=None if memory is None else Decimal(memory),
        basis=kept["basis"],
        is_estimate=kept["is_estimate"],
    )


def _plain(use: RuntimeUse) -> dict[str, Any]:
    memory = None if use.memory_gb_s is None else str(use.memory_gb_s)
    return {
        "vcpu_s": str(use.vcpu_s),
        "memory_gb_s": memory,
        "basis": use.basis,
        "is_estimate": use.is_estimate,
    }
