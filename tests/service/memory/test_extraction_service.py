"""Extraction as an agent's author sees it: turns go in, records come out, kills lose and repeat nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from memory_clients import EPISODES, FACTS, PREFERENCES, SUMMARIES, LongTerm, extracting
from waiting import wait_until

from loomlib import local

Make = Callable[..., LongTerm]


def test_a_closed_turn_becomes_facts_labelled_and_with_the_events_they_came_from(long_term: Make) -> None:
    memory = long_term(FACTS)
    event_id = memory.say("Hi, I'm Anna. I'm allergic to shellfish. Where can I eat tonight?", "Try Borchardt.")
    memory.until("/facts/anna", lambda texts: len(texts) == 2)
    records = memory.records("/facts/anna/")
    assert sorted(record["content"]["text"] for record in records) == [
        "The user is allergic to shellfish.",
        "The user's name is Anna.",
    ]
    for record in records:
        assert record["metadata"]["x-loom-extractor"] == {"stringValue": "offline extractor"}
        sources = [event_id.replace("#", ":")]
        assert record["metadata"]["x-loom-source-events"] == {"stringListValue": sources}
        assert record["memoryStrategyId"] == memory.memory["strategies"][0]["strategyId"]


def test_a_later_statement_changes_or_deletes_a_record_and_never_duplicates_it(long_term: Make) -> None:
    memory = long_term(FACTS)
    memory.say("I live in Berlin. I'm allergic to peanuts. I like tea.")
    memory.until("/facts", lambda texts: len(texts) == 3)
    ids_before = {record["content"]["text"]: record["memoryRecordId"] for record in memory.records("/facts")}
    memory.say("Actually, I moved to Munich. I'm not allergic to peanuts anymore. I like tea!", session="s2")
    memory.until("/facts", lambda texts: texts == ["The user likes tea.", "The user lives in Munich."])
    ids_after = {record["content"]["text"]: record["memoryRecordId"] for record in memory.records("/facts")}
    assert ids_after["The user lives in Munich."] == ids_before["The user lives in Berlin."]
    assert ids_after["The user likes tea."] == ids_before["The user likes tea."]


def test_every_strategy_writes_into_its_own_namespace_of_its_actor(long_term: Make) -> None:
    memory = long_term(FACTS, PREFERENCES, SUMMARIES, EPISODES)
    memory.say("I prefer window seats. Can you book me a flight to Rome?", "Booked.", session="s1")
    memory.say("I live in Oslo. Can you book me a flight to Paris?", "Booked.", session="s2")
    memory.say("Thanks, that worked.", "You are welcome.", session="s2")
    memory.say("I live in Bonn.", actor="bob", session="s3")
    memory.until("/reflections/anna", lambda texts: len(texts) == 1)
    memory.until("/facts/anna", lambda texts: len(texts) == 2)
    (preference,) = memory.until("/prefs/anna", lambda texts: len(texts) == 1)
    assert json.loads(preference)["preference"] == "The user prefers window seats."
    assert json.loads(preference)["categories"] == ["travel"]
    (summary,) = memory.until("/sums/anna/s2", lambda texts: any("You are welcome" in text for text in texts))
    assert summary.startswith('<topic name="Can you book me a flight to Paris">')
    assert "The user lives in Oslo." in summary
    (episode,) = memory.until("/episodes/anna/s2", lambda texts: any('"Yes"' in text for text in texts))
    assert json.loads(episode)["situation"] == "Can you book me a flight to Paris?"
    assert memory.until("/facts/bob", lambda texts: len(texts) == 1) == ["The user lives in Bonn."]
    assert memory.texts("/reflections/bob") == []


def test_what_is_marked_to_be_skipped_is_never_extracted(long_term: Make) -> None:
    memory = long_term(FACTS)
    memory.say("I live in Berlin.", extractionMode="SKIP")
    memory.say("I like tea.")
    assert memory.until("/facts", lambda texts: bool(texts)) == ["The user likes tea."]


def test_a_turn_without_an_answer_closes_after_a_while(long_term: Make) -> None:
    memory = long_term(FACTS)
    memory.say("I live in Berlin.", "")
    assert memory.until("/facts", lambda texts: bool(texts)) == ["The user lives in Berlin."]


def test_the_sdks_classes_find_what_was_extracted(long_term: Make, prompt_service: local.ServiceState) -> None:
    memory = long_term(FACTS)
    memory.say("I'm allergic to shellfish. I drive a Volvo.")
    memory.until("/facts", lambda texts: len(texts) == 2)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    script = Path(__file__).parent / "scripts" / "long_term.py"
    result = subprocess.run(
        [sys.executable, str(script), prompt_service.region, memory.id, "/facts/anna/"],
        env=environment | prompt_service.environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "all as on AWS" in result.stdout, result.stderr[-3000:]


def test_a_job_that_failed_is_listed_and_can_be_started_again(long_term: Make) -> None:
    memory = long_term({"semanticMemoryStrategy": {"name": "facts", "namespaceTemplates": ["/facts/{tenant}/"]}})
    strategy_id = memory.memory["strategies"][0]["strategyId"]
    event_id = memory.say("I live in Berlin.")
    (job,) = wait_until(lambda: memory.data.list_memory_extraction_jobs(memoryId=memory.id)["jobs"])
    assert (job["actorId"], job["sessionId"], job["strategyId"], job["status"]) == ("anna", "s1", strategy_id, "FAILED")
    assert "tenant" in job["failureReason"]
    assert job["messages"]["messagesList"][0] == {"eventId": event_id, "messageIndex": 0}
    assert memory.data.list_memory_extraction_jobs(memoryId=memory.id, filter={"actorId": "bob"})["jobs"] == []
    modification = {"memoryStrategyId": strategy_id, "namespaceTemplates": ["/facts/{actorId}/"]}
    memory.control.update_memory(memoryId=memory.id, memoryStrategies={"modifyMemoryStrategies": [modification]})
    answer = memory.data.start_memory_extraction_job(memoryId=memory.id, extractionJob={"jobId": job["jobID"]})
    assert answer["jobId"] == job["jobID"]
    assert memory.until("/facts/anna", lambda texts: bool(texts)) == ["The user lives in Berlin."]
    assert memory.data.list_memory_extraction_jobs(memoryId=memory.id)["jobs"] == []


def test_a_client_token_starts_a_job_once(long_term: Make) -> None:
    memory = long_term({"semanticMemoryStrategy": {"name": "facts", "namespaceTemplates": ["/facts/{tenant}/"]}})

    def failed() -> list[str]:
        jobs = memory.data.list_memory_extraction_jobs(memoryId=memory.id)["jobs"]
        return sorted(job["jobID"] for job in jobs if job["status"] == "FAILED")

    def start(job: str, token: str) -> str:
        answer = memory.data.start_memory_extraction_job(
            memoryId=memory.id, extractionJob={"jobId": job}, clientToken=token
        )
        return answer["jobId"]

    memory.say("I live in Berlin.", session="s1")
    memory.say("I drive a Volvo.", session="s2")
    first, second = wait_until(lambda: jobs if len(jobs := failed()) == 2 else None)
    with pytest.raises(ClientError) as unknown:
        start("job-of-nobody", "token-1")
    assert unknown.value.response["Error"]["Code"] == "ResourceNotFoundException"
    assert start(first, "token-1") == first  # a request that failed has not used its token
    wait_until(lambda: failed() == [first, second])
    modification = {
        "memoryStrategyId": memory.memory["strategies"][0]["strategyId"],
        "namespaceTemplates": ["/facts/{actorId}/"],
    }
    memory.control.update_memory(memoryId=memory.id, memoryStrategies={"modifyMemoryStrategies": [modification]})
    assert start(first, "token-1") == first
    assert failed() == [first, second], "a repeated token has queued the job again"
    with pytest.raises(ClientError, match="clientToken") as other:
        start(second, "token-1")
    assert other.value.response["Error"]["Code"] == "ValidationException"
    start(first, "token-2")
    memory.until("/facts/anna", lambda texts: len(texts) == 1)
    assert failed() == [second]


def test_a_killed_service_extracts_the_rest_once_after_its_restart(tmp_path: Path) -> None:
    home, options = tmp_path / "home", local.ServiceOptions(memory_delay_s=0.02)
    state, _ = local.start(home, options, persistent=True)
    try:
        memory = LongTerm.made(state, FACTS)
        for number in range(30):
            memory.say(f"I'm allergic to substance{number}.", session=f"s{number % 3}")
        memory.close()
        os.kill(state.pid, signal.SIGKILL)
        state, _ = local.start(home, options, persistent=True)
        with contextlib.closing(LongTerm.of(state, memory.memory)) as again:
            texts = again.until("/facts", lambda texts: len(texts) >= 30)
            assert texts == sorted(f"The user is allergic to substance{number}." for number in range(30))
    finally:
        local.stop(home)


def test_a_killed_extraction_process_is_restarted(long_term: Make, prompt_service: local.ServiceState) -> None:
    memory = long_term(FACTS)
    memory.say("I live in Berlin.")
    memory.until("/facts", lambda texts: texts == ["The user lives in Berlin."])
    (process,) = extracting(prompt_service)
    os.kill(process, signal.SIGKILL)
    memory.say("I moved to Munich.")
    memory.until("/facts", lambda texts: texts == ["The user lives in Munich."])


SECRETS = "My name is Anna. My email is ann.lee@example.org. My password is swordfish. I live in Oslo."


def test_a_tagged_memory_extracts_from_redacted_texts(long_term: Make) -> None:
    memory = long_term(FACTS, SUMMARIES, tags={"loom:redaction": "all"})
    memory.say(SECRETS)
    memory.until("/facts/anna", lambda texts: "The user lives in Oslo." in texts)
    memory.until("/sums/anna", lambda texts: len(texts) == 1)
    texts = " ".join(memory.texts("/"))
    assert "[email]" in texts
    assert "ann.lee@example.org" not in texts
    assert "swordfish" not in texts


def test_a_strategy_that_is_not_named_extracts_as_aws_does(long_term: Make) -> None:
    memory = long_term(FACTS, SUMMARIES, tags={"loom:redaction": "facts"})
    memory.say(SECRETS)
    memory.until("/sums/anna", lambda texts: len(texts) == 1 and "swordfish" in texts[0])
    assert "swordfish" not in " ".join(memory.until("/facts/anna", lambda texts: len(texts) >= 2))
