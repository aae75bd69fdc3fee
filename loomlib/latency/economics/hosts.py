"""Cost of the same traffic on other hosts: Lambda, ECS on Fargate, managed agents billed by session-hour."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loomlib.presentation.formats import exact, number, percent, plural
from loomlib.telemetry.cost import PriceTable

from .assumptions import StartAssumptions
from .replicates import StartReplicates
from .traffic import DAYS_PER_MONTH, SessionTraffic

FloatArray = NDArray[np.float64]

LAMBDA_LONGEST_S: Final = 900
"""The longest call that Lambda allows, in seconds."""
_EXACT_UP_TO: Final = 500.0
"""The load up to which Poisson probabilities are summed; above it, an expansion gives their quantile to within one
call."""
_MONTH_S: Final = DAYS_PER_MONTH * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCost:
    """Monthly cost of a host.

    Attributes:
        host: Its name.
        usd: Dollars, one value for each replicate; None when a price is unknown.
        basis: What is paid for.
        difference: How the host differs from a session on AgentCore Runtime.
        as_of: The date of its prices.
    """

    host: str
    usd: FloatArray | None
    basis: str
    difference: str
    as_of: date | None


def other_hosts(
    traffic: SessionTraffic, starts: StartReplicates, prices: PriceTable, assumptions: StartAssumptions
) -> list[HostCost]:
    """Return the cost of the traffic on other hosts, from the measured durations.

    Model tokens cost the same everywhere and are left out; so are load balancers, gateways, storage and transfer.

    Args:
        traffic: The traffic.
        starts: The measured calls.
        prices: The prices.
        assumptions: Sizes of functions and tasks.
    """
    return [
        _lambda(traffic, starts, prices, assumptions),
        _fargate(traffic, starts, prices, assumptions),
        _managed(traffic, starts, prices),
    ]


def tasks_for(load: float, share: float, calls_per_task: int, least: int) -> int:
    """Return the number of tasks that have capacity for all calls during a share of the time.

    When calls arrive as a Poisson process and never wait, the number in progress is Poisson with mean `load`
    (M/G/∞).

    Args:
        load: Calls a second times their mean duration in seconds.
        share: Share of the time, above 0 and below 1.
        calls_per_task: Calls that a task processes at the same time.
        least: Minimum number of running tasks.
    """
    if load > _EXACT_UP_TO:
        z = NormalDist().inv_cdf(share)
        calls = math.ceil(load + z * math.sqrt(load) + (z * z - 1) / 6)  # Cornish and Fisher's expansion
    else:
        calls, term = 0, math.exp(-load)
        below = term
        while below < share and term > 0:
            calls += 1
            term *= load / calls
            below += term
    return max(least, math.ceil(calls / calls_per_task))


def _lambda(
    traffic: SessionTraffic, starts: StartReplicates, prices: PriceTable, assumptions: StartAssumptions
) -> HostCost:
    price, memory = prices.functions, assumptions.lambda_memory_gb
    share = 1 / traffic.calls_per_session if assumptions.lambda_cold_share is None else assumptions.lambda_cold_share
    provisioned = assumptions.lambda_provisioned
    duration_price = price.provisioned_duration_per_gb_second if provisioned else price.per_gb_second
    provisioned_price = price.provisioned_per_gb_second if provisioned else Decimal(0)
    usd = None
    if price.per_million_requests is not None and duration_price is not None and provisioned_price is not None:
        cold = 0.0 if provisioned else share
        duration = cold * starts.cold.duration_s + (1 - cold) * starts.warm.duration_s
        call_usd = float(price.per_million_requests) / 1e6 + duration * memory * float(duration_price)
        usd = traffic.calls_per_month * call_usd + provisioned * memory * _MONTH_S * float(provisioned_price)
    basis = f"{exact(memory)} GB for the whole of each call, waits for the model included; " + (
        f"provisioned concurrency of {number(provisioned)} all month"
        if provisioned
        else f"{percent(share)} of calls initialize an execution environment"
    )
    longest = float(max(starts.cold.duration_s[0], starts.warm.duration_s[0]))
    difference = "no session: state is loaded and stored by each call; calls end after 15 min"
    if longest > LAMBDA_LONGEST_S:
        difference = "not possible: calls last longer than Lambda's 15 min"
    return HostCost(host="Lambda", usd=usd, basis=basis, difference=difference, as_of=price.as_of)


def _fargate(
    traffic: SessionTraffic, starts: StartReplicates, prices: PriceTable, assumptions: StartAssumptions
) -> HostCost:
    price, vcpu, memory = prices.fargate, assumptions.fargate_vcpu, assumptions.fargate_memory_gb
    rate = traffic.sessions_per_second * traffic.calls_per_session
    loads = rate * starts.warm.duration_s
    tasks = np.array(
        [
            tasks_for(
                float(load),
                assumptions.fargate_share,
                assumptions.fargate_calls_per_task,
                assumptions.fargate_least_tasks,
            )
            for load in loads
        ],
        dtype=np.float64,
    )
    usd = None
    if price.per_vcpu_hour is not None and price.per_gb_hour is not None:
        hourly = vcpu * float(price.per_vcpu_hour) + memory * float(price.per_gb_hour)
        usd = tasks * hourly * _MONTH_S / 3600
    return HostCost(
        host="ECS Fargate",
        usd=usd,
        basis=(
            f"{plural(int(tasks[0]), 'task')} of {exact(vcpu)} vCPU and {exact(memory)} GB all month, "
            f"{plural(assumptions.fargate_calls_per_task, 'call')} at a time in each"
        ),
        difference="no isolation between the sessions of a task; always warm; you manage scaling",
        as_of=price.as_of,
    )


def _managed(traffic: SessionTraffic, starts: StartReplicates, prices: PriceTable) -> HostCost:
    price = prices.managed_agents
    usd = None
    if price.per_session_hour is not None:
        running_s = traffic.calls_per_month * starts.warm.duration_s
        usd = running_s / 3600 * float(price.per_session_hour)
    return HostCost(
        host="managed agents",
        usd=usd,
        basis="the hours in which a session runs, if a call takes as long as a warm call here; waiting is free",
        difference="the vendor's agent loop and models; your code does not run there",
        as_of=price.as_of,
    )
