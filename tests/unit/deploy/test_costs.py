"""The estimate of a deployment's cost: its items, its assumptions, and what has no known price."""

from __future__ import annotations

import json
from decimal import Decimal

from loomlib.deploy.costs import UseAssumptions, estimate_cost
from loomlib.deploy.names import role_name, spec_digest
from loomlib.deploy.spec import AgentSpec
from loomlib.telemetry.cost import price_table

USE = UseAssumptions(sessions_per_month=3600, active_s=10, cpu_s=2, memory_gb=1.0, input_tokens=1000, output_tokens=100)


def test_the_estimate_follows_from_its_assumptions() -> None:
    prices = price_table()
    estimate = estimate_cost(
        prices, models=["anthropic.claude-sonnet-4-5-v1:0"], idle_timeout_s=90, package_bytes=10**9, assumptions=USE
    )
    cpu, memory, model, storage = estimate.items
    assert prices.runtime.cpu_per_vcpu_hour is not None
    assert prices.runtime.memory_per_gb_hour is not None
    assert cpu.amount.known == prices.runtime.cpu_per_vcpu_hour * 2
    assert memory.amount.known == prices.runtime.memory_per_gb_hour * 100  # 10 s of work and 90 s of waiting
    assert model.amount.known == Decimal("3.00") * Decimal("3.6") + Decimal("15.00") * Decimal("0.36")
    assert storage.amount.known == Decimal("0.023")
    assert estimate.total.known == sum(item.amount.known for item in estimate.items)
    assert all(item.assumption and item.source and item.as_of for item in estimate.items)
    assert estimate.total.is_estimate


def test_a_model_without_a_price_is_unknown_and_not_free() -> None:
    estimate = estimate_cost(price_table(), models=["acme.model-9"], assumptions=USE)
    assert estimate.items[-1].amount.state == "unknown"
    assert estimate.total.state == "partial"
    document = estimate.to_dict()
    assert document["items"][-1]["amount"] is None
    json.dumps(document)


def test_a_longer_idle_timeout_costs_more_memory() -> None:
    short, long = (estimate_cost(price_table(), idle_timeout_s=idle).total.known for idle in (60, 900))
    assert short < long


def test_names_are_the_same_each_time_and_fit() -> None:
    assert role_name("support", "us-east-1") == "loom-support-us-east-1"
    first, second = (role_name("a" * 47 + end, "ap-southeast-1") for end in "bc")
    assert len(first) == len(second) == 64
    assert first != second
    spec = AgentSpec(name="a", tags={"x": "1", "y": "2"})
    assert spec_digest(spec) == spec_digest(AgentSpec(name="a", tags={"y": "2", "x": "1"}))
    assert spec_digest(spec) != spec_digest(AgentSpec(name="a"))
