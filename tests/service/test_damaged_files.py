"""Damaged files of a home folder: the service starts, says what was damaged, and goes on with what can be read."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError
from echo_agent import make_echo_agent
from waiting import wait_until

import loomlib as loom
from loomlib import local
from loomlib.errors import LocalServiceError, LocalServiceNotRunningError
from loomlib.local.otlp.store import TelemetryWriter
from loomlib.local.state import ServiceLock

FILES = (
    "service.json",
    "resources.db",
    "logs.db",
    "memory.db",
    "memory-records.sqlite",
    "telemetry.db",
    "loom.db",
    "identity.key",
    "identity/issuer-keys.json",
)


def used_home(home: Path, echo_code: Path) -> None:
    """Make a home folder with something in every file."""
    with loom.connect(home=home) as bench:
        agent = bench.deploy(echo_code)
        assert agent.invoke("hello").ok
        assert agent.invoke("again").ok
        assert bench.identity.token("ada").count(".") == 2
        bench.identity.create_api_key_provider("search", api_key="secret")
        memory = bench.memories.create("notes", strategies=["semantic"])
        turns = [("USER", "I live in Berlin."), ("ASSISTANT", "Noted.")]
        state = local.find(home)
        assert state is not None
        with contextlib.closing(
            boto3.client(
                "bedrock-agentcore",
                endpoint_url=state.url,
                region_name=state.region,
                aws_access_key_id=state.access_key,
                aws_secret_access_key=state.secret_key,
            )
        ) as client:
            client.create_event(
                memoryId=memory.id,
                actorId="ada",
                sessionId="s1",
                eventTimestamp=datetime.now(UTC),
                payload=[{"conversational": {"role": role, "content": {"text": text}}} for role, text in turns],
            )
    local.stop(home)
    TelemetryWriter(home).close()
    assert {name for name in FILES if (home / name).exists()} == set(FILES)


@pytest.fixture(scope="module")
def echo_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of an agent that starts fast: each test has a service of its own."""
    return make_echo_agent(tmp_path_factory.mktemp("code") / "echo")


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory, echo_code: Path) -> Path:
    home = tmp_path_factory.mktemp("used")
    used_home(home, echo_code)
    return home


@pytest.fixture
def home(used: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "home"
    shutil.copytree(used, copy, ignore=shutil.ignore_patterns("*.lock"))
    return copy


@pytest.fixture(autouse=True)
def _stopped(tmp_path: Path) -> Iterator[None]:
    yield
    local.stop(tmp_path / "home")


@pytest.mark.parametrize("name", FILES)
def test_a_home_with_one_worthless_file_works_and_says_which(home: Path, echo_code: Path, name: str) -> None:
    (home / name).write_bytes(b"\0\xff" * 3000)
    for ending in ("-wal", "-shm"):
        (home / (name + ending)).unlink(missing_ok=True)  # a write-ahead log would hold sound copies of its pages
    with loom.connect(home=home) as bench:
        names = list(bench.agents()["name"])
        assert (names == ["echo"]) == (name != "loom.db"), names
        agent = bench.deploy(echo_code)
        invocation = agent.invoke("hello")
        assert invocation.ok
        assert bench.identity.token("ada").count(".") == 2
        bench.identity.create_api_key_provider("maps", api_key="another")
        damaged = local.status(home).damaged
    assert [file.split(".corrupt-")[0] for file in damaged] == [name]
    assert (home / damaged[0]).read_bytes() == b"\0\xff" * 3000


def test_the_lines_that_a_damaged_journal_still_holds_are_shown(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / "logs.db")) as database, database:
        (stream, group) = database.execute("SELECT stream, log_group FROM lines LIMIT 1").fetchone()
        now_ms = int(time.time() * 1000)
        database.executemany(
            "INSERT INTO lines (log_group, stream, timestamp_ms, message) VALUES (?, ?, ?, ?)",
            [(group, stream, now_ms, f"line {number:05} " * 30) for number in range(500)],
        )
    data = bytearray((home / "logs.db").read_bytes())
    middle = data.index(b"line 00250")
    data[middle - middle % 4096 : middle - middle % 4096 + 4096] = random.Random(3).randbytes(4096)
    (home / "logs.db").write_bytes(data)
    local.start(home, persistent=True)
    with contextlib.closing(sqlite3.connect(home / "logs.db")) as database:
        (count,) = database.execute("SELECT count(*) FROM lines WHERE message LIKE 'line %'").fetchone()
    assert 450 < count < 500
    assert [name.split(".corrupt-")[0] for name in local.status(home).damaged] == ["logs.db"]
    assert "rows of 1 table recovered into a new file" in (home / "service.log").read_text()


def test_a_journal_that_is_damaged_while_the_service_runs_is_replaced(home: Path, echo_code: Path) -> None:
    with loom.connect(home=home) as bench:
        agent = bench.deploy(echo_code)
        state = local.find(home)
        assert state is not None
        with contextlib.closing(sqlite3.connect(home / "logs.db")) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with (home / "logs.db").open("r+b") as file:
            file.write(os.urandom(16_384))

        def is_noticed() -> bool:
            assert agent.invoke("say something").ok
            return bool(local.status(home).damaged)

        wait_until(is_noticed, what="the damage to be noticed")
        assert [name.split(".corrupt-")[0] for name in local.status(home).damaged] == ["logs.db"]
        invocation = agent.invoke("after it")
        assert any("after it" in str(line) or line for line in agent.telemetry.logs(limit=5))
        assert invocation.ok


@pytest.mark.parametrize("port", [0, 65_536, "eighty", 1e400])
def test_an_impossible_port_in_the_state_file_is_set_aside(home: Path, port: object) -> None:
    document = json.loads((home / "service.json").read_text())
    (home / "service.json").write_text(json.dumps(document | {"port": port}))
    state, was_started = local.start(home, persistent=True)
    assert was_started
    assert 0 < state.port < 65_536
    assert [name.split(".corrupt-")[0] for name in local.status(home).damaged] == ["service.json"]


def test_a_service_whose_state_file_is_damaged_is_still_stopped(home: Path) -> None:
    state, _ = local.start(home, persistent=True)
    (home / "service.json").write_text("{")
    with pytest.raises(LocalServiceNotRunningError):
        local.status(home)
    assert local.stop(home)
    assert ServiceLock(home).holder() is None
    assert local.start(home, persistent=True)[0].pid != state.pid


@pytest.mark.parametrize("seed", range(3))
def test_any_changed_bytes_leave_a_service_that_answers(home: Path, echo_code: Path, seed: int) -> None:
    chance = random.Random(seed)
    for name in FILES:
        data = bytearray((home / name).read_bytes())
        for _ in range(20):
            begin = chance.randrange(len(data))
            data[begin : begin + 64] = chance.randbytes(64)
        (home / name).write_bytes(data)
    with loom.connect(home=home) as bench:
        assert bench.deploy(echo_code).invoke("hello").ok
        assert bench.identity.token("ada").count(".") == 2
        bench.memories.table()


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"RS256": {}, "ES384": {}}', '{"RS256": 1, "ES384": "x"}'])
def test_keys_of_an_issuer_in_another_form_are_replaced(home: Path, echo_code: Path, content: str) -> None:
    file = home / "identity" / "issuer-keys.json"
    file.write_text(content)
    with loom.connect(home=home) as bench:
        first, second = bench.identity.token("ada"), bench.identity.token("ada")
        assert bench.deploy(echo_code, name="protected", authorizer="local").invoke("hello", bearer=second).ok
    assert first.split(".")[0] == second.split(".")[0]
    assert file.stat().st_mode & 0o777 == 0o600
    assert [name.split(".corrupt-")[0] for name in local.status(home).damaged] == ["identity/issuer-keys.json"]


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_key_of_the_wrong_size_loses_the_secrets_that_it_sealed_and_says_so(home: Path, size: int) -> None:
    (home / "identity.key").write_bytes(bytes(size))
    state, _ = local.start(home, persistent=True)
    with contextlib.ExitStack() as closing:
        control, data = (
            closing.enter_context(
                contextlib.closing(
                    boto3.client(
                        name,
                        endpoint_url=state.url,
                        region_name=state.region,
                        aws_access_key_id=state.access_key,
                        aws_secret_access_key=state.secret_key,
                    )
                )
            )
            for name in ("bedrock-agentcore-control", "bedrock-agentcore")
        )
        control.create_workload_identity(name="robot")
        control.create_api_key_credential_provider(name="maps", apiKey="another")
        token = data.get_workload_access_token(workloadName="robot")["workloadAccessToken"]

        def key_of(provider: str) -> str:
            arguments = {"workloadIdentityToken": token, "resourceCredentialProviderName": provider}
            return data.get_resource_api_key(**arguments)["apiKey"]

        assert key_of("maps") == "another"
        with pytest.raises(ClientError, match=r"of search cannot be decrypted: update the provider.*identity\.key"):
            key_of("search")
        control.update_api_key_credential_provider(name="search", apiKey="again")
        assert key_of("search") == "again"
    assert [name.split(".corrupt-")[0] for name in local.status(home).damaged] == ["identity.key"]


def test_a_home_that_is_a_file_is_one_error(tmp_path: Path) -> None:
    file = tmp_path / "home"
    file.write_text("not a folder")
    with pytest.raises(LocalServiceError, match=r"The home folder cannot be used: it is not a folder.*Try: a folder"):
        local.start(file, persistent=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a read-only folder")
def test_a_read_only_home_is_one_error(tmp_path: Path) -> None:
    home = tmp_path / "read-only"
    home.mkdir()
    mounting = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=100k", "tmpfs", str(home)], capture_output=True)
    if mounting.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        with pytest.raises(LocalServiceError, match=r"cannot be used: Read-only file system.*Try: a folder on a disk"):
            local.start(home, persistent=False)
    finally:
        subprocess.run(["umount", str(home)], check=True)
