"""Measured cold and warm calls, with the CPU time and memory of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from loomlib.errors import StudyError
from loomlib.experiments import StudyRecord
from loomlib.telemetry.cost import RuntimeUse

from ..prewarm import PrewarmResult
from ..result import StudyResult
from ..scenarios import Scenario
from ..start_up import StartedSession, StartUpResult

GIVEN: Final = "given"
"""The source of times that were given, not measured."""
SIMULATED: Final = "simulated"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredCall:
    """One measured call.

    Attributes:
        duration_ms: From sending the request to the answer's end, in milliseconds.
        first_byte_ms: From sending the request to the first byte, in milliseconds; None when it was not measured.
        vcpu_s: vCPU-seconds of the session during the call, its start included; None when unknown.
        memory_gb_s: GB-seconds of the session during the call; None when unknown.
    """

    duration_ms: float
    first_byte_ms: float | None = None
    vcpu_s: float | None = None
    memory_gb_s: float | None = None

    def __post_init__(self) -> None:
        for value in (self.duration_ms, self.first_byte_ms, self.vcpu_s, self.memory_gb_s):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"a measured call has finite values of at least 0, not {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStarts:
    """The cold and the warm calls of an agent on one platform version.

    Examples:
        >>> MeasuredStarts.given("V2", cold_ms=[1900, 2100], warm_ms=[400, 380], vcpu_s=0.2, memory_gb=0.3)

    Attributes:
        platform: The platform version, "V1" or "V2".
        cold: First calls of new sessions; their CPU time includes the session's start.
        warm: Calls of sessions that were running.
        source: The study, or "given".
        labels: Provenance labels.
        use_basis: Where CPU time and memory come from; empty when there is none.
        is_disturbed: Whether the machine was overloaded while the times were measured.
    """

    platform: str
    cold: tuple[MeteredCall, ...] = field(repr=False)
    warm: tuple[MeteredCall, ...] = field(repr=False)
    source: str = GIVEN
    labels: tuple[str, ...] = ()
    use_basis: str = ""
    is_disturbed: bool = False

    def __post_init__(self) -> None:
        if self.platform not in ("V1", "V2"):
            raise ValueError(f'the platform version must be "V1" or "V2", not {self.platform!r}')
        if not self.cold or not self.warm:
            raise ValueError("cold and warm calls are needed")

    @property
    def is_simulated(self) -> bool:
        """Whether a label says that times are simulated."""
        return any(SIMULATED in label for label in self.labels)

    @classmethod
    def given(
        cls,
        platform: str,
        *,
        cold_ms: Sequence[float],
        warm_ms: Sequence[float],
        vcpu_s: float | None = None,
        start_vcpu_s: float = 0.0,
        memory_gb: float | None = None,
        source: str = GIVEN,
    ) -> Self:
        """Return calls by their durations, such as those of another tool.

        Args:
            platform: The platform version, "V1" or "V2".
            cold_ms: Durations of cold calls, in milliseconds.
            warm_ms: Durations of warm calls, in milliseconds.
            vcpu_s: vCPU-seconds of every call; None when unknown.
            start_vcpu_s: vCPU-seconds of a session's start, in addition, in each cold call.
            memory_gb: Memory of a session during a call, in GB; None when unknown.
            source: Where the durations come from.
        """

        def calls(durations: Sequence[float], more_s: float) -> tuple[MeteredCall, ...]:
            return tuple(
                MeteredCall(
                    duration_ms=duration,
                    vcpu_s=None if vcpu_s is None else vcpu_s + more_s,
                    memory_gb_s=None if memory_gb is None else memory_gb * duration / 1000,
                )
                for duration in durations
            )

        basis = GIVEN if vcpu_s is not None or memory_gb is not None else ""
        return cls(
            platform=platform,
            cold=calls(cold_ms, start_vcpu_s),
            warm=calls(warm_ms, 0.0),
            source=source,
            use_basis=basis,
        )


def measured_starts(
    result: StudyRecord,
    uses: Mapping[int, RuntimeUse] | None = None,
    later_uses: Mapping[str, Sequence[RuntimeUse]] | None = None,
) -> list[MeasuredStarts]:
    """Return the cold and the warm calls of a stored study, one value for each platform version that it measured.

    A latency study has both in its scenarios, a study of pre-warmed sessions in its arms (without pings, with pings
    that were all answered), and a study of session starts in the first and the later calls of its sessions.

    Args:
        result: A latency study, a study of pre-warmed sessions, or a study of session starts.
        uses: CPU time and memory by the id of the stored invocation (`agent.telemetry.start_economics` reads them).
        later_uses: Those of the later calls of a study of session starts, by session, in the order of the calls.

    Raises:
        StudyError: It is a study of another kind, has no cold or no warm call, or does not name a platform version.
    """
    uses, later_uses = uses or {}, later_uses or {}
    if isinstance(result, StudyResult):
        cold = [
            _call(call.duration_ms, uses.get(call.invocation_id or 0), call.ttft_ms)
            for call in result.calls
            if call.scenario is Scenario.COLD and call.is_done
        ]
        warm = [
            _call(call.duration_ms, uses.get(call.invocation_id or 0), call.ttft_ms)
            for call in result.calls
            if call.scenario is not Scenario.COLD and call.is_done
        ]
        groups = {result.platform_version: (cold, warm)}
    elif isinstance(result, PrewarmResult):
        gaps = [call for call in result.calls if call.is_done]
        groups = {
            result.platform_version: (
                [_call(call.duration_ms, uses.get(call.invocation_id or 0)) for call in gaps if not call.ping_every_s],
                [
                    _call(call.duration_ms, uses.get(call.invocation_id or 0))
                    for call in gaps
                    if call.ping_every_s and not call.failed_pings
                ],
            )
        }
    elif isinstance(result, StartUpResult):
        groups = {
            platform: (
                [
                    _call(session.duration_ms, uses.get(session.invocation_id or 0))
                    for session in result.sessions
                    if session.platform == platform and session.is_done
                ],
                [
                    call
                    for session in result.sessions
                    if session.platform == platform and session.is_done
                    for call in _later_calls(session, later_uses.get(session.session_id or "", ()))
                ],
            )
            for platform in ("V1", "V2")
        }
    else:
        raise StudyError(
            "This kind of study has no cold and warm calls", on=type(result).__name__, try_="a LatencyStudy"
        )
    bases = [use.basis for use in uses.values() if use.vcpu_s is not None]
    return [_starts(result, platform, cold, warm, bases) for platform, (cold, warm) in groups.items()]


def _later_calls(session: StartedSession, uses: Sequence[RuntimeUse]) -> list[MeteredCall]:
    # A failed call has a use but no duration, so uses are assigned only when there is one for each call.
    call_uses = uses if len(uses) == len(session.later_ms) else [None] * len(session.later_ms)
    return [_call(duration, use) for duration, use in zip(session.later_ms, call_uses, strict=True)]


def _starts(
    result: StudyRecord,
    platform: str,
    cold: Sequence[MeteredCall],
    warm: Sequence[MeteredCall],
    bases: Sequence[str],
) -> MeasuredStarts:
    if not cold or not warm:
        kind = "warm" if cold else "cold"
        raise StudyError(f"The study has no answered {kind} call", on=result.study_id, try_="a study with both kinds")
    if platform not in ("V1", "V2"):
        raise StudyError(
            "The study does not name the runtime's platform version",
            on=result.study_id,
            try_="MeasuredStarts.given(…) with the durations",
        )
    is_used = any(call.vcpu_s is not None for call in (*cold, *warm))
    return MeasuredStarts(
        platform=platform,
        cold=tuple(cold),
        warm=tuple(warm),
        source=f"study {result.study_id}",
        labels=tuple(result.labels),
        use_basis=next(iter(bases), "") if is_used else "",
        is_disturbed=result.conditions.is_disturbed,
    )


def _call(duration_ms: float | None, use: RuntimeUse | None = None, first_byte_ms: float | None = None) -> MeteredCall:
    assert duration_ms is not None
    return MeteredCall(
        duration_ms=duration_ms,
        first_byte_ms=first_byte_ms,
        vcpu_s=None if use is None or use.vcpu_s is None else float(use.vcpu_s),
        memory_gb_s=None if use is None or use.memory_gb_s is None else float(use.memory_gb_s),
    )
