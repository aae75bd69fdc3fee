"""Read CloudWatch's embedded metric format (EMF): a line's metrics, and the process that wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

from loomlib.json_values import as_list, as_mapping, parse_object

from ..presentation.formats import number

_INSTANCE: Final = "otel.resource.service.instance.id"
"""The member in which AWS's exporter names the process that wrote a line."""

_SHORT_UNITS: Final = {"Seconds": "s", "Milliseconds": "ms", "Microseconds": "us", "Bytes": "bytes", "Percent": "%"}


@dataclass(slots=True)
class _MetricTotal:
    """One metric over several lines; `is_distribution` when lines held distributions, not numbers."""

    unit: str = ""
    samples: float = 0
    sum: float = 0.0
    is_distribution: bool = False


def own_lines(lines: Sequence[str], instances: Set[str]) -> list[str] | None:
    """Return the lines written by one of these processes; None when unknown or when there are none.

    Args:
        lines: EMF lines.
        instances: The processes' instance ids.
    """
    own = [line for line in lines if parse_object(line).get(_INSTANCE) in instances] if instances else []
    return own or None


def embedded_facts(lines: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return the metrics in these lines by name: counters summed, distributions averaged."""
    totals: dict[str, _MetricTotal] = {}
    for line in lines:
        document = parse_object(line)
        for name, unit in _declared(document):
            _add(totals.setdefault(name, _MetricTotal(_SHORT_UNITS.get(unit, ""))), document.get(name))
    return tuple((_label(name, total), _value(total)) for name, total in sorted(totals.items()) if total.samples)


def _add(total: _MetricTotal, value: object) -> None:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        total.samples, total.sum = total.samples + 1, total.sum + value
        return
    distribution = as_mapping(value)
    count, sum_ = distribution.get("Count"), distribution.get("Sum")
    if isinstance(count, int | float) and isinstance(sum_, int | float):
        total.samples, total.sum, total.is_distribution = total.samples + count, total.sum + sum_, True


def _label(name: str, total: _MetricTotal) -> str:
    of = f"mean of {number(total.samples)}" if total.is_distribution else ""
    details = ", ".join(filter(None, (total.unit, of)))
    return f"{name} ({details})" if details else name


def _value(total: _MetricTotal) -> float:
    return total.sum / total.samples if total.is_distribution else total.sum


def _declared(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and unit of each metric that a line declares."""
    for directive in as_list(as_mapping(document.get("_aws")).get("CloudWatchMetrics")):
        for metric in map(as_mapping, as_list(as_mapping(directive).get("Metrics"))):
            if isinstance(metric.get("Name"), str):
                yield metric["Name"], str(metric.get("Unit", ""))
