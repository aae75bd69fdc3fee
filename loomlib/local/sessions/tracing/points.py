"""What instruments recorded, added up between two exports and encoded as OTLP/JSON (`metrics/v1/metrics.proto`)."""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import time_ns
from typing import Any

from .encode import encoded_attributes

SERIES_LIMIT = 2_000
"""Sets of attributes that are kept apart of one instrument. All beyond count as one, as in OpenTelemetry's SDK."""

_OVERFLOW = (("otel.metric.overflow", True),)
_DELTA, _CUMULATIVE = 1, 2
_LARGEST_SCALE, _MOST_BUCKETS = 20, 160  # of OpenTelemetry's exponential histograms, which AWS's distribution chooses
_SMALLEST = 2.2250738585072014e-308

Attributes = tuple[tuple[str, Any], ...]
Observe = Callable[[], Iterable[tuple[float, Mapping[str, Any] | None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """An instrument: `kind` is "counter", "up_down", "histogram" or "gauge", `scope` its meter's name and version.

    `observe` gives the values of an observable one.
    """

    scope: tuple[str, str]
    name: str
    unit: str
    kind: str
    observe: Observe | None = None


class Points:
    """Records until `stop`; `take` empties it.

    Counters and histograms are deltas, as AWS's exporter for embedded metrics asks for them: what was sent is
    forgotten, and a counter with an attribute of its own in every cycle, as Strands has, does not fill the memory.
    """

    def __init__(self, resource: Mapping[str, str]) -> None:
        self._resource = resource
        self._observed: list[Series] = []
        self._totals: dict[tuple[Series, Attributes], float] = {}
        self._is_stopped = False
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Also in a forked child: what was recorded before is its parent's to send."""
        self._lock = threading.Lock()
        self._values: dict[Series, dict[Attributes, list[float]]] = {}
        self._since_ns = time_ns()

    @property
    def waits(self) -> bool:
        """Whether there is something to take."""
        return bool(self._values)

    def stop(self) -> None:
        """The agent has set a provider of its own, which decides where its metrics go."""
        with self._lock:
            self._is_stopped = True
            self._values.clear()
            self._observed.clear()

    def observe(self, series: Series) -> None:
        """Ask an observable instrument whenever points are taken."""
        self._observed.append(series)

    def record(self, series: Series, value: float, attributes: Mapping[str, Any] | None = None) -> None:
        """One measurement, in whatever thread."""
        if self._is_stopped or not _is_number(value):
            return
        key = _key(attributes)
        with self._lock:
            held = self._values.setdefault(series, {})
            if key not in held and len(held) >= SERIES_LIMIT:
                key = _OVERFLOW
            if series.kind == "histogram":
                held.setdefault(key, []).append(value)
            elif series.kind == "gauge":
                held[key] = [value]
            elif series.kind == "counter":
                held[key] = [held.get(key, [0])[0] + value]
            else:
                self._totals[series, key] = self._totals.get((series, key), 0) + value
                held[key] = [self._totals[series, key]]

    def take(self) -> bytes:
        """An ExportMetricsServiceRequest with what was recorded since the last one, b"" when that is nothing."""
        for series in tuple(self._observed):
            # Foreign code: whatever it does, the other instruments' points have to leave.
            with contextlib.suppress(Exception):
                for value, attributes in series.observe() if series.observe is not None else ():
                    if _is_number(value):
                        with self._lock:
                            self._values.setdefault(series, {})[_key(attributes)] = [value]
        with self._lock:
            values, self._values = self._values, {}
            begin_ns, self._since_ns = self._since_ns, time_ns()
            end_ns = self._since_ns
        if not values:
            return b""
        scopes: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for series, held in values.items():
            scopes.setdefault(series.scope, []).append(_metric(series, held, begin_ns, end_ns))
        found = {
            "resource": {"attributes": encoded_attributes(self._resource)},
            "scopeMetrics": [
                {"scope": {"name": name, "version": version} if version else {"name": name}, "metrics": metrics}
                for (name, version), metrics in scopes.items()
            ],
        }
        return json.dumps({"resourceMetrics": [found]}, separators=(",", ":")).encode("utf-8", "replace")


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


def _metric(series: Series, held: Mapping[Attributes, list[float]], begin_ns: int, end_ns: int) -> dict[str, Any]:
    points: list[dict[str, Any]] = []
    for attributes, values in held.items():
        point: dict[str, Any] = {
            "attributes": encoded_attributes(dict(attributes)),
            "startTimeUnixNano": str(begin_ns),
            "timeUnixNano": str(end_ns),
        }
        points.append(point | (exponential_buckets(values) if series.kind == "histogram" else _number(values[0])))
    metric: dict[str, Any] = {"name": series.name, "unit": series.unit}
    if series.kind == "gauge":
        return metric | {"gauge": {"dataPoints": points}}
    if series.kind == "histogram":
        return metric | {"exponentialHistogram": {"dataPoints": points, "aggregationTemporality": _DELTA}}
    added = series.kind == "counter" and series.observe is None
    if not added:
        for point in points:  # a total since the process began: the receiver finds what was added
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


def exponential_buckets(values: Sequence[float]) -> dict[str, Any]:
    """The values as a point of an exponential histogram, at the finest scale that needs no more than 160 buckets.

    Bucket i covers (base^i, base^(i+1)] with base = 2^(2^-scale). Source: OpenTelemetry metrics data model,
    "ExponentialHistogram".
    """
    logarithms = {sign: [math.log2(abs(v)) for v in values if v * sign >= _SMALLEST] for sign in (1, -1)}
    scale = _LARGEST_SCALE
    while any(_width(found, scale) > _MOST_BUCKETS for found in logarithms.values()):
        scale -= 1
    point: dict[str, Any] = {
        "count": str(len(values)),
        "sum": float(sum(values)),
        "min": float(min(values)),
        "max": float(max(values)),
        "scale": scale,
        "zeroCount": str(len(values) - sum(map(len, logarithms.values()))),
    }
    for name, sign in (("positive", 1), ("negative", -1)):
        if found := logarithms[sign]:
            first = _index(min(found), scale)
            counts = [0] * _width(found, scale)
            for logarithm in found:
                counts[_index(logarithm, scale) - first] += 1
            point[name] = {"offset": first, "bucketCounts": [str(count) for count in counts]}
    return point


def _index(logarithm: float, scale: int) -> int:
    return math.ceil(logarithm * 2.0**scale) - 1


def _width(logarithms: Sequence[float], scale: int) -> int:
    return _index(max(logarithms), scale) - _index(min(logarithms), scale) + 1 if logarithms else 0
