"""A home's extraction step by step: what a kill between two steps leaves, and how records grow together."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from waiting import PATIENCE_S, eventually

from loomlib.local.memory import MEMORY, EventPlane, MemoryBehaviour, MemoryStore
from loomlib.local.memory.extraction import ExtractionSettings
from loomlib.local.memory.extraction.process import ExtractionProcess
from loomlib.local.memory.extraction.strategy import filled
from loomlib.local.memory.extraction.worker import Extraction
from loomlib.local.memory.records.store import FILE_NAME, RecordsStore, Scope
from loomlib.local.memory.writing import delete_event
from loomlib.local.resources.engine import ResourceEngine
from loomlib.local.resources.store import ResourceStore
from loomlib.local.tenancy import acting_for

FACTS = {"semanticMemoryStrategy": {"name": "facts", "namespaceTemplates": ["/facts/{actorId}/"]}}
LIVES_IN_ULM = {"kind": "fact", "about": "home", "value": "Ulm", "text": "The user lives in Ulm."}


class Home:
    """Events written as the service writes them, and the extraction of them."""

    def __init__(self, folder: Path, store: MemoryStore, resources: ResourceStore) -> None:
        self.folder, self._store, self._events = folder, store, EventPlane(store)
        self._control = ResourceEngine(resources, [(MEMORY, MemoryBehaviour())], account_id="123456789012")
        self.memory_id = ""

    async def create(self, *strategies: dict[str, Any]) -> None:
        request = {"name": "m", "eventExpiryDuration": 30, "memoryStrategies": list(strategies)}
        self.memory_id = (await self._control.call("CreateMemory", request, region="us-east-1"))["memory"]["id"]

    async def say(self, text: str, role: str = "USER", session: str = "s1") -> str:
        payload = [{"conversational": {"role": role, "content": {"text": text}}}]
        place = {"memoryId": self.memory_id, "actorId": "anna", "sessionId": session}
        event = await self._events.create_event({**place, "eventTimestamp": time.time(), "payload": payload})
        return json.loads(event)["event"]["eventId"]

    def delete_event(self, event_id: str, session: str = "s1") -> None:
        request = {"memoryId": self.memory_id, "actorId": "anna", "sessionId": session, "eventId": event_id}
        self._store.write_now(lambda connection: delete_event(connection, request, time.time_ns() // 1_000_000))

    async def delete(self) -> None:
        await self._control.call("DeleteMemory", {"memoryId": self.memory_id}, region="us-east-1")

    def extract(self, now_s: float = 0.0, **settings: Any) -> None:
        with closing(Extraction(self.folder, ExtractionSettings(**{"delay_s": 0.0, **settings}))) as extraction:
            extraction.step(now_s)
            extraction.sweep()

    def count(self) -> int:
        return len(self.texts())

    def texts(self) -> list[str]:
        with closing(RecordsStore(self.folder)) as store:
            return sorted(record.text for record in store.newest_first(self.memory_id, Scope(), limit=200))

    def jobs(self) -> list[tuple[str, str]]:
        with closing(RecordsStore(self.folder)) as store:
            return store.rows("SELECT status, failure_reason FROM jobs")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with closing(ResourceStore(tmp_path)) as resources, closing(MemoryStore(tmp_path)) as store:
        yield Home(tmp_path, store, resources)


async def test_turns_wait_for_their_delay_and_are_extracted_once(home: Home) -> None:
    await home.create(FACTS)
    await home.say("I live in Ulm.")
    await home.say("Noted.", "ASSISTANT")
    with closing(Extraction(home.folder, ExtractionSettings(delay_s=10))) as extraction:
        extraction.step(100.0)
        extraction.step(109.9)
        assert home.texts() == []
        assert not extraction.idle
        assert extraction.step(110.0)
        assert home.texts() == ["The user lives in Ulm."]
        assert not extraction.step(500.0)
    home.extract()
    assert home.texts() == ["The user lives in Ulm."]


async def test_a_turn_without_an_answer_waits_longer(home: Home) -> None:
    await home.create(FACTS)
    await home.say("I live in Ulm.")
    with closing(Extraction(home.folder, ExtractionSettings(delay_s=10))) as extraction:
        extraction.step(100.0)
        extraction.step(129.0)
        assert home.texts() == []
        extraction.step(130.0)
    assert home.texts() == ["The user lives in Ulm."]


async def test_a_process_killed_at_any_moment_loses_nothing_and_does_nothing_twice(home: Home) -> None:
    await home.create(FACTS)
    for number in range(60):
        await home.say(f"I'm allergic to substance{number}. I like hobby{number}.", session=f"s{number}")
    settings = json.dumps({"delay_s": 0.0}).encode() + b"\n"
    command = [sys.executable, "-m", "loomlib.local.memory.extraction", str(home.folder)]
    for extracted in (1, 20, 60, 119):
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            process.stdin.write(settings)
            process.stdin.flush()
            deadline = time.monotonic() + PATIENCE_S
            while home.count() < extracted:
                assert time.monotonic() < deadline
                time.sleep(0.001)
            process.kill()
    home.extract()
    expected = [f"The user is allergic to substance{n}." for n in range(60)] + [
        f"The user likes hobby{n}." for n in range(60)
    ]
    assert home.texts() == sorted(expected)
    with closing(RecordsStore(home.folder)) as store:
        assert all(
            len(record.source_event_ids) == 1 for record in store.newest_first(home.memory_id, Scope(), limit=200)
        )


async def test_sources_grow_when_a_fact_is_repeated_and_start_over_when_it_changes(home: Home) -> None:
    await home.create(FACTS)
    first, second = await home.say("I live in Ulm."), await home.say("I live in Ulm!")
    home.extract()
    with closing(RecordsStore(home.folder)) as store:
        (record,) = store.newest_first(home.memory_id, Scope(), limit=9)
        assert record.source_event_ids == (first, second)
    third = await home.say("I moved to Bonn.")
    home.extract()
    with closing(RecordsStore(home.folder)) as store:
        (record,) = store.newest_first(home.memory_id, Scope(), limit=9)
        assert (record.text, record.source_event_ids) == ("The user lives in Bonn.", (third,))


async def test_what_two_tenants_say_in_one_namespace_becomes_records_of_each(home: Home) -> None:
    await home.create(FACTS)
    with acting_for("a"):
        await home.say("I live in Ulm.", session="s-a")
    with acting_for("b"):
        await home.say("I moved to Bonn.", session="s-b")
    home.extract()
    with closing(RecordsStore(home.folder)) as store:
        texts_by_tenant = {
            tenant: [record.text for record in store.newest_first(home.memory_id, Scope(tenant=tenant), limit=9)]
            for tenant in ("a", "b", "")
        }
    assert texts_by_tenant == {"a": ["The user lives in Ulm."], "b": ["The user lives in Bonn."], "": []}


async def test_the_text_of_a_message_of_strands_session_manager_is_extracted(home: Home) -> None:
    await home.create(FACTS)
    message = {"message": {"role": "user", "content": [{"text": "I live in Ulm."}]}, "message_id": 0}
    await home.say(json.dumps(message))
    home.extract()
    assert home.texts() == ["The user lives in Ulm."]


async def test_the_sweep_removes_the_records_of_a_deleted_memory(home: Home) -> None:
    await home.create(FACTS)
    await home.say("I live in Ulm.")
    home.extract()
    await home.delete()
    home.extract()
    assert home.texts() == []


async def test_a_model_extracts_when_asked_to_and_its_failure_is_a_job(home: Home) -> None:
    await home.create(FACTS)
    await home.say("ich wohne in Ulm")
    with _model({"statements": [LIVES_IN_ULM]}) as url:
        home.extract(extractor="model", url=url, access_key="KEY")
    assert home.texts() == ["The user lives in Ulm."]
    await home.say("ich wohne in Bonn")
    with _model({"nonsense": True}) as url:
        home.extract(extractor="model", url=url, access_key="KEY")
    assert home.texts() == ["The user lives in Ulm."]
    assert home.jobs() == [("FAILED", "The model's answer does not have the form of the tool")]


async def test_half_a_surrogate_pair_does_not_stop_the_extraction(home: Home) -> None:
    await home.create(FACTS, {"summaryMemoryStrategy": {"name": "s", "namespaceTemplates": ["/s/{sessionId}/"]}})
    await home.say("I live in Ulm.\nHello \ud83d")
    home.extract()
    assert "The user lives in Ulm." in home.texts()
    assert (home.count(), home.jobs()) == (2, [])


async def test_an_extraction_process_that_cannot_be_started_is_started_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    process = ExtractionProcess(tmp_path, ExtractionSettings())
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", str(tmp_path / "missing"))
        process.wake()
        await eventually(lambda: "cannot be started" in caplog.text)
    await eventually(lambda: process.pid is not None)
    await process.close()


async def test_records_can_be_written_while_a_model_extracts(home: Home) -> None:
    await home.create(FACTS)
    await home.say("ich wohne in Ulm")

    def write() -> None:
        with closing(sqlite3.connect(home.folder / FILE_NAME, timeout=0)) as records, records:
            records.execute("BEGIN IMMEDIATE")

    with _model({"statements": [LIVES_IN_ULM]}, meanwhile=write) as url:
        home.extract(extractor="model", url=url, access_key="KEY")
    assert home.texts() == ["The user lives in Ulm."]


async def test_an_event_that_was_deleted_before_its_extraction_does_not_become_a_record(home: Home) -> None:
    await home.create(FACTS)
    event_id = await home.say("I live in Ulm.")
    await home.say("My name is Anna.")
    with closing(Extraction(home.folder, ExtractionSettings(delay_s=10))) as extraction:
        extraction.step(0.0)
        home.delete_event(event_id)
        extraction.step(30.0)
        assert extraction.idle
    assert home.texts() == ["The user's name is Anna."]


async def test_an_event_that_was_deleted_while_a_model_read_it_does_not_become_a_record(home: Home) -> None:
    await home.create(FACTS)
    event_id = await home.say("ich wohne in Ulm")
    with _model({"statements": [LIVES_IN_ULM]}, meanwhile=lambda: home.delete_event(event_id)) as url:
        settings = ExtractionSettings(delay_s=0.0, extractor="model", url=url, access_key="KEY")
        with closing(Extraction(home.folder, settings)) as extraction:
            extraction.step(0.0)
            extraction.step(1.0)
            assert extraction.idle
    assert home.texts() == []


async def test_the_reason_of_a_failure_names_the_template_with_the_variable_that_is_not_set(home: Home) -> None:
    reflection = {"namespaceTemplates": ["/r/{team}/"]}
    episodes = {"name": "e", "namespaceTemplates": ["/e/{actorId}/"], "reflectionConfiguration": reflection}
    await home.create({"episodicMemoryStrategy": episodes})
    await home.say("I live in Ulm.")
    home.extract()
    ((_, reason),) = home.jobs()
    assert reason == "The namespace template /r/{team}/ has a variable that the events do not set: 'team'"


def test_an_unknown_namespace_variable_is_an_error() -> None:
    assert filled("/{tenant}/{actorId}", "st", "anna", "s1", {"tenant": "acme"}) == "/acme/anna"
    with pytest.raises(KeyError):
        filled("/{tenant}/{actorId}", "st", "anna", "s1", {})


@contextmanager
def _model(given: dict[str, Any], *, meanwhile: Callable[[], object] = lambda: None) -> Iterator[str]:
    """A service that answers every Converse call by the tool with `given`, after `meanwhile` has run."""
    block = {"toolUse": {"toolUseId": "t", "name": "remember", "input": given}}
    answer = json.dumps({"output": {"message": {"role": "assistant", "content": [block]}}}).encode()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            meanwhile()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
