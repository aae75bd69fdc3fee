"""Thirty learners on one machine, ten at once: does anybody see another's, and what does each take?

Each learner is a kernel of its own with a Loom home of its own, which does what the first and the fourth lesson do:
deploys, asks, goes on with the session, tells a memory something and asks for it in a new session. All tell it as the
same person with the same words, but for a number. While ten of them are alive, each says what it sees, and tries with
its own key to ask its neighbour's AgentCore and with its neighbour's ids its own.
"""

from __future__ import annotations

import ast
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

import boto3
import psutil
from botocore.config import Config
from botocore.exceptions import ClientError
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from loomlib import local

from .table import Row

LEARNERS = 30
AT_ONCE = 10
_CELL_S = 600.0

_WORK = """
import time
import loomlib as loom
from loomlib import workshop
bench = loom.connect()
check = workshop.lesson(1, bench)
agent = bench.deploy("calculator", name="calculator_{me}")
first = agent.invoke("What is {number} * 2?")
second = agent.invoke("What is {number} * 3?", session_id=first.session_id)
check.exercise("1.4", [first, second])
memory = bench.memories.create("memory_{me}", strategies=["semantic"])
member = bench.deploy("assistant_with_memory", name="member_{me}", memory=memory)
first_answer = member.invoke(payload={{"prompt": "I live in Town{number}.", "actor": "anna"}})
deadline = time.monotonic() + 120
while not len(memory.records(actor="anna")) and time.monotonic() < deadline:
    time.sleep(0.2)
again = member.invoke(payload={{"prompt": "Where do I live?", "actor": "anna"}})
"""
_SEEN = """
print({
    "agents": sorted(bench.agents()["name"]),
    "sessions": sorted({*agent.history.sessions()["session_id"], *member.history.sessions()["session_id"]}),
    "memories": sorted(bench.memories.table()["name"]),
    "asked": sorted(agent.history.table()["prompt"]),
    "right": [first.ok and "{twice}" in first.text, second.ok and "{thrice}" in second.text],
    "opened": sorted([first.session_id, first_answer.session_id, again.session_id]),
    "recalled": again.text,
    "records": list(memory.records()["text"]),
    "found": list(memory.search("Where do I live?")["text"]),
    "actors": list(memory.reader.actors()),
    "progress": check.progress().done,
    "alive": bench.telemetry.session_count(),
    "ids": [agent.arn, memory.id],
})
"""
OPEN_SESSIONS = 3
_BY_HAND = Config(retries={"total_max_attempts": 1}, proxies={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one learner saw, its service, and what its processes took: PSS, processor time, and time by the clock."""

    me: int
    saw: dict[str, Any]
    service: local.ServiceState
    pss_mb: dict[str, float]
    cpu_s: float
    took_s: float


class Learner:
    """A kernel with a home of its own."""

    def __init__(self, me: int, folder: Path) -> None:
        self.me, self.home = me, folder / f"learner-{me}"
        self.home.mkdir()
        self.manager = KernelManager(kernel_name="python3", transport="ipc", ip=str(self.home / "kernel"))
        self.client: BlockingKernelClient | None = None
        self.took_s = 0.0

    def work(self) -> None:
        """Start the kernel and do the lesson's steps."""
        began = time.perf_counter()
        # Nothing of whoever runs the benchmark reaches a learner, such as credentials or another home.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LOOM_"))}
        self.manager.start_kernel(env={**environment, "LOOM_HOME": str(self.home)}, cwd=str(self.home))
        client = self.manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=_CELL_S)
        self.client = client
        self._run(_WORK.format(me=self.me, number=1000 + self.me))
        self.took_s = time.perf_counter() - began

    def look(self) -> Seen:
        """What it sees, and the memory of its processes, while the others are alive."""
        number = 1000 + self.me
        output = self._run(_SEEN.replace("{twice}", str(number * 2)).replace("{thrice}", str(number * 3)))
        state = local.find(self.home)
        assert state is not None, "its service ended"
        kernel = psutil.Process(self.manager.provisioner.pid)  # pyright: ignore
        service = psutil.Process(state.pid)
        return Seen(
            me=self.me,
            saw=ast.literal_eval(output),
            service=state,
            pss_mb={
                "kernel": _pss_mb([kernel]),
                "service": _pss_mb([service]),
                "sessions": _pss_mb(service.children(recursive=True)),
            },
            cpu_s=sum(_cpu_s(process) for process in (kernel, service, *service.children(recursive=True))),
            took_s=self.took_s,
        )

    def close(self) -> None:
        """End its kernel; its service ends with it, and is ended if it does not."""
        if self.client is not None:
            self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=True)
        local.stop(self.home)

    def _run(self, code: str) -> str:
        assert self.client is not None
        chunks: list[str] = []

        def hear(message: dict[str, object]) -> None:
            content = message["content"]
            assert isinstance(content, dict)
            if message["msg_type"] == "stream" and content["name"] == "stdout":
                chunks.append(content["text"])

        try:
            reply = self.client.execute_interactive(code, output_hook=hear, timeout=_CELL_S)
        except (TimeoutError, Empty) as late:
            raise RuntimeError(f"learner {self.me} did not finish a cell in time") from late
        if reply["content"]["status"] != "ok":
            raise RuntimeError(f"learner {self.me}: {reply['content'].get('ename')}: {reply['content'].get('evalue')}")
        return "".join(chunks)


def rows() -> Iterator[Row]:
    """Cross-talk, memory and time."""
    views: list[Seen] = []
    leaks: list[str] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="loom-learners-") as folder:
        for start in range(0, LEARNERS, AT_ONCE):
            learners = [Learner(me, Path(folder)) for me in range(start, start + AT_ONCE)]
            try:
                with ThreadPoolExecutor(AT_ONCE) as pool:
                    list(pool.map(Learner.work, learners))
                    wave = list(pool.map(Learner.look, learners))
                leaks += [leak for learner in wave for leak in crossings(learner)]
                leaks += [leak for pair in neighbours(wave) for leak in open_doors(*pair)]
                views += wave
            finally:
                with ThreadPoolExecutor(AT_ONCE) as pool:
                    list(pool.map(Learner.close, learners))
    took_s = time.perf_counter() - began
    if len({learner.service.access_key for learner in views}) != len(views):
        leaks.append("two learners have the same key")
    yield Row(
        what=f"{LEARNERS} learners, {AT_ONCE} at once: anything of others seen, or reached by key or id",
        ours="; ".join(leaks[:5]) or "none",
        aim="none",
        met=not leaks and len(views) == LEARNERS,
        n=len(views),
    )
    total_mb = [sum(learner.pss_mb.values()) for learner in views]
    parts = ", ".join(
        f"{name} {statistics.median(learner.pss_mb[name] for learner in views):.0f}"
        for name in ("kernel", "service", "sessions")
    )
    yield Row(
        what=f"memory of a learner with {OPEN_SESSIONS} open sessions (PSS), {AT_ONCE} at once",
        ours=f"median {statistics.median(total_mb):.0f} MB ({parts}), at most {max(total_mb):.0f} MB",
        n=len(views),
    )
    yield Row(
        what="processor time of a learner: kernel, service, two agents in three sessions, four answers, a memory",
        ours=f"median {statistics.median(learner.cpu_s for learner in views):.1f} s of a core",
        n=len(views),
    )
    yield Row(
        what=f"the same by the clock, {AT_ONCE} at once",
        ours=f"median {statistics.median(learner.took_s for learner in views):.1f} s, all {LEARNERS} in {took_s:.0f} s",
        n=len(views),
    )


def crossings(learner: Seen) -> list[str]:
    """What this learner saw that is not its own, or did not see of its own."""
    number, saw = 1000 + learner.me, learner.saw
    fact = f"The user lives in Town{number}."
    expected = {
        "agents": [f"calculator_{learner.me}", f"member_{learner.me}"],
        "sessions": saw["opened"],
        "memories": [f"memory_{learner.me}"],
        "asked": [f"What is {number} * 2?", f"What is {number} * 3?"],
        "right": [True, True],
        "recalled": f"You live in Town{number}.",
        "records": [fact],
        "found": [fact],
        "actors": ["anna"],
        "progress": 1,
        "alive": OPEN_SESSIONS,
    }
    return [f"learner {learner.me}: {name} {saw[name]}" for name, value in expected.items() if saw[name] != value]


def neighbours(wave: list[Seen]) -> Iterator[tuple[Seen, Seen]]:
    """Each learner with the next one."""
    yield from zip(wave, [*wave[1:], wave[0]], strict=True)


def open_doors(mine: Seen, other: Seen) -> list[str]:
    """What a learner reaches of its neighbour: with its own key there, and with the neighbour's ids at home."""
    problems: list[str] = ["two services share a port"] if mine.service.port == other.service.port else []
    for at, refusal in ((other, "UnrecognizedClient"), (mine, "ResourceNotFound")):
        keys = {"aws_access_key_id": mine.service.access_key, "aws_secret_access_key": mine.service.secret_key}
        where = {"endpoint_url": at.service.url, "region_name": at.service.region, "config": _BY_HAND}
        client = boto3.client("bedrock-agentcore", **where, **keys)
        arn, memory = other.saw["ids"]
        attempts: dict[str, Callable[[], object]] = {
            "ask": lambda: client.invoke_agent_runtime(agentRuntimeArn=arn, payload=b'{"prompt": "hello"}'),  # noqa: B023
            "read": lambda: client.list_memory_records(memoryId=memory, namespace="/facts/anna/"),  # noqa: B023
            "list": lambda: client.list_actors(memoryId=memory),  # noqa: B023
        }
        for name, attempt in attempts.items():
            try:
                problems.append(f"learner {mine.me} may {name} of {other.me}: {attempt()}")
            except ClientError as refused:
                if refusal not in refused.response["Error"]["Code"]:
                    problems.append(f"learner {mine.me}, {name} of {other.me}: {refused}")
        client.close()
    return problems


def _pss_mb(processes: list[psutil.Process]) -> float:
    total = 0
    for process in processes:
        try:
            total += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total / 2**20


def _cpu_s(process: psutil.Process) -> float:
    """Processor time of a process, with that of its children that have ended."""
    try:
        return sum(process.cpu_times()[:4])
    except psutil.NoSuchProcess:
        return 0.0
