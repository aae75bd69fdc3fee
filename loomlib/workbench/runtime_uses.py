"""CPU and memory use of invocations, from the runtime's usage logs; stored once complete."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ..agents import RuntimeArn
from ..errors import StoreError
from ..store import InvocationRow, Store
from ..telemetry.cost import RuntimeUse, UsageLogs
from ..wall_clock import OF_THIS_PROCESS

_log = logging.getLogger(__name__)


class RuntimeUses:
    """Reads the usage of invocations for one workbench.

    Args:
        store: Where usage is stored, beside the trace.
        logs: The usage logs.
        settled_s: Seconds after an answer until its usage log is complete.
    """

    def __init__(self, store: Store, logs: UsageLogs, *, settled_s: float) -> None:
        self._store, self._logs, self._settled_s = store, logs, settled_s

    def of(self, arn: RuntimeArn, row: InvocationRow, stored: RuntimeUse | None = None) -> RuntimeUse:
        """Return an invocation's vCPU- and GB-seconds, None where no usage log states them.

        Args:
            arn: The agent's runtime.
            row: The invocation.
            stored: Usage that is already stored; it is returned if present.
        """
        if stored is not None:
            return stored
        use = self._logs.use_of(arn, row.session_id, row.client_invoke_time, row.client_done_time)
        is_settled = row.client_done_time is not None and OF_THIS_PROCESS.age_s(row.client_done_time) > self._settled_s
        if use.vcpu_s is not None and is_settled:
            try:
                self._store.traces.note(row.id, use=_plain(use))
            except StoreError as error:  # the caller has it, and it can be read again
                _log.warning("The usage of an invocation could not be stored: %s", error, extra={"id": row.id})
        return use


def stored_use(details: Mapping[str, Any]) -> RuntimeUse | None:
    """Return the usage in the details of a stored trace, or None."""
    stored: Mapping[str, Any] | None = details.get("use")
    if stored is None:
        return None
    memory = stored["memory_gb_s"]
    return RuntimeUse(
        vcpu_s=Decimal(stored["vcpu_s"]),
        memory_gb_s=None if memory is None else Decimal(memory),
        basis=stored["basis"],
        is_estimate=stored["is_estimate"],
    )


def _plain(use: RuntimeUse) -> dict[str, Any]:
    memory = None if use.memory_gb_s is None else str(use.memory_gb_s)
    return {
        "vcpu_s": str(use.vcpu_s),
        "memory_gb_s": memory,
        "basis": use.basis,
        "is_estimate": use.is_estimate,
    }
