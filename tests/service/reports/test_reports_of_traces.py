"""What the reports about time, cost and parallel tools say of agents that really ran, and of those that say nothing."""

from __future__ import annotations

import json

import pytest
from waiting import wait_until

import loomlib as loom
from loomlib.errors import LoomError
from loomlib.experiments import MachineConditions
from loomlib.presentation.formats import money
from loomlib.reports import CostBook, TimeSpent, ToolScaling, ask_samples, chosen_agents, study_traces
from loomlib.reports.tool_scaling import ScalingRun
from loomlib.store import LoadRow

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def asked(bench: loom.Workbench) -> loom.Agent:
    agent = bench.deploy("calculator")
    assert ask_samples(agent, "2 + 2, 3 * 7, 20 / 4") == 6
    assert ask_samples(agent) == 0, "an agent that somebody has asked is left alone"
    wait_until(lambda: TimeSpent.of(agent, last=6).summary()["states"] == {"found": 6}, what="the spans of the calls")
    return agent


def test_the_parts_of_the_last_invocations_add_up_and_the_answer_names_the_largest(asked: loom.Agent) -> None:
    spent = TimeSpent.of(asked, last=6)
    assert len(spent.traced) == 6
    assert sum(part.pooled_share for part in spent.inside.parts) == pytest.approx(1)
    assert "n = 6" in " ".join(spent.sentences()[:2]), "an overloaded machine is named first"
    assert "cold start" in spent.table().index
    assert len(spent.figure().data) >= 3
    summary = json.loads(json.dumps(spent.summary(), allow_nan=False))
    assert summary["states"] == {"found": 6}
    for invocation in summary["invocations"]:
        assert sum(invocation["parts_ms"].values()) == pytest.approx(invocation["total_ms"])


def test_a_gate_that_is_beyond_reach_is_missed_and_one_without_enough_calls_raises_no_alarm(
    bench: loom.Workbench,
) -> None:
    agent = bench.deploy("echo", name="echo_gate")
    session = agent.invoke("1").session_id
    few = TimeSpent.of(agent)
    assert few.verdict(max_p90_ms=600_000).gates[0][0] == "unclear"
    assert few.verdict(max_p90_ms=0.001, allow_overload=True).gates[0][0] == "missed", "no call is below the limit"
    for number in range(9):
        agent.invoke(str(number), session_id=session)
    assert TimeSpent.of(agent).verdict(max_p90_ms=0.001, allow_overload=True).gates[0][0] == "missed"


def test_an_overloaded_machine_is_named_first_and_leaves_the_gate_on_durations_unclear(bench: loom.Workbench) -> None:
    agent = bench.deploy("calculator", name="crowded")
    row = agent.invoke("2 + 2").record
    wait_until(lambda: TimeSpent.of(agent).traced, what="the spans of the call")
    store = agent.context.store.invocations
    assert set(store.loads([row.id])) == {row.id}, "an invocation stores the load at its beginning"
    crowded = store.begin(
        agent_id=agent.entry.id, session_id="s" * 33, load=LoadRow(processors=2, tasks=10_000, load_1_min=19.0)
    )
    times = {"client_invoke_time": row.client_invoke_time, "client_done_time": row.client_done_time or 0.0}
    store.finish(crowded, status="complete", response="4", client_duration_ms=1000.0, **times)
    spent = TimeSpent.of(agent)
    assert "tasks ran or waited on 2 processors. The times are too long" in spent.sentences()[0]
    assert spent.summary()["machine"]["is_disturbed"]
    assert "tasks ran or waited on 2 processors of the client's machine" in str(spent.limits())
    (label,) = [label for label in agent.context.labels if label.startswith("sessions: ")]
    assert str(spent.limits()).count(f"Isolation of sessions: {label.removeprefix('sessions: ')}.") == 1
    outcome, sentence = spent.verdict(max_p90_ms=0.001).gates[0]
    assert outcome == "unclear"
    assert sentence.startswith(
        "Gate unclear: the machine was overloaded. Taken at face value, the measured times would miss it: "
    )
    assert spent.verdict(max_p90_ms=0.001, allow_overload=True).gates[0][0] == "missed"


def test_invocations_of_an_earlier_release_have_an_unknown_load(bench: loom.Workbench) -> None:
    agent = bench.deploy("calculator", name="earlier")
    store = agent.context.store.invocations
    earlier = store.begin(agent_id=agent.entry.id, session_id="s" * 33)
    store.finish(earlier, status="complete", response="4", client_done_time=1.0, client_duration_ms=1000.0)
    spent = TimeSpent.of(agent)
    assert not spent.conditions.is_disturbed
    assert "during these invocations is unknown" in str(spent.limits())


def test_the_invocations_of_another_endpoint_are_not_in_the_report(bench: loom.Workbench) -> None:
    agent = bench.deploy("calculator", name="endpoints")
    candidate = loom.Agent(agent.entry, agent.context, qualifier="candidate")
    store = agent.context.store.invocations
    for qualifier, duration_ms in (("candidate", 5000.0), ("DEFAULT", 50.0)):
        id = store.begin(agent_id=agent.entry.id, session_id="s" * 33, qualifier=qualifier)
        store.finish(id, status="complete", response="4", client_done_time=1.0, client_duration_ms=duration_ms)
    assert [row.client_duration_ms for row in TimeSpent.of(candidate).rows] == [5000.0]
    spent = TimeSpent.of(agent)
    assert [row.client_duration_ms for row in spent.rows] == [50.0]
    with pytest.raises(LoomError, match="is of this session"):
        spent.session("another")


def test_a_session_is_reported_turn_by_turn(asked: loom.Agent) -> None:
    conversation = asked.history.last().session_id
    story = TimeSpent.of(asked, session_id=conversation).session()
    assert len(story.invocations()) == 3
    assert list(story.growth().index)[:2] == ["1.1", "1.2"]
    assert story.growth()["more than before"].iloc[1].startswith("+")
    assert "calculator" in story.tools().index
    assert any(name.endswith("chat") for name in story.spans().index)
    assert {note.text for note in story.timeline().layout.annotations} <= {f"<b>{number}</b>" for number in "①②③④⑤"}


def test_an_agent_that_exports_nothing_is_reported_with_what_to_do_and_no_display_fails(bench: loom.Workbench) -> None:
    silent = bench.deploy("calculator", name="silent", environment={"OTEL_SDK_DISABLED": "true"})
    silent.invoke(HOSTILE)
    spent = TimeSpent.of(silent)
    verdict = spent.verdict()
    assert "has spans, so where the time went is unknown" in verdict.sentences[0]
    assert len(verdict.sentences) >= 2
    story = spent.session()
    for view in (spent.table(), spent.findings(), spent.limits(), story.spans(), story.growth(), story.tools()):
        assert str(view)
    assert "<img" not in story.invocations().to_html()
    assert spent.figure().layout.annotations[0].text == "No invocation has spans."
    book = CostBook.of([silent])
    assert book.sentences()[0] == "Models: unknown for 1 invocation."
    assert "$0" not in book.table().to_html()


def test_an_agent_that_nobody_asked_has_no_report_yet(bench: loom.Workbench) -> None:
    with pytest.raises(LoomError, match="No invocation is stored"):
        TimeSpent.of(bench.deploy("echo", name="unasked"))


def test_a_book_sums_up_by_agent_and_day_and_keeps_what_is_unknown(asked: loom.Agent) -> None:
    wait_until(lambda: CostBook.of([asked]).total.runtime.state == "known", what="a call's record after its answer")
    book = CostBook.of([asked])
    row = book.table().loc["calculator"]
    assert row["runtime"].startswith("$")
    assert row["runtime"].endswith("estimated")
    assert "simulated" in row["remarks"]
    assert row["models"].endswith("estimated")
    assert any(sentence.startswith("Simulated:") for sentence in book.sentences())
    assert row["models, a call"] == money(float(book.total.model.known) / 6)
    quantities = dict(zip(book.models()["item"], book.models()["quantity"], strict=True))
    assert {item: quantity.rpartition(" ")[2] for item, quantity in quantities.items()} == {
        "input tokens": "tokens", "output tokens": "tokens", "runtime CPU": "vCPU-s", "runtime memory": "GB-s",
    }  # fmt: skip
    assumed_book = CostBook.of([asked], active_vcpus=1.0, memory_gb=0.5)
    assert assumed_book.total.runtime.known not in (0, book.total.runtime.known)
    assert assumed_book.total.model.known == book.total.model.known
    unknown = CostBook.of([asked], priced_as="a-model-nobody-prices")
    assert unknown.total.model.state == "unknown"
    assert json.dumps(unknown.summary(), allow_nan=False)
    assert [outcome for outcome, _ in book.verdict(max_usd_per_day=1e-9).gates] == ["missed"]
    assert [outcome for outcome, _ in book.verdict(max_usd_per_day=1e6).gates] == ["passed"]
    assert [outcome for outcome, _ in unknown.verdict(max_usd_per_day=1e6).gates] == ["unclear"], "no price is known"


def test_agents_are_chosen_by_name_or_all_of_them(bench: loom.Workbench, asked: loom.Agent) -> None:
    assert [agent.name for agent in chosen_agents(bench, "calculator", otherwise="echo")] == ["calculator"]
    assert "calculator" in [agent.name for agent in chosen_agents(bench, otherwise="echo")]


def test_more_tools_than_threads_run_in_rounds(bench: loom.Workbench) -> None:
    agent = bench.deploy("parallel_tools")
    for _ in range(5):
        study = ToolScaling.run(agent, counts=[2, 20])
        if all(run.state == "found" for run in study.runs) and study.runs[0].threads == 2:
            break  # on a busy machine spans come late, and the first tool may end before the second one begins
    assert [(run.asked, run.ran) for run in study.runs] == [(2, 2), (20, 20)]
    assert study.runs[0].threads == 2
    assert 2 < (study.runs[1].threads or 0) < 20
    # So many tools of 100 ms, of which no more than that were at work at once, cannot have taken less.
    assert study.runs[1].tools_ms >= 100 * 20 / (study.runs[1].threads or 20)
    assert list(study.table().index) == ["2", "20"]
    assert sum(str(trace.name).startswith("field note:") for trace in study.figure().data) == 3
    assert any("simulated" in sentence for sentence in study.sentences())
    assert "in a single run; one after another" in " ".join(study.sentences()[:2]), (
        "an overloaded machine is named first"
    )
    assert study.load is not None, "every invocation stores the load at its beginning"
    assert json.dumps(study.summary(), allow_nan=False)
    assert study.verdict().summary["gates"] == []
    assert [gate["outcome"] for gate in study.verdict(max_p90_tools_ms=1, allow_overload=True).summary["gates"]] == [
        "missed"
    ]
    assert [gate["outcome"] for gate in study.verdict(max_p90_tools_ms=1e6).summary["gates"]] == ["unclear"], "one run"


def test_a_study_of_tools_on_an_overloaded_machine_begins_with_a_warning_and_leaves_its_gate_unclear() -> None:
    run = ScalingRun(asked=5, ran=5, total_ms=900, first_ms=1, second_ms=1, tools_ms=700, open_at_once=1, threads=5,
                     tokens_read=None, state="found")  # fmt: skip
    crowded = MachineConditions(duration_s=1.0, processors=2, samples=1, tasks=19.0, load_1_min=19.0)
    study = ToolScaling(runs=[run], failures=(), title="planted", simulated=False, load=crowded)
    assert study.sentences()[0].startswith(
        "The machine was overloaded while this was measured: 19 tasks ran or waited on 2 processors"
    )
    assert study.summary()["machine"]["is_disturbed"]
    assert "19 tasks ran or waited on 2 processors of the client's machine" in str(study.limits())
    outcome, sentence = study.verdict(max_p90_tools_ms=1).gates[0]
    assert outcome == "unclear"
    assert sentence.startswith(
        "Gate unclear: the machine was overloaded. Taken at face value, the measured times would miss it: "
    )
    assert study.verdict(max_p90_tools_ms=1, allow_overload=True).gates[0][0] == "missed"


def test_a_gate_on_the_tools_time_is_missed_by_the_calls_with_the_most_tools() -> None:
    runs = [
        ScalingRun(asked=count, ran=count, total_ms=900, first_ms=1, second_ms=1, tools_ms=spent + n, open_at_once=1,
                   threads=6, tokens_read=None, state="found")
        for count, spent in ((5, 100.0), (100, 800.0))
        for n in range(40)
    ]  # fmt: skip
    study = ToolScaling(runs=runs, failures=(), title="planted", simulated=False)
    assert "in the median of 40 runs (800 ms to 839 ms)" in study.sentences()[0]
    assert [gate["outcome"] for gate in study.verdict(max_p90_tools_ms=500).summary["gates"]] == ["missed"]
    assert [gate["outcome"] for gate in study.verdict(max_p90_tools_ms=900).summary["gates"]] == ["passed"]


def test_a_studys_calls_are_split_by_scenario(bench: loom.Workbench) -> None:
    agent = bench.deploy("calculator", name="studied", platform_version="V1")  # a cold start boots the agent
    result = loom.LatencyStudy(agent, cold=6, warm=6, sticky=2).run()
    wait_until(
        lambda: result.inside(study_traces(agent, result)).coverage().startswith("14 of 14 calls have spans"),
        what="the spans of the calls",
    )
    inside = result.inside(study_traces(agent, result))
    assert inside.coverage().startswith("14 of 14 calls have spans")
    assert inside.extra["cold_start"].low > 0
    assert inside.sentence().startswith("What is slower when cold: cold start")
