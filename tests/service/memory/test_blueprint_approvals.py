"""A tool that waits for a person: the pause outlives its process, the service and the kernel, and it expires."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from waiting import wait_until

import loomlib as loom
from loomlib import local

REFUND = "Refund 40 euros for order A-1042."
DONE = "Refunded 40 euros for order A-1042."
IN_A_KERNEL = """
import sys, loomlib as loom
with loom.connect(home=sys.argv[1]) as bench:
    {step}
"""


@pytest.fixture(scope="module")
def approvals(memory_bench: loom.Workbench) -> loom.Agent:
    return memory_bench.deploy("approvals", memory=memory_bench.memories.create("pauses"))


def state(agent: loom.Agent, id: str) -> str:
    return next(approval.state for approval in agent.approvals.list() if approval.id == id)


def refunds(agent: loom.Agent, session_id: str) -> int:
    return list(agent.telemetry.logs(session_id=session_id)["message"]).count(DONE.rstrip("."))


def test_an_approval_is_asked_for_and_approved_in_another_process(approvals: loom.Agent) -> None:
    inv = approvals.invoke(REFUND)
    assert "waits for an approval" in inv.text
    (waiting,) = inv.pending
    assert (waiting.tool, dict(waiting.input)) == ("refund_order", {"order_id": "A-1042", "euros": 40})
    assert approvals.end_session(inv.session_id)
    assert approvals.approvals.approve(waiting.id, note="fine").text == DONE
    assert inv.pending == ()
    approval = next(approval for approval in approvals.approvals.list() if approval.id == waiting.id)
    assert (approval.state, approval.note, approval.result) == ("done", "fine", DONE)
    with pytest.raises(loom.LoomError, match="It was already decided: done"):
        approvals.approvals.approve(waiting)
    assert refunds(approvals, inv.session_id) == 1
    assert approvals.invoke("Where is order A-1041?", session_id=inv.session_id).text == "Order A-1041 is delivered."


def test_a_rejected_tool_does_not_run_and_the_agent_gets_the_reason(approvals: loom.Agent) -> None:
    inv = approvals.invoke(REFUND)
    answer = approvals.approvals.reject(inv.pending[0], note="too much")
    assert "A colleague rejected this: too much" in answer.text
    assert inv.pending == ()
    assert refunds(approvals, inv.session_id) == 0


def test_a_paused_session_names_its_approval_and_continues_once_it_expired(approvals: loom.Agent) -> None:
    inv = approvals.invoke(REFUND)
    again = approvals.invoke("Where is order A-1041?", session_id=inv.session_id)
    assert again.text == inv.text
    short = approvals.invoke(payload={"prompt": REFUND, "ttl_s": 0.5})
    (waiting,) = approvals.approvals.list(session_id=short.session_id)
    while datetime.now(UTC) <= waiting.expires_at:
        time.sleep(0.05)
    assert short.pending == ()
    assert state(approvals, waiting.id) == "expired"
    with pytest.raises(loom.LoomError, match="It was already decided: expired"):
        approvals.approvals.approve(waiting.id)
    # Not only Loom looks at the clock: the agent does.
    late = {"approval": {"id": waiting.id, "decision": "approve"}}
    assert "expired before anybody decided" in approvals.invoke(payload=late, session_id=short.session_id).text
    assert approvals.invoke("Where is order A-1041?", session_id=short.session_id).text == "Order A-1041 is delivered."
    assert refunds(approvals, short.session_id) == 0


def test_two_pending_approvals_are_decided_separately(approvals: loom.Agent) -> None:
    inv = approvals.invoke("Refund 40 euros for order A-1042 and refund 20 euros for order A-1041.")
    by_order = {approval.input["order_id"]: approval for approval in inv.pending}
    first = approvals.approvals.approve(by_order["A-1041"])
    assert "waits for an approval" in first.text
    assert [approval.id for approval in inv.pending] == [by_order["A-1042"].id]
    approvals.end_session(inv.session_id)
    approvals.approvals.reject(by_order["A-1042"])
    assert {order: state(approvals, approval.id) for order, approval in by_order.items()} == {
        "A-1041": "done",
        "A-1042": "rejected",
    }
    assert refunds(approvals, inv.session_id) == 0


def test_an_approval_interrupted_by_a_crash_is_never_run_again(memory_bench: loom.Workbench, tmp_path: Path) -> None:
    folder = tmp_path / "dying"
    shutil.copytree(Path(loom.__file__).parent / "blueprints" / "approvals", folder)
    code = (folder / "agent.py").read_text()
    refund = '    print(f"Refunded'
    assert code.count(refund) == 1
    (folder / "agent.py").write_text(code.replace(refund, "    os._exit(1)\n" + refund))
    agent = memory_bench.deploy(folder, memory=memory_bench.memories.create("dying"))
    (waiting,) = agent.invoke(REFUND).pending
    assert not agent.approvals.approve(waiting.id).ok
    assert state(agent, waiting.id) == "approved"
    assert "It was not done again" in agent.approvals.approve(waiting.id).text
    assert state(agent, waiting.id) == "unclear"
    assert agent.invoke("Where is order A-1041?", session_id=waiting.session_id).text == "Order A-1041 is delivered."


def test_a_session_of_another_actor_is_refused(approvals: loom.Agent) -> None:
    inv = approvals.invoke(REFUND)
    payload = {"approval": {"id": inv.pending[0].id, "decision": "approve"}}
    answer = approvals.invoke(payload=payload)
    assert "no pending approval with the id" in (answer.error or "")
    assert state(approvals, inv.pending[0].id) == "pending"


def test_an_agent_without_a_memory_has_no_approvals(memory_bench: loom.Workbench) -> None:
    echo = memory_bench.deploy("echo")
    assert len(echo.approvals.list()) == 0
    with pytest.raises(loom.LoomError, match="There is no such approval"):
        echo.approvals.approve("none")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"
    local.stop(tmp_path / "home")


def test_a_pause_survives_a_restart_of_kernel_service_and_agent(home: Path) -> None:
    def kernel(step: str) -> str:
        """A kernel of its own, with a service of its own: when it ends, everything ends."""
        code = IN_A_KERNEL.format(step=step)
        ran = subprocess.run([sys.executable, "-c", code, str(home)], capture_output=True, text=True, timeout=240)
        assert ran.returncode == 0, ran.stderr[-3000:]
        return ran.stdout.strip()

    deploy = 'bench.deploy("approvals", memory=bench.memories.create("pauses"))'
    waiting = kernel(f'print({deploy}.invoke("{REFUND}").pending[0].id)')
    wait_until(lambda: local.find(home) is None, what="the end of the first kernel's service")
    assert kernel(f'print(bench.agent("approvals").approvals.approve("{waiting}").text)') == DONE
