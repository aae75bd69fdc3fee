"""The rules as data: complete, changeable by a file, open to plugins, and never the end of a diagnosis."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from invented_requests import Request, Tool

from loomlib.errors import SettingsError
from loomlib.plugins import hookimpl, load_plugins
from loomlib.telemetry.diagnosis import (
    FindingDraft,
    FindingEvidence,
    InvocationCase,
    Rule,
    diagnose,
    diagnose_session,
    rule_book,
)


def slow() -> InvocationCase:
    return Request().turn(1400, tools=[Tool("database", 1500)]).turn(1500).case()


def test_every_rule_asks_a_question_names_its_source_and_suggests_a_fix() -> None:
    book = rule_book()
    assert len(book.rules) == 18
    for rule in book.rules:
        assert rule.asks.endswith("?")
        assert rule.source
        assert rule.try_
        assert rule.check is not None or rule.session_check is not None
    assert [row["rule"] for row in book.table()] == [rule.name for rule in book.rules]


def test_a_file_changes_thresholds_and_texts_and_switches_rules_off(tmp_path: Path) -> None:
    rule_file = tmp_path / "rules.toml"
    rule_file.write_text(
        '[general]\nms = 50\n[rules.slow_tool]\ntitle = "Too slow: {tool}, {nobody}"\ntry = ["ask the team"]\n'
        "[rules.slow_tool.thresholds]\nslow_ms = 1200\n[rules.network]\nenabled = false\n"
    )
    for book in (rule_book(rule_file), rule_book(home=tmp_path)):
        assert book.least_ms == 50
        assert book["slow_tool"].thresholds["slow_ms"] == 1200
        assert book["slow_tool"].thresholds["share"] == 0.2
        assert "network" not in {rule.name for rule in book.rules}
        finding = diagnose(slow(), rules=book).first
        assert finding is not None
        assert finding.title == "Too slow: database, {nobody}"
        assert finding.try_ == ("ask the team",)
    assert rule_book(home=tmp_path / "nowhere").least_ms == 100


def test_thresholds_decide(tmp_path: Path) -> None:
    own = tmp_path / "rules.toml"
    own.write_text("[rules.slow_tool.thresholds]\nslow_ms = 1600\n")
    assert diagnose(slow()).first is not None
    assert diagnose(slow(), rules=rule_book(own)).first is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not toml", "not TOML"),
        ("[rules.slow_tol]\n", "Unknown keys: slow_tol"),
        ("[rules.slow_tool.thresholds]\nslow = 1", "Unknown keys: slow"),
        ("[rules.slow_tool.thresholds]\nslow_ms = -1", "must be a number"),
        ("[rules.slow_tool.thresholds]\nslow_ms = nan", "must be a number"),
        ("[rules.slow_tool.thresholds]\nslow_ms = true", "must be a number"),
        ('[rules.slow_tool]\nenabled = "no"', "enabled must be"),
        ("[rules.slow_tool]\nname = 1", "Unknown keys: name"),
        ("[rules]\nslow_tool = 1", "must be a table"),
        ("[thresholds]\nms = 1", "Unknown keys: thresholds"),
        ("rules = 3", "must be a table"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(tmp_path: Path, text: str, said: str) -> None:
    rule_file = tmp_path / "rules.toml"
    rule_file.write_text(text)
    with pytest.raises(SettingsError, match=said) as caught:
        rule_book(rule_file)
    assert str(rule_file) in str(caught.value)


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        rule_book(tmp_path / "missing.toml")


def monday(case: InvocationCase, limits: object) -> FindingDraft | None:
    return FindingDraft(
        ms_at_stake=case.total_ms, evidence=(FindingEvidence(text="it is Monday"),), confidence="low", because="why not"
    )


def test_a_plugin_gives_a_rule() -> None:
    plugin = SimpleNamespace(
        __name__="mondays",
        loom_rules=hookimpl(lambda: {"monday": lambda: Rule(name="any", title="Monday", try_=("wait",), check=monday)}),
    )
    book = rule_book(plugins=load_plugins([plugin]))
    finding = diagnose(slow(), rules=book).first
    assert finding is not None
    assert (finding.rule, finding.title, finding.try_) == ("monday", "Monday", ("wait",))


def test_a_plugin_that_gives_no_rule_is_reported_in_each_diagnosis_and_ends_none() -> None:
    plugin = SimpleNamespace(__name__="wrong", loom_rules=hookimpl(lambda: {"wrong": lambda: 3}))
    plugins = load_plugins([plugin])
    diagnosis = diagnose(slow(), rules=rule_book(plugins=plugins))
    assert diagnosis.first is not None
    assert diagnosis.first.rule == "slow_tool"
    (problem,) = diagnosis.problems
    assert problem.rule == "wrong"
    assert "expected a Rule, not int" in problem.error
    assert "Try: pip install --upgrade" in problem.error
    assert [problem.error for problem in plugins.problems] == ["expected a Rule, not int"]


def test_a_rule_that_fails_is_a_problem_and_the_others_continue() -> None:
    def broken(case: InvocationCase, limits: object) -> FindingDraft | None:
        raise RuntimeError("no such number")

    book = rule_book().with_rules(Rule(name="broken", title="Broken", check=broken))
    diagnosis = diagnose(slow(), rules=book)
    assert diagnosis.first is not None
    assert diagnosis.first.rule == "slow_tool"
    assert [(problem.rule, problem.error) for problem in diagnosis.problems] == [
        ("broken", "RuntimeError: no such number")
    ]


def test_a_rule_that_returns_no_draft_is_a_problem_and_the_others_continue() -> None:
    rules = [
        Rule(name="number", title="Number", check=lambda case, limits: 5),  # pyright: ignore[reportArgumentType]
        Rule(name="text", title="Text", session_check=lambda session, limits: "x"),  # pyright: ignore[reportArgumentType]
    ]
    diagnosis = diagnose_session([slow(), slow()], rules=rule_book().with_rules(*rules))
    assert diagnosis.first is not None
    assert diagnosis.first.rule == "slow_tool"
    assert {(problem.rule, problem.error) for problem in diagnosis.problems} == {
        ("number", "TypeError: expected a FindingDraft or None, not int"),
        ("text", "TypeError: expected a FindingDraft or None, not str"),
    }


def test_rules_can_be_replaced_and_left_out() -> None:
    book = rule_book().with_rules(Rule(name="slow_tool", title="Mine", check=monday)).without("network", "cold_start")
    assert book["slow_tool"].title == "Mine"
    assert len(book.rules) == 16
    with pytest.raises(KeyError):
        book["network"]
    with pytest.raises(ValueError, match="has no check"):
        Rule(name="empty", title="")


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
def test_an_impossible_stake_is_rejected(wrong: float) -> None:
    with pytest.raises(ValueError):
        FindingDraft(ms_at_stake=wrong, evidence=(), confidence="low", because="")
    with pytest.raises(ValueError, match="confidence"):
        FindingDraft(ms_at_stake=1, evidence=(), confidence="sure", because="")
