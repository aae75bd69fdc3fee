"""The store on disk: what goes in comes out, in every table."""

from __future__ import annotations

import stat
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loomlib.errors import StoreError
from loomlib.store import AgentRow, PlannedMeasurement, Store, StudyRow

ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/calculator-AbC123dEf4"


def register(
    store: Store, runtime_id: str = "calculator-AbC123dEf4", *, scope: str = "local", **more: object
) -> AgentRow:
    values: dict[str, object] = {"name": "calculator", "status": "READY"} | more
    return store.agents.upsert(
        scope=scope,
        arn=f"arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/{runtime_id}",
        runtime_id=runtime_id,
        region="us-east-1",
        account_id="123456789012",
        **values,
    )


def study(id: str = "study-1", **more: object) -> StudyRow:
    values: dict[str, object] = {"design": {"cold": 20}, "created_at": datetime.now(UTC)} | more
    return StudyRow(id=id, scope="local", agent_arn=ARN, **values)


def test_a_new_folder_and_file_are_readable_by_their_owner_only(sqlite_url: str, tmp_path: Path) -> None:
    Store.open(sqlite_url).close()
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "home" / "loom.db").stat().st_mode) == 0o600


def test_the_address_is_shown_without_its_password(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/a.db") as store:
        assert store.url == f"sqlite:///{tmp_path}/a.db"
        assert str(tmp_path) in repr(store)
    with pytest.raises(StoreError) as caught:
        Store.open("postgresql+psycopg://someone:hunter2@127.0.0.1:1/loom")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(StoreError) as caught:
        Store.open("someone:hunter2@nowhere")
    assert "hunter2" not in str(caught.value)


def test_a_database_in_memory_serves_several_threads() -> None:
    with Store.open("sqlite://") as store:
        agent = register(store)
        workers = [
            threading.Thread(target=lambda: store.invocations.begin(agent_id=agent.id, session_id="s"))
            for _ in range(8)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(store.invocations.list()) == 8


# -- agents


def test_registering_twice_keeps_one_agent_and_its_first_time(store: Store) -> None:
    first = register(store, status="CREATING", available_qualifiers=("DEFAULT",))
    again = register(store, status="READY", available_qualifiers=("DEFAULT", "prod"), raw_metadata={"version": "2"})
    assert again.id == first.id
    assert again.registered_at == first.registered_at
    assert (again.status, again.available_qualifiers, again.raw_metadata) == (
        "READY",
        ("DEFAULT", "prod"),
        {"version": "2"},
    )
    assert store.agents.list() == (again,)


def test_one_arn_may_live_in_two_scopes(store: Store) -> None:
    local, aws = register(store, scope="local"), register(store, scope="aws")
    assert local.id != aws.id
    assert store.agents.list("aws") == (aws,)
    assert store.agents.get("local", local.arn) == local
    assert store.agents.get("local", aws.id) is None


def test_an_agent_is_found_by_id_arn_runtime_id_and_name(store: Store) -> None:
    agent = register(store)
    for key in (agent.id, str(agent.id), agent.arn, agent.runtime_id, "calculator"):
        assert store.agents.get("local", key) == agent
    for key in (agent.id + 1, "nobody", "", "٣", "9" * 40):
        assert store.agents.get("local", key) is None


def test_of_several_agents_with_one_name_the_newest_ready_one_is_meant(store: Store) -> None:
    register(store, "calculator-0000000001")
    ready = register(store, "calculator-0000000002")
    failed = register(store, "calculator-0000000003", status="CREATE_FAILED")
    assert store.agents.get("local", "calculator") == ready
    assert store.agents.get("local", failed.runtime_id) == failed


def test_a_removed_agent_is_gone_but_its_invocations_are_not_and_come_back_with_it(store: Store) -> None:
    agent = register(store)
    invocation = store.invocations.begin(agent_id=agent.id, session_id="s", prompt="hello")
    assert store.agents.remove(agent.id)
    assert not store.agents.remove(agent.id)
    assert store.agents.list() == ()
    assert store.agents.get("local", agent.id) is None
    row = store.invocations.get(invocation)
    assert row is not None
    assert row.agent_arn == agent.arn
    assert register(store).id == agent.id


def test_an_aws_description_with_times_in_it_can_be_kept(store: Store) -> None:
    agent = register(store, raw_metadata={"createdAt": datetime(2026, 2, 18, tzinfo=UTC)})
    assert agent.raw_metadata == {"createdAt": "2026-02-18 00:00:00+00:00"}


# -- invocations


def test_an_invocation_is_stored_before_it_is_sent_while_it_answers_and_when_it_is_done(store: Store) -> None:
    agent = register(store)
    id = store.invocations.begin(
        agent_id=agent.id, session_id="s" * 36, prompt="2+2?", client_invoke_time=100.0, labels=("simulated",)
    )
    pending = store.invocations.get(id)
    assert pending is not None
    assert (pending.status, pending.prompt, pending.response, pending.labels) == ("pending", "2+2?", "", ("simulated",))
    store.invocations.progress(id, "fo", [10.5], bytes_received=2, client_invoke_time=100.25)
    halfway = store.invocations.get(id)
    assert halfway is not None
    assert (halfway.status, halfway.response, halfway.chunk_offsets_ms) == ("streaming", "fo", (10.5,))
    store.invocations.finish(
        id,
        status="complete",
        response="four",
        client_done_time=101.0,
        client_duration_ms=750.0,
        ttft_ms=10.5,
        connect_ms=0.4,
        connection_reused=False,
        chunk_offsets_ms=(10.5, 20.25),
        bytes_received=4,
        request_id="r",
        trace_id="t",
        content_type="text/event-stream",
    )
    store.invocations.note_start(
        id, state="found", agent_start_time=100.5, cold_start_latency_ms=250.0, skew_low_ms=-1.0, skew_high_ms=2.0
    )
    complete = store.invocations.get(id)
    assert complete is not None
    assert (complete.status, complete.response, complete.chunk_offsets_ms) == ("complete", "four", (10.5, 20.25))
    assert (complete.client_invoke_time, complete.client_done_time, complete.client_duration_ms) == (
        100.25,
        101.0,
        750.0,
    )
    assert (complete.start_state, complete.cold_start_latency_ms, complete.skew_low_ms) == ("found", 250.0, -1.0)
    assert complete.connection_reused is False
    assert complete.created_at.tzinfo == UTC


def test_an_answer_of_five_megabytes_is_kept_whole(store: Store) -> None:
    agent = register(store)
    id = store.invocations.begin(agent_id=agent.id, session_id="s")
    answer = "ünï" * 1_000_000
    store.invocations.finish(id, status="complete", response=answer, client_done_time=1.0, client_duration_ms=1.0)
    row = store.invocations.get(id)
    assert row is not None
    assert row.response == answer


def test_invocations_are_listed_newest_first_and_page_by_page(store: Store) -> None:
    one, two = register(store, "one-0000000001"), register(store, "two-0000000002")
    ids = [
        store.invocations.begin(agent_id=agent.id, session_id=session)
        for agent, session in ((one, "a"), (two, "b"), (one, "c"), (one, "a"))
    ]
    assert [row.id for row in store.invocations.list()] == ids[::-1]
    assert [row.id for row in store.invocations.list(agent_id=one.id)] == [ids[3], ids[2], ids[0]]
    assert [row.id for row in store.invocations.list(session_id="a")] == [ids[3], ids[0]]
    assert [row.id for row in store.invocations.list(limit=2)] == [ids[3], ids[2]]
    assert [row.id for row in store.invocations.list(limit=2, before_id=ids[2])] == [ids[1], ids[0]]
    candidate = store.invocations.begin(agent_id=one.id, session_id="a", qualifier="candidate")
    assert [row.id for row in store.invocations.list(one.id, limit=1, qualifier="candidate")] == [candidate]
    assert [row.id for row in store.invocations.list(one.id, limit=1, qualifier="DEFAULT")] == [ids[3]]


def test_a_session_is_summed_up_from_its_invocations(store: Store) -> None:
    agent = register(store)
    for number, (session, status) in enumerate([("a", "complete"), ("b", "error"), ("a", "error")]):
        id = store.invocations.begin(agent_id=agent.id, session_id=session, client_invoke_time=float(number))
        store.invocations.finish(
            id, status=status, response="", client_done_time=number + 0.5, client_duration_ms=500.0
        )
        store.invocations.note_start(id, state="found", cold_start_latency_ms=100.0 + number)
    newest, older = store.invocations.sessions(agent.id)
    assert (newest.session_id, newest.invocations, newest.failed) == ("a", 2, 1)
    assert (newest.first_invoke_time, newest.last_done_time, newest.cold_start_latency_ms) == (0.0, 2.5, 100.0)
    assert (older.session_id, older.invocations, older.failed) == ("b", 1, 1)


def test_an_unknown_invocation_or_agent_is_reported_and_not_invented(store: Store) -> None:
    assert store.invocations.get(99) is None
    with pytest.raises(StoreError, match="id 99"):
        store.invocations.progress(99, "text")
    with pytest.raises(StoreError):
        store.invocations.begin(agent_id=99, session_id="s")
    with pytest.raises(ValueError):
        store.invocations.finish(1, status="fine", response="", client_done_time=0.0, client_duration_ms=0.0)


# -- studies and measurements


def test_a_study_comes_back_as_it_was_stored_with_its_times_in_utc(store: Store) -> None:
    east = datetime(2026, 11, 21, 23, 30, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    planned = study(created_at=east, environment={"cpus": 2}, labels=("simulated",), agent_name="calculator")
    stored = store.studies.create(planned)
    assert stored == planned
    assert stored.created_at.tzinfo == UTC
    store.studies.save(planned.id, state="complete", finished_at=east, environment={"cpus": 4})
    row = store.studies.get(planned.id)
    assert row is not None
    assert (row.state, row.finished_at, row.environment) == ("complete", east, {"cpus": 4})
    assert store.studies.list() == (row,)
    assert store.studies.list(ARN, scope="local") == (row,)
    assert store.studies.list("arn:other") == ()
    with pytest.raises(StoreError):
        store.studies.create(planned)
    with pytest.raises(StoreError):
        store.studies.save("unknown", state="complete")
    with pytest.raises(ValueError, match="a study is planned, running, complete, interrupted, not 'half done'"):
        store.studies.save(planned.id, state="half done")
    with pytest.raises(ValueError):
        study(state="half done")


def test_a_time_without_a_zone_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="without a time zone"):
        store.studies.create(study(created_at=datetime(2026, 1, 1)))


def test_each_planned_measurement_is_taken_once(store: Store) -> None:
    store.studies.create(study())
    plan = [PlannedMeasurement(position=n, block=n // 2, scenario="cold", session_plan=f"c{n}") for n in range(4)]
    assert store.measurements.plan("study-1", plan) == 4
    with pytest.raises(StoreError):
        store.measurements.plan("study-1", plan[3:])
    assert store.measurements.plan("study-1", []) == 0
    first = store.measurements.next("study-1")
    assert first is not None
    assert (first.position, first.state) == (0, "planned")
    assert store.measurements.claim("study-1", 0, session_id="s")
    assert not store.measurements.claim("study-1", 0)
    store.measurements.record("study-1", 0, "done", duration_ms=3.5, ttft_ms=1.5, details={"tries": 1})
    with pytest.raises(StoreError, match="closed already"):
        store.measurements.record("study-1", 0, "failed")
    store.measurements.amend("study-1", 0, cold_start_latency_ms=312.0, start_state="found")
    store.measurements.record("study-1", 1, "failed", failure="throttle", error_message="slow down")
    assert store.measurements.counts("study-1") == {"planned": 2, "running": 0, "done": 1, "failed": 1, "lost": 0}
    (measurement,) = store.measurements.list("study-1", ["done"])
    assert (
        measurement.session_id,
        measurement.duration_ms,
        measurement.cold_start_latency_ms,
        measurement.details,
    ) == (
        "s",
        3.5,
        312.0,
        {"tries": 1},
    )
    assert measurement.started_at is not None
    assert measurement.finished_at is not None
    assert measurement.finished_at >= measurement.started_at
    assert [measurement.position for measurement in store.measurements.list("study-1")] == [0, 1, 2, 3]


def test_a_measurement_left_running_can_be_taken_again_or_given_up(store: Store) -> None:
    store.studies.create(study())
    store.measurements.plan("study-1", [PlannedMeasurement(position=n, block=0, scenario="warm") for n in range(2)])
    for position in (0, 1):
        assert store.measurements.claim("study-1", position, session_id="s")
    assert [measurement.position for measurement in store.measurements.list("study-1", ["running"])] == [0, 1]
    assert store.measurements.reopen("study-1", 0)
    assert not store.measurements.reopen("study-1", 0)
    again = store.measurements.next("study-1")
    assert again is not None
    assert (again.position, again.session_id, again.started_at) == (0, None, None)
    store.measurements.record("study-1", 1, "lost", error_message="the kernel was killed")
    assert store.measurements.counts("study-1")["lost"] == 1


def test_a_wrong_measurement_field_or_state_is_a_mistake_of_the_caller(store: Store) -> None:
    store.studies.create(study())
    store.measurements.plan("study-1", [PlannedMeasurement(position=0, block=0, scenario="warm")])
    with pytest.raises(TypeError, match="latency"):
        store.measurements.record("study-1", 0, "done", latency=1.0)
    with pytest.raises(ValueError):
        store.measurements.record("study-1", 0, "running")
    with pytest.raises(StoreError):
        store.measurements.amend("study-1", 7, ttft_ms=1.0)
    with pytest.raises(StoreError):
        store.measurements.plan("no such study", [PlannedMeasurement(position=0, block=0, scenario="warm")])


def test_a_study_is_leased_to_one_runner_at_a_time(store: Store) -> None:
    store.studies.create(study())
    lease = store.studies.acquire("study-1")
    with pytest.raises(StoreError, match="being run by process"):
        store.studies.acquire("study-1")
    lease = store.studies.renew(lease)
    store.studies.release(lease)
    second = store.studies.acquire("study-1", lease_s=-1.0)
    third = store.studies.acquire("study-1")  # the second has expired
    with pytest.raises(StoreError, match="taken over"):
        store.studies.renew(second)
    store.studies.release(second)  # not its own any more: nothing happens
    store.studies.renew(third)
    with pytest.raises(StoreError, match="No such study"):
        store.studies.acquire("unknown")


# -- whatever an agent says can be kept


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    prompt=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    labels=st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
    offsets=st.lists(st.floats(min_value=0, max_value=1e9)),
    time=st.floats(min_value=0, max_value=4e9, allow_subnormal=False),
    received=st.integers(min_value=0, max_value=2**62),
)
def test_an_invocation_comes_back_as_it_was_stored(
    store: Store, prompt: str, labels: list[str], offsets: list[float], time: float, received: int
) -> None:
    agent = register(store)
    id = store.invocations.begin(
        agent_id=agent.id, session_id="s", prompt=prompt, labels=labels, client_invoke_time=time
    )
    store.invocations.finish(
        id,
        status="complete",
        response=prompt,
        client_done_time=time,
        client_duration_ms=0.0,
        chunk_offsets_ms=offsets,
        bytes_received=received,
    )
    row = store.invocations.get(id)
    assert row is not None
    assert (row.prompt, row.response, row.labels) == (prompt, prompt, tuple(labels))
    assert (row.chunk_offsets_ms, row.bytes_received) == (tuple(offsets), received)
    assert (row.client_invoke_time, row.client_done_time) == (time, time)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters()))
def test_text_that_no_database_takes_is_kept_with_marks_in_its_place(store: Store, text: str) -> None:
    agent = register(store)
    text += "\x00\ud800"
    id = store.invocations.begin(agent_id=agent.id, session_id="s", prompt=text)
    row = store.invocations.get(id)
    assert row is not None
    assert row.prompt is not None
    assert len(row.prompt) == len(text)
    for stored_char, char in zip(row.prompt, text, strict=True):
        assert stored_char == ("␀" if char == "\x00" else "\ufffd" if "\ud800" <= char <= "\udfff" else char)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    created=st.datetimes(
        min_value=datetime(1970, 1, 2),
        max_value=datetime(9999, 12, 30),
        timezones=st.timezones(),
    ),
    design=st.dictionaries(
        st.text(), st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text())
    ),
)
def test_a_study_of_any_design_and_time_comes_back(store: Store, created: datetime, design: dict[str, object]) -> None:
    planned = study(f"study-{len(store.studies.list(limit=None))}", created_at=created, design=design)
    assert store.studies.create(planned).design == design
    assert store.studies.create(study(planned.id + "x", created_at=created)).created_at == created.astimezone(UTC)
