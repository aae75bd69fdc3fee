"""The service or its extractor killed at random moments: what was acknowledged stays, and is extracted exactly once."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from memory_clients import FACTS, LongTerm, client, extracting
from waiting import PATIENCE_S, wait_until

from loomlib import local

_WRITERS = 3


class Agents:
    """Threads that create and delete events and records through every kill, and note what was acknowledged.

    A request that a kill leaves unanswered is repeated with its client token, as an SDK does.
    """

    def __init__(self, state: local.ServiceState, memory_id: str) -> None:
        self.state, self.memory_id = state, memory_id
        self.said: dict[str, tuple[str, str]] = {}
        self.deleted: set[str] = set()
        self.written: set[str] = set()
        self.faults: list[BaseException] = []
        self._ended, self._own = threading.Event(), threading.local()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(_WRITERS)]

    def __enter__(self) -> Agents:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def more(self) -> None:
        """Wait until another event is acknowledged, so that every round kills working writers."""
        before = len(self.said)
        wait_until(lambda: len(self.said) > before or self.faults, what="the next acknowledgement", pause_s=0.005)

    def _run(self, number: int) -> None:
        actor = f"agent{number}"
        with contextlib.ExitStack() as clients:
            self._own.clients, self._own.data, self._own.port = clients, None, 0
            try:
                for count in itertools.count():
                    if self._ended.is_set():
                        return
                    self._say(actor, f"substance{number}x{count}")
                    if count % 7 == 3:
                        self._delete(actor)
                    if count % 5 == 2:
                        self._write(f"fact {number} {count}")
            except BaseException as error:
                self.faults.append(error)

    def _say(self, actor: str, substance: str) -> None:
        messages = [("USER", f"I'm allergic to {substance}."), ("ASSISTANT", "Noted.")]
        payload = [{"conversational": {"role": role, "content": {"text": text}}} for role, text in messages]
        self.said[self._event(actor, payload)] = (actor, substance)

    def _delete(self, actor: str) -> None:
        """Create an event that is not extracted, and delete it."""
        event_id = self._event(actor, [{"blob": "never mind"}])
        place = {"memoryId": self.memory_id, "actorId": actor, "sessionId": f"{actor}-s", "eventId": event_id}
        with contextlib.suppress(self._data().exceptions.ResourceNotFoundException):
            self._ask("delete_event", place, "eventId")  # not found: the first try had gone through, its answer had not
        self.deleted.add(event_id)

    def _event(self, actor: str, payload: list[Any]) -> str:
        parameters = {"memoryId": self.memory_id, "actorId": actor, "sessionId": f"{actor}-s", "payload": payload}
        parameters |= {"eventTimestamp": time.time(), "clientToken": str(uuid.uuid4())}
        return self._ask("create_event", parameters, "event")["event"]["eventId"]

    def _write(self, text: str) -> None:
        record = {"requestIdentifier": "r", "namespaces": ["/by-hand/"], "content": {"text": text}}
        records = [record | {"timestamp": time.time()}]
        parameters = {"memoryId": self.memory_id, "records": records, "clientToken": str(uuid.uuid4())}
        answer = self._ask("batch_create_memory_records", parameters, "successfulRecords")
        self.written.add(answer["successfulRecords"][0]["memoryRecordId"])

    def _ask(self, operation: str, parameters: dict[str, Any], member: str) -> Any:
        """The answer of the service, restarted or not; it has `member`."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                answer = getattr(self._data(), operation)(**parameters)
                # While the service is dead, another server of this machine may get its port. It acknowledges nothing,
                # so its answer is ignored and the request repeated with its client token.
                if "x-amzn-requestid" in answer["ResponseMetadata"]["HTTPHeaders"] and member in answer:
                    return answer
                assert time.monotonic() < deadline, f"another server answers {operation}: {answer}"
            except ClientError as error:
                if error.response["ResponseMetadata"]["HTTPStatusCode"] < 500 or time.monotonic() > deadline:
                    raise
            except BotoCoreError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def _data(self) -> Any:
        """This thread's client; a new one if a restarted service has another port."""
        state = self.state
        if self._own.port != state.port:
            data = client(state, "bedrock-agentcore")
            self._own.data, self._own.port = self._own.clients.enter_context(contextlib.closing(data)), state.port
        return self._own.data


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"
    local.stop(tmp_path / "home")


@pytest.mark.parametrize("kills", [10, pytest.param(50, marks=pytest.mark.long)])
def test_no_kill_loses_or_doubles_what_was_acknowledged(home: Path, kills: int) -> None:
    chance, options = random.Random(kills), local.ServiceOptions(memory_delay_s=0.02)
    state, _ = local.start(home, options, persistent=True)
    with contextlib.closing(LongTerm.made(state, FACTS)) as memory, Agents(state, memory.id) as agents:
        for _ in range(kills):
            agents.more()
            time.sleep(chance.random() * 0.3)
            if chance.random() < 0.3:
                for process in extracting(state):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                time.sleep(chance.random() * 0.1)
            if chance.random() < 0.8:
                os.kill(state.pid, signal.SIGKILL)
                state, was_started = local.start(home, options, persistent=True)
                assert was_started
                agents.state = state
    assert not agents.faults
    with contextlib.closing(LongTerm.of(state, memory.memory)) as after:
        listed = {
            event["eventId"]: event["payload"][0]
            for number in range(_WRITERS)
            for page in after.data.get_paginator("list_events").paginate(
                memoryId=after.id, actorId=f"agent{number}", sessionId=f"agent{number}-s"
            )
            for event in page["events"]
        }
        assert set(listed) == set(agents.said), "neither lost nor doubled, and what was deleted stays so"
        assert not agents.deleted & set(listed)
        assert {record["memoryRecordId"] for record in after.records("/by-hand/")} == agents.written
        expected = sorted(f"The user is allergic to {substance}." for _, substance in agents.said.values())
        assert after.until("/facts/", lambda texts: len(texts) >= len(expected)) == expected
        for number in range(_WRITERS):
            own = sorted(substance for actor, substance in agents.said.values() if actor == f"agent{number}")
            assert after.texts(f"/facts/agent{number}/") == [
                f"The user is allergic to {substance}." for substance in own
            ]
