"""A used-up credit stops what calls an agent, with one error and with what was done before it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

import loomlib as loom
from loomlib.errors import CreditsUsedUpError, LoomError
from loomlib.evals import EvalCase, EvalSet, Turn
from loomlib.latency.load_test import LoadResult
from loomlib.reports import tenant_accounts
from loomlib.store import InvocationRow, Store, Tenants
from loomlib.workbench.context import Context

AGENT = """
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
def answer(payload):
    return {"result": payload["prompt"]}

app.run()
"""


_numbers = itertools.count(1)


class Credit:
    """The credit of the tenant `default`, from when it was given on."""

    def __init__(self, tenants: Tenants) -> None:
        self.tenants, self._before = tenants, Decimal(0)

    def give(self, amount: str) -> None:
        """Let the tenant use so many US dollars from now on."""
        self._before = self._used()
        self.tenants.set_credit("default", self._before + Decimal(amount))

    def top_up(self) -> None:
        self.tenants.set_credit("default", self._used() + 1)

    @property
    def spent(self) -> Decimal:
        return self._used() - self._before

    def _used(self) -> Decimal:
        return next(row.used for row in self.tenants.list() if row.name == "default")


@pytest.fixture
def credit(bench: loom.Workbench, home: Path) -> Iterator[Credit]:
    """A credit of two calls in the workbench's own database."""
    with Tenants.open(f"sqlite:///{home}/loom.db") as tenants:
        if not any(row.name == "default" for row in tenants.list()):
            tenants.add("default")
        tenant_credit = Credit(tenants)
        tenant_credit.give("0.02")
        yield tenant_credit
        tenants.set_credit("default", None)


@pytest.fixture
def agent(bench: loom.Workbench, tmp_path: Path) -> loom.Agent:
    (tmp_path / "agent.py").write_text(AGENT)
    return bench.deploy(tmp_path / "agent.py", name=f"credits{next(_numbers)}")


def calls(agent: loom.Agent) -> tuple[InvocationRow, ...]:
    return tuple(agent.context.store.invocations.list(agent.entry.id))


def test_a_call_and_a_study_end_with_the_error_that_names_the_credit(agent: loom.Agent, credit: Credit) -> None:
    assert agent.invoke("hello").ok
    study = loom.LatencyStudy(agent, cold=0, warm=0, sticky=3)
    with pytest.raises(LoomError, match=r"credit of \$\S+ is used up"):
        study.run()
    assert len(calls(agent)) == 2
    with pytest.raises(CreditsUsedUpError, match=r"credit of \$\S+ is used up"):
        agent.invoke("hello")
    assert len(calls(agent)) == 2


def test_an_evaluation_ends_with_the_error_and_goes_on_after_a_top_up(agent: loom.Agent, credit: Credit) -> None:
    words = [f"word {number}" for number in range(5)]
    cases = tuple(EvalCase(id=word, turns=(Turn(prompt=word, expected_answer=word),)) for word in words)
    evalset = EvalSet(name="words", cases=cases)
    with pytest.raises(CreditsUsedUpError, match=r"credit of \$\S+ is used up"):
        agent.evaluate(evalset, ["contains"])
    (row,) = agent.context.store.eval_runs.list()
    assert row.state == "interrupted"
    results = agent.context.store.eval_answers.results(row.id)
    assert len(results) == 2  # and no case has the lack of credit as its failure
    credit.top_up()
    run = agent.evaluate(evalset, ["contains"], run_id=row.id)
    assert run.state == "complete"
    assert sorted(call.prompt or "" for call in calls(agent)) == words  # each case was asked once


def test_a_load_test_ends_with_the_error_before_a_step_and_goes_on_after_a_top_up(
    agent: loom.Agent, credit: Credit
) -> None:
    credit.give("0.08")
    study = loom.LoadStudy(
        agent, slo="p90 duration < 30 s", arrivals="constant", loads=(4, 8), seconds=1, sessions=1, prompt="hi"
    )
    with pytest.raises(LoomError, match=r"credit of \$\S+ is used up"):
        study.run()
    partial_result = LoadResult.load(study.store, study.study_id)
    assert [step.load for step in partial_result.by_load] == [4]
    assert credit.spent == Decimal("0.05")  # 4 calls and the one that opened the session
    credit.top_up()
    result = loom.LoadStudy.resume(agent, study.study_id).run()
    assert [step.load for step in result.by_load] == [4, 8]
    assert result.by_load[0].started_at == partial_result.by_load[0].started_at
    assert credit.spent == Decimal("0.14")  # 8 calls more, and the session was opened again


def test_users_of_a_load_test_stop_when_the_credit_is_used_up(agent: loom.Agent, credit: Credit) -> None:
    credit.give("0.10")
    study = loom.LoadStudy(
        agent, slo="p90 duration < 30 s", arrivals="closed", loads=(2,), seconds=60, sessions=2, prompt="hi"
    )
    with pytest.raises(LoomError, match="credit was used up after"):
        study.run()
    assert Decimal("0.07") <= credit.spent <= Decimal("0.10")


def test_the_cost_report_shows_all_tenants_to_the_administrator_and_nothing_to_a_tenant(
    bench: loom.Workbench, agent: loom.Agent, credit: Credit, home: Path
) -> None:
    credit.tenants.add("team-a", credit=Decimal(5))
    assert agent.invoke("hello").ok
    accounts = tenant_accounts(bench)
    assert accounts is not None
    assert [(account.name, account.use.calls > 0, account.left) for account in accounts.accounts] == [
        ("default", True, Decimal("0.02") - credit.spent),
        ("team-a", False, Decimal(5)),
    ]
    page = accounts._repr_html_()
    assert "team-a" in page
    assert "$5" in page
    with Store.open(f"sqlite:///{home}/loom.db", tenant="team-a") as store:
        assert not store.is_administrators
        context = bench.context
        own = Context(
            where=context.where,
            settings=context.settings,
            store=store,
            clients=context.clients,
            environment=context.environment,
        )
        assert tenant_accounts(loom.Workbench(own)) is None
