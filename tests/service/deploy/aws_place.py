"""AWS for tests of deployments: the local AgentCore behind a proxy, found by `AWS_ENDPOINT_URL` alone."""

from __future__ import annotations

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

import loomlib as loom
from loomlib import local
from loomlib.deploy.names import role_name

DEPLOY = """
import sys
import loomlib as loom

folder, name, region = sys.argv[1:]
with loom.connect("aws", region=region) as bench:
    bench.plan(folder, name=name, platform_version="V1").apply()
"""


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
    with recording_proxy(state.url, **proxy) as (address, sent), pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
            patch.delenv(name, raising=False)
        for name, value in state.environment().items():
            patch.setenv(name, value.replace(state.url, address))
        patch.setenv("LOOM_HOME", str(home))
        yield sent


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
        self._state, self._home = state, home

    def run(self, folder: Path, name: str, region: str, *, at: Callable[[int, SentRequest], bool]) -> list[SentRequest]:
        """Deploy until `at` is true of the number of a request and of the request; return the requests."""
        started: list[subprocess.Popen[bytes]] = []
        numbers = iter(range(1, 1_000_000))

        def kill(request: SentRequest) -> None:
            if at(next(numbers), request):
                os.kill(started[0].pid, signal.SIGKILL)
                started[0].wait()

        with aws_at(self._state, self._home, before_answer=kill) as sent:
            command = [sys.executable, "-c", DEPLOY, str(folder), name, region]
            started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
            output, _ = started[0].communicate(timeout=120)
            code = started[0].returncode
            assert code in (0, -signal.SIGKILL), output.decode()
            return sent
