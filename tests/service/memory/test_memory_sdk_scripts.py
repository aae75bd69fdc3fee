"""Unchanged programs of the AgentCore SDK and of Strands run against the local AgentCore."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent / "scripts"


def run(aws: Any, script: str, *arguments: str) -> str:
    """A program's output, run in a process of its own that knows the service by its environment only."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    result = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *arguments],
        env=environment | aws.state.environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def memory(aws: Any, name: str) -> str:
    return aws.control.create_memory(name=name, eventExpiryDuration=30)["memory"]["id"]


def test_memory_client_and_control_plane_client_work_as_on_aws(aws: Any) -> None:
    assert "all as on AWS" in run(aws, "memory_client.py", aws.state.region)


def test_memory_session_manager_works_as_on_aws(aws: Any) -> None:
    assert "all as on AWS" in run(aws, "session_manager.py", aws.state.region, memory(aws, "session_manager"))


def test_strands_restores_every_message_of_a_session_in_a_second_process(aws: Any) -> None:
    memory_id = memory(aws, "strands")
    prompts = [f"My number is {number}" for number in range(6)]
    messages = json.loads(run(aws, "strands_agent.py", "talk", aws.state.region, memory_id, *prompts).splitlines()[-1])
    restored = json.loads(run(aws, "strands_agent.py", "restore", aws.state.region, memory_id).splitlines()[-1])
    assert [message["content"][0]["text"] for message in messages if message["role"] == "user"] == prompts
    assert restored == messages
