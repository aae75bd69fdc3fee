"""One deployment from its plan to a change of it, the same on the local AgentCore and on an AWS account."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import loomlib as loom
from loomlib.aws.buckets import delete_object
from loomlib.aws.deploy import code_bucket
from loomlib.aws.memory import delete_memory
from loomlib.aws.roles import delete_role
from loomlib.aws.runtimes import delete_runtime, wait_until_gone
from loomlib.deploy.names import role_name
from loomlib.workbench.agent_plan import AgentPlan

FILE = """
[agent]
name = "desk"
description = "Answers at the desk"
python = "3.11"

[platform]
version = "V1"
idle_timeout_s = 300

[environment]
WORD = "lamp"

[secrets]
ORDERS_KEY = "orders/key"

[resources]
memories = {LOOM_MEMORY_ID = "desk"}
models = ["amazon.nova-lite-v1:0"]

[tags]
team = "care"

[endpoints]
prod = "prod"
"""


@dataclass
class Outcome:
    """What came of the scenario.

    Attributes:
        plan: The first plan.
        answer: The agent's answer through its endpoint prod.
        again: The plan after it was applied.
        package: The names of the package's files.
        versions: The runtime's version after each of the three deployments: the first, the same, and a changed one.
        prod_version: The version that the endpoint prod serves at the end.
    """

    plan: AgentPlan
    answer: dict[str, Any]
    again: AgentPlan
    package: list[str]
    versions: list[str]
    prod_version: str


def run(bench: loom.Workbench, folder: Path, planned: Callable[[], None] = lambda: None) -> Outcome:
    """Deploy the agent, once more as it is, and once more with a change; `planned` is called after the first plan."""
    (folder / "loom-agent.toml").write_text(FILE)
    plan = bench.plan(folder)
    planned()
    agent = plan.apply()
    versions = [str(agent.entry.raw_metadata["agentRuntimeVersion"])]
    answer = json.loads(agent.at("prod").invoke("hello").text)
    again = bench.plan(folder)
    versions.append(str(again.apply().entry.raw_metadata["agentRuntimeVersion"]))
    code = agent.entry.raw_metadata["agentRuntimeArtifact"]["codeConfiguration"]["code"]["s3"]
    packed = bench.clients.s3().get_object(Bucket=code["bucket"], Key=code["prefix"])["Body"].read()
    changed = bench.deploy(folder, idle_timeout_s=900)
    versions.append(str(changed.entry.raw_metadata["agentRuntimeVersion"]))
    prod = bench.clients.control().get_agent_runtime_endpoint(
        agentRuntimeId=agent.entry.runtime_id, endpointName="prod"
    )
    return Outcome(
        plan=plan,
        answer=answer,
        again=again,
        package=zipfile.ZipFile(io.BytesIO(packed)).namelist(),
        versions=versions,
        prod_version=prod["liveVersion"],
    )


def clean_up(bench: loom.Workbench, memory_id: str) -> None:
    """Delete what the scenario has made, but for the bucket."""
    clients, entry = bench.clients, bench.agent("desk").entry
    delete_runtime(clients, entry.runtime_id)
    wait_until_gone(clients, entry.runtime_id)
    delete_role(clients, role_name("desk", clients.region))
    listed = clients.s3().list_objects_v2(Bucket=code_bucket(clients), Prefix="desk/")
    for item in listed.get("Contents", ()):
        delete_object(clients, code_bucket(clients), item["Key"])
    delete_memory(clients, memory_id)
