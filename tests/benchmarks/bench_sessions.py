"""Sessions: what a cold one costs beside starting its agent by hand, what the service adds to a warm call, memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import psutil

from loomlib import local

from .agents import AGENTS
from .by_hand import ByHand
from .laboratory import Laboratory, new_session
from .raw import Caller, plain_request, signed_request
from .table import Row, ms

_BODY = {"prompt": "hello"}


def cold(laboratory: Laboratory, n: int = 12) -> Iterator[Row]:
    """Request to first byte of a new session, beside starting the same file by hand and asking it, in turns."""
    for name in ("bare", "strands"):
        service: list[float] = []
        by_hand: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(n + 1):
            session = new_session()
            caller = Caller(laboratory.state.port)
            response = caller.ask(signed_request(laboratory.signed(name, session, _BODY)))
            caller.close()
            laboratory.end_session(name, session)
            times = {True: 0.0, False: 0.0}
            for lean in (True, False):
                hand = ByHand(laboratory.folder / f"hand-{name}", AGENTS[name], lean=lean)
                try:
                    request = plain_request(hand.port, session, json.dumps(_BODY).encode())
                    times[lean], _ = hand.first_answer(request)
                finally:
                    hand.close()
            if turn == 0:
                continue  # fills the caches of the file system for both
            service.append(response.first_ms)
            for lean in (True, False):
                by_hand[lean].append(times[lean])
        for lean in (True, False):
            ratio = median(service) / median(by_hand[lean])
            yield Row(
                what=f"cold session of {name}, beside by hand, {'lean' if lean else 'plain'}",
                ours=ms(service),
                reference=ms(by_hand[lean]),
                compared=f"× {ratio:.3f}",
                aim="≤ × 1.10",
                met=ratio <= 1.10,
                n=n,
            )


def warm(laboratory: Laboratory, n: int = 400) -> Iterator[Row]:
    """One connection to the service and one to the very process that answers, in turns."""
    session = new_session()
    service = Caller(laboratory.state.port)
    service.ask(signed_request(laboratory.signed("bare", session, _BODY)))
    port = laboratory.session_port(session)
    direct = Caller(port)
    plain = plain_request(port, session, json.dumps(_BODY).encode())
    through: list[float] = []
    straight: list[float] = []
    for _ in range(n):
        request = signed_request(laboratory.signed("bare", session, _BODY))
        through.append(service.ask(request).first_ms)
        straight.append(direct.ask(plain).first_ms)
    service.close()
    direct.close()
    laboratory.end_session("bare", session)
    added = median(through) - median(straight)
    yield Row(
        what="warm call, beside asking the agent's process",
        ours=ms(through),
        reference=ms(straight),
        compared=f"{added:+.2f} ms",
        aim="≤ + 1.5 ms",
        met=added <= 1.5,
        n=n,
    )


def alive(laboratory: Laboratory, count: int = 50, name: str = "strands") -> Iterator[Row]:
    """`count` sessions at once. Shared pages are counted once (PSS); RSS counts them in every process."""
    sessions = [new_session() for _ in range(count)]

    def open_session(session: str) -> None:
        caller = Caller(laboratory.state.port)
        caller.ask(signed_request(laboratory.signed(name, session, _BODY)))
        caller.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(open_session, sessions))
    pids = [session.pid for session in local.status(laboratory.home).sessions if session.session_id in set(sessions)]
    memory = [psutil.Process(pid).memory_full_info() for pid in (laboratory.state.pid, *pids)]
    pss, rss = sum(usage.pss for usage in memory) / 1e9, sum(usage.rss for usage in memory) / 1e9
    for session in sessions:
        laboratory.end_session(name, session)
    yield Row(
        what=f"{len(pids)} sessions of {name} alive, and the service",
        ours=f"PSS {pss:.2f} GB",
        reference=f"RSS {rss:.2f} GB",
        compared=f"{pss / (len(pids) or 1) * 1e3:.0f} MB each",
        aim="≤ 6 GB",
        met=rss <= 6 and len(pids) == count,
        n=len(pids),
    )
