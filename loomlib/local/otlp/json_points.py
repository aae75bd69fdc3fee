"""Decode OTLP/JSON metrics of every instrument kind."""

from __future__ import annotations

from typing import Any

from .json_values import MalformedTelemetryError, attributes, double, integer, items, members, moment, text
from .points import KINDS, TEMPORALITIES, bucket_middles, exponential_middles


def metric(source: dict[str, Any]) -> dict[str, Any]:
    """Decode a metric: `{name, unit, kind, monotonic, temporality, points}`; buckets become values and counts."""
    for member, kind in KINDS.items():
        if member in source:
            data = members(source[member])
            return {
                "name": text(source.get("name")),
                "unit": text(source.get("unit")),
                "kind": kind,
                "monotonic": data.get("isMonotonic") is True,
                "temporality": _temporality(data.get("aggregationTemporality")),
                "points": [_point(kind, members(point)) for point in items(data.get("dataPoints"))],
            }
    raise MalformedTelemetryError(f"the metric {text(source.get('name'))[:80]!r} has no data of a known kind")


def _point(kind: str, raw_point: dict[str, Any]) -> dict[str, Any]:
    point: dict[str, Any] = {
        "attributes": attributes(raw_point.get("attributes")),
        "startTimeUnixNano": moment(raw_point.get("startTimeUnixNano")),
        "timeUnixNano": moment(raw_point.get("timeUnixNano")),
    }
    if kind in ("sum", "gauge"):
        point["value"] = integer(raw_point["asInt"]) if "asInt" in raw_point else double(raw_point.get("asDouble", 0.0))
        return point
    point["count"], point["sum"] = integer(raw_point.get("count")), double(raw_point.get("sum", 0.0))
    for name in ("min", "max"):
        if name in raw_point:
            point[name] = double(raw_point[name])
    if kind == "histogram":
        bounds = [_finite(item) for item in items(raw_point.get("explicitBounds"))]
        counts = [integer(item) for item in items(raw_point.get("bucketCounts"))]
        point["buckets"] = bucket_middles(bounds, counts, point.get("min"), point.get("max"))
    elif kind == "exponential":
        point["buckets"] = exponential_middles(
            scale=integer(raw_point.get("scale")),
            zero=integer(raw_point.get("zeroCount")),
            positive=_side(raw_point.get("positive")),
            negative=_side(raw_point.get("negative")),
        )
    else:
        point["buckets"] = []
    return point


def _side(value: object) -> tuple[int, list[int]]:
    side = members(value or {})
    return integer(side.get("offset")), [integer(count) for count in items(side.get("bucketCounts"))]


def _finite(value: object) -> float:
    number = double(value)
    if isinstance(number, str):
        raise MalformedTelemetryError("a bucket's bound must be a number")
    return number


def _temporality(value: object) -> str:
    if isinstance(value, str):
        name = value.removeprefix("AGGREGATION_TEMPORALITY_").lower()
        return name if name in TEMPORALITIES else TEMPORALITIES[0]
    number = integer(value)
    return TEMPORALITIES[number] if 0 <= number < len(TEMPORALITIES) else TEMPORALITIES[0]
