"""A memory study whose every number was worked out by hand, and how it goes on after it was stopped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from new_store import new_store
from scripted_memory import BROUGHT, OneMemory, SmallBench, WrittenMemory, seven_facts

from loomlib.errors import AccessDeniedError, ResourceNotFoundError, StudyError, StudyInterruptedError, TransportError
from loomlib.jobs import Holding
from loomlib.memory_study import Arm, MemoryStudy
from loomlib.memory_study.sentences import _widths
from loomlib.memory_study.summaries import ArmSummary
from loomlib.reports import verdict as report_verdict
from loomlib.statistics import Estimate
from loomlib.store import Store


@pytest.fixture
def store(tmp_path: Path):
    with new_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def bench(store: Store):
    return SmallBench(store)


def study_of(bench: SmallBench, memory: WrittenMemory, *arms: str, **more: object) -> MemoryStudy:
    options: dict[str, object] = {"top_k": 3, "window": 1, "settle_s": 0.0, "conversations": 0, **more}
    return MemoryStudy(
        bench, memory=OneMemory(), script=seven_facts(), arms=arms, access=lambda _memory: memory, **options
    )


def test_the_numbers_are_those_computed_by_hand(bench):
    result = study_of(bench, WrittenMemory(BROUGHT), "reactive+window").run()
    (arm,) = result.arms
    # Of seven facts 1, 2, 5 and 7 are brought: 4/7. First comes 1 and 7: 2/7.
    assert arm.recall.value == pytest.approx(4 / 7)
    assert arm.at[1].value == pytest.approx(2 / 7)
    assert arm.at[3].value == pytest.approx(4 / 7)
    # Wilson at 4/7: (p + z²/2n ± z√(p(1−p)/n + z²/4n²)) / (1 + z²/n) with z = 1.959964.
    assert (arm.recall.low, arm.recall.high) == pytest.approx((0.2505, 0.8418), abs=5e-4)
    # Of what was brought: 1/3, 1/2, 0, nothing (not counted), 1/2, 0 and 2/2, over six searches.
    assert arm.precision.value == pytest.approx((1 / 3 + 1 / 2 + 0 + 1 / 2 + 0 + 1) / 6)
    assert arm.precision.n == 6
    # Both facts with a former value have it brought.
    assert (arm.stale.value, arm.stale.n) == (1.0, 2)
    assert arm.failed == 0


def test_the_tokens_are_those_computed_by_hand(bench):
    result = study_of(bench, WrittenMemory(BROUGHT), "reactive+window", "none+window").run()
    input_tokens = {(question.arm.retrieval, question.probe.fact): question.input_tokens for question in result.asked}
    # A text of n characters is ⌈n/4⌉ + 4 tokens. Window: "Nice weather." 8, "Noted, thank you." 9. The question "What
    # is fact 1?" 8, so 25 without records. Records of q1: "It is value1." 8, "x" 5, "y" 5; the query "q1" 5.
    assert input_tokens["none", "f1"] == 25
    assert input_tokens["reactive", "f1"] == 25 + 25 + 5 + 18


def test_proactive_retrieval_searches_for_what_was_said_and_reactive_for_the_query(bench):
    brings = {**BROUGHT, **{f"What is fact {n}?": BROUGHT[f"q{n}"] for n in range(1, 8)}}
    memory = WrittenMemory(brings)
    result = study_of(bench, memory, "proactive+window", "reactive+window").run()
    assert sorted(memory.searched) == sorted(brings)
    input_tokens = {(question.arm.retrieval, question.probe.fact): question.input_tokens for question in result.asked}
    assert input_tokens["proactive", "f1"] == 25 + 18
    assert [comparison.difference.value for comparison in result.comparisons] == [0.0]


def test_what_stays_in_the_context_counts_as_given(bench):
    result = study_of(bench, WrittenMemory(BROUGHT), "none+window", "none+full", window=3).run()
    window, full = result.arms
    # The last three turns are those of session 2, which tell facts 5 and 6.
    assert window.recall.value == pytest.approx(2 / 7)
    assert (full.recall.value, full.stale.value, window.stale.value) == (1.0, 1.0, 0.0)
    (comparison,) = result.comparisons
    assert comparison.difference.value == pytest.approx(5 / 7)
    assert full.at == {}


def test_a_refused_search_is_a_failure_and_in_no_share(bench):
    memory = WrittenMemory({**BROUGHT, "q3": AccessDeniedError("no"), "q4": AccessDeniedError("no")})
    result = study_of(bench, memory, "reactive+window").run()
    (arm,) = result.arms
    assert arm.failures == {"AccessDeniedError": 2}
    assert (arm.recall.value, arm.recall.n) == (pytest.approx(4 / 5), 5)
    assert arm.precision.reason == "n too small"
    assert any("2 failures in 7 questions" in sentence for sentence in result.sentences())


def test_a_study_that_was_stopped_asks_only_the_pending_questions_and_writes_nothing_twice(bench):
    memory = WrittenMemory({**BROUGHT, "q6": TransportError("gone")})
    study = study_of(bench, memory, "reactive+window")
    with pytest.raises(StudyInterruptedError, match=r"resume|connections"):
        study.run()
    assert study.result().state == "interrupted"
    written_before, searches_before = dict(memory.written), len(memory.searched)
    again = MemoryStudy.resume(bench, study.study_id, access=lambda _memory: memory).run()
    assert again.state == "complete"
    assert memory.written == written_before
    assert len(memory.searched) == searches_before + 7 - (searches_before - 1)
    assert not any(question.is_pending for question in again.asked)


def test_a_study_whose_memory_is_gone_while_a_conversation_is_written_is_interrupted_and_resumes(bench):
    class GoneMemory(WrittenMemory):
        def write(self, event):
            raise TransportError("gone")

    study = study_of(bench, GoneMemory(BROUGHT), "reactive+window")
    with pytest.raises(StudyInterruptedError, match=r"MemoryStudy\.resume"):
        study.run()
    again = MemoryStudy.resume(bench, study.study_id, access=lambda _memory: WrittenMemory(BROUGHT)).run()
    assert again.state == "complete"


def test_the_code_that_runs_the_study_again_makes_the_same_conversations_with_the_same_limit(bench):
    study = MemoryStudy(
        bench, script=None, conversations=1, sessions=12, facts=9, arms=["none+full"], settle_s=0.0, timeout_s=20,
        access=lambda _memory: WrittenMemory({}),
    )  # fmt: skip
    run_again = study.run().method().run_again
    assert "conversations=1, sessions=12, facts=9" in run_again
    assert "timeout_s=20)" in run_again


def test_an_own_memory_is_deleted_when_the_study_is_complete_and_one_that_was_named_is_not(bench):
    study_of(bench, WrittenMemory(BROUGHT), "none+full").run()
    assert bench.deleted == []
    memory = WrittenMemory(BROUGHT)
    MemoryStudy(
        bench, script=seven_facts(), conversations=0, arms=["none+full"], settle_s=0.0, access=lambda _: memory
    ).run()
    assert bench.deleted == [OneMemory().id]


def own_study(bench, written, **options):
    return MemoryStudy(
        bench,
        script=seven_facts(),
        conversations=0,
        arms=["none+full"],
        settle_s=0.0,
        access=lambda _: written,
        **options,
    )


class Killed(BaseException):
    """The process ends here."""


def test_a_study_that_was_killed_before_it_tidied_up_is_tidied_by_the_next_start(bench, store):
    class Killing(SmallBench):
        def delete(self, key):
            raise Killed

    for keep in (True, False):
        study = own_study(Killing(store), WrittenMemory(BROUGHT), keep=keep)
        if keep:
            study.run()
        else:
            with pytest.raises(Killed):
                study.run()
        assert MemoryStudy.resume(bench, study.study_id).keep is keep
    assert store.studies.get(study.study_id).state == "complete"
    with Holding(
        store.studies, study.study_id, renew_every_s=8.0, refused=StudyError
    ):  # as long as its own process lives, it is left alone
        study_of(bench, WrittenMemory(BROUGHT), "none+full").run()
        assert bench.deleted == []
    study_of(bench, WrittenMemory(BROUGHT), "none+full").run()
    assert bench.deleted == [OneMemory().id]
    assert store.studies.get(study.study_id).state == "complete"
    study_of(bench, WrittenMemory(BROUGHT), "none+full").run()
    assert bench.deleted == [OneMemory().id]


def test_a_memory_that_was_made_just_before_a_kill_is_found_again(bench, store):
    created_names = []

    class Killing(SmallBench):
        def get(self, key):
            if key not in created_names:
                raise ResourceNotFoundError(f"There is no memory {key!r}", on="here", try_="", status=404)
            return OneMemory()

        def create(self, name, *, strategies=()):
            created_names.append(name)
            if len(created_names) == 1:
                raise Killed
            return OneMemory()

    killing = Killing(store)
    study = own_study(killing, WrittenMemory(BROUGHT))
    with pytest.raises(Killed):
        study.run()
    MemoryStudy.resume(killing, study.study_id, access=lambda _: WrittenMemory(BROUGHT)).run()
    assert len(created_names) == 1
    assert killing.deleted == [OneMemory().id]


class NamingBench(SmallBench):
    """A workbench that has a memory of every name."""

    def get(self, key):
        return OneMemory(id=key, name=key)

    def create(self, name, *, strategies=()):
        return self.get(name)


@pytest.mark.parametrize(("memory", "name"), [("production", "production"), (OneMemory(), OneMemory.id)])
def test_a_study_that_was_stopped_before_it_found_the_named_memory_resumes_with_it(store, memory, name):
    bench = NamingBench(store)
    study = own_study(bench, WrittenMemory(BROUGHT), memory=memory)
    store.studies.create(study.header())  # and the process ends here
    with pytest.raises(StudyError, match="started with a different memory"):
        own_study(bench, WrittenMemory(BROUGHT), study_id=study.study_id).run()
    MemoryStudy.resume(bench, study.study_id, access=lambda _: WrittenMemory(BROUGHT)).run()
    assert store.studies.get(study.study_id).environment["memory_name"] == name
    assert bench.deleted == []


def test_a_study_that_was_stopped_before_it_created_its_own_memory_creates_and_deletes_one(store):
    bench = NamingBench(store)
    study = own_study(bench, WrittenMemory(BROUGHT))
    store.studies.create(study.header())
    MemoryStudy.resume(bench, study.study_id, access=lambda _: WrittenMemory(BROUGHT)).run()
    name = store.studies.get(study.study_id).environment["memory_name"]
    assert name.startswith("recall_")
    assert bench.deleted == [name]


def test_a_named_memory_is_not_deleted_as_the_studys_own_when_the_study_is_resumed_without_it(bench):
    study = own_study(bench, WrittenMemory(BROUGHT), memory=OneMemory())
    with pytest.raises(StudyInterruptedError):
        study.run(budget_s=0)
    with pytest.raises(StudyError, match="started with a different memory"):
        own_study(bench, WrittenMemory(BROUGHT), study_id=study.study_id).run()
    assert bench.deleted == []


def test_a_gate_on_the_few_cases_of_one_conversation_is_unclear_and_raises_no_alarm(bench):
    memory = WrittenMemory(BROUGHT)
    conversation = replace(seven_facts(), questions=seven_facts().questions[:3])
    result = MemoryStudy(
        bench,
        memory="m",
        script=conversation,
        conversations=0,
        arms=["reactive+window"],
        settle_s=0.0,
        access=lambda _: memory,
    ).run()
    gate = result.gate(0.9)
    assert (gate.outcome, gate.is_missed) == ("unclear", False)
    assert "about 5 cases are needed to decide (there are 3)" in gate.sentence()
    verdict = report_verdict(result, gate)
    assert verdict.gates == [("unclear", gate.sentence())]
    assert {"table", "gates", "method"} <= set(verdict.summary)


def test_a_gate_is_missed_only_when_the_whole_interval_is_beyond_the_limit(bench):
    result = study_of(bench, WrittenMemory(BROUGHT), "reactive+window").run()
    assert [result.gate(least).outcome for least in (0.2, 0.5, 0.95)] == ["passed", "unclear", "missed"]
    assert result.gate(0.95).is_missed
    assert "95 %" in result.gate(0.95, "reactive+window").sentence()
    with pytest.raises(ValueError, match="not an arm of the study"):
        result.gate(0.5, "none+full")


def test_a_stored_study_keeps_its_design(bench):
    study = study_of(bench, WrittenMemory(BROUGHT), "reactive+window")
    study.run()
    with pytest.raises(StudyError, match="top_k"):
        study_of(bench, WrittenMemory(BROUGHT), "reactive+window", top_k=2, study_id=study.study_id).run()
    with pytest.raises(StudyError, match="No such study"):
        MemoryStudy.resume(bench, "memory-none")


def test_a_study_that_is_run_already_states_by_whom(bench):
    study = study_of(bench, WrittenMemory(BROUGHT), "reactive+window")
    study.run()
    unfinished = study_of(bench, WrittenMemory({**BROUGHT, "q1": TransportError("gone")}), "reactive+window")
    with pytest.raises(StudyInterruptedError):
        unfinished.run()
    lease = bench.context.store.studies.acquire(unfinished.study_id)
    with pytest.raises(StudyError, match="is being run by process"):
        unfinished.run()
    bench.context.store.studies.release(lease)


def test_every_display_is_escaped_and_states_what_it_is_based_on(bench):
    nasty = "<script>alert(1)</script> $x$"
    memory = WrittenMemory({**BROUGHT, "q3": [nasty, "y"]})
    result = study_of(bench, memory, "reactive+window", "none+full").run()
    page = result._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "by hand" in page
    assert "seven" not in repr(result.figures()["recall"].to_json())
    assert len(result.questions()) == 14
    assert list(result.table().index) == ["reactive, window", "no retrieval, full"]
    assert list(result.by_age().index) == [1, 2]
    summary = json.loads(json.dumps(result.summary()))
    assert summary["format"] == "loom.recall-study/1"
    assert summary["arms"][0]["recall"]["value"] == pytest.approx(4 / 7)
    assert str(Arm.read("none+full")) == "no retrieval, full"


def test_the_first_sentence_leads_with_the_trade_off_between_recall_and_tokens(bench):
    """Full history recalls every fact at more tokens; retrieval that misses some is not praised alone."""
    result = study_of(bench, WrittenMemory(BROUGHT), "reactive+window", "none+full", "none+window").run()
    recall = {str(arm.arm): arm.recall.value for arm in result.arms}
    assert recall["no retrieval, full"] == 1 > recall["reactive, window"] > recall["no retrieval, window"]
    first = next(sentence for sentence in result.sentences() if sentence.startswith("With "))
    assert first.startswith("With “no retrieval, full”, what the model is given contains the fact in 100 % [")
    assert "; with “reactive, window” in 57.1 % [25" in first
    assert "of the questions at 67 input tokens per question" in first


def test_a_wider_interval_of_a_better_arm_is_explained():
    def arm(name: str, low: float, value: float, high: float) -> ArmSummary:
        def share(low: float, value: float, high: float) -> Estimate:
            return Estimate(value=value, low=low, high=high, n=30, confidence=0.95, method="by hand")

        unknown = Estimate.missing("not measured", n=0, confidence=0.95, method="")
        return ArmSummary(
            arm=Arm.read(name), asked=30, failed=0, failures={}, recall=share(low, value, high), at={},
            precision=unknown, stale=unknown, recalled_of=(round(30 * value), 30), stale_of=(0, 0), p50=unknown,
            p90=unknown, tokens=unknown, idle_tokens=unknown, output_tokens=unknown,
        )  # fmt: skip

    sure, other = arm("none+full", 0.885, 1.0, 1.0), arm("reactive+window", 0.92, 0.97, 0.99)
    assert _widths([other, sure]).startswith(
        "The interval of “no retrieval, full” is wider than that of “reactive, window”, although it recalls more: "
    )
    assert _widths([other, arm("none+full", 0.95, 1.0, 1.0)]) == ""
    assert _widths([other]) == ""
