"""Metrics as CloudWatch's Embedded Metric Format: one line for all points with the same attributes and time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from .deltas import Deltas
from .documents import Group
from .points import BucketCounts

NAMESPACE = "bedrock-agentcore"
_MOST_VALUES = 100  # CloudWatch's embedded metric format: a metric's array holds at most 100 values
_UNITS = {
    "s": "Seconds",
    "ms": "Milliseconds",
    "us": "Microseconds",
    "bit": "Bits",
    "By": "Bytes",
    "kBy": "Kilobytes",
    "MBy": "Megabytes",
    "GBy": "Gigabytes",
    "%": "Percent",
    "Count": "Count",
}


class EmfLines:
    """Converts metrics to EMF lines; cumulative series become deltas."""

    def __init__(self) -> None:
        self._deltas = Deltas()

    def lines(self, group: Group, namespace: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (unix milliseconds, line) for each set of attributes and time."""
        gathered: dict[tuple[int, tuple[tuple[str, str], ...]], list[tuple[dict[str, Any], Any]]] = {}
        for metric in group.records:
            for point in metric["points"]:
                dimensions = {name: _text(value) for name, value in point["attributes"].items()}
                value = self._deltas.since_last(group.resource, metric, point, tuple(sorted(dimensions.items())))
                if value is None:
                    continue
                key = (point["timeUnixNano"] // 1_000_000, tuple(dimensions.items()))
                gathered.setdefault(key, []).append((metric, value))
        for (moment_ms, dimensions), metrics in gathered.items():
            yield moment_ms, _line(group.resource, namespace or NAMESPACE, moment_ms, dict(dimensions), metrics)


def _line(
    resource: Mapping[str, Any],
    namespace: str,
    moment_ms: int,
    dimensions: dict[str, str],
    metrics: list[tuple[dict[str, Any], Any]],
) -> dict[str, Any]:
    service = str(resource.get("service.name") or "")
    place = "bedrock-agentcore" if resource.get("cloud.platform") == "aws_bedrock_agentcore" else "generic"
    environment = resource.get("deployment.environment.name") or resource.get("deployment.environment")
    dimension_values = {
        **dimensions,
        "Service": "UnknownService" if not service or service.startswith("unknown_service") else service,
        "Environment": str(environment or f"{place}:default"),
    }
    declared = [
        {"Name": metric["name"]} | ({"Unit": unit} if (unit := _UNITS.get(metric["unit"])) else {})
        for metric, _ in metrics
    ]
    return {
        "_aws": {
            "Timestamp": moment_ms,
            "CloudWatchMetrics": [
                {"Namespace": namespace, "Metrics": declared, "Dimensions": [list(dimension_values)]}
            ],
        },
        "Version": "1",
        **{f"otel.resource.{name}": _text(value) for name, value in resource.items()},
        **{metric["name"]: _value(value) for metric, value in metrics},
        **dimension_values,
    }


def _value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    point = cast("dict[str, Any]", value)
    buckets: BucketCounts = point["buckets"]
    count = point["count"]
    if not buckets and count:
        buckets = [(point["sum"] / count if isinstance(point["sum"], int | float) else 0.0, count)]
    while len(buckets) > _MOST_VALUES:
        buckets = [_merged(buckets[at : at + 2]) for at in range(0, len(buckets), 2)]
    values = [middle for middle, _ in buckets]
    return {
        "Values": values,
        "Counts": [float(bucket_count) for _, bucket_count in buckets],
        "Count": count,
        "Sum": point["sum"],
        "Max": point.get("max", max(values, default=0.0)),
        "Min": point.get("min", min(values, default=0.0)),
    }


def _merged(buckets: BucketCounts) -> tuple[float, int]:
    count = sum(bucket_count for _, bucket_count in buckets)
    return sum(middle * bucket_count for middle, bucket_count in buckets) / count, count


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
