"""What a session's process used is in the cost of its invocations, without anybody telling it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plain_agents import PLAIN_APP
from waiting import wait_until

import loomlib as loom
from loomlib.telemetry.cost import RuntimeUse

BUSY = (
    PLAIN_APP
    + """
import subprocess
import sys
import time

app = PlainApp()
kept = []

@app.entrypoint
def answer(payload):
    kept.append(bytearray(payload.get("megabytes", 0) * 1_000_000))
    until = time.process_time() + payload.get("cpu_s", 0)
    while time.process_time() < until:
        pass
    if payload.get("child_s"):
        subprocess.run([sys.executable, "-c", f"import time\\nwhile time.process_time() < {payload['child_s']}: pass"])
    return "done"

app.run()
"""
)


@pytest.fixture(scope="module")
def busy(bench: loom.Workbench, tmp_path_factory: pytest.TempPathFactory) -> loom.Agent:
    folder: Path = tmp_path_factory.mktemp("busy")
    (folder / "agent.py").write_text(BUSY)
    return bench.deploy(folder, name="busy")


def known_use(inv: loom.Invocation) -> RuntimeUse:
    """The use of an invocation once its record is visible."""
    view = inv.trace()

    def known() -> RuntimeUse | None:
        use = view.runtime_use()
        return None if use is None or use.vcpu_s is None else use

    runtime_use = wait_until(known, what="the record of the process's use")
    assert runtime_use is not None
    return runtime_use


def test_cpu_that_an_agent_burnt_and_memory_that_it_took_are_measured(busy: loom.Agent) -> None:
    cold = busy.invoke(payload={"cpu_s": 0.3}).raise_for_status()
    warm = busy.invoke(payload={"cpu_s": 0.2, "megabytes": 200}, session_id=cold.session_id).raise_for_status()
    first, second = known_use(cold), known_use(warm)
    assert float(first.vcpu_s or 0) >= 0.3
    assert float(second.vcpu_s or 0) >= 0.2
    # The start of the process is in the first call's record alone, and the peak of memory lasts.
    assert warm.duration_ms is not None
    assert float(second.memory_gb_s or 0) >= 0.2 * 0.2
    assert "local AgentCore" in second.basis
    assert second.is_estimate


def test_cpu_of_a_process_that_the_agent_started_and_waited_for_counts_too(busy: loom.Agent) -> None:
    inv = busy.invoke(payload={"child_s": 0.5}, session_id=busy.invoke(payload={}).session_id).raise_for_status()
    assert float(known_use(inv).vcpu_s or 0) >= 0.45  # the system tells it in hundredths of a second


def test_the_cost_has_a_runtime_part_by_itself(busy: loom.Agent) -> None:
    inv = busy.invoke(payload={"cpu_s": 0.1}).raise_for_status()
    known_use(inv)
    cost = inv.trace().cost()
    assert cost.runtime.state == "known"
    assert cost.runtime.known > 0
    assert {line.item for line in cost.lines} >= {"runtime CPU", "runtime memory"}
    use = RuntimeUse.during(1.0, active_vcpus=1.0, memory_gb=1.0)
    assert inv.trace().cost(runtime=use).runtime.known != cost.runtime.known


def test_the_records_have_aws_s_form_and_state_that_they_are_local(busy: loom.Agent, bench: loom.Workbench) -> None:
    inv = busy.invoke(payload={}).raise_for_status()
    known_use(inv)
    group = f"/aws/vendedlogs/bedrock-agentcore/runtime/USAGE_LOGS/{busy.entry.arn.runtime_id}"
    logs = bench.clients.logs()
    (event,) = logs.filter_log_events(logGroupName=group, filterPattern=f'"{inv.session_id}"')["events"]
    assert event["logStreamName"] == "BedrockAgentCoreRuntime_UsageLogs"
    record = json.loads(event["message"])
    assert record["attributes"]["session.id"] == inv.session_id
    assert record["attributes"]["loom.measured_by"].startswith("the local AgentCore")
    assert set(record["metrics"]) == {"agent.runtime.vcpu.hours.used", "agent.runtime.memory.gb_hours.used"}
