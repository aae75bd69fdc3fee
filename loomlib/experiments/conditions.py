"""The conditions under which a study ran, and the bounds beyond which they distort measured times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, cast

from loomlib.presentation.formats import milliseconds, number, percent

MOST_TASKS_PER_PROCESSOR: Final = 2.0
"""Mean number of running and waiting tasks per processor. At two, a ready task waits as long as it runs."""

MOST_DELAY_P95_MS: Final = 10.0
"""The client's scheduling delay that one wake-up in twenty exceeds. It is added to every duration."""

MOST_STEAL_SHARE: Final = 0.05
"""Share of CPU time that the hypervisor gave to others."""

MOST_THROTTLED_SHARE: Final = 0.05
"""Share of the time during which the control group was stopped at its CPU limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineConditions:
    """Load on the machine and the client during a measurement. None means unknown, not 0.

    Attributes:
        duration_s: Length of the measurement in seconds.
        processors: Processors that the client may use.
        samples: Samples of the tasks and of the delay.
        tasks: Mean number of tasks that ran or waited for a processor, those of the measurement itself included.
        load_1_min: Largest load average of one minute.
        steal_share: Share of CPU time that the hypervisor gave to others.
        throttled_share: Share of the time during which the control group was stopped at its CPU limit.
        pressure_share: Share of the time during which some task waited for a processor.
        delay_p50_ms: Median of the client's scheduling delay: how late a timer of its event loop woke up.
        delay_p95_ms: The delay that one wake-up in twenty exceeded.
        delay_max_ms: The longest delay.
    """

    duration_s: float
    processors: int
    samples: int = 0
    tasks: float | None = None
    load_1_min: float | None = None
    steal_share: float | None = None
    throttled_share: float | None = None
    pressure_share: float | None = None
    delay_p50_ms: float | None = None
    delay_p95_ms: float | None = None
    delay_max_ms: float | None = None

    def disturbances(self) -> list[str]:
        """Return one phrase for each value beyond its bound; empty if the machine was not overloaded."""
        phrases: list[str] = []
        # The load average lags by a minute, so it is used only if the number of tasks is unknown.
        crowd = self.tasks if self.tasks is not None or not self.samples else self.load_1_min
        if crowd is not None and crowd > MOST_TASKS_PER_PROCESSOR * self.processors:
            load = f"{number(crowd)} tasks ran or waited" if self.tasks is not None else f"load average {number(crowd)}"
            phrases.append(f"{load} on {_processors(self.processors)}")
        if self.steal_share is not None and self.steal_share > MOST_STEAL_SHARE:
            phrases.append(f"{percent(self.steal_share)} of CPU time taken by the hypervisor")
        if self.throttled_share is not None and self.throttled_share > MOST_THROTTLED_SHARE:
            phrases.append(f"stopped at the CPU limit {percent(self.throttled_share)} of the time")
        if self.delay_p95_ms is not None and self.delay_p95_ms > MOST_DELAY_P95_MS:
            phrases.append(f"1 in 20 wake-ups of the client more than {milliseconds(self.delay_p95_ms)} late")
        return phrases

    def stored(self) -> dict[str, Any]:
        """Return the conditions as JSON-ready values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> MachineConditions:
        """Return stored conditions; fields of a later release are ignored."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in names})

    def note(self) -> str:
        """Return the conditions in a sentence, for a method's notes."""
        values = [
            ("tasks that ran or waited", self.tasks, number),
            ("load average at most", self.load_1_min, number),
            ("CPU time taken by the hypervisor", self.steal_share, percent),
            ("time stopped at the CPU limit", self.throttled_share, percent),
            ("time in which a task waited for a processor", self.pressure_share, percent),
            ("scheduling delay of the client p95", self.delay_p95_ms, milliseconds),
            ("its maximum", self.delay_max_ms, milliseconds),
        ]
        readings = [f"{name} {'unknown' if value is None else form(value)}" for name, value, form in values]
        return (
            f"The machine during the measurement ({_processors(self.processors)}): {', '.join(readings)}. Times are "
            f"disturbed above {number(MOST_TASKS_PER_PROCESSOR, 0)} tasks per processor, {percent(MOST_STEAL_SHARE)} "
            f"taken, {percent(MOST_THROTTLED_SHARE)} stopped, or a p95 delay of {milliseconds(MOST_DELAY_P95_MS)}."
        )


@dataclass(frozen=True, slots=True)
class StudyConditions:
    """The conditions of each run of a study: it has several when it was stopped and resumed."""

    runs: tuple[MachineConditions, ...] = ()

    @classmethod
    def read(cls, stored: Any) -> StudyConditions:
        """Read the result of `stored()` or `summary()`; no conditions for a study of an earlier release."""
        runs = cast("Mapping[str, Any]", stored)["runs"] if isinstance(stored, Mapping) else stored
        return cls(tuple(MachineConditions.read(run) for run in runs or ()))

    def stored(self) -> list[dict[str, Any]]:
        """Return each run's conditions as JSON-ready values."""
        return [run.stored() for run in self.runs]

    @property
    def is_disturbed(self) -> bool:
        """Whether any run was disturbed."""
        return any(run.disturbances() for run in self.runs)

    def sentence(self) -> str:
        """Return a sentence on what disturbed the study; "" if nothing did or nothing is known."""
        if not self.is_disturbed:
            return ""
        causes = next(causes for run in self.runs if (causes := run.disturbances()))
        where = f" in {sum(bool(run.disturbances()) for run in self.runs)} of its {len(self.runs)} runs"
        return (
            f"The machine was overloaded while this was measured{where if len(self.runs) > 1 else ''}: "
            f"{'; '.join(causes)}. The times are too long by an unknown amount; no gate on them is decided."
        )

    def notes(self) -> list[str]:
        """Return each run's conditions in a sentence."""
        return [run.note() for run in self.runs] or ["The machine's load during the measurement is unknown."]

    def summary(self) -> dict[str, Any]:
        """Return the conditions as JSON-ready values."""
        return {"is_disturbed": self.is_disturbed, "runs": self.stored()}


def _processors(count: int) -> str:
    return "1 processor" if count == 1 else f"{count} processors"
