"""Short-term memory through plain boto3."""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError
from signed_requests import signed_headers

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = (f"events_{number}" for number in itertools.count())


class Session:
    """One session of a new memory."""

    def __init__(self, aws: Any, session_id: str = "s", actor_id: str = "ada", memory_id: str = "") -> None:
        self.data = aws.data
        self.memory_id = memory_id or aws.control.create_memory(name=next(NAMES), eventExpiryDuration=7)["memory"]["id"]
        self.place = {"memoryId": self.memory_id, "actorId": actor_id, "sessionId": session_id}

    def add(self, text: str = "hello", *, at_s: float = 0, **more: Any) -> dict[str, Any]:
        payload = [{"conversational": {"content": {"text": text}, "role": "USER"}}]
        moment = BEGIN + timedelta(seconds=at_s)
        return self.data.create_event(**({"payload": payload, "eventTimestamp": moment} | self.place | more))["event"]

    def page(self, **more: Any) -> dict[str, Any]:
        return self.data.list_events(**self.place, **more)

    def ids(self, **more: Any) -> list[str]:
        pages = self.data.get_paginator("list_events").paginate(**self.place, **more)
        return [event["eventId"] for page in pages for event in page["events"]]


@pytest.fixture
def session(aws: Any) -> Session:
    return Session(aws)


def refusal(call: Callable[..., Any], *arguments: Any, **parameters: Any) -> tuple[int, str, str]:
    with pytest.raises(ClientError) as caught:
        call(*arguments, **parameters)
    response = caught.value.response
    return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"], response.get("reason", "")


def metadata(key: str, operator: str, value: str | None = None) -> dict[str, Any]:
    right = {"right": {"metadataValue": {"stringValue": value}}} if value is not None else {}
    return {"left": {"metadataKey": key}, "operator": operator, **right}


def test_an_event_comes_back_as_it_was_given(session: Session) -> None:
    payload = [
        {"conversational": {"content": {"text": "é 漢 🦊 \u2028 </script>"}, "role": "TOOL"}},
        {"blob": {"any": [1, 2.5, None, {"json": True}]}},
        {"blob": "text"},
    ]
    added = session.add(
        payload=payload, at_s=0.123, metadata={"place of": {"stringValue": "NYC"}, "n": {"stringValue": ""}}
    )
    assert added["payload"] == payload
    assert added["eventTimestamp"] == BEGIN + timedelta(milliseconds=123)
    assert added["metadata"] == {"place of": {"stringValue": "NYC"}, "n": {"stringValue": ""}}
    assert session.data.get_event(**session.place, eventId=added["eventId"])["event"] == added
    assert session.page()["events"] == [added]
    assert session.page(includePayloads=False)["events"] == [added | {"payload": []}]


def test_events_are_listed_by_their_time_and_then_by_their_coming_newest_first(session: Session) -> None:
    times = [5, 1, 5, 3, 1]
    ids = [session.add(at_s=at)["eventId"] for at in times]
    newest = sorted(range(5), key=lambda index: (times[index], index), reverse=True)
    assert session.ids() == [ids[index] for index in newest]


def test_pages_hold_20_by_default_and_at_most_100(session: Session) -> None:
    ids = [session.add(at_s=at)["eventId"] for at in range(101)][::-1]
    assert [event["eventId"] for event in session.page()["events"]] == ids[:20]
    page = session.page(maxResults=100)
    assert len(page["events"]) == 100
    assert [event["eventId"] for event in session.page(nextToken=page["nextToken"])["events"]] == ids[100:]
    assert refusal(session.page, maxResults=101)[:2] == (400, "ValidationException")
    assert session.ids(PaginationConfig={"PageSize": 7}) == ids


def test_a_page_token_survives_events_that_come_and_go_meanwhile(session: Session) -> None:
    ids = [session.add(at_s=at)["eventId"] for at in range(6)][::-1]
    first = session.page(maxResults=3)
    session.add(at_s=100)
    session.data.delete_event(**session.place, eventId=ids[2])
    late = session.add(at_s=0.5)["eventId"]
    rest = [event["eventId"] for event in session.page(maxResults=10, nextToken=first["nextToken"])["events"]]
    assert rest == [ids[3], ids[4], late, ids[5]]


@pytest.mark.parametrize("token", ["x", "WzEsMl0=", "é", "W10="])
def test_a_token_that_was_not_given_out_is_refused(session: Session, token: str) -> None:
    assert refusal(session.page, nextToken=token)[:2] == (400, "ValidationException")


def test_a_token_belongs_to_its_listing(aws: Any, session: Session) -> None:
    for at in range(3):
        session.add(at_s=at)
    token = session.page(maxResults=1)["nextToken"]
    other = Session(aws, "other", memory_id=session.memory_id)
    assert refusal(other.page, nextToken=token)[:2] == (400, "ValidationException")
    assert refusal(session.page, nextToken=token, filter={"branch": {"name": "b"}})[:2] == (400, "ValidationException")


def test_metadata_filters_must_all_hold(session: Session) -> None:
    def values(**pairs: str) -> dict[str, Any]:
        return {"metadata": {key: {"stringValue": value} for key, value in pairs.items()}}

    a = session.add(at_s=1, **values(city="NYC", mood="good"))["eventId"]
    b = session.add(at_s=2, **values(city="Rome"))["eventId"]
    c = session.add(at_s=3)["eventId"]
    d = session.add(at_s=4, **values(mood="good"))["eventId"]

    def found(*filters: dict[str, Any]) -> list[str]:
        return session.ids(filter={"eventMetadata": list(filters)})

    assert found(metadata("city", "EXISTS")) == [b, a]
    assert found(metadata("city", "NOT_EXISTS")) == [d, c]
    assert found(metadata("city", "EQUALS_TO", "NYC")) == [a]
    assert found(metadata("city", "EQUALS_TO", "nyc")) == []
    assert found(metadata("mood", "EQUALS_TO", "good"), metadata("city", "NOT_EXISTS")) == [d]
    assert found(metadata("mood", "EXISTS"), metadata("city", "EXISTS")) == [a]
    assert refusal(found, metadata("city", "EQUALS_TO"))[:2] == (400, "ValidationException")
    assert refusal(found, metadata("city", "EXISTS", "NYC"))[:2] == (400, "ValidationException")
    assert refusal(found, *[metadata("city", "EXISTS")] * 6)[:2] == (400, "ValidationException")


def test_an_event_has_at_most_15_metadata_keys(session: Session) -> None:
    keys = {f"k{number}": {"stringValue": "v"} for number in range(16)}
    assert refusal(session.add, metadata=keys)[:2] == (400, "ValidationException")
    keys.popitem()
    assert session.add(metadata=keys)["metadata"] == keys


def test_a_branch_shows_its_own_events_or_also_those_it_was_forked_from(session: Session) -> None:
    main = [session.add(at_s=at)["eventId"] for at in range(4)]
    fork = [session.add(at_s=10, branch={"name": "b", "rootEventId": main[1]})["eventId"]]
    fork.append(session.add(at_s=11, branch={"name": "b"})["eventId"])
    twig = session.add(at_s=12, branch={"name": "c", "rootEventId": fork[0]})["eventId"]

    def of(name: str, parents: bool = False) -> list[str]:
        return session.ids(filter={"branch": {"name": name, "includeParentBranches": parents}})

    assert of("main") == main[::-1]
    assert of("main", True) == main[::-1]
    assert of("b") == fork[::-1]
    assert of("b", True) == [fork[1], fork[0], main[1], main[0]]
    assert of("c", True) == [twig, fork[0], main[1], main[0]]
    assert of("nothing", True) == []
    assert len(session.ids()) == 7
    events = session.page(filter={"branch": {"name": "b"}})["events"]
    assert {event["branch"]["rootEventId"] for event in events} == {main[1]}


def test_a_branch_needs_a_root_of_its_session_and_keeps_it(aws: Any, session: Session) -> None:
    first, second = session.add()["eventId"], session.add(at_s=1)["eventId"]
    other = Session(aws, "other", memory_id=session.memory_id).add()["eventId"]
    assert refusal(session.add, branch={"name": "b"})[:2] == (400, "ValidationException")
    absent = first[:-8] + "0000ffff"
    assert refusal(session.add, branch={"name": "b", "rootEventId": absent})[:2] == (404, "ResourceNotFoundException")
    foreign = {"name": "b", "rootEventId": other}
    assert refusal(session.add, branch=foreign) == (400, "ValidationException", "EventInOtherSession")
    session.add(at_s=2, branch={"name": "b", "rootEventId": first})
    moved = {"name": "b", "rootEventId": second}
    assert refusal(session.add, branch=moved)[:2] == (400, "ValidationException")
    assert len(session.ids()) == 3


def test_the_same_token_makes_the_same_event_and_no_other(session: Session) -> None:
    added = session.add(clientToken="once")
    assert session.add(clientToken="once") == added
    assert session.add(clientToken="once", at_s=5) == added, "a repeated call may have another timestamp"
    assert session.ids() == [added["eventId"]]
    refused = refusal(session.add, "something else", clientToken="once")
    assert refused == (400, "ValidationException", "IdempotentParameterMismatchException")


def test_a_deleted_event_is_gone_and_the_session_stays_listed_without_events(session: Session) -> None:
    event = session.add(metadata={"k": {"stringValue": "v"}})["eventId"]
    assert session.data.delete_event(**session.place, eventId=event)["eventId"] == event
    for call in (session.data.get_event, session.data.delete_event):
        assert refusal(call, **session.place, eventId=event)[:2] == (404, "ResourceNotFoundException")
    assert session.ids(filter={"eventMetadata": [metadata("k", "EXISTS")]}) == []
    place = {"memoryId": session.memory_id, "actorId": "ada"}
    assert [summary["sessionId"] for summary in session.data.list_sessions(**place)["sessionSummaries"]] == ["s"]
    assert session.data.list_sessions(**place, filter={"eventFilter": "HAS_EVENTS"})["sessionSummaries"] == []


def test_an_event_is_found_under_its_own_actor_and_session_only(aws: Any, session: Session) -> None:
    event = session.add()["eventId"]
    for place in ({"actorId": "bob"}, {"sessionId": "t"}, {"memoryId": Session(aws).memory_id}):
        refused = refusal(session.data.get_event, **(session.place | place), eventId=event)
        assert refused[:2] == (404, "ResourceNotFoundException")
        assert session.data.list_events(**(session.place | place))["events"] == []


def test_actors_and_sessions_are_listed_in_pages(aws: Any, session: Session) -> None:
    for number in range(25):
        Session(aws, f"s-{number}", f"tenant:a/{number:02}", session.memory_id).add()
        Session(aws, f"s-{number}", "bob", session.memory_id).add()
    place = {"memoryId": session.memory_id}
    assert len(aws.data.list_actors(**place)["actorSummaries"]) == 20
    pages = aws.data.get_paginator("list_actors").paginate(**place, PaginationConfig={"PageSize": 4})
    actors = [summary["actorId"] for page in pages for summary in page["actorSummaries"]]
    assert actors == sorted(["bob", *(f"tenant:a/{number:02}" for number in range(25))])
    pages = aws.data.get_paginator("list_sessions").paginate(**place, actorId="bob", PaginationConfig={"PageSize": 4})
    sessions = [summary for page in pages for summary in page["sessionSummaries"]]
    assert [summary["sessionId"] for summary in sessions] == [f"s-{number}" for number in range(24, -1, -1)]
    assert {summary["actorId"] for summary in sessions} == {"bob"}
    assert aws.data.list_sessions(**place, actorId="nobody")["sessionSummaries"] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"payload": [{"conversational": {"content": {"text": ""}, "role": "USER"}}]},
        {"payload": [{"conversational": {"content": {"text": "x" * 100_001}, "role": "USER"}}]},
        {"payload": [{"conversational": {"content": {"text": "x"}, "role": "SYSTEM"}}]},
        {"payload": [{"blob": 1}] * 101},
        {"actorId": "-no"},
        {"eventTimestamp": datetime(1969, 12, 31, tzinfo=UTC)},
        {"branch": {"name": "a b", "rootEventId": "1#a"}},
        {"branch": {"name": "main", "rootEventId": "1#a"}},
        {"metadata": {"k": {"stringValue": "<script>"}}},
        {"extractionConfig": {"namespaceVariables": {"team": "a"}}},
    ],
)
def test_what_breaks_the_rules_is_refused_and_not_kept(aws: Any, session: Session, wrong: dict[str, Any]) -> None:
    session.data = aws.client("bedrock-agentcore", parameter_validation=False)  # the service must say it, not boto3
    assert refusal(session.add, **wrong)[:2] == (400, "ValidationException")
    assert session.ids() == []


def test_an_arn_names_a_memory_too_and_an_unknown_memory_is_not_found(aws: Any, session: Session) -> None:
    event = session.add()["eventId"]
    arn = aws.control.get_memory(memoryId=session.memory_id)["memory"]["arn"]
    assert aws.data.list_events(**(session.place | {"memoryId": arn}))["events"][0]["eventId"] == event
    for call in (session.add, lambda **more: aws.data.list_events(**(session.place | more))):
        assert refusal(call, memoryId="absent-0123456789")[:2] == (404, "ResourceNotFoundException")
    assert refusal(aws.data.list_actors, memoryId="absent-0123456789")[:2] == (404, "ResourceNotFoundException")


def test_a_killed_service_has_every_acknowledged_event_when_it_is_back(start_service: Callable[..., Any]) -> None:
    aws = start_service()
    session = Session(aws)
    ids = [session.add(at_s=at, metadata={"n": {"stringValue": str(at)}})["eventId"] for at in range(30)]
    os.kill(aws.state.pid, signal.SIGKILL)
    back = Session(start_service(aws.state.home), memory_id=session.memory_id)
    assert back.ids() == ids[::-1]
    assert back.ids(filter={"eventMetadata": [metadata("n", "EQUALS_TO", "29")]}) == ids[-1:]


def test_a_null_in_a_list_is_refused_like_a_missing_value(aws: Any, session: Session) -> None:
    body = json.dumps({"actorId": "ada", "eventTimestamp": 1.0, "payload": [None]}).encode()
    path = f"/memories/{session.memory_id}/events"
    headers = signed_headers(aws.state, "POST", path, body)
    answer = requests.post(f"{aws.state.url}{path}", data=body, headers=headers, timeout=60)
    assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (400, "ValidationException")
    assert "payload[0] is missing" in answer.text
