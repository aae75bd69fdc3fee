from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from plain_agents import PLAIN_APP
from waiting import wait_until

from loomlib import local

STORING_AGENT = (
    PLAIN_APP
    + """
import os

app = PlainApp()

@app.entrypoint
def answer(payload):
    if "hold" in payload:
        app.held = bytearray(payload["hold"] * 2**20)
        return len(app.held)
    if "write" in payload:
        with open("/mnt/notes/" + payload["write"], "w") as file:
            file.write(payload["text"])
    return sorted(os.listdir("/mnt/notes"))

if __name__ == "__main__":
    app.run()
"""
)
STORAGE = [{"sessionStorage": {"mountPath": "/mnt/notes"}}]

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="session storage is bound by bubblewrap, which is not installed"
)


def asked(aws: Any, runtime: dict[str, Any], session_id: str, **payload: Any) -> Any:
    body = aws.invoke(runtime["agentRuntimeArn"], json.dumps(payload).encode(), runtimeSessionId=session_id)[1]
    return json.loads(body)


def stop(aws: Any, runtime: dict[str, Any], session_id: str) -> None:
    aws.data.stop_runtime_session(agentRuntimeArn=runtime["agentRuntimeArn"], runtimeSessionId=session_id)


@needs_bubblewrap
def test_storage_outlives_its_session_and_belongs_to_it_alone(aws: Any) -> None:
    runtime = aws.deploy("storing", STORING_AGENT, filesystemConfigurations=STORAGE)
    described = aws.control.get_agent_runtime(agentRuntimeId=runtime["agentRuntimeId"])
    assert described["filesystemConfigurations"] == STORAGE
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    assert asked(aws, runtime, first, write="one.txt", text="kept") == ["one.txt"]
    assert asked(aws, runtime, second) == []
    stop(aws, runtime, first)
    assert asked(aws, runtime, first, write="two.txt", text="too") == ["one.txt", "two.txt"]
    stop(aws, runtime, first)
    stop(aws, runtime, second)


@needs_bubblewrap
@pytest.mark.parametrize(("platform", "notes"), [("V1", 0), ("V2", 1)])
def test_the_log_of_a_v2_session_with_storage_says_once_that_it_is_booted(aws: Any, platform: str, notes: int) -> None:
    runtime = aws.deploy(
        f"booted_with_storage_{platform}", STORING_AGENT, filesystemConfigurations=STORAGE, platformVersion=platform
    )
    session_id = str(uuid.uuid4())
    for _ in range(2):
        asked(aws, runtime, session_id)
    group = f"/aws/bedrock-agentcore/runtimes/{runtime['agentRuntimeId']}-DEFAULT"
    logs = aws.client("logs")
    note = "this session was booted and not restored: its session storage is mounted when its process starts"

    def messages() -> list[str]:
        with contextlib.suppress(logs.exceptions.ResourceNotFoundException):
            return [event["message"] for event in logs.filter_log_events(logGroupName=group)["events"]]
        return []

    # A read waits for lines that were written before it, but on a busy machine not long enough.
    wait_until(lambda: any(note in message for message in messages()) if notes else messages(), what="the log lines")
    assert sum(note in message for message in messages()) == notes
    stop(aws, runtime, session_id)


@needs_bubblewrap
def test_a_new_version_begins_with_empty_storage(aws: Any) -> None:
    runtime = aws.deploy("versioned_storage", STORING_AGENT, filesystemConfigurations=STORAGE)
    session_id = str(uuid.uuid4())
    asked(aws, runtime, session_id, write="one.txt", text="of version 1")
    stop(aws, runtime, session_id)
    aws.control.update_agent_runtime(
        agentRuntimeId=runtime["agentRuntimeId"],
        agentRuntimeArtifact=aws.upload({"agent.py": STORING_AGENT}),
        roleArn=runtime["roleArn"],
        networkConfiguration=runtime["networkConfiguration"],
        filesystemConfigurations=STORAGE,
    )
    aws.settled(runtime["agentRuntimeId"])
    assert asked(aws, runtime, session_id) == []


@needs_bubblewrap
def test_storage_that_nobody_used_for_two_weeks_is_gone_after_a_restart(
    start_service: Callable[..., Any], tmp_path: Path
) -> None:
    aws = start_service()
    runtime = aws.deploy("forgetful", STORING_AGENT, filesystemConfigurations=STORAGE)
    old, recent = str(uuid.uuid4()), str(uuid.uuid4())
    asked(aws, runtime, old, write="one.txt", text="old")
    (before,) = aws.state.home.glob("runtimes/*/1/storage/*")
    asked(aws, runtime, recent, write="two.txt", text="recent")
    local.stop(aws.state.home)
    two_weeks_ago = time.time() - 15 * 86_400
    os.utime(before, (two_weeks_ago, two_weeks_ago))
    aws = start_service()
    assert asked(aws, runtime, old) == []
    assert asked(aws, runtime, recent) == ["two.txt"]


def test_without_bubblewrap_storage_is_refused_with_what_is_missing(start_service: Callable[..., Any]) -> None:
    aws = start_service(sandbox="off")
    with pytest.raises(ClientError, match="Session storage at /mnt/notes needs bubblewrap") as refused:
        aws.create("unstored", aws.upload({"agent.py": STORING_AGENT}), filesystemConfigurations=STORAGE)
    assert refused.value.response["Error"]["Code"] == "ValidationException"


ACCESS_POINT = "arn:aws:elasticfilesystem:us-east-1:123456789012:access-point/fsap-0123456789abcdef0"


@pytest.mark.parametrize(
    ("configurations", "message"),
    [
        ([{"efsAccessPoint": {"accessPointArn": ACCESS_POINT, "mountPath": "/mnt/x"}}], "not efsAccessPoint"),
        ([*STORAGE, {"sessionStorage": {"mountPath": "/mnt/notes/"}}], "different mount paths"),
        ([*STORAGE, {"sessionStorage": {"mountPath": "/mnt/more"}}], "at most one sessionStorage"),
        ([{"sessionStorage": {"mountPath": "/mnt/.."}}], "is not a folder under /mnt"),
        ([{"sessionStorage": {"mountPath": "/tmp/notes"}}], "must match"),
    ],
)
def test_other_file_systems_are_refused(aws: Any, configurations: list[Any], message: str) -> None:
    with pytest.raises(ClientError, match=message) as refused:
        aws.create("unmounted", aws.upload({"agent.py": "pass"}), filesystemConfigurations=configurations)
    assert refused.value.response["Error"]["Code"] == "ValidationException"


def test_a_runtimes_memory_is_the_limit_of_its_sessions(aws: Any) -> None:
    runtime = aws.deploy("small", STORING_AGENT, resourceConfigurations=[{"minimumMemoryInMiB": 300}])
    described = aws.control.get_agent_runtime(agentRuntimeId=runtime["agentRuntimeId"])
    assert described["resourceConfigurations"] == [{"minimumMemoryInMiB": 300}]
    session_id = str(uuid.uuid4())
    assert asked(aws, runtime, session_id, hold=20) == 20 * 2**20
    with pytest.raises(ClientError, match=r"Resource limit reached: memory \(314,572,800 bytes\)"):
        wait_until(lambda: not asked(aws, runtime, session_id, hold=400), what="the limit", pause_s=0.2)
    with pytest.raises(ClientError, match="must be at least 1"):
        aws.create("none", aws.upload({"agent.py": "pass"}), resourceConfigurations=[{"minimumMemoryInMiB": 0}])
