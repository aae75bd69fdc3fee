"""Each check of a memory's health: what is planted is found, and a healthy memory is left in peace."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from healthy import NOW, event, record, scan, strategy

from loomlib.errors import MissingExtraError
from loomlib.memory.health.contradictions import find_contradictions
from loomlib.memory.health.duplicates import find_duplicates
from loomlib.memory.health.growth import find_growth, growth_of, memory_prices
from loomlib.memory.health.leaks import find_leaks
from loomlib.memory.health.presidio import presidio_finder
from loomlib.memory.health.report import HealthReport
from loomlib.memory.health.sensitive import find_sensitive
from loomlib.memory.health.stale import find_stale
from loomlib.memory.health.withdrawn import find_withdrawn
from loomlib.redaction import Redactor

KEY = "AKIA" + "QQQQWWWWEEEERRRR"


def ids(findings):
    return [{evidence.id for evidence in finding.evidence} for finding in findings]


HEALTHY = [
    "The user lives in Berlin.",
    "The user is allergic to peanuts.",
    "The user is allergic to walnuts.",
    "The user likes tea.",
    "The user does not like coffee.",
    "The user has a dog named Rex.",
    "The user has a cat named Rex the second.",
    "The user's son is 5 years old.",
    "The user's daughter is 6 years old.",
    "The user works as a nurse.",
    "The user works at Acme.",
    "The user was born on 12 March 1985.",
    "The user moved to Berlin in 2019.",
    "The user prefers aisle seats on long flights.",
    "The user prefers window seats on short flights.",
    "The user's favorite color is green.",
    "The user's favorite food is ramen.",
    "The user plans to visit Japan in December 2026.",
]


def test_a_healthy_memory_is_left_in_peace():
    records = [record(text) for text in HEALTHY]
    events = [event("I live in Berlin and I like tea."), event("I work at Siemens.", "bert", session="s9")]
    healthy = scan([*records, record("The user works at Siemens.", "/facts/bert/")], events)
    for look in (find_duplicates, find_contradictions, find_stale, find_withdrawn, find_leaks, find_sensitive):
        assert list(look(healthy)) == [], look.__name__


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user likes tea.", "the user  likes tea"),
        ("The user has a dog named Rex.", "The user owns a dog called Rex."),
        ("The user works as a nurse at Acme.", "The user is a nurse working at Acme."),
        ('{"context":"said so","preference":"The user likes green tea"}', "The user likes green tea."),
    ],
)
def test_duplicates_are_found_word_for_word_and_nearly(first, second):
    a, b, c = record(first, days_ago=5), record(second), record("The user plays chess on Sundays.")
    (finding,) = find_duplicates(scan([a, b, c]))
    assert {evidence.id for evidence in finding.evidence} == {a.record_id, b.record_id}
    assert f"keep {b.record_id}" in finding.fix


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user knows C++.", "The user knows C#."),
        ("The balance is -5.", "The balance is 5."),
        ("The rate is 1.5.", "The rate is 1,5."),
        ("👍", "🎉"),
    ],
)
def test_texts_that_differ_in_a_sign_are_no_duplicates(first, second):
    assert list(find_duplicates(scan([record(first, days_ago=5), record(second)]))) == []


def test_the_same_words_of_two_actors_are_no_duplicates():
    assert not list(
        find_duplicates(scan([record("The user likes tea."), record("The user likes tea.", "/facts/bert/")]))
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user lives in Berlin.", "The user lives in Rome."),
        ("The user's name is Anna.", "The user's name is Anne."),
        ("The user has two children.", "The user has 3 children."),
        ("The user likes coffee.", "The user does not like coffee."),
        ("The user is allergic to shellfish.", "The user is no longer allergic to shellfish."),
        ("The user's favourite colour is green.", "The user's favorite colour is blue."),
        ("Anna Smith works at Acme.", "Anna Smith now works for Globex."),
        ("The user is vegetarian.", "The user is a meat eater."),
        ("The user smokes.", "The user doesn't smoke."),
    ],
)
def test_contradictions_are_found_with_the_newest_first(old, new):
    a, b = record(old, days_ago=30), record(new, days_ago=1)
    (finding,) = find_contradictions(scan([b, a, record("The user plays chess.")]))
    assert [evidence.id for evidence in finding.evidence] == [b.record_id, a.record_id]
    assert a.record_id in finding.fix


@pytest.mark.parametrize("text", ["The user lives in Berlin, Germany.", "The user moved to another department."])
def test_more_detail_and_another_move_are_no_contradiction(text):
    assert not list(find_contradictions(scan([record("The user lives in Berlin."), record(text)])))


def test_a_record_of_deeply_nested_json_states_nothing():
    assert not list(find_contradictions(scan([record('{"a":' * 2_000)])))


def test_a_sessions_history_may_say_otherwise_than_the_next_one():
    sums = strategy("/sums/{actorId}/{sessionId}/")
    texts = [record("The user lives in Berlin.", "/sums/anna/s1/"), record("The user lives in Rome.", "/sums/anna/s1/")]
    assert not list(find_contradictions(scan(texts, strategies=[sums])))


@pytest.mark.parametrize(
    "text",
    [
        "The user will fly to Rome on 3 May 2026.",
        "The user has an appointment on 2026-05-02.",
        "The user is visiting Japan in April 2026.",
        "The user will call back tomorrow.",
        "The user has a voucher valid until May 20, 2026.",
        "The user will submit the report by 2026-05-03.",
    ],
)
def test_plans_of_the_past_are_stale(text):
    old = record(text, days_ago=60)
    assert ids(find_stale(scan([old]))) == [{old.record_id}]


def test_what_was_said_later_makes_a_record_stale_unless_it_is_known_or_just_said():
    old = record("The user lives in Berlin.", days_ago=30)
    statement = event("Hi! I moved to Rome last month. Can you help me?", days_ago=2)
    (finding,) = find_stale(scan([old], [statement]))
    assert {evidence.id for evidence in finding.evidence} == {old.record_id, statement.event_id}
    current = record("The user lives in Rome.", days_ago=2)
    assert not list(find_stale(scan([old, current], [statement])))
    assert not list(find_stale(scan([old], [event("I live in Rome.", days_ago=0.01)])))
    assert not list(find_stale(scan([old], [event("I live in Rome.", "bert", days_ago=2)])))
    assert not list(find_stale(scan([old], [event("I moved to a cheaper plan last week.", days_ago=2)])))


def test_thousands_of_statements_of_one_actor_are_compared_attribute_by_attribute():
    old = [record(f"The user's favorite number {n} is {n}.", days_ago=30) for n in range(3_000)]
    statements = [event(f"My favorite number {n} is {n}.", days_ago=20) for n in range(3_000)]
    correction = event("My favorite number 7 is 8.", days_ago=2)
    (finding,) = find_stale(scan(old, [*statements, event("My favorite number 7 is 9.", days_ago=3), correction]))
    assert {evidence.id for evidence in finding.evidence} == {old[7].record_id, correction.event_id}


def test_records_untouched_for_long_are_a_note():
    (finding,) = find_stale(scan([record("The user likes tea.", days_ago=400), record("The user likes it.")]))
    assert (finding.severity, finding.count) == ("note", 1)


def test_secrets_and_personal_data_are_found_everywhere_and_shown_nowhere():
    secrets = {
        "a": record(f"The user's key is {KEY}."),
        "b": record("Something.", metadata={"x-loom-note": "write to ann@example.org"}),
        "c": event("my password: hunter2hunter2"),
        "d": event("hello", metadata={"phone": "+4930901820001"}),
    }
    memory_scan = scan([secrets["a"], secrets["b"]], [secrets["c"], secrets["d"]])
    findings = list(find_sensitive(memory_scan))
    assert [(finding.kind, finding.severity) for finding in findings] == [
        ("secret", "problem"), ("personal_data", "warning"), ("secret", "problem"), ("personal_data", "warning"),
    ]  # fmt: skip
    report = HealthReport(
        memory_id="m", name="m", checked_at=NOW, events=2, records=2, actors=1, findings=tuple(findings)
    )
    output = repr(report) + report._repr_html_() + report.frame().to_json() + str(findings)
    for value in (KEY, "ann@example.org", "hunter2", "901820001"):
        assert value not in output
    assert [finding.kind for finding in find_sensitive(memory_scan, allow=["email", "phone"])] == ["secret", "secret"]


def test_presidio_is_optional_and_its_absence_is_reported(monkeypatch):
    def analyze(*, text, language, entities, score_threshold):
        at = text.find("Grace Hopper")
        return [SimpleNamespace(entity_type="PERSON", start=at, end=at + 12)] if at >= 0 else []

    finder = presidio_finder(analyzer=SimpleNamespace(analyze=analyze))
    memory_scan = scan([record("Grace Hopper called.")], redactor=Redactor(finders=[finder]))
    (finding,) = find_sensitive(memory_scan)
    assert "person" in finding.what
    assert "Grace" not in finding.evidence[0].excerpt
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(MissingExtraError, match="pip install presidio-analyzer"):
        presidio_finder()


def test_a_record_with_a_stated_source_in_another_actors_event_is_a_leak():
    source_event = event("I keep bees in Ghent.", "acme:bert", session="s9")
    wrong = record("The user keeps bees.", "/facts/globex:anna/", sources=[source_event.event_id.replace("#", ":")])
    (finding,) = find_leaks(scan([wrong], [source_event, event("hello", "globex:anna")]))
    assert (finding.severity, finding.certainty, finding.crosses_tenants) == ("problem", "stated", True)
    assert ids([finding]) == [{wrong.record_id}]


def test_a_record_that_names_or_repeats_another_actor_is_inferred_to_leak():
    source_event = event("I keep three hives of bees behind my house in Ghent.", "user-10", session="s9")
    own = event("Please translate a poem.", "user-1")
    repeats = record("The user keeps three hives of bees behind the house in Ghent.", "/facts/user-1/")
    (finding,) = find_leaks(scan([repeats], [source_event, own]))
    assert ids([finding]) == [{repeats.record_id, source_event.event_id}]
    assert finding.severity == "warning"
    names = record("Asked for the bill of user-10.", "/facts/user-1/")
    (finding,) = find_leaks(scan([names], [source_event, own]))
    assert "user-10" in finding.what


def test_namespaces_without_an_actor_or_without_an_end_leak():
    events = [event("hello", "user-1"), event("hello", "user-10")]
    (result,) = find_leaks(scan([record("x", "/facts/")], events, strategies=[strategy("/facts/")]))
    assert result.severity == "problem"
    assert "{actorId}" in result.fix
    open_ = strategy("/facts/{actorId}")
    records = [record("The user likes tea.", "/facts/user-1"), record("The user likes jam.", "/facts/user-10")]
    result = list(find_leaks(scan(records, events, strategies=[open_])))
    assert [finding.severity for finding in result] == ["warning", "problem"]
    assert ids(result)[1] == {memory_record.record_id for memory_record in records}


def test_an_actor_below_another_is_read_by_its_path():
    records = [record("The user likes tea.", "/facts/acme/"), record("The user likes jam.", "/facts/acme/bert/")]
    (finding,) = find_leaks(scan(records, [event("a", "acme"), event("b", "acme/bert")]))
    assert "namespacePath" in finding.what


def test_a_placeholder_never_filled_in_is_a_leak():
    (finding,) = find_leaks(scan([record("x y z", "/notes/{actorId}/")]))
    assert "never filled in" in finding.what


def test_growth_is_priced_by_dated_prices_and_reported_when_it_doubles():
    events = [event("hi", days_ago=40)] * 100 + [event("hi", days_ago=4)] * 300
    growth = growth_of(scan([record("a")] * 2000, events), memory_prices(), retrievals=1000)
    assert (growth.events, growth.events_before) == (300, 100)
    assert float(growth.month_usd) == pytest.approx(0.3 * 0.25 + 2 * 0.75 + 0.5)
    assert str(growth.prices.as_of) in growth.sentence()
    (finding,) = find_growth(growth)
    assert "300" in finding.what
    assert memory_prices({"events_per_1000": 0}).events_per_1000 == 0
    with pytest.raises(ValueError, match="no price"):
        memory_prices({"evnts": 1})
    for price in ("abc", None, float("nan"), -1):
        with pytest.raises(ValueError, match="events_per_1000 must be a price"):
            memory_prices({"events_per_1000": price})


def test_what_strangers_wrote_is_never_markup():
    nasty = record('<img src=x onerror="alert(1)"> my password: hunter2hunter2')
    report = HealthReport(
        memory_id="m", name="<b>m</b>", checked_at=NOW, events=0, records=1, actors=0,
        findings=tuple(find_sensitive(scan([nasty]))),
    )  # fmt: skip
    assert "<img" not in report._repr_html_()
    assert "<b>" not in report._repr_html_()


SUMMARIES = [strategy(), strategy("/summaries/{actorId}/{sessionId}/", id="summary-1")]


def summary(*lines, session="s1", days_ago=20.0):
    text = '<topic name="Small talk">\n' + "\n".join(lines) + "\n</topic>"
    return record(text, f"/summaries/anna/{session}/", days_ago=days_ago, strategy="summary-1")


@pytest.mark.parametrize(
    ("stated", "withdrawn"),
    [
        ("The user lives in Berlin.", "I no longer live in Berlin."),
        ("The user lives in Berlin.", "Please forget that I live in Berlin."),
        ("The user lives in Berlin, Germany.", "Hi! I don't live in Berlin anymore. Can you help me?"),
        ("The user is vegetarian.", "I'm no longer vegetarian."),
        ("The user is vegetarian.", "I'm not vegetarian any more."),
        ("The user likes coffee.", "Actually, I no longer like coffee."),
        ("The user is allergic to nuts.", "I am no longer allergic to nuts."),
        ("The user works at Acme.", "I left Acme."),
        ("The user said: My phone number is 030 1234.", "Please forget my phone number."),
        ("The user's phone number is 030 1234.", "Delete my phone number from your memory."),
        ("The user went to Lisbon with Clara.", "Forget what I told you about Clara."),
    ],
)
def test_a_withdrawn_fact_that_still_stands_in_a_summary_is_found(stated, withdrawn):
    old, withdrawal = summary("The user asked: How are you?", stated), event(withdrawn, session="s2", days_ago=2)
    (finding,) = find_withdrawn(scan([old], [withdrawal], strategies=SUMMARIES))
    assert (finding.kind, finding.severity) == ("stale", "warning")
    assert "summary" in finding.what
    assert {evidence.id for evidence in finding.evidence} == {old.record_id, withdrawal.event_id}
    rewritten = summary(stated, days_ago=1)
    assert ids(find_withdrawn(scan([rewritten], [withdrawal], strategies=SUMMARIES))) != []


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("The user lives in Berlin.", ["I no longer live in Rome."]),
        ("The user lives in Berlin.", ["I no longer live in Berlin.", "I live in Berlin again."]),
        ("The user lives in Berlin.", ["Don't forget that I live in Berlin."]),
        ("The user lives in Berlin.", ["Never mind, forget it.", "Forget about that.", "I forgot my umbrella."]),
        ("The user no longer lives in Berlin.", ["I no longer live in Berlin."]),
        ("The user said: Please forget my phone number.", ["Please forget my phone number."]),
        ("The user likes tea.", ["I no longer like coffee."]),
        ("The user lives in Berlin.", ["Why do I no longer get letters in Berlin?"]),
        ("The user works at Acme.", ["I left my laptop at Acme."]),
    ],
)
def test_what_was_not_withdrawn_is_left_in_peace(stated, said):
    events = [event(text, session="s2", days_ago=5 - place) for place, text in enumerate(said)]
    assert list(find_withdrawn(scan([summary(stated)], events, strategies=SUMMARIES))) == []


def test_another_actors_withdrawal_and_one_of_this_moment_do_not_count():
    old = summary("The user lives in Berlin.")
    for other in (event("I no longer live in Berlin.", "bert"), event("I no longer live in Berlin.", days_ago=0.01)):
        assert list(find_withdrawn(scan([old], [other], strategies=SUMMARIES))) == []


def test_a_record_of_facts_is_found_when_extraction_left_it_and_not_when_it_was_written_since():
    taken_back = event("I no longer live in Berlin.", days_ago=2)
    old, new = (record("The user lives in Berlin.", days_ago=days_ago) for days_ago in (20, 1))
    assert ids(find_withdrawn(scan([old, new], [taken_back]))) == [{old.record_id, taken_back.event_id}]


def test_hundreds_of_withdrawals_are_matched_one_by_one():
    withdrawals = [event(f"I no longer like dish {n}.", session=f"s{n}", days_ago=2) for n in range(500)]
    summaries = [summary(f"The user likes dish {n}.", session=f"s{n}") for n in range(500)]
    assert len(list(find_withdrawn(scan(summaries, withdrawals, strategies=SUMMARIES)))) == 500
