"""Lines in CloudWatch's embedded metric format (EMF), read: which metrics they hold, and whose they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final, cast

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
    found = [line for line in lines if _document(line).get(_INSTANCE) in instances] if instances else []
    return found or None


def embedded_facts(lines: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """What the metrics in these lines amount to, by name: counters summed up, of distributions the mean."""
    totals: dict[str, _Total] = {}
    for line in lines:
        document = _document(line)
        for name, unit in _declared(document):
            _add(totals.setdefault(name, _Total(_SHORT_UNITS.get(unit, ""))), document.get(name))
    return tuple((_label(name, total), _value(total)) for name, total in sorted(totals.items()) if total.samples)


def _add(total: _Total, value: object) -> None:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        total.samples, total.sum = total.samples + 1, total.sum + value
        return
    spread = _mapping(value)
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
    for directive in _list(_mapping(document.get("_aws")).get("CloudWatchMetrics")):
        for metric in map(_mapping, _list(_mapping(directive).get("Metrics"))):
            if isinstance(metric.get("Name"), str):
                yield metric["Name"], str(metric.get("Unit", ""))


def _document(line: str) -> Mapping[str, Any]:
    try:
        return _mapping(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
