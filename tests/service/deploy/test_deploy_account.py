"""The same deployment on the AWS account of the environment: `pytest -m aws tests/service/deploy`."""

from __future__ import annotations

from pathlib import Path

import boto3
import deploy_scenario
import pytest

import loomlib as loom

AGENT = """
import os

from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()


@app.entrypoint
def answer(payload):
    return {name: os.environ.get(name) for name in ("LOOM_MEMORY_ID", "ORDERS_KEY", "WORD")}


app.run()
"""


@pytest.mark.aws
def test_the_scenario_of_the_local_agentcore_holds_on_an_account(tmp_path: Path) -> None:
    session = boto3.Session()
    if session.get_credentials() is None or session.region_name is None:
        pytest.skip("the environment has no credentials and region of an AWS account")
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    (folder / "requirements.txt").write_text("bedrock-agentcore\n")
    with loom.connect("aws", home=tmp_path / "home") as bench:
        memory = bench.memories.create("desk")
        try:
            outcome = deploy_scenario.run(bench, folder)
            assert outcome.answer == {"LOOM_MEMORY_ID": memory.id, "ORDERS_KEY": "orders/key", "WORD": "lamp"}
            assert outcome.again.value.is_empty, repr(outcome.again)
            assert outcome.versions == ["1", "1", "2"]
            assert outcome.prod_version == "1"
        finally:
            deploy_scenario.clean_up(bench, memory.id)
