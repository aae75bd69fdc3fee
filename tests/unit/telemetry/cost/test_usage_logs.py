"""The runtime's part of a cost, by its usage log: AWS's records of a second, and the local service's of a call."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from loomlib.telemetry.cost import RuntimeUse, UsageRecord, usage_records, use_between

SESSION = "s" * 33
NOW_S = 1_795_293_700.0


def line(end_s: float, elapsed_s: float = 1.0, session: str = SESSION, *, flat: bool = False, **more: Any) -> str:
    """A record as AWS delivers it; `flat` as its documentation lists the fields."""
    attributes = {"session.id": session, "time_elapsed_seconds": elapsed_s, "agent.name": "a", **more}
    metrics = {"agent.runtime.vcpu.hours.used": 0.5 / 3600, "agent.runtime.memory.gb_hours.used": 0.25 / 3600}
    stamp = {"event_timestamp": int(end_s * 1000), "resource_arn": "arn:aws:bedrock-agentcore:…:runtime/a-1"}
    if flat:
        attributes["elapsed_time_seconds"] = attributes.pop("time_elapsed_seconds")
        return json.dumps(stamp | attributes | metrics)
    return json.dumps({**stamp, "attributes": attributes, "metrics": metrics})


@pytest.mark.parametrize("flat", [False, True])
def test_seconds_of_the_session_add_up_and_others_do_not_count(flat: bool) -> None:
    lines = [line(NOW_S + second, flat=flat) for second in (1, 2, 3)]
    lines += [line(NOW_S + 2, session="other" * 8, flat=flat), "Permissions are set correctly", "[1]", '{"a": 1}']
    records = usage_records(lines, SESSION)
    assert len(records) == 3
    use = use_between(records, NOW_S, NOW_S + 3)
    assert (float(use.vcpu_s or 0), float(use.memory_gb_s or 0)) == pytest.approx((1.5, 0.75))
    assert use.basis == "the runtime's usage log, 3 records"
    assert not use.is_estimate


def test_a_second_that_an_invocation_shares_counts_in_part_and_is_an_estimate() -> None:
    records = usage_records([line(NOW_S + 1)], SESSION)
    use = use_between(records, NOW_S + 0.75, NOW_S + 5)
    assert float(use.vcpu_s or 0) == pytest.approx(0.125)
    assert use.is_estimate


def test_what_the_local_service_measured_is_labelled_local() -> None:
    labelled = line(NOW_S + 1, **{"loom.measured_by": "the local AgentCore: CPU clock"})
    use = use_between(usage_records([labelled], SESSION), NOW_S, NOW_S + 1.01)
    assert use.vcpu_s == pytest.approx(Decimal("0.5"))
    assert use.basis == "measured by the local AgentCore: CPU clock"
    assert use.is_estimate


def test_without_a_record_the_use_is_unknown_and_not_zero() -> None:
    for records in ([], usage_records([line(NOW_S - 10)], SESSION)):
        use = use_between(records, NOW_S, NOW_S + 3)
        assert (use.vcpu_s, use.memory_gb_s) == (None, None)
        assert "no usage log" in use.basis


def test_a_record_without_memory_leaves_memory_unknown() -> None:
    record = UsageRecord(start_s=NOW_S, end_s=NOW_S + 1, vcpu_hours=1 / 3600, gb_hours=None)
    assert use_between([record], NOW_S, NOW_S + 1) == RuntimeUse(
        vcpu_s=Decimal(str(1 / 3600)) * Decimal("1.0") * 3600, basis="the runtime's usage log, 1 record"
    )
