"""Memory's speed over HTTP at 1,000 and 100,000 events and records, its intake, and what inspecting a million costs."""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import boto3
import psutil
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from loomlib import local
from loomlib.embeddings import embed

from .memory_data import Home, facts, in_turns, turn
from .table import Row, ms, percentile

SMALL: Final = 1_000
LARGE: Final = 100_000
MILLION: Final = 1_000_000
_REGION: Final = "us-east-1"
_QUESTIONS: Final = (
    "Which food is the user allergic to?",
    "Where does her brother live?",
    "Who ordered cheap bicycles?",
    "jazz and poems",
    "What did the landlord cancel because of taxes?",
)
_FLAT: Final = 2.0
"""What counts as near flat: the large one's median over the small one's."""

_INSPECT = """
import json, sys, time
import loomlib as loom
from loomlib.settings import Settings
home, name = sys.argv[1:]
quiet = lambda _: None
peak = lambda: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1e3
with loom.connect(home=home) as bench:
    memory = bench.memories.get(name)
    began = time.perf_counter()
    actors = memory.actors(progress=quiet)
    actor = actors["actor_id"][0]
    memory.sessions(actor, progress=quiet)
    memory.events(actor, progress=quiet)._repr_html_()
    memory.timeline(actor, progress=quiet)._repr_html_()
    first_s, first_mb = time.perf_counter() - began, peak()
    began = time.perf_counter()
    seen = sum(1 for _ in memory.iter_events())
    lazy_s, lazy_mb = time.perf_counter() - began, peak()
print(json.dumps({"seen": seen, "first_s": first_s, "first_mb": first_mb, "lazy_s": lazy_s, "lazy_mb": lazy_mb}))
"""


def rows(repeats: int = 60, intake_s: float = 20.0) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder:
        path = Path(folder) / "home"
        home = Home(path, _REGION)
        sizes = {"small": SMALL, "large": LARGE}
        events = {name: home.memory(f"events_{name}") for name in sizes}
        records = {name: home.memory(f"records_{name}") for name in sizes}
        texts, vectors = facts(LARGE), None
        for name, count in sizes.items():
            home.add_events(events[name], count)
            vectors = home.add_records(records[name], texts[:count])
        home.close()
        yield from _reading(path, events, records, texts, vectors, repeats)
        yield from _intake(path, intake_s)
        home = Home(path, _REGION)
        home.add_events(home.memory("million"), MILLION, sessions=200)
        home.close()
        yield from _inspecting(path, "million")


class _Service:
    """A service on the filled home, with a client as an agent has it."""

    def __init__(self, home: Path, **options: Any) -> None:
        self.home = home
        self.state, _ = local.start(home, local.ServiceOptions(**options), persistent=True)
        self.process = psutil.Process(self.state.pid)
        self.data, self.control = (self._client(name) for name in ("bedrock-agentcore", "bedrock-agentcore-control"))

    def __enter__(self) -> _Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.data.close()
        self.control.close()
        local.stop(self.home)

    def extracting(self) -> list[psutil.Process]:
        return [process for process in self.process.children() if "memory.extraction" in " ".join(process.cmdline())]

    def settle(self) -> None:
        """Wait until the service's processes are idle, so that all inserted data has been processed."""
        calm, deadline = 0, time.monotonic() + 120
        while calm < 3 and time.monotonic() < deadline:
            busy = [process.cpu_percent(0.2) for process in (self.process, *self.extracting())]
            calm = calm + 1 if max(busy) < 10 else 0

    def _client(self, name: str) -> Any:
        return boto3.client(
            name,
            endpoint_url=self.state.url,
            region_name=self.state.region,
            aws_access_key_id=self.state.access_key,
            aws_secret_access_key=self.state.secret_key,
            config=Config(retries={"total_max_attempts": 1}),
        )


def _timed(work: Callable[[int], object], repeats: int, warm: int = 3) -> Iterator[float]:
    """Milliseconds of each repeat."""
    for number in range(-warm, repeats):
        began = time.perf_counter()
        work(number)
        if number >= 0:
            yield (time.perf_counter() - began) * 1000


def _reading(
    path: Path, events: dict[str, str], records: dict[str, str], texts: list[str], vectors: Any, repeats: int
) -> Iterator[Row]:
    with _Service(path) as service:
        data = service.data
        service.settle()
        place = {"actorId": "actor00", "sessionId": "session0"}

        def listing(name: str) -> Callable[[int], object]:
            return lambda _: data.list_events(memoryId=events[name], **place, maxResults=20)["events"][19]

        plain = [
            {"sessionId": "session0", "eventTimestamp": float(n), "eventId": f"{n:019d}", **turn(text)}
            for n, text in enumerate(texts)
        ]

        def scan(_: int) -> object:
            of_session = (event for event in plain if event["sessionId"] == "session0")
            return heapq.nlargest(20, of_session, key=lambda event: (event["eventTimestamp"], event["eventId"]))

        took = in_turns(
            _timed(listing("small"), repeats), _timed(listing("large"), repeats), _timed(scan, repeats, warm=1)
        )
        yield _flatness("ListEvents of a session, newest 20", took, 25.0, "a Python list scanned")

        def deep(name: str) -> Callable[[int], object]:
            pages = data.get_paginator("list_events").paginate(
                memoryId=events[name], **place, PaginationConfig={"PageSize": 100}
            )
            flow = iter(pages)
            return lambda _: next(flow)["events"][99]

        small = list(_timed(deep("small"), 6, warm=1))
        large = list(_timed(deep("large"), 400, warm=1))
        yield Row(
            what=f"ListEvents, pages of 100 one after the other, {LARGE:,} events",
            ours=ms(large),
            reference=f"{SMALL:,} events: {statistics.median(small):.1f} ms",
            compared=f"the last 50 pages {statistics.median(large[-50:]):.1f} ms",
            n=len(large),
        )

        def retrieving(name: str, path: str) -> Callable[[int], object]:
            def ask(number: int) -> object:
                criteria = {"searchQuery": _QUESTIONS[number % len(_QUESTIONS)], "topK": 10}
                response = data.retrieve_memory_records(
                    memoryId=records[name], namespacePath=path, searchCriteria=criteria
                )
                return response["memoryRecordSummaries"][9]

            return ask

        listed = list(vectors)

        def compare(number: int) -> object:
            query_vector = embed([_QUESTIONS[number % len(_QUESTIONS)]])[0]
            return heapq.nlargest(10, ((float(vector @ query_vector), n) for n, vector in enumerate(listed)))

        took = in_turns(
            _timed(retrieving("small", "/"), repeats),
            _timed(retrieving("large", "/"), repeats),
            _timed(compare, repeats, warm=1),
        )
        yield _flatness("RetrieveMemoryRecords among all, 10 best", took, 15.0, "a Python list compared")
        took = in_turns(
            _timed(retrieving("small", "/facts/actor03/"), repeats),
            _timed(retrieving("large", "/facts/actor03/"), repeats),
        )
        yield _flatness("RetrieveMemoryRecords of one actor of 20, 10 best", took, 15.0)


def _flatness(subject: str, took: list[list[float]], most_ms: float, plain: str = "") -> Row:
    small, large = (statistics.median(times_ms) for times_ms in took[:2])
    return Row(
        what=f"{subject}: {LARGE:,} beside {SMALL:,}",
        ours=ms(took[1]),
        reference=f"{SMALL:,}: {ms(took[0])}" + (f"; {plain} {statistics.median(took[2]):.0f} ms" if plain else ""),
        compared=f"× {large / small:.2f} of {SMALL:,}",
        aim=f"≤ {most_ms:.0f} ms, near flat (× {_FLAT:.0f})",
        met=large <= most_ms and large / small <= _FLAT,
        n=len(took[0]),
    )


def _intake(path: Path, seconds: float, rate: int = 300, offered: int = 310) -> Iterator[Row]:
    with _Service(path) as service:
        memory = service.control.create_memory(
            name="intake",
            eventExpiryDuration=30,
            memoryStrategies=[
                {"semanticMemoryStrategy": {"name": "facts", "namespaceTemplates": ["/facts/{actorId}/"]}},
                {"summaryMemoryStrategy": {"name": "sums", "namespaceTemplates": ["/sums/{actorId}/{sessionId}/"]}},
            ],
        )["memory"]
        service.settle()
        load = asyncio.run(_Load(service.state, memory["id"]).run(offered, seconds))
        behind_s = _extracted(service, memory["id"], load)
        mean = len(load.took) / load.lasted_s
        yield Row(
            what=f"CreateEvent, {offered} a second offered for {seconds:.0f} s, two strategies, {load.actors} actors",
            ours=f"{mean:.0f} a second, {ms(load.took)}",
            reference=f"p99 {percentile(load.took, 0.99):.0f} ms, refused {load.failed}, late {load.late_s:.2f} s",
            compared=f"all extracted {behind_s:.1f} s after the last",
            aim=f"≥ {rate} a second",
            met=mean >= rate and not load.failed and load.late_s < 1,
            n=len(load.took),
        )
        most = asyncio.run(_Load(service.state, memory["id"]).run(None, 5.0))
        yield Row(
            what="CreateEvent as fast as 16 connections can, extraction on",
            ours=f"{len(most.took) / most.lasted_s:.0f} a second, p50 {statistics.median(most.took):.0f} ms",
            n=len(most.took),
        )


def _extracted(service: _Service, memory_id: str, load: _Load) -> float:
    """How long after the load's end every actor's last turn is in the records."""
    unextracted = set(load.last_of_actor.items())
    while unextracted:
        for actor, last in list(unextracted):
            path = f"/facts/{actor}/"
            records = service.data.list_memory_records(memoryId=memory_id, namespacePath=path)["memoryRecordSummaries"]
            if not any(last in record["content"]["text"] for record in records):
                break
            unextracted.discard((actor, last))
        if time.perf_counter() - load.ended > 120:
            raise RuntimeError(f"{len(unextracted)} actors' last turns are not extracted two minutes after the last")
        if unextracted:
            time.sleep(0.1)
    return time.perf_counter() - load.ended


class _Load:
    """Closed turns of many actors, sent as HTTP requests over kept connections; each is acknowledged or counted."""

    actors = 40
    _CONNECTIONS = 16

    def __init__(self, state: local.ServiceState, memory_id: str) -> None:
        self._state, self._path = state, f"/memories/{memory_id}/events"
        self._port = state.port
        self._texts = facts(200, seed=7)
        self.took: list[float] = []
        self.failed = 0
        self.late_s = 0.0
        self.last_of_actor: dict[str, str] = {}
        self.lasted_s = self.ended = 0.0

    async def run(self, rate: int | None, seconds: float) -> _Load:
        """At `rate` a second whether or not answers come (None: one after the other), for `seconds`."""
        self._rate, self._until_s, self._sent = rate, seconds, 0
        self._began = time.perf_counter()
        await asyncio.gather(*(self._send() for _ in range(self._CONNECTIONS)))
        self.ended = time.perf_counter()
        self.lasted_s = max(seconds, self.ended - self._began)
        return self

    async def _send(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while True:
            number = self._sent
            due = self._began + (number / self._rate if self._rate else 0)
            if due >= self._began + self._until_s or time.perf_counter() >= self._began + self._until_s + 30:
                break
            if self._rate is None and time.perf_counter() >= self._began + self._until_s:
                break
            self._sent += 1
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            elif self._rate:
                self.late_s = max(self.late_s, -wait)
            began = time.perf_counter()
            writer.write(self._request(number))
            head = await reader.readuntil(b"\r\n\r\n")
            size = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(size.partition(b":")[2]))
            if head.split(b" ", 2)[1] == b"201":
                self.took.append((time.perf_counter() - began) * 1000)
            else:
                self.failed += 1
        writer.close()
        await writer.wait_closed()

    def _request(self, number: int) -> bytes:
        actor, last = f"actor{number % self.actors:02d}", f"Town{number}"
        self.last_of_actor[actor] = last
        body = json.dumps(
            {
                "actorId": actor,
                "sessionId": f"intake-{actor}",
                "eventTimestamp": time.time(),
                **turn(f"I live in {last}. {self._texts[number % 200]}", "Noted."),
            }
        ).encode()
        request = AWSRequest(method="POST", url=self._state.url + self._path, data=body)
        credentials = Credentials(self._state.access_key, self._state.secret_key)
        SigV4Auth(credentials, "bedrock-agentcore", self._state.region).add_auth(request)
        lines = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        head = f"POST {self._path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
        return f"{head}{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _inspecting(path: Path, name: str) -> Iterator[Row]:
    with _Service(path) as service:
        service.settle()
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
        inspection = subprocess.run(
            [sys.executable, "-c", _INSPECT, str(path), name],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        if inspection.returncode:
            raise RuntimeError(inspection.stderr[-2000:])
        figures = json.loads(inspection.stdout.splitlines()[-1])
        served_mb = sum(process.memory_info().rss for process in (service.process, *service.extracting())) / 1e6
    if figures["seen"] != MILLION:
        raise RuntimeError(f"{figures['seen']:,} of {MILLION:,} events were seen")
    yield Row(
        what=f"a memory of {MILLION:,} events looked at: actors, sessions, an actor's events, timeline",
        ours=f"{figures['first_mb']:.0f} MB, {figures['first_s']:.1f} s",
        aim="< 1 GB",
        met=figures["first_mb"] < 1000,
        n=1,
    )
    yield Row(
        what=f"all {MILLION:,} events read, page by page",
        ours=f"{figures['lazy_mb']:.0f} MB, {figures['lazy_s']:.0f} s",
        reference=f"the service's processes {served_mb:.0f} MB",
        aim="< 1 GB",
        met=figures["lazy_mb"] < 1000,
        n=1,
    )
