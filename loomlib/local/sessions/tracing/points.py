"""Measurements, aggregated between two exports and encoded as OTLP/JSON (`metrics/v1/metrics.proto`)."""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import time_ns
from typing import Any

from .encode import encoded_attributes

SERIES_LIMIT = 2_000
"""The most sets of attributes of one instrument. All further ones count as one, as in OpenTelemetry's SDK."""

_OVERFLOW = (("otel.metric.overflow", True),)
_DELTA, _CUMULATIVE = 1, 2
_LARGEST_SCALE, _MOST_BUCKETS = 20, 160  # of OpenTelemetry's exponential histograms, which AWS's distribution chooses
_SMALLEST = 2.2250738585072014e-308

Attributes = tuple[tuple[str, Any], ...]
Observe = Callable[[], Iterable[tuple[float, Mapping[str, Any] | None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """An instrument: `kind` is "counter", "up_down", "histogram" or "gauge", `scope` its meter's name and version.

    `observe` returns the values of an observable instrument.
    """

    scope: tuple[str, str]
    name: str
    unit: str
    kind: str
    observe: Observe | None = None


class Points:
    """The points recorded since the last `take`.

    Counters and histograms are deltas, as AWS's exporter for embedded metrics asks for them: sent values are discarded,
    so a counter with new attributes in every cycle, as in Strands, does not fill the memory. Nor does a histogram whose
    points are never taken: its values are counted in buckets as they arrive.
    """

    def __init__(self, resource: Mapping[str, str]) -> None:
        self._resource = resource
        self._observed: list[Series] = []
        self._totals: dict[Series, dict[Attributes, float]] = {}
        self._is_stopped = False
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Start empty, also in a forked child: earlier points are exported by the parent."""
        self._lock = threading.Lock()
        self._values: dict[Series, dict[Attributes, float]] = {}
        self._histograms: dict[Series, dict[Attributes, Buckets]] = {}
        self._since_ns = time_ns()

    def move(self, resource: Mapping[str, str]) -> None:
        """Use another resource from now on."""
        self._resource = resource

    @property
    def waits(self) -> bool:
        """Whether there are points to take."""
        return bool(self._values or self._histograms)

    def stop(self) -> None:
        """Stop recording: the agent has set its own provider, which decides where metrics go."""
        with self._lock:
            self._is_stopped = True
            self._values.clear()
            self._histograms.clear()
            self._totals.clear()
            self._observed.clear()

    def observe(self, series: Series) -> None:
        """Observe an instrument whenever points are taken."""
        self._observed.append(series)

    def record(self, series: Series, value: float, attributes: Mapping[str, Any] | None = None) -> None:
        """Record one measurement. Thread-safe.

        Args:
            series: The instrument.
            value: The measured value; ignored if it is not a finite number.
            attributes: The measurement's attributes.
        """
        if self._is_stopped or not _is_number(value):
            return
        key = _key(attributes)
        with self._lock:
            if series.kind == "histogram":
                buckets = self._histograms.setdefault(series, {})
                buckets.setdefault(_kept_apart(key, buckets), Buckets()).add(value)
                return
            measurements = self._values.setdefault(series, {})
            if series.kind == "gauge":
                measurements[_kept_apart(key, measurements)] = value
                return
            totals = measurements if series.kind == "counter" else self._totals.setdefault(series, {})
            key = _kept_apart(key, totals)
            measurements[key] = totals[key] = totals.get(key, 0) + value

    def take(self) -> bytes:
        """Return an ExportMetricsServiceRequest with the points since the last call; b"" if there are none."""
        for series in tuple(self._observed):
            # Foreign code: whatever it does, the other instruments' points must be exported.
            with contextlib.suppress(Exception):
                for value, attributes in series.observe() if series.observe is not None else ():
                    if _is_number(value):
                        with self._lock:
                            self._values.setdefault(series, {})[_key(attributes)] = value
        with self._lock:
            values, self._values = self._values, {}
            histograms, self._histograms = self._histograms, {}
            begin_ns, self._since_ns = self._since_ns, time_ns()
            end_ns = self._since_ns
        if not values and not histograms:
            return b""
        scopes: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for series, measurements in (*values.items(), *histograms.items()):
            scopes.setdefault(series.scope, []).append(_metric(series, measurements, begin_ns, end_ns))
        resource_metrics = {
            "resource": {"attributes": encoded_attributes(self._resource)},
            "scopeMetrics": [
                {"scope": {"name": name, "version": version} if version else {"name": name}, "metrics": metrics}
                for (name, version), metrics in scopes.items()
            ],
        }
        return json.dumps({"resourceMetrics": [resource_metrics]}, separators=(",", ":")).encode("utf-8", "replace")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _key(attributes: Mapping[str, Any] | None) -> Attributes:
    return tuple(sorted((str(name), _hashable(value)) for name, value in (attributes or {}).items()))


def _hashable(value: Any) -> Any:
    if isinstance(value, str | bool | int | float | bytes) or value is None:
        return value
    if isinstance(value, Sequence):
        return tuple(_hashable(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return str(value)


def _kept_apart(key: Attributes, measurements: Mapping[Attributes, object]) -> Attributes:
    return key if key in measurements or len(measurements) < SERIES_LIMIT else _OVERFLOW


def _metric(
    series: Series, measurements: Mapping[Attributes, float] | Mapping[Attributes, Buckets], begin_ns: int, end_ns: int
) -> dict[str, Any]:
    points: list[dict[str, Any]] = []
    for attributes, value in measurements.items():
        point: dict[str, Any] = {
            "attributes": encoded_attributes(dict(attributes)),
            "startTimeUnixNano": str(begin_ns),
            "timeUnixNano": str(end_ns),
        }
        points.append(point | (value.encoded() if isinstance(value, Buckets) else _number(value)))
    metric: dict[str, Any] = {"name": series.name, "unit": series.unit}
    if series.kind == "gauge":
        return metric | {"gauge": {"dataPoints": points}}
    if series.kind == "histogram":
        return metric | {"exponentialHistogram": {"dataPoints": points, "aggregationTemporality": _DELTA}}
    added = series.kind == "counter" and series.observe is None
    if not added:
        for point in points:  # a total since the process started: the receiver computes the increase
            point["startTimeUnixNano"] = str(_BEGAN_NS)
    total = {
        "dataPoints": points,
        "aggregationTemporality": _DELTA if added else _CUMULATIVE,
        "isMonotonic": series.kind == "counter",
    }
    return metric | {"sum": total}


_BEGAN_NS = time_ns()


def _number(value: float) -> dict[str, Any]:
    return {"asInt": str(value)} if isinstance(value, int) and abs(value) < 2**63 else {"asDouble": float(value)}


@dataclass(slots=True)
class Buckets:
    """A data point of an exponential histogram, at the finest scale that needs at most 160 buckets.

    Bucket i covers (base^i, base^(i+1)] with base = 2^(2^-scale); at the next coarser scale, it is in bucket i // 2.
    Source: OpenTelemetry metrics data model, "ExponentialHistogram".
    """

    count: int = 0
    total: float = 0.0
    least: float = math.inf
    most: float = -math.inf
    scale: int = _LARGEST_SCALE
    counts: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))
    """The counts by bucket, of the positive and of the negative values."""

    def add(self, value: float) -> None:
        """Count a value."""
        self.count += 1
        self.total += value
        self.least, self.most = min(self.least, value), max(self.most, value)
        if abs(value) < _SMALLEST:
            return
        counts = self.counts[value < 0]
        index = math.ceil(math.log2(abs(value)) * 2.0**self.scale) - 1
        if index not in counts and counts:
            first, last = min(index, *counts), max(index, *counts)
            while last - first >= _MOST_BUCKETS:
                first, last, index = first // 2, last // 2, index // 2
                self._coarsen()
        counts[index] = counts.get(index, 0) + 1

    def _coarsen(self) -> None:
        self.scale -= 1
        for counts in self.counts:
            finer = list(counts.items())
            counts.clear()
            for index, count in finer:
                counts[index // 2] = counts.get(index // 2, 0) + count

    def encoded(self) -> dict[str, Any]:
        """Return the point without its attributes and times."""
        point: dict[str, Any] = {
            "count": str(self.count),
            "sum": float(self.total),
            "min": float(self.least),
            "max": float(self.most),
            "scale": self.scale,
            "zeroCount": str(self.count - sum(sum(counts.values()) for counts in self.counts)),
        }
        for name, counts in zip(("positive", "negative"), self.counts, strict=True):
            if counts:
                first = min(counts)
                dense = [str(counts.get(index, 0)) for index in range(first, max(counts) + 1)]
                point[name] = {"offset": first, "bucketCounts": dense}
        return point
