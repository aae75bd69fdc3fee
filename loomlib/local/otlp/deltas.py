"""Deltas of cumulative series: CloudWatch sums values, so each value may be stored only once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

_REMEMBERED_SERIES = 10_000


class Deltas:
    """The last data point of each of the 10,000 most recently updated series."""

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[object, ...], dict[str, Any]] = OrderedDict()

    def since_last(
        self,
        resource: Mapping[str, Any],
        metric: Mapping[str, Any],
        point: dict[str, Any],
        attributes: tuple[tuple[str, str], ...],
    ) -> Any:
        """Return the increase since a series' last point: a number or a histogram point; None without one.

        Gauges, deltas and sums that may fall are returned unchanged.

        Args:
            resource: The resource's attributes.
            metric: The metric, with its kind, name and temporality.
            point: The data point.
            attributes: The point's attributes, sorted.
        """
        kind = metric["kind"]
        is_number = kind in ("sum", "gauge")
        falls = kind == "sum" and not metric["monotonic"]
        if kind == "gauge" or falls or metric["temporality"] != "cumulative":
            return point["value"] if is_number else point
        maker = resource.get("service.instance.id") or str(sorted(map(str, resource.items())))
        key = (maker, metric["name"], attributes, point["startTimeUnixNano"])
        last = self._last.pop(key, None)
        self._last[key] = point
        if len(self._last) > _REMEMBERED_SERIES:
            self._last.popitem(last=False)
        if last is None:
            return point["value"] if is_number else point
        if is_number:
            return _difference(point["value"], last["value"]) or None
        return _histogram_difference(point, last)


def _histogram_difference(point: Mapping[str, Any], last: Mapping[str, Any]) -> dict[str, Any] | None:
    count = point["count"] - last["count"]
    if count <= 0:
        return None
    before = dict(last["buckets"])
    bucket_deltas = [(middle, bucket_count - before.get(middle, 0)) for middle, bucket_count in point["buckets"]]
    # After a change of scale the buckets are not comparable: only the mean remains.
    comparable = (
        all(bucket_count >= 0 for _, bucket_count in bucket_deltas)
        and sum(bucket_count for _, bucket_count in bucket_deltas) == count
    )
    return {
        "count": count,
        "sum": _difference(point["sum"], last["sum"]),
        "buckets": [item for item in bucket_deltas if item[1]] if comparable else [],
    }


def _difference(value: Any, last: Any) -> Any:
    return value - last if isinstance(value, int | float) and isinstance(last, int | float) else value
