"""Changes of time and cost, golden sets, and the sampling and storage of shadow traffic."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from parity_pairs import answer, case, failed, pair, use

from loomlib.evals import EvalCase
from loomlib.imports.bedrock_agents.model import ActionGroup, ImportedAgent, ImportedTool, MemorySettings, ModelChoice
from loomlib.imports.bedrock_agents.parity.changes import paired_changes
from loomlib.imports.bedrock_agents.parity.golden import AnswerSource, golden_set
from loomlib.imports.bedrock_agents.parity.names import ToolNames
from loomlib.imports.bedrock_agents.parity.shadow_pairs import ShadowFile, ShadowPair, is_sampled, side_effects
from loomlib.redaction import DEFAULT_RULES, Redactor


def change(pairs: list, name: str):
    return next(item for item in paired_changes(pairs) if item.name == name)


def test_what_a_case_has_in_common_cancels_out_of_a_change() -> None:
    random = np.random.default_rng(3)
    pairs = []
    for n in range(60):
        base = float(random.lognormal(7, 1))
        old = answer("a", duration_ms=base, cost=base / 1e6, input_tokens=100, output_tokens=10)
        new = answer("a", duration_ms=base - 100 + float(random.normal(0, 5)), cost=base * 0.7 / 1e6, input_tokens=50,
                     output_tokens=5)  # fmt: skip
        pairs.append(pair(f"c{n}", old, new))
    duration = change(pairs, "duration")
    assert duration.change.low is not None
    assert duration.change.high is not None
    assert -104 < duration.change.low <= -100 + 3
    assert duration.direction == -1
    assert duration.sentence().startswith("Faster: median −")
    cost = change(pairs, "cost")
    assert cost.change.value == pytest.approx(-0.3)
    assert cost.sentence().startswith("Cost −30 %")
    assert change(pairs, "tokens").change.value == pytest.approx(-0.5)


def test_unknown_and_failed_values_are_left_out_and_counted() -> None:
    pairs = [pair(f"c{n}", answer("a", duration_ms=100.0), answer("a", duration_ms=90.0 + n)) for n in range(8)]
    pairs.append(pair("unknown", answer("a", duration_ms=100.0), answer("a")))
    pairs.append(pair("failed", answer("a", duration_ms=1e9), failed("timeout")))
    duration = change(pairs, "duration")
    assert (duration.change.n, duration.left_out) == (8, 1)
    assert duration.old.value == 100.0
    assert "unknown for 1 case" in duration.sentence()
    assert change(pairs, "cost").sentence() == "Cost unknown for 9 cases."


def test_repeats_of_a_case_count_as_one() -> None:
    pairs = [
        pair(f"c{n}", answer("a", duration_ms=100.0), answer("a", duration_ms=80.0 + 20 * repeat), repeat)
        for n in range(6)
        for repeat in range(2)
    ]
    assert change(pairs, "duration").change.n == 6
    assert change(pairs, "duration").change.value == -10.0


def test_a_golden_set_is_redacted_and_says_where_it_is_from(tmp_path: Path) -> None:
    source = AnswerSource(
        agent="support", arn="arn:aws:bedrock:us-east-1:123456789012:agent/A", version="7", alias="live",
        names=ToolNames(searches={"KB1": "search"}), labels=("local AgentCore",),
    )  # fmt: skip
    mail = "ann.smith@example.com"
    mail_case = EvalCase(id="one", turns=case("x", f"Mail {mail}").turns, initial_state={"returnControl": {"a": mail}})
    golden = golden_set(
        [
            (mail_case, answer(f"I mailed {mail}.", use("mail", to=mail), use("search", query="q"))),
            (case("two"), failed("throttle")),
        ],
        source,
    )
    assert [item.id for item in golden.cases] == ["one"]
    file = tmp_path / "golden.json"
    golden.write(file)
    assert mail not in file.read_text()
    tools = golden.cases[0].expected_tools
    assert tools is not None
    assert [(tool.name, tool.arguments is None) for tool in tools] == [("mail", False), ("search", True)]
    about = golden.metadata["golden"]
    assert (about["version"], about["alias"], about["failed"]) == ("7", "live", {"throttle": 1})
    assert any("1 throttle" in note for note in golden.notes)
    assert "golden" in golden.cases[0].tags
    plain = golden_set([(mail_case, answer(f"I mailed {mail}."))], source, redact=[])
    assert mail in str(plain.cases[0].expected_answer)


def test_the_sample_is_the_same_sessions_every_time_and_has_its_share() -> None:
    sessions = [f"session-{n}" for n in range(20_000)]
    chosen = {id for id in sessions if is_sampled(id, 0.05)}
    assert chosen == {id for id in sessions if is_sampled(id, 0.05)}
    assert 900 < len(chosen) < 1_100
    assert chosen <= {id for id in sessions if is_sampled(id, 0.2)}, (
        "a larger share keeps the sessions of a smaller one"
    )
    assert chosen != {id for id in sessions if is_sampled(id, 0.05, salt="other")}
    assert not any(is_sampled(id, 0.0) for id in sessions)
    assert all(is_sampled(id, 1.0) for id in sessions)


def test_pairs_survive_a_killed_process_and_hold_no_secrets(tmp_path: Path) -> None:
    file = ShadowFile(tmp_path / "shadow" / "one.jsonl")
    secret = "AKIAIOSFODNN7EXAMPLE"
    shadow = ShadowPair(
        session_id="s", number=0, prompt=f"My key is {secret}", front="old",
        old=answer(f"Your key {secret}", use("store", key=secret), duration_ms=5.0, texts=(f"I look for {secret}",)),
        new=failed("timeout"),
    )  # fmt: skip
    file.add(shadow.redacted(Redactor(DEFAULT_RULES)))
    file.add(replace(shadow, number=1, prompt="Hello").redacted(Redactor(DEFAULT_RULES)))
    with file.path.open("a") as lines:
        lines.write('{"session": "s", "number": 2, "prompt": "cut')
    assert secret not in file.path.read_text()
    pairs = list(file.pairs())
    assert [item.number for item in pairs] == [0, 1]
    assert pairs[0].old.turns[0].duration_ms == 5.0
    assert pairs[0].old.tools is not None
    assert pairs[0].new.failure is not None
    assert pairs[0].new.failure.kind == "timeout"
    placeholder = pairs[0].prompt.removeprefix("My key is ")
    assert placeholder in pairs[0].old.text, "equal values have equal placeholders"
    assert pairs[0].answer_pair().case.id == pairs[1].answer_pair().case.id, "a session is one case"
    assert json.loads(file.path.read_text().splitlines()[0])["front"] == "old"
    file.add(replace(shadow, number=3, prompt="After").redacted(Redactor(DEFAULT_RULES)))
    assert [item.number for item in file.pairs()] == [0, 1, 3], "an incomplete line does not swallow the next one"
    file.add(replace(shadow, number=0, prompt="In another process").redacted(Redactor(DEFAULT_RULES)))
    assert [item.number for item in file.pairs()] == [0, 1, 3, 2], "each pair of a session has a number of its own"


def test_what_could_happen_twice_is_named() -> None:
    tool = ImportedTool(name="a", function="a")
    groups = (
        ActionGroup(id="1", name="orders", executor="lambda", schema="functions", tools=(tool,)),
        ActionGroup(id="2", name="stock", executor="lambda", schema="functions", tools=(tool,)),
        ActionGroup(id="3", name="returned", executor="return_control", schema="functions", tools=(tool,)),
        ActionGroup(id="4", name="off", executor="lambda", schema="functions", tools=(tool,), is_enabled=False),
    )
    agent = ImportedAgent(
        id="A", name="desk", instruction="i", model=ModelChoice(identifier="m"), action_groups=groups,
        memory=MemorySettings(),
    )  # fmt: skip
    assert side_effects(agent, frozenset({"stock"})) == [
        "the action group orders of desk calls a Lambda function",
        "desk writes its long-term memory",
    ]
    assert side_effects(agent, frozenset({"stock", "orders", "memory"})) == []
