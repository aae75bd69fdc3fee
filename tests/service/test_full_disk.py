"""A home folder whose disk is full: errors name it, nothing acknowledged is lost, and freed space is used at once."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import subprocess
import uuid
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from echo_agent import ECHO_AGENT
from waiting import wait_until

import loomlib as loom
from loomlib import local
from loomlib.errors import LoomError, ServiceFailedError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
_DISK = "160m"


class SmallDisk:
    """A home folder on a disk that can be filled."""

    def __init__(self, home: Path) -> None:
        self.home, self._ballast = home, home / "ballast"

    @contextlib.contextmanager
    def filled(self) -> Generator[None]:
        """Write until nothing more fits, in ever smaller pieces; free the space at the end of the block."""
        try:
            wait_until(self._is_filled, what="a full disk")  # the service may free space meanwhile
            yield
        finally:
            self._ballast.unlink(missing_ok=True)

    def _is_filled(self) -> bool:
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)):
                        pass
        try:
            (self.home / "one-more").write_bytes(b"1")
        except OSError as error:
            return error.errno == errno.ENOSPC
        return False


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    home = tmp_path / "home"
    home.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(home)]).returncode != 0:
        pytest.skip("mounting is not allowed here")
    small = SmallDisk(home)
    try:
        yield small
    finally:
        with contextlib.suppress(LoomError):
            local.stop(home)
        subprocess.run(["umount", "--lazy", str(home)], check=True)


def _event(aws: Any, memory: str, text: str) -> str:
    answer = aws.data.create_event(
        memoryId=memory,
        actorId="ada",
        sessionId="s1",
        eventTimestamp=datetime.now(UTC),
        payload=[{"conversational": {"role": "USER", "content": {"text": text}}}],
    )
    return answer["event"]["eventId"]


def _repeated(call: Callable[[], Any]) -> None:
    """Call again and again: small writes fit into the pages that the files have."""
    for _ in range(200):
        call()


def _events(aws: Any, memory: str) -> set[str]:
    pages = aws.data.get_paginator("list_events").paginate(memoryId=memory, actorId="ada", sessionId="s1")
    return {event["eventId"] for page in pages for event in page["events"]}


def test_a_full_disk_is_named_and_loses_nothing_that_was_acknowledged(
    disk: SmallDisk, start_service: Callable[..., Any]
) -> None:
    aws = start_service(disk.home)
    arn = aws.deploy("before")["agentRuntimeArn"]
    memory = aws.control.create_memory(name="notes", eventExpiryDuration=30)["memory"]["id"]
    artifact = aws.upload({"agent.py": "print('never started')"})
    acknowledged = {_event(aws, memory, "before")}

    def refused(call: Callable[[], Any]) -> None:
        with pytest.raises(ClientError) as caught:
            _repeated(call)
        response: Any = caught.value.response
        error = response["Error"]
        assert error["Code"] == "InternalServerException"
        assert re.match(r"The local AgentCore's disk is full", error["Message"]), error
        assert str(disk.home) in error["Message"]
        assert "free some space" in error["Message"].lower()
        assert "Errno" not in error["Message"]

    with disk.filled():
        refused(lambda: acknowledged.add(_event(aws, memory, "x" * 20_000)))
        refused(lambda: aws.create(f"during_{uuid.uuid4().hex[:8]}", artifact))
        refused(lambda: aws.invoke(arn, runtimeSessionId=str(uuid.uuid4())))
        assert acknowledged <= _events(aws, memory)
    acknowledged.add(_event(aws, memory, "after"))
    assert aws.deploy("after")["status"] == "READY"
    assert aws.invoke(arn, runtimeSessionId=str(uuid.uuid4()))[0]["statusCode"] == 200
    assert _events(aws, memory) == acknowledged
    log = (disk.home / "service.log").read_text()
    assert "Traceback" not in log, log
    aws.close()
    local.stop(disk.home)
    again = start_service(disk.home)
    assert _events(again, memory) == acknowledged
    names = {item["agentRuntimeName"] for item in again.control.list_agent_runtimes()["agentRuntimes"]}
    assert {"before", "after"} <= names
    assert local.status(disk.home).damaged == ()


def test_a_creation_that_ends_while_the_disk_is_full_is_settled_when_there_is_space(
    disk: SmallDisk, start_service: Callable[..., Any], tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    aws = start_service(disk.home, sandbox_write=(str(shared),))
    wait_code = f"import pathlib, time\nwhile not pathlib.Path({str(shared / 'go')!r}).exists(): time.sleep(0.01)\n"
    touch_code = f"pathlib.Path({str(shared / 'started')!r}).touch()\n"
    created = aws.create("slow", aws.upload({"agent.py": wait_code + touch_code + ECHO_AGENT}))
    wait_until(lambda: list(disk.home.glob("sessions/*/agent.py")), what="the agent's folder")
    with disk.filled():
        (shared / "go").touch()
        wait_until((shared / "started").exists, what="the agent's start")
        for _ in range(300):  # longer than the rest of the creation takes
            status = aws.control.get_agent_runtime(agentRuntimeId=created["agentRuntimeId"])["status"]
            assert status == "CREATING"
    settled = aws.settled(created["agentRuntimeId"])
    assert settled["status"] == "READY" or "disk is full" in settled["failureReason"], settled


def test_the_workbench_advises_to_free_space(disk: SmallDisk, tmp_path: Path) -> None:
    with loom.connect(home=disk.home, database_url=f"sqlite:///{tmp_path}/elsewhere.db") as bench:
        agent = bench.deploy("echo")
        numbers = itertools.count()
        with disk.filled():
            with pytest.raises(ServiceFailedError, match=r"disk is full.*Try: free space on the disk") as caught:
                _repeated(lambda: bench.identity.create_api_key_provider(f"p{next(numbers)}", api_key="k" * 5_000))
            assert str(disk.home) in str(caught.value)
            failed = agent.invoke("hello")
            assert not failed.ok
            assert "disk is full" in str(failed.error)
        assert agent.invoke("hello").ok
