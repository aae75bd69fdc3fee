"""A home's extraction step by step: what a kill between two steps leaves, and how records grow together."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from loomlib.local.memory import MEMORY, EventPlane, MemoryBehaviour, MemoryStore
from loomlib.local.memory.extraction import ExtractionSettings
from loomlib.local.memory.extraction.strategy import filled
from loomlib.local.memory.extraction.worker import Extraction
from loomlib.local.memory.records.store import RecordsStore, Scope
from loomlib.local.resources.engine import ResourceEngine
from loomlib.local.resources.store import ResourceStore
from loomlib.local.tenancy import acting_for

FACTS = {"semanticMemoryStrategy": {"name": "facts", "namespaceTemplates": ["/facts/{actorId}/"]}}


class Home:
    """Events written as the service writes them, and the extraction of them."""

    def __init__(self, folder: Path, store: MemoryStore, resources: ResourceStore) -> None:
        self.folder, self._events = folder, EventPlane(store)
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
            deadline = time.monotonic() + 60
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
    statement = {"kind": "fact", "about": "home", "value": "Ulm", "text": "The user lives in Ulm."}
    with _model({"statements": [statement]}) as url:
        home.extract(extractor="model", url=url, access_key="KEY")
    assert home.texts() == ["The user lives in Ulm."]
    await home.say("ich wohne in Bonn")
    with _model({"nonsense": True}) as url:
        home.extract(extractor="model", url=url, access_key="KEY")
    assert home.texts() == ["The user lives in Ulm."]
    with closing(RecordsStore(home.folder)) as store:
        jobs = store.rows("SELECT status, failure_reason FROM jobs")
    assert jobs == [("FAILED", "The model's answer does not have the form of the tool")]


def test_an_unknown_namespace_variable_is_an_error() -> None:
    assert filled("/{tenant}/{actorId}", "st", "anna", "s1", {"tenant": "acme"}) == "/acme/anna"
    with pytest.raises(KeyError):
        filled("/{tenant}/{actorId}", "st", "anna", "s1", {})


@contextmanager
def _model(given: dict[str, Any]) -> Iterator[str]:
    """A service that answers every Converse call by the tool with `given`."""
    block = {"toolUse": {"toolUseId": "t", "name": "remember", "input": given}}
    answer = json.dumps({"output": {"message": {"role": "assistant", "content": [block]}}}).encode()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
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
