"""A Bedrock agent against its successors: what is measured, which differences are found, and what never counts."""

from __future__ import annotations

import asyncio
import json
from html import unescape
from pathlib import Path

import pytest
from parity_agents import CITIES, PROMPTS, WeatherScene

from loomlib.errors import EvalError
from loomlib.evals import EvalCase, EvalSet, Turn
from loomlib.imports.bedrock_agents.parity.rule import AlikeRule

BROKEN = "What is the weather in Nowhere?"
QUIET = EvalSet.from_rows([{"prompt": prompt} for prompt in PROMPTS[:6]], name="weather")


def invocations(scene: WeatherScene) -> int:
    return len(scene.bench.context.store.invocations.list(limit=None))


def test_an_answer_has_its_tools_tokens_times_and_cost(scene: WeatherScene) -> None:
    run = scene.old.evaluate(QUIET, ["contains(texts=['degrees'])"], alias="live")
    assert run.summary()["contains(texts=['degrees'])"].pass_rate.value == 1.0
    assert run.target.name == "weather (live)"
    for case, judgement in zip(QUIET.cases, run.judgements(), strict=True):
        answer = judgement.answer.turns[0]
        city = case.prompt.split()[-1].rstrip("?")
        assert answer.tools is not None
        assert [(use.name, use.arguments) for use in answer.tools] == [("get_weather", {"city": city})]
        assert city in str(answer.tools[0].result)
        assert answer.ttft_ms is not None
        assert answer.duration_ms is not None
        assert 0 < answer.ttft_ms <= answer.duration_ms
        assert answer.cost is not None
        assert (answer.model_calls, answer.cost > 0) == (2, True)
        row = scene.bench.context.store.invocations.get(answer.invocation_id or 0)
        assert row is not None
        assert (row.status, row.prompt, row.response) == ("complete", case.prompt, answer.text)


def test_a_study_measures_it_like_any_agent(scene: WeatherScene) -> None:
    target = scene.old.study_target("live")
    record = asyncio.run(target.measure(PROMPTS[0], session_id=target.new_session(), labels=("study",)))
    assert record.ok
    assert "study" in record.labels
    assert record.client_duration_ms is not None
    assert target.agent_start(record.id).state == "no_logs"
    assert target.end_session(record.session_id)
    failed = asyncio.run(target.measure(BROKEN, session_id=target.new_session()))
    assert (failed.status, failed.failure) == ("error", "agent_error"), "a failed call is a record, not an exception"


def test_a_successor_that_behaves_alike_is_not_said_to_differ(scene: WeatherScene) -> None:
    parity = scene.old.parity(scene.new, QUIET, alias="live", repeats=2)
    assert parity.differing == ()
    assert (parity.share.alike, parity.share.judged, parity.share.cases) == (12, 12, 6)
    assert parity.gate.outcome == "unclear", "six cases decide nothing"
    assert "more cases decide it (there are 6)" in parity.sentences()[0]
    assert parity.itself is not None
    assert (parity.itself.alike, parity.itself.judged) == (6, 6)
    assert parity.change("duration").change.is_known
    assert parity.change("cost").change.is_known
    assert parity.title().startswith("weather · Bedrock Agent v1 → weather_new on AgentCore v1 · 6 cases, 2 repeats")
    page = unescape(parity._repr_html_())
    assert page.index("Behaves like the old agent") < page.index("duration") < page.index("Method")
    assert "None of the judged cases differ." in page
    assert json.dumps(parity.summary())


def test_a_planted_difference_is_found_and_shown_side_by_side(scene: WeatherScene) -> None:
    parity = scene.old.parity(scene.wrong, QUIET, alias="live")
    assert [item.pair.case.prompt for item in parity.differing] == ["What is the weather in Rome?"]
    assert parity.differing[0].parts == ("answer", "tools")
    page = unescape(parity._repr_html_())
    assert 'get_weather(city="Rome")' in page
    assert 'get_weather(city="Quito")' in page
    assert any("Rome" in item or "tools" in item for item, _ in parity.remaining())
    lenient = scene.old.parity(scene.wrong, QUIET, alias="live", rule=AlikeRule(tools="names"))
    assert lenient.differing[0].parts == ("answer",), "the same tool, whatever its arguments"
    missed = scene.old.parity(scene.wrong, ["What is the weather in Rome?"], alias="live")
    assert (missed.gate.outcome, missed.exit_code) == ("missed", 2)


def test_a_comparison_resumes_and_asks_nothing_twice(scene: WeatherScene) -> None:
    cases = [f"What is the weather in {city}?" for city in CITIES[6:9]]
    first = scene.old.parity(scene.new, cases, alias="live", parity_id="parity-again")
    before = invocations(scene)
    again = scene.old.parity(scene.new, cases, alias="live", parity_id="parity-again")
    assert invocations(scene) == before
    assert again.summary()["gate"] == first.summary()["gate"]
    more = scene.old.parity(scene.new, cases, alias="live")
    assert invocations(scene) == before, "answers of the same versions are used again"
    assert any("Stored answers of the same versions were reused" in note for note in more.method())
    with pytest.raises(EvalError, match="There is no prompt"):
        scene.old.parity(scene.new, [])


def test_failures_are_counted_by_class_and_enter_no_mean(scene: WeatherScene) -> None:
    parity = scene.old.parity(scene.new, [*PROMPTS[:2], BROKEN], alias="live", timeout_s=60)
    failed = [item for item in parity.judged if item.state == "failed"]
    assert [item.pair.case.prompt for item in failed] == [BROKEN]
    assert failed[0].kinds[0] == "old: agent_error"
    assert parity.summary()["failures"]["old: agent_error"] == 1
    assert parity.share.judged == 2
    assert parity.change("duration").change.n == 2
    assert "no verdict on 1 (old: agent_error)" in parity.sentences()[-1]


def test_its_answers_become_a_golden_set(scene: WeatherScene, tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text(f"# my prompts\n{PROMPTS[0]}\n\n{BROKEN}\nMail the weather in Oslo to ann@example.com\n")
    golden = scene.old.golden_set(file, alias="live")
    assert golden.cases[0].prompt == PROMPTS[0]
    assert len(golden) == 2, "a case that failed has no expectation"
    expected = golden.cases[0].expected_tools
    assert expected is not None
    assert [(tool.name, tool.arguments) for tool in expected] == [("get_weather", {"city": "Paris"})]
    about = golden.metadata["golden"]
    assert (about["agent"], about["version"], about["alias"], about["failed"]) == (
        "weather",
        "1",
        "live",
        {"agent_error": 1},
    )
    assert about["redacted"]
    assert "ann@example.com" not in json.dumps([case.prompt for case in golden.cases])
    golden.write(tmp_path / "golden.json")
    read = EvalSet.read(tmp_path / "golden.json")
    run = scene.new.evaluate(read.where(lambda case: case.prompt == PROMPTS[0]), AlikeRule().evaluators())
    assert run.summary()["tools"].pass_rate.value == 1.0
    stored = scene.old.golden_set(alias="live")
    assert PROMPTS[0] in [case.prompt for case in stored.cases], "without cases, the prompts of stored invocations"


def test_a_set_with_several_turns_is_asked_in_one_session(scene: WeatherScene) -> None:
    turns = (Turn(prompt=PROMPTS[0]), Turn(prompt=PROMPTS[1]))
    evalset = EvalSet(name="talk", cases=(EvalCase(id="talk", turns=turns),))
    parity = scene.old.parity(scene.new, evalset, alias="live")
    assert [item.state for item in parity.judged] == ["alike"]
    assert len(parity.judged[0].pair.old.turns) == 2
