"""Real agents in real processes: small packages written by the tests, and a pool over them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import textwrap
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import waiting

from loomlib.local.contract import AgentAnswer, AgentCall, RuntimeVersion
from loomlib.local.sessions import SessionPool

SESSION = "session-0123456789-0123456789-0123"

BEDROCK_AGENT = """
    import asyncio, os, sys, time
    from bedrock_agentcore.runtime import BedrockAgentCoreApp
    app = BedrockAgentCoreApp()

    {body}

    if __name__ == "__main__":
        app.run()
"""

ASGI_AGENT = """
    import asyncio, json, os, signal, subprocess, sys, time
    import uvicorn

    async def app(scope, receive, send):
        if scope["type"] != "http":
            return
        if scope["path"] == "/ping":
            await answer(send, json.dumps(ping()).encode())
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        await invoke(json.loads(body or b"null"), scope, receive, send)

    def ping():
        return {{"status": "Healthy"}}

    async def answer(send, body, status=200, headers=()):
        await send({{"type": "http.response.start", "status": status, "headers": list(headers)}})
        await send({{"type": "http.response.body", "body": body}})

    {body}

    if __name__ == "__main__":
        uvicorn.run(app, port=8080, log_level="warning")
"""


@dataclass
class Lines:
    """A log sink that remembers."""

    events: list[tuple[str, str, int, str]] = field(default_factory=list)

    def write(self, *, group: str, stream: str, timestamp_ms: int, message: str) -> None:
        self.events.append((group, stream, timestamp_ms, message))

    @property
    def messages(self) -> list[str]:
        return [event[3] for event in self.events]


class Lab:
    """A home with packages in it, and pools over it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.lines, self.pools = folder / "home", Lines(), list[SessionPool]()
        self.packages = folder / "packages"
        self.shared = folder / "shared"
        self.shared.mkdir()

    def package(self, source: str, name: str = "one") -> Path:
        """A folder with `source` as agent.py."""
        folder = self.packages / name
        folder.mkdir(parents=True)
        (folder / "agent.py").write_text(textwrap.dedent(source), "utf-8")
        return folder

    def runtime(self, source: str | Path, *, name: str = "one", **options: object) -> RuntimeVersion:
        code = source if isinstance(source, Path) else self.package(source, name)
        values: dict = {"version": "1", "entry_point": ("agent.py",), **options}
        return RuntimeVersion(runtime_id=f"{name}-AbC123dEf4", arn=f"arn:{name}", code=code, **values)

    def asgi(self, body: str, **options) -> RuntimeVersion:
        """A bare ASGI agent whose `invoke(payload, scope, receive, send)` is in `body`."""
        return self.runtime(_fill(ASGI_AGENT, body), **options)

    def bedrock(self, body: str, **options) -> RuntimeVersion:
        """A BedrockAgentCoreApp agent with the handlers in `body`."""
        return self.runtime(_fill(BEDROCK_AGENT, body), **options)

    def pool(self, **options) -> SessionPool:
        values: dict = {
            "environment": {"AWS_REGION": "us-east-1"},
            "admit": lambda *_: None,
            "start_timeout_s": 60.0,
            "answer_timeout_s": 60.0,
            "writable": [self.shared],
            **options,
        }
        pool = SessionPool(home=self.home, sink=self.lines, **values)
        self.pools.append(pool)
        return pool

    def outer(self, pids: Iterable[int]) -> list[int]:
        """The pids on this machine of processes that agents know by their pids behind the boundary."""
        marks = {b"LOOM_SESSION=" + os.fsencode(file.stem) for file in (self.home / "sessions").glob("*.json")}
        inner_pids = list(pids)

        def found() -> dict[int, int] | None:
            matches: dict[int, int] = {}
            for entry in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    if not marks.isdisjoint((entry / "environ").read_bytes().split(b"\0")):
                        [numbers] = re.findall(r"^NSpid:(.*)$", (entry / "status").read_text(), re.MULTILINE)
                        matches[int(numbers.split()[-1])] = int(entry.name)
            return matches if matches.keys() >= set(inner_pids) else None

        # A process that has just begun its program has no environment for a moment.
        outer_pids = waiting.wait_until(found, what=f"the processes {inner_pids}")
        return [outer_pids[pid] for pid in inner_pids]


def _fill(template: str, body: str) -> str:
    return textwrap.dedent(template).format(body=textwrap.dedent(body).strip("\n"))


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    lab = Lab(tmp_path)
    yield lab
    for pool in lab.pools:
        await pool.close()


@pytest.fixture
def call() -> Callable[..., AgentCall]:
    def make(runtime: RuntimeVersion, payload: object = None, *, session_id: str = SESSION, **options) -> AgentCall:
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        values: dict = {"qualifier": "DEFAULT", "headers": {"content-type": "application/json"}, **options}
        return AgentCall(runtime=runtime, session_id=session_id, body=body, **values)

    return make


@pytest.fixture
def read() -> Callable:
    async def read(answer: AgentAnswer) -> bytes:
        return b"".join([chunk async for chunk in answer.chunks])

    return read


@pytest.fixture
def eventually() -> Callable:
    return waiting.eventually


@pytest.fixture
def alive() -> Callable[[int], bool]:
    """Whether a process runs (a zombie does not)."""

    def is_alive(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    return is_alive
