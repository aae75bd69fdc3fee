"""The functions whose results must not be shared by sessions: ids, random numbers and clocks."""

from __future__ import annotations

import datetime
import os
import platform
import random
import secrets
import socket
import ssl
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass
from typing import Any

ID, RANDOM, CLOCK = "id", "random", "clock"
SEED, GENERATOR, THREAD, STORE = "seed", "generator", "thread", "store"


@dataclass(frozen=True)
class TracedFunction:
    """A function that is traced: its kind and the name that a finding shows.

    `family` separates clocks: `epoch` counts seconds since 1970, `monotonic` has no meaning outside of its process.
    """

    kind: str
    name: str
    family: str = ""


def builtin_sources() -> dict[Any, TracedFunction]:
    """Return the traced functions that are written in C."""
    clocks = {getattr(time, name): TracedFunction(CLOCK, f"time.{name}", "epoch") for name in ("time", "time_ns")}
    for name in ("monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"):
        clocks[getattr(time, name)] = TracedFunction(CLOCK, f"time.{name}", "monotonic")
    for name in ("localtime", "gmtime", "strftime", "ctime", "asctime"):
        clocks[getattr(time, name)] = TracedFunction(CLOCK, f"time.{name}", "date")
    for owner in (datetime.datetime, datetime.date):
        clocks[owner.today] = TracedFunction(CLOCK, f"{owner.__name__}.today", "date")
    for name in ("now", "utcnow"):
        clocks[getattr(datetime.datetime, name)] = TracedFunction(CLOCK, f"datetime.{name}", "date")
    numbers = {
        os.urandom: TracedFunction(RANDOM, "os.urandom"),
        random.random: TracedFunction(RANDOM, "random.random"),
        random.getrandbits: TracedFunction(RANDOM, "random.getrandbits"),
        ssl.RAND_bytes: TracedFunction(RANDOM, "ssl.RAND_bytes"),
    }
    if hasattr(os, "getrandom"):
        numbers[os.getrandom] = TracedFunction(RANDOM, "os.getrandom")
    ids = {
        os.getpid: TracedFunction(ID, "os.getpid"),
        os.getppid: TracedFunction(ID, "os.getppid"),
        os.uname: TracedFunction(ID, "os.uname"),
        socket.gethostname: TracedFunction(ID, "socket.gethostname"),
    }
    return {**clocks, **numbers, **ids}


def python_sources() -> dict[int, TracedFunction]:
    """Return the traced functions that are written in Python, by the identity of their code."""
    functions: dict[int, TracedFunction] = {}

    def add(owner: Any, prefix: str, kind: str, *names: str) -> None:
        for name in names:
            code = getattr(getattr(owner, name, None), "__code__", None)
            if code is not None:
                functions[id(code)] = TracedFunction(kind, f"{prefix}.{name}")

    add(uuid, "uuid", ID, "uuid1", "uuid4", "uuid6", "uuid7", "uuid8", "getnode")
    add(platform, "platform", ID, "node")
    add(tempfile, "tempfile", ID, "mkdtemp", "mkstemp", "mktemp", "NamedTemporaryFile")
    add(tempfile.TemporaryDirectory, "tempfile.TemporaryDirectory", ID, "__init__")
    add(secrets, "secrets", RANDOM, "token_bytes", "token_hex", "token_urlsafe", "randbelow")
    names = [name for name in vars(random.Random) if not name.startswith("_")]
    add(random.Random, "random", RANDOM, *(name for name in names if name not in ("seed", "getstate", "setstate")))
    add(random.Random, "random", SEED, "seed")
    add(random.Random, "random.Random", GENERATOR, "__init__")
    add(threading.Thread, "threading.Thread", THREAD, "start")
    return functions


TRANSPARENT = frozenset(
    {"", "attr", "attrs", "calendar", "contextlib", "cuid", "dataclasses", "datetime", "email", "faker", "functools"}
    | {"ksuid", "nanoid", "numpy", "pydantic", "random", "secrets", "shortuuid", "socket", "tempfile", "platform"}
    | {"ulid", "uuid", "uuid_utils", "uuid6", "snowflake", "zoneinfo", "pendulum", "arrow", "dateutil"}
)
"""Modules between the agent's line and a source that pass its result on: a call through them is the agent's own."""
