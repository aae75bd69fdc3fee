"""CPU and memory that the runtime used, as far as known."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from ...presentation.formats import time_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeUse:
    """CPU and memory of one invocation; None where not measured.

    AgentCore Runtime charges per second: CPU only while it is active, memory by its peak up to that second and at least
    128 MB (field note "The 95% Rule", section on billing).

    Attributes:
        vcpu_s: vCPU-seconds.
        memory_gb_s: GB-seconds.
        basis: Source of the figures.
        is_estimate: Whether they are estimated.
    """

    vcpu_s: Decimal | None = None
    memory_gb_s: Decimal | None = None
    basis: str = ""
    is_estimate: bool = False

    def __post_init__(self) -> None:
        for value in (self.vcpu_s, self.memory_gb_s):
            if value is not None and not (value.is_finite() and value >= 0):
                raise ValueError(f"runtime usage must be finite and not negative: {value}")

    @classmethod
    def measured(cls, *, vcpu_hours: float | None = None, gb_hours: float | None = None) -> RuntimeUse:
        """Return the usage from the metrics `CPUUsed-vCPUHours` and `MemoryUsed-GBHours` of AWS/Bedrock-AgentCore."""
        return cls(
            vcpu_s=None if vcpu_hours is None else Decimal(str(vcpu_hours)) * 3600,
            memory_gb_s=None if gb_hours is None else Decimal(str(gb_hours)) * 3600,
            basis="the runtime's own metrics",
        )

    @classmethod
    def during(
        cls,
        seconds: float,
        *,
        active_vcpus: float | None = None,
        memory_gb: float | None = None,
        minimum_memory_gb: float = 0.128,
    ) -> RuntimeUse:
        """Estimate the usage of an invocation.

        Waiting for a model is not active CPU time: 1.0 corresponds to one busy core, an upper bound for a Python agent.

        Args:
            seconds: The duration.
            active_vcpus: The average number of active vCPUs.
            memory_gb: The peak memory.
            minimum_memory_gb: The minimum memory that is billed.
        """
        time = Decimal(str(seconds))
        peak = None if memory_gb is None else Decimal(str(max(memory_gb, minimum_memory_gb)))
        return cls(
            vcpu_s=None if active_vcpus is None else time * Decimal(str(active_vcpus)),
            memory_gb_s=None if peak is None else time * peak,
            basis=f"estimated for {time_limit(seconds)}",
            is_estimate=True,
        )
