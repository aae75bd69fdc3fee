"""Lines in CloudWatch's embedded metric format (EMF), read: which metrics they hold, and whose they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

from loomlib.json_values import as_list, as_mapping, parse_object

_INSTANCE: Final = "otel.resource.service.instance.id"
"""The member by which AWS's exporter names the process that a line comes from."""

_SHORT_UNITS: Final = {"Seconds": "s", "Milliseconds": "ms", "Microseconds": "us", "Bytes": "bytes", "Percent": "%"}


@dataclass(slots=True)
class _Total:
    """One metric over several lines: `is_spread` when lines held distributions, not numbers."""

    unit: str = ""
    samples: float = 0
    sum: float = 0.0
    is_spread: bool = False


def own_lines(lines: Sequence[str], instances: Set[str]) -> list[str] | None:
    """Those of `lines` that one of these processes wrote; None when that cannot be told, or none of them is theirs."""
    found = [line for line in lines if parse_object(line).get(_INSTANCE) in instances] if instances else []
    return found or None


def embedded_facts(lines: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """What the metrics in these lines amount to, by name: counters summed up, of distributions the mean."""
    totals: dict[str, _Total] = {}
    for line in lines:
        document = parse_object(line)
        for name, unit in _declared(document):
            _add(totals.setdefault(name, _Total(_SHORT_UNITS.get(unit, ""))), document.get(name))
    return tuple((_label(name, total), _value(total)) for name, total in sorted(totals.items()) if total.samples)


def _add(total: _Total, value: object) -> None:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        total.samples, total.sum = total.samples + 1, total.sum + value
        return
    spread = as_mapping(value)
    count, added = spread.get("Count"), spread.get("Sum")
    if isinstance(count, int | float) and isinstance(added, int | float):
        total.samples, total.sum, total.is_spread = total.samples + count, total.sum + added, True


def _label(name: str, total: _Total) -> str:
    of = f"mean of {total.samples:g}" if total.is_spread else ""
    return f"{name} ({said})" if (said := ", ".join(filter(None, (total.unit, of)))) else name


def _value(total: _Total) -> float:
    return total.sum / total.samples if total.is_spread else total.sum


def _declared(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and unit of each metric that a line declares."""
    for directive in as_list(as_mapping(document.get("_aws")).get("CloudWatchMetrics")):
        for metric in map(as_mapping, as_list(as_mapping(directive).get("Metrics"))):
            if isinstance(metric.get("Name"), str):
                yield metric["Name"], str(metric.get("Unit", ""))
