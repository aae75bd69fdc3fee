"""The report on several agents: which are named, what the first sentence says, and the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from parity_pairs import judged

from loomlib.errors import EvalError, ReportError
from loomlib.imports.bedrock_agents import Feature
from loomlib.imports.bedrock_agents.parity import AgentParity, AlikeRule
from loomlib.reports import FailedComparison, Migration, compared_agents


def parity(name: str, alike: int, cases: int, **more: Any) -> AgentParity:
    pairs = tuple(judged(f"c{n}", n < alike) for n in range(cases))
    return AgentParity(
        id=f"m-{name}", name=name, old="Bedrock Agent v7", new=f"{name} on AgentCore v1", rule=AlikeRule(),
        judged=pairs, labels=("local AgentCore",), **more,
    )  # fmt: skip


def test_the_first_sentence_names_each_agents_verdict_and_one_missed_gate_fails_all() -> None:
    failed = FailedComparison(name="gone", reason="There is no such Bedrock agent")
    agents = (parity("billing", 3, 10), parity("support", 118, 120), parity("orders", 100, 100))
    migration = Migration(id="m", parities=agents, failed=(failed,))
    assert migration.headline() == (
        "4 agents: billing missed its gate; support is unclear; orders passed its gate; gone could not be compared."
    )
    verdict = migration.verdict()
    assert str(verdict).index("billing: Behaves like the old agent: 3 of 10") < str(verdict).index("4 agents: billing")
    summary = verdict.summary
    assert (summary["exit_code"], summary["state"]) == (2, "partial")
    assert [gate["outcome"] for gate in summary["gates"]] == ["missed", "unclear", "passed"]
    assert json.dumps(summary)
    assert list(migration.table().index) == ["billing", "support", "orders", "gone"]
    assert "local AgentCore" in migration._repr_html_()


def test_one_agents_page_begins_with_the_sentence_that_decides() -> None:
    features = (
        Feature(name="user_input", state="approximated", reason="Questions become interrupts."),
        Feature(name="action_groups", state="needs you", reason="orders: its schema is missing."),
        Feature(name="guardrails", state="kept", reason="The same guardrail."),
    )
    one = parity("support", 118, 120, features=features)
    assert one.sentences()[0].startswith(
        "Behaves like the old agent: 118 of 120 answers judged equal (95 % interval 94.1–99.5 %)"
    )
    assert one.sentences()[-1] == (
        "Needs attention: orders: its schema is missing; 2 cases differ, shown below. Approximated: user input."
    )
    assert [subject for subject, _ in one.remaining()][:2] == [
        "action groups (manual step)",
        "user input (approximated)",
    ]
    verdict = Migration(id="m", parities=(one,)).verdict()
    assert verdict.title.startswith("support · Bedrock Agent v7 → support on AgentCore v1 · 120 cases, paired")
    assert verdict.sentences[0] == one.gate.sentence()
    assert Migration(id="m", parities=(one,)).summary()["exit_code"] == 0


def test_wrong_parameters_are_refused_before_anything_is_asked() -> None:
    nobody: Any = None
    with pytest.raises(ReportError, match="compares one to 12 agents, not 13"):
        compared_agents(nobody, ",".join(f"agent{n}" for n in range(13)), "cases.txt")
    with pytest.raises(ReportError, match="not with new_a and new_b"):
        compared_agents(nobody, "support=new_a, support=new_b", "cases.txt")
    with pytest.raises(EvalError, match="no such comparison of tool calls"):
        compared_agents(nobody, "support", "cases.txt", tools="alphabetical")
