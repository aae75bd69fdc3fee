"""Processes killed in the middle of a call, an invocation or a deploy: each ends in a clear state by itself."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable

import boto3
import pytest
from fault_lab import FaultLab, processes_of
from waiting import wait_until

import loomlib as loom
from loomlib import local

KERNEL = """
import sys
from pathlib import Path
import loomlib as loom
from loomlib import local
options = local.ServiceOptions(sandbox_write=(str(Path(sys.argv[3]).parent),))
bench = loom.connect(home=sys.argv[1], options=options)
agent = bench.deploy(sys.argv[2], environment={"TALLY": sys.argv[3]})
for event in agent.stream("a long story", payload={"words": 100_000, "pause_s": 0.01}):
    if isinstance(event, loom.Chunk):
        print("streaming", flush=True)
"""


def test_a_call_of_a_killed_kernel_is_abandoned_by_itself(build: Callable[..., FaultLab]) -> None:
    lab = build()
    arguments = [sys.executable, "-c", KERNEL, str(lab.home), str(lab.agents / "obedient.py"), str(lab.tally)]
    kernel = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    try:
        assert kernel.stdout is not None
        assert kernel.stdout.readline() == "streaming\n"
        bench = lab.open()
        agent = bench.agent("obedient")
        wait_until(lambda: agent.history.last().status == "streaming", "the stored beginning of the answer")
        assert "1 under way" in repr(bench.telemetry.overview())
    finally:
        os.kill(kernel.pid, signal.SIGKILL)
        kernel.communicate()
    last = agent.history.last()
    assert (last.status, last.record.failure) == ("error", "interrupted")
    assert last.record.error_message.startswith(f"Abandoned: Loom's process {kernel.pid}")
    assert "word0" in last.record.response
    operate = repr(bench.telemetry.overview())
    assert "under way" not in operate
    assert "1 interrupted" in operate


def test_the_service_killed_in_the_middle_of_an_invocation_leaves_a_failed_one(build: Callable[..., FaultLab]) -> None:
    lab = build()
    bench = lab.open()
    agent = lab.deploy(bench)
    answers: list[loom.Invocation] = []
    asking = threading.Thread(target=lambda: answers.append(agent.invoke("slow", payload={"pause_s": 600})))
    asking.start()
    wait_until(lambda: lab.calls(), "the call")
    lab.kill_service()
    asking.join(120)
    (answer,) = answers
    assert not answer.ok
    assert agent.history.last().record.failure == "transport"
    wait_until(lambda: local.find(lab.home) is None, "the end of the service")
    assert lab.open().agent(agent.name).invoke("again").ok


def test_the_service_killed_in_the_middle_of_a_deploy_finishes_it_when_it_is_back(
    build: Callable[..., FaultLab],
) -> None:
    lab = build()
    lab.open()
    state = local.find(lab.home)
    assert state is not None

    def client(name: str, service: local.ServiceState):
        return boto3.client(
            name,
            endpoint_url=service.url,
            region_name=service.region,
            aws_access_key_id=service.access_key,
            aws_secret_access_key=service.secret_key,
        )

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("agent.py", (lab.agents / "obedient.py").read_text())
        for number in range(400):
            archive.writestr(f"part{number}.py", "x = 1\n" * 2_000)
    s3, control = client("s3", state), client("bedrock-agentcore-control", state)
    s3.create_bucket(Bucket="loom-code")
    s3.put_object(Bucket="loom-code", Key="big.zip", Body=packed.getvalue())
    place = {"s3": {"bucket": "loom-code", "prefix": "big.zip"}}
    runtime = control.create_agent_runtime(
        agentRuntimeName="big",
        agentRuntimeArtifact={
            "codeConfiguration": {"code": place, "runtime": "PYTHON_3_11", "entryPoint": ["agent.py"]}
        },
        roleArn="arn:aws:iam::123456789012:role/loom",
        networkConfiguration={"networkMode": "PUBLIC"},
        environmentVariables={"TALLY": str(lab.tally)},
    )
    assert runtime["status"] == "CREATING"
    os.kill(state.pid, signal.SIGKILL)
    wait_until(lambda: local.find(lab.home) is None and not processes_of(lab.home), "the end of the service")

    again, was_started = local.start(lab.home, persistent=True)
    assert was_started
    control = client("bedrock-agentcore-control", again)
    final_description = wait_until(
        lambda: (
            description
            if (description := control.get_agent_runtime(agentRuntimeId=runtime["agentRuntimeId"]))["status"]
            != "CREATING"
            else None
        ),
        "the end of the deploy",
    )
    # What was uploaded is in the memory of the service that was killed, unless it had been unpacked already.
    assert final_description["status"] in ("READY", "CREATE_FAILED")
    if final_description["status"] == "CREATE_FAILED":
        assert final_description["failureReason"]


WRITER = """
import sys, time
import loomlib as loom
bench = loom.connect(home=sys.argv[1])
agent = bench.agent("obedient")
print("ready", flush=True); sys.stdin.readline()
end, count = time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < end:
    inv = agent.invoke(f"{sys.argv[3]} {count}", session_id=f"notebook-{sys.argv[3]}".ljust(40, "-"))
    assert inv.ok, inv.error
    count += 1
print(count, flush=True)
"""
NIGHTLY = """
import sys, time
import loomlib as loom
from loomlib.latency import Silent
bench = loom.connect(home=sys.argv[1])
agent = bench.agent("obedient")
print("ready", flush=True); sys.stdin.readline()
end, count = time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < end:
    result = loom.LatencyStudy(agent, cold=1, warm=1, sticky=2, find_starts=False).run(Silent())
    assert result.state == "complete", result.state
    count += sum(call.invocation_id is not None for call in result.calls)
print(count, flush=True)
"""


@pytest.mark.parametrize("seconds", [5, pytest.param(600, marks=[pytest.mark.long, pytest.mark.timeout(1200)])])
def test_two_notebooks_and_a_report_write_one_store_without_a_lost_or_locked_write(
    build: Callable[..., FaultLab], seconds: int
) -> None:
    lab = build()
    bench = lab.open()
    lab.deploy(bench)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(lab.home), str(seconds), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for program, name in ((WRITER, "one"), (WRITER, "two"), (NIGHTLY, "nightly"))
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n", writer.communicate()[1]
        results = []
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("\n")
            writer.stdin.flush()
        for writer in writers:
            out, errors = writer.communicate()
            assert writer.returncode == 0, errors
            results.append(int(out))
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    rows = bench.context.store.invocations.list(limit=None)
    assert {row.status for row in rows} == {"complete"}
    for name, count in zip(("one", "two"), results, strict=False):
        assert sorted(row.prompt for row in rows if row.prompt.startswith(f"{name} ")) == sorted(
            f"{name} {number}" for number in range(count)
        )
    assert sum(not row.prompt.startswith(("one ", "two ")) for row in rows) >= results[2]
    assert len(rows) == len(lab.calls())
