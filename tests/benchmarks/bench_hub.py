"""Thirty users on a hub: what each takes in memory and, when nobody does anything, in processor time.

Each signs in with a password over HTTPS, starts a server as a user of the operating system, opens lesson 1, executes
its first cells in a kernel through the websocket, and invokes an agent of their own local AgentCore. All stay until the
end. Needs root on Linux, requirements-hub.txt and configurable-http-proxy.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

sys.path.append(str(Path(__file__).resolve().parent.parent))

from hub_machine import HubMachine, HubUser, why_no_hub

from .table import Row

USERS = int(os.environ.get("LOOM_HUB_USERS", "30"))
AT_ONCE = 4
IDLE_S = 60.0


def rows() -> Iterator[Row]:
    """Memory and idle processor time a user, of the hub, and whether everybody got their answer."""
    if why := why_no_hub():
        yield Row(what="users of a hub", ours=f"not measured: {why}")
        return
    machine = HubMachine([f"user{number}" for number in range(USERS)])
    try:
        machine.start()
        began = time.perf_counter()
        users = [machine.sign_in(name) for name in machine.passwords]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(HubUser.start, users))
            answers = list(pool.map(_lesson, users, range(USERS)))
        took_s = time.perf_counter() - began
        with_session = _pss_mb(machine)
        before, since = _cpu_s(machine), time.perf_counter()
        time.sleep(IDLE_S)
        spent = {role: _cpu_s(machine)[role] - before[role] for role in before}
        idle_s = time.perf_counter() - since
        right = sum(str(number * 6) in answer for number, answer in enumerate(answers))
        opened = _crossings(users)
        for user in users:
            user.close()
    finally:
        machine.close()
    yield Row(
        what=f"{USERS} users at once: own answers in lesson 1, and servers of others that opened",
        ours=f"{right} of {USERS} answers right; {opened} opened",
        aim=f"{USERS} and 0",
        met=right == USERS and not opened,
        n=USERS,
    )
    parts = {role: [by_user.get(role, 0.0) for by_user in with_session[0].values()] for role in _ROLES}
    whole = [sum(by_user.values()) for by_user in with_session[0].values()]
    yield Row(
        what="memory of a user: server, kernel, local AgentCore, one open session (PSS)",
        ours=f"median {statistics.median(whole):.0f} MB ("
        + ", ".join(f"{role} {statistics.median(values):.0f}" for role, values in parts.items())
        + f"), at most {max(whole):.0f} MB",
        n=USERS,
    )
    yield Row(what="memory of the hub and its proxy (PSS)", ours=f"{with_session[1]:.0f} MB", n=1)
    yield Row(
        what=f"processor time of an idle user over {idle_s:.0f} s; the hub and its proxy",
        ours=f"{spent['users'] / USERS / idle_s * 100:.2f} % of a core a user; {spent['hub'] / idle_s * 100:.1f} %",
        n=USERS,
    )
    yield Row(
        what=f"from the first sign-in to the last answer, {AT_ONCE} at once; processor time a user until then",
        ours=f"{took_s:.0f} s; {before['users'] / USERS:.1f} s of a core",
        n=USERS,
    )


_ROLES = ("server", "kernel", "AgentCore", "session")


def _lesson(user: HubUser, number: int) -> str:
    cells = user.notebook("workshop/1_your_first_agent.ipynb")["cells"]
    for source in [cell["source"] for cell in cells if cell["cell_type"] == "code"][:2]:
        user.execute(source)
    return user.execute(f'print(agent.invoke("What is 6 * {number}?").text)')


def _crossings(users: list[HubUser]) -> int:
    """How many users are let in at the server of the next one."""
    import requests

    opened = 0
    for user, other in zip(users, [*users[1:], users[0]], strict=True):
        answer = requests.get(
            f"{other.url}api/contents", headers=user.headers, verify=user.machine.authority, timeout=60
        )
        opened += answer.ok and user is not other
    return opened


def _pss_mb(machine: HubMachine) -> tuple[dict[int, dict[str, float]], float]:
    """Memory by user and role, and of the hub."""
    by_user: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    hub = 0.0
    for process in _processes(machine):
        try:
            user, pss = process.uids().real, process.memory_full_info().pss / 2**20
            line = " ".join(process.cmdline())
        except psutil.NoSuchProcess:
            continue
        if user == 0:
            hub += pss
        else:
            by_user[user][_role(line)] += pss
    return by_user, hub


def _role(line: str) -> str:
    for word, role in (("jupyterhub.singleuser", "server"), ("ipykernel", "kernel"), ("loomlib.local", "AgentCore")):
        if word in line:
            return role
    return "session"


def _cpu_s(machine: HubMachine) -> dict[str, float]:
    """Processor time of the users' and the hub's processes, with that of their ended children."""
    spent = {"users": 0.0, "hub": 0.0}
    for process in _processes(machine):
        try:
            spent["hub" if process.uids().real == 0 else "users"] += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return spent


def _processes(machine: HubMachine) -> Iterator[psutil.Process]:
    for pid in machine.processes():
        try:
            yield psutil.Process(pid)
        except psutil.NoSuchProcess:
            continue
