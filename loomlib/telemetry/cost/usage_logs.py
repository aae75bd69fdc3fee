"""The runtime's usage log: CPU and memory of each session, as AgentCore delivers them (`USAGE_LOGS`).

On AWS the delivery must be enabled; its records cover one second each. The local AgentCore writes a record for each
period in which a session had invocations, and marks it as its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import AccessDeniedError, ResourceNotFoundError
from loomlib.json_values import as_mapping, number_or_none, parse_object
from loomlib.presentation.formats import plural

from ..sources import RuntimeSource
from .runtime_use import RuntimeUse

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients


USAGE_GROUP: Final = "/aws/vendedlogs/bedrock-agentcore/runtime/USAGE_LOGS/"
"""The log group, followed by the runtime's id: the name that the console suggests."""

_CPU: Final = "agent.runtime.vcpu.hours.used"
_MEMORY: Final = "agent.runtime.memory.gb_hours.used"
_MAX_DELAY_MS: Final = 2_000
_TOLERANCE_S: Final = 0.02
"""A record that exceeds an invocation by less than this lies within it, as its times are rounded."""
_ABSENCE_TTL_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecord:
    """One record of a usage log.

    Attributes:
        start_s: Start in Unix seconds.
        end_s: End in Unix seconds.
        vcpu_hours: vCPU-hours; None when not stated.
        gb_hours: GB-hours; None when not stated.
        measured_by: Who measured it, "" for AWS.
    """

    start_s: float
    end_s: float
    vcpu_hours: float | None
    gb_hours: float | None
    measured_by: str = ""

    def share(self, start_s: float, end_s: float) -> float:
        """Return the share of the record that lies in an interval, between 0 and 1.

        Args:
            start_s: Start of the interval in Unix seconds.
            end_s: End of the interval in Unix seconds.
        """
        if self.start_s >= start_s - _TOLERANCE_S and self.end_s <= end_s + _TOLERANCE_S:
            return 1.0
        within = min(self.end_s, end_s) - max(self.start_s, start_s)
        return max(0.0, within) / (self.end_s - self.start_s) if self.end_s > self.start_s else 0.0


class UsageLogs:
    """Reads usage logs through one connection; a missing log group is remembered for a moment.

    Args:
        clients: The AWS clients of a connection.
    """

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._absent: dict[str, float] = {}

    def use_of(self, source: RuntimeSource, session_id: str, start_s: float | None, end_s: float | None) -> RuntimeUse:
        """Return what a session used in an interval; unknown when no record covers it.

        Args:
            source: The agent's runtime.
            session_id: The session.
            start_s: Start of the interval in Unix seconds.
            end_s: End of the interval in Unix seconds.
        """
        from loomlib.aws.logs import filter_events

        group = USAGE_GROUP + source.runtime_id
        now = time.monotonic()
        if start_s is None or end_s is None or now < self._absent.get(group, now):
            return _unknown()
        try:
            events = filter_events(
                self._clients,
                group,
                region=source.region,
                term=session_id,
                start_ms=int(start_s * 1000),
                end_ms=int(end_s * 1000) + _MAX_DELAY_MS,
            )
        except (ResourceNotFoundError, AccessDeniedError):
            self._absent[group] = now + _ABSENCE_TTL_S
            return _unknown()
        return use_between(usage_records((event.message for event in events), session_id), start_s, end_s)


def usage_records(lines: Iterable[str], session_id: str) -> list[UsageRecord]:
    """Return a session's records among the lines of a usage log; other lines are skipped."""
    records: list[UsageRecord] = []
    for line in lines:
        record = parse_object(line)
        attributes, metrics = (
            as_mapping(record.get("attributes")) or record,
            as_mapping(record.get("metrics")) or record,
        )
        end_ms = number_or_none(record.get("event_timestamp"))
        elapsed_s = number_or_none(attributes.get("time_elapsed_seconds", attributes.get("elapsed_time_seconds")))
        if attributes.get("session.id") == session_id and end_ms is not None and elapsed_s is not None:
            records.append(
                UsageRecord(
                    start_s=end_ms / 1000 - max(0.0, elapsed_s),
                    end_s=end_ms / 1000,
                    vcpu_hours=_hours(metrics, _CPU),
                    gb_hours=_hours(metrics, _MEMORY),
                    measured_by=str(attributes.get("loom.measured_by") or ""),
                )
            )
    return records


def use_between(records: Iterable[UsageRecord], start_s: float, end_s: float) -> RuntimeUse:
    """Sum the records of an interval; a record that overlaps it only in part makes the sum an estimate.

    Args:
        records: The records.
        start_s: Start of the interval in Unix seconds.
        end_s: End of the interval in Unix seconds.
    """
    shares = [(record, share) for record in records if (share := record.share(start_s, end_s)) > 0]
    if not shares:
        return _unknown()
    measured_by = next((record.measured_by for record, _ in shares if record.measured_by), "")
    return RuntimeUse(
        vcpu_s=_sum((record.vcpu_hours, share) for record, share in shares),
        memory_gb_s=_sum((record.gb_hours, share) for record, share in shares),
        basis=f"measured by {measured_by}"
        if measured_by
        else f"the runtime's usage log, {plural(len(shares), 'record')}",
        is_estimate=bool(measured_by) or any(share < 1 for _, share in shares),
    )


def _sum(hours: Iterable[tuple[float | None, float]]) -> Decimal | None:
    values = [(value, share) for value, share in hours]
    if any(value is None for value, _ in values):
        return None
    return sum((Decimal(str(value)) * Decimal(str(share)) * 3600 for value, share in values), Decimal(0))


def _hours(metrics: Mapping[str, Any], name: str) -> float | None:
    value = number_or_none(metrics.get(name))
    return value if value is not None and value >= 0 else None


def _unknown() -> RuntimeUse:
    return RuntimeUse(basis="the runtime has no usage log with its CPU and memory")
