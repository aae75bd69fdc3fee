"""The policies of agents that were generated from Bedrock Agents: exactly what they use, with nothing left open."""

from __future__ import annotations

from pathlib import Path

import pytest
from imported_agents import support_supervisor

from loomlib.deploy.agent_file import read_agent_file
from loomlib.deploy.code_uses import find_uses
from loomlib.deploy.policies import AwsPlace, KnownResources, role_policy
from loomlib.imports.bedrock_agents.emit import generate_agent


@pytest.mark.parametrize("framework", ["strands", "langgraph"])
def test_a_generated_agent_may_do_exactly_what_its_code_does(tmp_path: Path, framework: str) -> None:
    for name, text in generate_agent(support_supervisor(), framework).files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    known_resources = KnownResources(ids={("memories", "support_supervisor_memory"): "memory-0123456789"})
    place = AwsPlace(account="123456789012", region="us-east-1")
    policy = role_policy(read_agent_file(tmp_path), find_uses(tmp_path), place, known=known_resources)
    assert not policy.unresolved
    own = [statement for statement in policy.statements if statement.places]
    memories = next(statement for statement in own if statement.sid == "Memories")
    assert memories.resources == ("arn:aws:bedrock-agentcore:us-east-1:123456789012:memory/memory-0123456789",)
    assert "bedrock-agentcore:GetMemory" in memories.actions
    assert not [action for action in policy.actions() if "Delete" in action]
    functions = next(statement for statement in own if statement.sid == "Functions")
    assert {arn.rpartition(":")[2] for arn in functions.resources} == {"orders", "invoices"}
    assert "*" not in {arn for statement in own for arn in statement.resources}
