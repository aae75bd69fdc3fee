"""The runtime's usage log: CPU and memory of each session, as AgentCore delivers them (`USAGE_LOGS`).

On AWS the delivery must be switched on; its records are a second long. The local AgentCore writes one for each time in
which a session had calls, and says so in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import AccessDeniedError, ResourceNotFoundError
from loomlib.json_values import as_mapping, number_or_none, parse_object

from .runtime_use import RuntimeUse

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients

    from ..sources import RuntimeSource

USAGE_GROUP: Final = "/aws/vendedlogs/bedrock-agentcore/runtime/USAGE_LOGS/"
"""With the runtime's id: the group that the console proposes."""

_CPU: Final = "agent.runtime.vcpu.hours.used"
_MEMORY: Final = "agent.runtime.memory.gb_hours.used"
_LATE_MS: Final = 2_000
_CLOSE_S: Final = 0.02
"""A record that sticks out of an invocation by less than this lies within it: its times are rounded."""
_ABSENT_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecord:
    """One record: Unix seconds, hours of a vCPU and of a GB (None: not stated)."""

    start_s: float
    end_s: float
    vcpu_hours: float | None
    gb_hours: float | None
    measured_by: str = ""

    def share(self, start_s: float, end_s: float) -> float:
        """The part of it that lies in an interval."""
        if self.start_s >= start_s - _CLOSE_S and self.end_s <= end_s + _CLOSE_S:
            return 1.0
        within = min(self.end_s, end_s) - max(self.start_s, start_s)
        return max(0.0, within) / (self.end_s - self.start_s) if self.end_s > self.start_s else 0.0


class UsageLogs:
    """Reads usage logs through one connection. That there is none is remembered for a moment."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._absent: dict[str, float] = {}

    def use_of(self, source: RuntimeSource, session_id: str, start_s: float | None, end_s: float | None) -> RuntimeUse:
        """What a session used between two moments (Unix seconds); unknown when no record says so."""
        from loomlib.aws.logs import filter_events

        group = USAGE_GROUP + source.runtime_id
        now = time.monotonic()
        if start_s is None or end_s is None or now < self._absent.get(group, now):
            return _unknown()
        try:
            found = filter_events(
                self._clients,
                group,
                region=source.region,
                term=session_id,
                start_ms=int(start_s * 1000),
                end_ms=int(end_s * 1000) + _LATE_MS,
            )
        except (ResourceNotFoundError, AccessDeniedError):
            self._absent[group] = now + _ABSENT_S
            return _unknown()
        return use_between(usage_records((event.message for event in found), session_id), start_s, end_s)


def usage_records(lines: Iterable[str], session_id: str) -> list[UsageRecord]:
    """The records of a session among the lines of a usage log; what is no record is left out."""
    found: list[UsageRecord] = []
    for line in lines:
        record = parse_object(line)
        attributes, metrics = (
            as_mapping(record.get("attributes")) or record,
            as_mapping(record.get("metrics")) or record,
        )
        end_ms = number_or_none(record.get("event_timestamp"))
        elapsed_s = number_or_none(attributes.get("time_elapsed_seconds", attributes.get("elapsed_time_seconds")))
        if attributes.get("session.id") == session_id and end_ms is not None and elapsed_s is not None:
            found.append(
                UsageRecord(
                    start_s=end_ms / 1000 - max(0.0, elapsed_s),
                    end_s=end_ms / 1000,
                    vcpu_hours=_hours(metrics, _CPU),
                    gb_hours=_hours(metrics, _MEMORY),
                    measured_by=str(attributes.get("loom.measured_by") or ""),
                )
            )
    return found


def use_between(records: Iterable[UsageRecord], start_s: float, end_s: float) -> RuntimeUse:
    """What the records say of an interval. A record that lies in it in part counts in part, and is an estimate."""
    shares = [(each, share) for each in records if (share := each.share(start_s, end_s)) > 0]
    if not shares:
        return _unknown()
    local = next((each.measured_by for each, _ in shares if each.measured_by), "")
    return RuntimeUse(
        vcpu_s=_sum((each.vcpu_hours, share) for each, share in shares),
        memory_gb_s=_sum((each.gb_hours, share) for each, share in shares),
        basis=f"measured by {local}"
        if local
        else f"the runtime's usage log, {len(shares)} {'record' if len(shares) == 1 else 'records'}",
        is_estimate=bool(local) or any(share < 1 for _, share in shares),
    )


def _sum(hours: Iterable[tuple[float | None, float]]) -> Decimal | None:
    known = [(value, share) for value, share in hours]
    if any(value is None for value, _ in known):
        return None
    return sum((Decimal(str(value)) * Decimal(str(share)) * 3600 for value, share in known), Decimal(0))


def _hours(metrics: Mapping[str, Any], name: str) -> float | None:
    value = number_or_none(metrics.get(name))
    return value if value is not None and value >= 0 else None


def _unknown() -> RuntimeUse:
    return RuntimeUse(basis="no usage log of the runtime tells its CPU and memory")
