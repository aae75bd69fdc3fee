"""AWS for tests of deployments: the local AgentCore behind a proxy, found by `AWS_ENDPOINT_URL` alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from recording_proxy import SentRequest, recording_proxy
from waiting import wait_until

import loomlib as loom
from loomlib import local
from loomlib.deploy.names import role_name

FORKING = """
import json
import os
import sys

import boto3
import loomlib as loom
from loomlib.workbench import planning

for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if not pid:
        os.environ.update(order["environment"])
        try:
            with loom.connect("aws", region=order["region"]) as bench:
                bench.plan(order["folder"], name=order["name"], platform_version="V1").apply()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
"""Deploys, each time in a process of its own, forked once everything is imported."""


@dataclass(frozen=True)
class Leftovers:
    """What an account has of one agent."""

    runtimes: list[str]
    roles: list[str]
    packages: list[str]
    has_bucket: bool


@contextmanager
def aws_at(state: local.ServiceState, home: Path, **proxy: Any) -> Iterator[list[SentRequest]]:
    """Let `loom.connect("aws")` of this process and its children lead to the local AgentCore; yield the requests."""
    with recording_proxy(state.url, **proxy) as (address, requests), pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
            patch.delenv(name, raising=False)
        for name, value in state.environment().items():
            patch.setenv(name, value.replace(state.url, address))
        patch.setenv("LOOM_HOME", str(home))
        yield requests


def leftovers(aws: loom.Workbench, name: str) -> Leftovers:
    """What the account and region of `aws` have of the agent `name`."""
    clients = aws.clients
    runtimes = clients.control().list_agent_runtimes(maxResults=100)["agentRuntimes"]
    roles = clients.client("iam").list_roles()["Roles"]
    bucket = f"loom-code-{clients.account_id()}-{clients.region}"
    buckets = [item["Name"] for item in clients.s3().list_buckets()["Buckets"]]
    objects = clients.s3().list_objects_v2(Bucket=bucket).get("Contents", []) if bucket in buckets else []
    return Leftovers(
        runtimes=[item["agentRuntimeId"] for item in runtimes if item["agentRuntimeName"] == name],
        roles=[role["RoleName"] for role in roles if role["RoleName"] == role_name(name, clients.region)],
        packages=[item["Key"] for item in objects if item["Key"].startswith(f"{name}/")],
        has_bucket=bucket in buckets,
    )


class KilledDeploys:
    """Runs deployments in processes of their own, each killed before it gets the answer to a chosen request.

    Args:
        state: The local AgentCore.
        home: Loom's home folder.
    """

    def __init__(self, state: local.ServiceState, home: Path) -> None:
        self.home = home
        self._state = state
        self._forking = subprocess.Popen(
            [sys.executable, "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, folder: Path, name: str, region: str, *, at: Callable[[int, SentRequest], bool]) -> list[SentRequest]:
        """Deploy, kill the process at the first request for which `at(number, request)` holds, return the requests."""
        pids: list[int] = []
        numbers = iter(range(1, 1_000_000))

        def kill(request: SentRequest) -> None:
            if at(next(numbers), request):
                wait_until(lambda: pids, what="the process of the deployment")
                os.kill(pids[0], signal.SIGKILL)

        with aws_at(self._state, self.home, before_answer=kill) as requests:
            environment = {key: os.environ[key] for key in (*self._state.environment(), "LOOM_HOME")}
            self._write({"folder": str(folder), "name": name, "region": region, "environment": environment})
            pids.append(self._read())
            assert self._read() in (0, -signal.SIGKILL)
            return requests

    def close(self) -> None:
        """End the process that forks."""
        self._forking.communicate(timeout=60)

    def _write(self, order: dict[str, Any]) -> None:
        assert self._forking.stdin is not None
        self._forking.stdin.write(json.dumps(order) + "\n")
        self._forking.stdin.flush()

    def _read(self) -> int:
        assert self._forking.stdout is not None
        return int(self._forking.stdout.readline())
