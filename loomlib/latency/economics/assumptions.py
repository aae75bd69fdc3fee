"""Assumptions of the economics of starts besides measurements and prices; every value can be changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Moment = Literal["answer", "first byte"]
"""The moment up to which a call's latency is counted: its answer's end, or its first byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAssumptions:
    """Assumptions, each with a reason in `rows`. None stands for the measured value.

    Attributes:
        vcpu_s_per_call: vCPU-seconds of a warm call; None for the measured value.
        start_vcpu_s: vCPU-seconds of a session's start; None for the measured difference between cold and warm calls.
        memory_gb: A session's memory while it works, in GB; None for the measured value.
        idle_memory_gb: A session's memory while it waits, in GB, which V2 bills; None for the memory while it works. V1
            bills the highest memory so far.
        ping_usd: Model cost of a ping, in dollars. A ping is a whole invocation of the agent.
        lambda_memory_gb: Memory of the Lambda function, in GB. 1.769 GB are one vCPU, so that times carry over.
        lambda_cold_share: Share of calls that initialize an execution environment; None for one call of each session.
        lambda_provisioned: Provisioned concurrency of the function, all hours of the month; 0 for none.
        fargate_vcpu: vCPUs of a Fargate task.
        fargate_memory_gb: Memory of a Fargate task, in GB.
        fargate_calls_per_task: Calls that a task processes at the same time.
        fargate_least_tasks: Minimum number of running tasks: two, for two availability zones.
        fargate_share: Share of the time during which the tasks must have capacity for every call.
    """

    vcpu_s_per_call: float | None = None
    start_vcpu_s: float | None = None
    memory_gb: float | None = None
    idle_memory_gb: float | None = None
    ping_usd: float = 0.0
    lambda_memory_gb: float = 1.769
    lambda_cold_share: float | None = None
    lambda_provisioned: int = 0
    fargate_vcpu: float = 1.0
    fargate_memory_gb: float = 2.0
    fargate_calls_per_task: int = 8
    fargate_least_tasks: int = 2
    fargate_share: float = 0.999

    def __post_init__(self) -> None:
        amounts: Sequence[float | None] = (
            self.vcpu_s_per_call, self.start_vcpu_s, self.memory_gb, self.idle_memory_gb, self.ping_usd,
            self.lambda_memory_gb, self.lambda_provisioned, self.fargate_vcpu, self.fargate_memory_gb,
        )  # fmt: skip
        if any(value is not None and not (math.isfinite(value) and value >= 0) for value in amounts):
            raise ValueError("assumed amounts must be finite and at least 0")
        if min(self.fargate_calls_per_task, self.fargate_least_tasks) < 1:
            raise ValueError("fargate_calls_per_task and fargate_least_tasks must be at least 1")
        if not 0 < self.fargate_share < 1:
            raise ValueError("fargate_share must be above 0 and below 1")
        if self.lambda_cold_share is not None and not 0 <= self.lambda_cold_share <= 1:
            raise ValueError("lambda_cold_share must be between 0 and 1")
