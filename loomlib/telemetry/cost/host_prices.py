"""Prices of other services that can run the same agent: Lambda, Fargate, and managed agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaPrice:
    """Prices of AWS Lambda; None where unknown.

    Attributes:
        per_million_requests: The price of a million requests.
        per_gb_second: The price of a GB-second; the INIT phase of cold starts is billed too (since 1 August 2025).
        provisioned_per_gb_second: The price of a GB-second of provisioned concurrency, used or not.
        provisioned_duration_per_gb_second: The price of a GB-second of duration on provisioned concurrency.
        architecture: The processor that the prices are for.
        region: The AWS region.
        source: Source of the prices.
        as_of: Date of the prices.
    """

    per_million_requests: Decimal | None = None
    per_gb_second: Decimal | None = None
    provisioned_per_gb_second: Decimal | None = None
    provisioned_duration_per_gb_second: Decimal | None = None
    architecture: str = ""
    region: str = ""
    source: str = ""
    as_of: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FargatePrice:
    """Prices of a running ECS task on AWS Fargate; None where unknown.

    Attributes:
        per_vcpu_hour: The price of a requested vCPU for an hour.
        per_gb_hour: The price of a requested GB for an hour.
        architecture: The processor that the prices are for.
        region: The AWS region.
        source: Source of the prices.
        as_of: Date of the prices.
    """

    per_vcpu_hour: Decimal | None = None
    per_gb_hour: Decimal | None = None
    architecture: str = ""
    region: str = ""
    source: str = ""
    as_of: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedAgentPrice:
    """Price of a managed agent service for the time in which a session runs; None where unknown.

    Attributes:
        per_session_hour: The price of an hour in which a session runs; waiting for a person is free.
        region: The region to which the price applies.
        source: Source of the price.
        as_of: Date of the price.
    """

    per_session_hour: Decimal | None = None
    region: str = ""
    source: str = ""
    as_of: date | None = None


HOSTS: Final[Mapping[str, type[LambdaPrice | FargatePrice | ManagedAgentPrice]]] = {
    "lambda": LambdaPrice,
    "fargate": FargatePrice,
    "managed_agents": ManagedAgentPrice,
}
"""The tables of a price file in addition to `[runtime]` and `[[model]]`."""

NOT_PRICES: Final = ("architecture", "region", "source", "as_of")
"""The fields that describe the prices of a table."""
