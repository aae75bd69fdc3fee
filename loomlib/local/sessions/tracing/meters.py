"""A meter in place of OpenTelemetry's no-op meter, until the agent sets a provider of its own.

The SDK's meter is not used: its import takes 20 ms, for which an invocation would have to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import Any

from opentelemetry.context import Context
from opentelemetry.metrics import (
    CallbackOptions,
    CallbackT,
    Counter,
    Histogram,
    Meter,
    ObservableCounter,
    ObservableGauge,
    ObservableUpDownCounter,
    UpDownCounter,
)
from opentelemetry.metrics import _Gauge as Gauge  # pyright: ignore[reportPrivateUsage]
from opentelemetry.util.types import Attributes

from .points import Points, Series

_RecordValue = Callable[[float, Attributes], None]


class StandInMeter(Meter):
    """A meter whose instruments record to `points` and forward to `meter`, OpenTelemetry's proxy meter.

    The proxy's instruments do nothing until the agent sets a provider; from then on `points` no longer records.
    """

    def __init__(self, meter: Meter, points: Points, name: str, version: str | None) -> None:
        super().__init__(name, version)
        self._wrapped, self._points, self._scope = meter, points, (name, version or "")

    def _recorder(self, kind: str, name: str, unit: str) -> _RecordValue:
        return partial(self._points.record, Series(scope=self._scope, name=name, unit=unit, kind=kind))

    def _observe(self, kind: str, name: str, unit: str, callbacks: Sequence[CallbackT] | None) -> None:
        if callbacks:
            ask = partial(_observations, tuple(callbacks))
            self._points.observe(Series(scope=self._scope, name=name, unit=unit, kind=kind, observe=ask))

    def create_counter(self, name: str, unit: str = "", description: str = "") -> Counter:
        """Create an instrument; see `Meter.create_counter`."""
        return _Counter(self._wrapped.create_counter(name, unit, description), self._recorder("counter", name, unit))

    def create_up_down_counter(self, name: str, unit: str = "", description: str = "") -> UpDownCounter:
        """Create an instrument; see `Meter.create_up_down_counter`."""
        instrument = self._wrapped.create_up_down_counter(name, unit, description)
        return _UpDownCounter(instrument, self._recorder("up_down", name, unit))

    def create_histogram(self, name: str, unit: str = "", description: str = "", **more: Any) -> Histogram:
        """Create an instrument; see `Meter.create_histogram`."""
        instrument = self._wrapped.create_histogram(name, unit, description, **more)
        return _Histogram(instrument, self._recorder("histogram", name, unit))

    def create_gauge(self, name: str, unit: str = "", description: str = "") -> Gauge:
        """Create an instrument; see `Meter.create_gauge`."""
        return _StandInGauge(self._wrapped.create_gauge(name, unit, description), self._recorder("gauge", name, unit))

    def create_observable_counter(
        self, name: str, callbacks: Sequence[CallbackT] | None = None, unit: str = "", description: str = ""
    ) -> ObservableCounter:
        """Create an instrument; see `Meter.create_observable_counter`."""
        self._observe("counter", name, unit, callbacks)
        return self._wrapped.create_observable_counter(name, callbacks, unit, description)

    def create_observable_up_down_counter(
        self, name: str, callbacks: Sequence[CallbackT] | None = None, unit: str = "", description: str = ""
    ) -> ObservableUpDownCounter:
        """Create an instrument; see `Meter.create_observable_up_down_counter`."""
        self._observe("up_down", name, unit, callbacks)
        return self._wrapped.create_observable_up_down_counter(name, callbacks, unit, description)

    def create_observable_gauge(
        self, name: str, callbacks: Sequence[CallbackT] | None = None, unit: str = "", description: str = ""
    ) -> ObservableGauge:
        """Create an instrument; see `Meter.create_observable_gauge`."""
        self._observe("gauge", name, unit, callbacks)
        return self._wrapped.create_observable_gauge(name, callbacks, unit, description)


class _Counter(Counter):
    def __init__(self, counter: Counter, record: _RecordValue) -> None:
        self._wrapped, self._record = counter, record

    def add(self, amount: float, attributes: Attributes = None, context: Context | None = None) -> None:
        self._wrapped.add(amount, attributes, context)
        if amount >= 0:
            self._record(amount, attributes)


class _UpDownCounter(UpDownCounter):
    def __init__(self, counter: UpDownCounter, record: _RecordValue) -> None:
        self._wrapped, self._record = counter, record

    def add(self, amount: float, attributes: Attributes = None, context: Context | None = None) -> None:
        self._wrapped.add(amount, attributes, context)
        self._record(amount, attributes)


class _Histogram(Histogram):
    def __init__(self, histogram: Histogram, record: _RecordValue) -> None:
        self._wrapped, self._record = histogram, record

    def record(self, amount: float, attributes: Attributes = None, context: Context | None = None) -> None:
        self._wrapped.record(amount, attributes, context)
        self._record(amount, attributes)


class _StandInGauge(Gauge):
    def __init__(self, gauge: Gauge, record: _RecordValue) -> None:
        self._wrapped, self._record = gauge, record

    def set(self, amount: float, attributes: Attributes = None, context: Context | None = None) -> None:
        self._wrapped.set(amount, attributes, context)
        self._record(amount, attributes)


def _observations(callbacks: Sequence[CallbackT]) -> Iterable[tuple[float, Attributes]]:
    for callback in callbacks:
        # A generator has only one consumer: it is left to the provider that the agent may still set.
        if not isinstance(callback, Generator):
            for observation in callback(CallbackOptions()):
                yield observation.value, observation.attributes
