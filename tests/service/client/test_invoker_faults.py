"""An invocation when its own process is in trouble: interrupted by its user, or without space on the disk."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from paced import PacedServer, Reply, Request, Script
from waiting import wait_until

from loomlib.agents import AgentEntry, Invoker
from loomlib.aws.connection import Clients
from loomlib.aws.engine import Engine
from loomlib.store import Store

Serve = Callable[[Script], PacedServer]

PREPARED = """
    import faulthandler, json, sys
    faulthandler.dump_traceback_later(100, exit=True)  # a process that hangs says where
    from loomlib.agents import Invoker, entry_from_row
    from loomlib.aws import Clients, Connection
    from loomlib.errors import *
    from loomlib.store import Store
    store = Store.open(sys.argv[1])
    agent = entry_from_row(store.agents.list()[0])
    invoker = Invoker(store, Clients(Connection(region="us-east-1", environment=json.loads(sys.argv[2]))))
"""


def start(script: str, tmp_path: Path, server: PacedServer) -> subprocess.Popen[str]:
    import json

    code = textwrap.dedent(PREPARED) + textwrap.dedent(script)
    arguments = [f"sqlite:///{tmp_path / 'loom.db'}", json.dumps(server.environment())]
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


async def endless(request: Request, reply: Reply) -> None:
    import asyncio

    await reply.head()
    while True:
        await reply.chunk(b'data: "so far "\n\n')
        await asyncio.sleep(0.02)


def test_ctrl_c_in_a_call_ends_the_request_and_stores_what_came(
    serve: Serve, agent: AgentEntry, store: Store, tmp_path: Path
) -> None:
    server = serve(endless)
    process = start(
        """
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite begun in the background hands down "ignore"
        try:
            invoker.invoke(agent, "?")
        except KeyboardInterrupt:
            row = store.invocations.list()[0]
            print(row.status, row.failure, row.response[:6])
        """,
        tmp_path,
        server,
    )
    try:
        while process.poll() is None and [row.status for row in store.invocations.list()] != ["streaming"]:
            signal.sigtimedwait([], 0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        assert out.strip() == "error cancelled so far", err
    finally:
        process.kill()
        process.communicate()


class Interrupted(Engine):
    """Ctrl-C comes at the moment at which the work is under way and nobody holds its future."""

    def submit(self, work):
        super().submit(work)
        raise KeyboardInterrupt


def test_ctrl_c_while_a_call_begins_leaves_nothing_under_way(
    serve: Serve, agent: AgentEntry, store: Store, clients_of: Callable[[Mapping[str, str]], Clients]
) -> None:
    server, engine = serve(endless), Interrupted()
    invoker = Invoker(store, clients_of(server.environment()), engine)
    with pytest.raises(KeyboardInterrupt):
        invoker.invoke(agent, "?")
    wait_until(lambda: [row.failure for row in store.invocations.list()] == ["cancelled"])
    invoker.close()
    engine.close()


def test_a_full_disk_stops_a_question_before_it_is_sent(
    serve: Serve, agent: AgentEntry, store: Store, tmp_path: Path
) -> None:
    server = serve(endless)
    process = start(
        """
        import os, resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        for ask in (lambda: invoker.invoke(agent, "?" * 10_000), lambda: list(invoker.stream(agent, "?" * 10_000))):
            try:
                ask()
            except StoreFullError as error:
                print("full")
        """,
        tmp_path,
        server,
    )
    out, err = process.communicate(timeout=120)
    assert out.split() == ["full", "full"], err
    assert server.requests == []


def test_a_disk_that_fills_up_later_leaves_the_measurement_whole(
    serve: Serve, agent: AgentEntry, store: Store, tmp_path: Path
) -> None:
    async def long(request: Request, reply: Reply) -> None:
        await reply.head()
        for _ in range(100):
            await reply.chunk(b'data: "' + b"x" * 10_000 + b'"\n\n')
        await reply.end()

    process = start(
        """
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        record = invoker.invoke(agent, "?")
        print(record.status, len(record.response), len(record.chunk_offsets_ms), record.stored)
        """,
        tmp_path,
        serve(long),
    )
    out, err = process.communicate(timeout=120)
    assert out.split() == ["complete", "1000000", "100", "False"], err
