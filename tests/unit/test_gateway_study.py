"""The study of gateways on scripted callers: what is compared, what a failure is, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from new_store import new_store

import loomlib as loom
from loomlib.aws.converse import ModelAnswer, ToolForm
from loomlib.aws.wire import WireBytes
from loomlib.errors import StudyError, StudyInterruptedError, ThrottledError, TransportError
from loomlib.experiments import Silent
from loomlib.latency.gateways import (
    GatewayResult,
    GatewaySpans,
    ToolAnswer,
    generate_catalogue,
    generate_questions,
)
from loomlib.latency.gateways.catalogue import PHRASINGS, largest_catalogue
from loomlib.store import Store
from loomlib.telemetry.trace_lookup import PollingPolicy


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


@dataclass
class ScriptedGateways:
    """Implements `StudiedGateways`: calls take 10 ms directly and 3 ms more through the gateway, which rise together.

    Its search returns the wanted tool second; its model takes the first of few tools and of many the last.
    """

    store: Store
    sizes: Sequence[int] = (5, 20)
    failing: Sequence[str] = ()
    throttled: Sequence[int] = ()
    alive: bool = True
    gone: bool = False
    closed_to_openings: bool = False
    simulated: bool = True
    traced: bool = True
    asked: list[str] = field(default_factory=list)
    wanted: str = ""
    scope = "local"
    labels: Sequence[str] = ("local AgentCore", "model: scripted (simulated, profile instant)")
    span_polling = PollingPolicy(wait_s=0.02, interval_s=0.01, horizon_s=0.02)
    name = "catalogue"
    seed = 0

    @property
    def arns(self) -> Mapping[int, str]:
        return {size: f"arn:aws:bedrock-agentcore:us-east-1:123456789012:gateway/c-{size}" for size in self.sizes}

    def caller(self, tools: int, *, direct: bool = False) -> ScriptedToolCaller:
        return ScriptedToolCaller(self, tools, direct)

    def target_name(self, tool: str) -> str:
        return f"tools___{tool}"

    def choose(self, model: str, question: str, tools: Sequence[ToolForm]) -> ModelAnswer:
        if len(tools) in self.throttled:
            raise ThrottledError("Too many tokens", on=model)
        name = tools[len(tools) // 2].name if len(tools) < 5 else tools[-1].name
        return ModelAnswer(text="", calls=((name, {}),), input_tokens=90 * len(tools), is_simulated=self.simulated)

    def spans(self, tools: int, invocation_ids: Sequence[int]) -> Mapping[int, GatewaySpans]:
        return {id: GatewaySpans(gateway_ms=9.0, target_ms=4.0) for id in invocation_ids if self.traced}

    def stored_call(self) -> int:
        agent = self.store.agents.upsert(
            scope="local", arn="c", runtime_id="c", name="c", status="READY", region="", account_id=""
        )
        return self.store.invocations.begin(agent_id=agent.id, session_id="s" * 33, prompt="", client_invoke_time=1.0)

    async def is_alive(self) -> bool:
        return self.alive


@dataclass
class ScriptedToolCaller:
    gateways: ScriptedGateways
    size: int
    direct: bool

    async def open(self) -> None:
        if self.gateways.gone:
            raise TransportError("No connection", on="the gateway")

    async def tools(self) -> Sequence[ToolForm]:
        definitions = [tool.definition() for tool in generate_catalogue(self.size)]
        return [
            ToolForm(name=f"tools___{tool['name']}", description=tool["description"], schema=tool["inputSchema"])
            for tool in definitions
        ]

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, labels: Sequence[str] = (), timeout_s: float | None = None
    ) -> ToolAnswer:
        way = "search" if "query" in arguments else "direct" if self.direct else "gateway"
        self.gateways.asked.append(f"{way} {labels[-1]}")
        if way in self.gateways.failing and "timed" in labels:
            return ToolAnswer(failure="agent_error", error="The target failed")
        if way == "gateway" and self.gateways.closed_to_openings and "timed" not in labels:
            return ToolAnswer(failure="throttle", error="Rate exceeded")
        number = len(self.gateways.asked)
        result: dict[str, Any] = {}
        if way == "search":
            names = [f"tools___{tool.name}" for tool in generate_catalogue(self.size)]
            tools_by_question = {
                question.text: question.tool for question in generate_questions(generate_catalogue(self.size), 80)
            }
            expected_tool = tools_by_question.get(arguments["query"], "")
            others = [name for name in names if name != f"tools___{expected_tool}"][:2]
            result = {
                "structuredContent": {
                    "tools": [{"name": n} for n in (others[0], f"tools___{expected_tool}", others[1])]
                }
            }
        return ToolAnswer(
            result=result,
            duration_ms=10 + number / 1000 + (0 if self.direct else 3),
            wire=WireBytes(100, 200),
            connection_reused=True,
            invocation_id=self.gateways.stored_call() if way == "gateway" else None,
        )

    async def close(self) -> None:
        pass


def test_a_catalogue_is_generated_again_and_a_smaller_one_is_its_beginning() -> None:
    large = generate_catalogue(500)
    assert large[:20] == generate_catalogue(20)
    assert generate_catalogue(20, seed=1) != generate_catalogue(20)
    assert largest_catalogue() == 500
    for values in ({tool.name for tool in large}, {tool.description for tool in large}):
        assert len(values) == 500
    questions = [question for tool in large for question in tool.questions]
    assert len(set(questions)) == len(questions) == 500 * PHRASINGS
    assert max(len(tool.name) for tool in large) <= 50
    with pytest.raises(ValueError, match="1 to 500 tools, not 501"):
        generate_catalogue(501)


def test_questions_ask_for_different_tools_first_and_then_in_other_words() -> None:
    small, large = generate_catalogue(5), generate_catalogue(100)
    questions = generate_questions(small, 40)
    assert len(questions) == 20, "every phrasing of every tool once"
    assert len({question.text for question in questions}) == 20
    assert [question.tool for question in questions[:5]] == [tool.name for tool in small]
    assert generate_questions(large, 20)[:5] == questions[:5]
    assert len({question.tool for question in generate_questions(large, 100)}) == 100


def test_the_gateway_is_compared_with_the_direct_call_in_pairs(store: Store) -> None:
    gateways = ScriptedGateways(store)
    result = loom.GatewayStudy(gateways, calls=8, searches=0, questions=0).run(Silent())
    assert sorted(gateways.asked) == sorted(
        f"{way} {kind}" for way in ("direct", "gateway") for kind in ["timed"] * 8 + ["opening"] * 3
    )
    calls = result.calls()
    assert calls["n"].to_dict()["added by the gateway"] == "8"
    assert calls["p50 [95 %] ms"]["added by the gateway"].startswith("3.0")
    assert calls["p50 [95 %] ms"]["of this: the target"].startswith("4 [")
    assert calls["p50 [95 %] ms"]["of this: gateway and path to the target"].startswith("5 [")
    assert "The gateway adds 3" in result.sentences()[0].replace("\u00a0", " ")
    assert [result.gate(limit, allow_overload=True).outcome for limit in (5.0, 2.0)] == ["passed", "missed"]


def test_calls_without_spans_are_named_and_their_spans_are_read_later(store: Store) -> None:
    gateways = ScriptedGateways(store, traced=False)
    result = loom.GatewayStudy(gateways, calls=6, searches=0, questions=0, study_id="late").run(Silent())
    assert [finding.evidence for finding in result.findings()] == ["spans are missing for 6 of 6 calls"]
    assert result.calls()["p50 [95 %] ms"]["of this: the target"] == "n too small"
    gateways.traced = True
    result = loom.GatewayStudy.resume(gateways, "late").run(Silent())
    assert result.findings() == []
    assert result.calls()["n"]["of this: the target"] == "6"


def test_choices_tokens_and_recall_are_shown_apart_and_marked_as_simulated(store: Store) -> None:
    result = loom.GatewayStudy(ScriptedGateways(store), calls=0, searches=40, questions=20, study_id="shown").run(
        Silent()
    )
    table = result.table().map(lambda text: text.replace("\u00a0", " ").replace("\u202f", " "))
    right, tokens = "right tool, simulated model [95 %]", "input tokens p50, simulated model [95 %]"
    assert table[right]["5 tools, search first"].startswith("100 %")
    assert table[right]["20 tools, all in the prompt"].startswith("5 % [0.9"), "Wilson's interval of 1 in 20"
    assert table[tokens]["20 tools, all in the prompt"].startswith("1 800")
    differences = result.differences().map(lambda text: text.replace("\u00a0", " ").replace("\u202f", " "))
    assert differences[tokens]["20"].startswith("−1 530")
    assert differences[right]["20"].startswith("95 %")
    recall = result.recall()
    assert not [column for column in recall.columns if "simulated" in column]
    assert recall["recall@1 [95 %]"]["20"].startswith("0")
    assert recall["recall@5 [95 %]"]["20"].startswith("100")
    assert "(simulated model)" in result.sentences()[-2]
    page = GatewayResult.load(store, "shown")._repr_html_()
    assert "<script" not in page
    assert page.index("simulated model") < page.index("recall@1")
    figures = result.figures()
    assert [trace.name for trace in figures["choices"].data] == [
        "all in the prompt (simulated model)", "search first (simulated model)", "recall@10 of the search (no model)",
    ]  # fmt: skip
    real = loom.GatewayStudy(ScriptedGateways(store, simulated=False, labels=()), calls=0, searches=6, questions=6).run(
        Silent()
    )
    assert "simulated" not in real._repr_html_().lower()


def test_failures_are_counted_and_never_right_wrong_or_zero(store: Store) -> None:
    gateways = ScriptedGateways(store, failing=("gateway",), throttled=(20,))
    result = loom.GatewayStudy(gateways, calls=6, searches=6, questions=6).run(Silent())
    through = [unit for unit in result.measured if unit.way == "gateway"]
    assert {(unit.failure, unit.duration_ms, unit.error_message) for unit in through} == {
        ("agent_error", None, "The target failed")
    }
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert summary["format"] == "loom.gateway-study/1"
    assert summary["calls"]["failed"] == {"direct": 0, "gateway": 6}
    assert summary["calls"]["added_ms"]["value"] is None
    choices = {(one["tools"], one["way"]): one for one in summary["choices"]}
    assert choices[20, "all"]["failed"] == 6
    assert choices[20, "all"]["right"]["value"] is None
    assert choices[20, "search"]["failed"] == 0
    assert {finding["title"] for finding in summary["findings"]} == {
        "No measurements of: through the gateway",
        "No measurements of: 20 tools, all in the prompt",
    }
    assert result.sentences()[-1].endswith("12 failures in 48 measurements: 6 agent_error and 6 throttle.")
    assert result.gate(5.0, allow_overload=True).outcome == "unclear"


def test_a_call_whose_session_could_not_be_opened_fails_with_the_class_of_the_opening_call(store: Store) -> None:
    gateways = ScriptedGateways(store, closed_to_openings=True)
    result = loom.GatewayStudy(gateways, calls=6, searches=0, questions=0, warm_ups=2, timeout_s=9).run(Silent())
    assert result.sentences()[-1].endswith("6 failures in 12 measurements: 6 throttle.")
    assert "Rate exceeded" in next(unit.error_message for unit in result.measured if unit.is_failed)
    assert "warm_ups=2, timeout_s=9" in result.method().run_again


def test_a_study_whose_service_is_gone_stops_and_resumes(store: Store) -> None:
    with pytest.raises(StudyInterruptedError, match=r"GatewayStudy\.resume"):
        loom.GatewayStudy(
            ScriptedGateways(store, gone=True, alive=False), calls=2, searches=0, questions=2, study_id="s"
        ).run(Silent())
    result = loom.GatewayStudy.resume(ScriptedGateways(store), "s").run(Silent())
    assert result.state == "complete"
    assert [sum(unit.is_done for unit in result.measured), sum(unit.is_failed for unit in result.measured)] == [12, 0]
    with pytest.raises(StudyError, match="differs in its gateways"):
        loom.GatewayStudy.resume(ScriptedGateways(store, sizes=(5,)), "s").run(Silent())


def test_a_design_that_cannot_be_measured_is_refused(store: Store) -> None:
    for sizes, options, message in (
        ((), {}, "at least one catalogue"),
        ((1, 5), {}, "at least 2 tools"),
        ((5,), {"calls": 0, "searches": 0, "questions": 0}, "not all 0"),
        ((5,), {"warm_ups": 0}, "warm_ups must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            loom.GatewayStudy(ScriptedGateways(store, sizes=sizes), **options)  # type: ignore[arg-type]
