"""A used-up credit stops what calls an agent, with one error and with what was done before it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

import loomlib as loom
from loomlib.errors import CreditsUsedUpError, LoomError
from loomlib.store import Tenants

AGENT = """
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
def answer(payload):
    return {"result": payload["prompt"]}

app.run()
"""


@pytest.fixture
def tenants(bench: loom.Workbench, home: Path) -> Iterator[Tenants]:
    """The tenants of the workbench's own database, in which `default` has a credit of two calls."""
    with Tenants.open(f"sqlite:///{home}/loom.db") as known:
        known.add("default", credit=Decimal("0.02"))
        yield known
        known.set_credit("default", None)


@pytest.fixture
def agent(bench: loom.Workbench, tmp_path: Path) -> loom.Agent:
    (tmp_path / "agent.py").write_text(AGENT)
    return bench.deploy(tmp_path / "agent.py", name="credits")


def test_a_call_and_a_study_end_with_the_error_that_names_the_credit(
    bench: loom.Workbench, agent: loom.Agent, tenants: Tenants
) -> None:
    assert agent.invoke("hello").ok
    study = loom.LatencyStudy(agent, cold=0, warm=0, sticky=3)
    with pytest.raises(LoomError, match=r"credit of \$0.02 is used up"):
        study.run()
    before = len(agent.context.store.invocations.list(agent.entry.id))
    assert before == 2
    with pytest.raises(CreditsUsedUpError, match=r"credit of \$0.02 is used up"):
        agent.invoke("hello")
    assert len(agent.context.store.invocations.list(agent.entry.id)) == before
