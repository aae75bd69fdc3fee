"""Thirty learners on one machine, ten at once: does anybody see another's, and what memory does each take?

Each learner is a kernel of its own with a Loom home of its own, which does what the first and the fourth lesson do:
deploys, asks, goes on with the session, tells a memory something. While ten of them are alive, each says what it sees.
"""

from __future__ import annotations

import ast
import json
import os
import statistics
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Empty

import psutil
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from loomlib import local

from .table import Row

LEARNERS = 30
AT_ONCE = 10
_CELL_S = 240.0

_WORK = """
import loomlib as loom
from loomlib import workshop
bench = loom.connect()
check = workshop.lesson(1, bench)
agent = bench.deploy("calculator", name="calculator_{me}")
first = agent.invoke("What is {number} * 2?")
second = agent.invoke("What is {number} * 3?", session_id=first.session_id)
check.exercise("1.4", [first, second])
memory = bench.create_memory("memory_{me}", strategies=["semantic"])
"""
_SEEN = """
print({
    "agents": sorted(bench.agents()["name"]),
    "sessions": sorted(agent.sessions()["session_id"]),
    "memories": sorted(bench.memories()["name"]),
    "asked": sorted(agent.invocations()["prompt"]),
    "right": [first.ok and "{twice}" in first.text, second.ok and "{thrice}" in second.text],
    "session": first.session_id,
    "progress": check.progress().done,
    "alive": bench.session_count(),
})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one learner saw, where its service is, and what it took: PSS in MB of kernel, service and sessions."""

    me: int
    saw: dict[str, object]
    port: int
    key: str
    pss_mb: dict[str, float]
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
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LOOM_"))}
        self.manager.start_kernel(env={**kept, "LOOM_HOME": str(self.home)}, cwd=str(self.home))
        client = self.manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=_CELL_S)
        self.client = client
        self._run(_WORK.format(me=self.me, number=1000 + self.me))
        self.took_s = time.perf_counter() - began

    def look(self) -> Seen:
        """What it sees, and the memory of its processes, while the others are alive."""
        number = 1000 + self.me
        said = self._run(_SEEN.replace("{twice}", str(number * 2)).replace("{thrice}", str(number * 3)))
        state = local.find(self.home)
        assert state is not None, "its service ended"
        kernel = psutil.Process(self.manager.provisioner.pid)  # pyright: ignore
        service = psutil.Process(state.pid)
        return Seen(
            me=self.me,
            saw=ast.literal_eval(said),
            port=state.port,
            key=state.access_key,
            pss_mb={
                "kernel": _pss_mb([kernel]),
                "service": _pss_mb([service]),
                "sessions": _pss_mb(service.children(recursive=True)),
            },
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
        said: list[str] = []

        def hear(message: dict[str, object]) -> None:
            content = message["content"]
            assert isinstance(content, dict)
            if message["msg_type"] == "stream" and content["name"] == "stdout":
                said.append(content["text"])

        try:
            reply = self.client.execute_interactive(code, output_hook=hear, timeout=_CELL_S)
        except (TimeoutError, Empty) as late:
            raise RuntimeError(f"learner {self.me} did not get on") from late
        if reply["content"]["status"] != "ok":
            raise RuntimeError(f"learner {self.me}: {reply['content'].get('ename')}: {reply['content'].get('evalue')}")
        return "".join(said)


def rows() -> Iterator[Row]:
    """Cross-talk, memory and time."""
    seen: list[Seen] = []
    crossed: list[str] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="loom-learners-") as folder:
        for start in range(0, LEARNERS, AT_ONCE):
            learners = [Learner(me, Path(folder)) for me in range(start, start + AT_ONCE)]
            try:
                with ThreadPoolExecutor(AT_ONCE) as pool:
                    list(pool.map(Learner.work, learners))
                    wave = list(pool.map(Learner.look, learners))
                crossed += [each for learner in wave for each in crossings(learner)]
                crossed += open_doors(wave)
                seen += wave
            finally:
                with ThreadPoolExecutor(AT_ONCE) as pool:
                    list(pool.map(Learner.close, learners))
    took_s = time.perf_counter() - began
    keys = {each.key for each in seen}
    if len(keys) != len(seen):
        crossed.append("two learners have the same key")
    yield Row(
        what=f"{LEARNERS} learners, {AT_ONCE} at once: things of others seen, and others' keys let in",
        ours="; ".join(crossed[:5]) or "none",
        aim="none",
        met=not crossed and len(seen) == LEARNERS,
        n=len(seen),
    )
    whole = [sum(each.pss_mb.values()) for each in seen]
    parts = ", ".join(
        f"{name} {statistics.median(each.pss_mb[name] for each in seen):.0f}"
        for name in ("kernel", "service", "sessions")
    )
    yield Row(
        what=f"memory of a learner with one open session (PSS), {AT_ONCE} at once",
        ours=f"median {statistics.median(whole):.0f} MB ({parts}), at most {max(whole):.0f} MB",
        n=len(seen),
    )
    yield Row(
        what=f"a learner's kernel, service, agent, two answers and memory, {AT_ONCE} at once",
        ours=f"median {statistics.median(each.took_s for each in seen):.1f} s, all {LEARNERS} in {took_s:.0f} s",
        n=len(seen),
    )


def crossings(learner: Seen) -> list[str]:
    """What this learner saw that is not its own, or did not see of its own."""
    number, saw = 1000 + learner.me, learner.saw
    wanted = {
        "agents": [f"calculator_{learner.me}"],
        "sessions": [saw["session"]],
        "memories": [f"memory_{learner.me}"],
        "asked": [f"What is {number} * 2?", f"What is {number} * 3?"],
        "right": [True, True],
        "progress": 1,
        "alive": 1,
    }
    return [f"learner {learner.me}: {name} {saw[name]}" for name, value in wanted.items() if saw[name] != value]


def open_doors(wave: list[Seen]) -> list[str]:
    """Services that let in a neighbour's key, and ports that two share."""
    found = [] if len({each.port for each in wave}) == len(wave) else ["two services share a port"]
    for mine, other in zip(wave, [*wave[1:], wave[0]], strict=True):
        request = urllib.request.Request(
            f"http://127.0.0.1:{other.port}/_loom/status", headers={"Authorization": f"Bearer {mine.key}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                found.append(f"learner {mine.me} is let in by {other.me}: {json.load(answer)}")
        except urllib.error.HTTPError as refused:
            refused.close()
            if refused.code not in (401, 403):
                found.append(f"learner {mine.me} is answered {refused.code} by {other.me}")
    return found


def _pss_mb(processes: list[psutil.Process]) -> float:
    total = 0
    for each in processes:
        try:
            total += each.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total / 2**20
