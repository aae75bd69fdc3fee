"""What the isolation of sessions costs: cold starts and warm calls with and without it, in turns."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from loomlib import local

from .laboratory import Laboratory, new_session
from .raw import Caller, signed_request
from .table import Row, ms

_BODY = {"prompt": "hello"}
_COLD_AIM_MS, _WARM_AIM_MS = 60.0, 1.0


def sandbox(cold: int = 12, warm: int = 300) -> Iterator[Row]:
    """Sessions of a bare agent: each level's and each network's figures, beside those without isolation."""
    variants = {
        "none": local.ServiceOptions(sandbox="off"),
        "network service": local.ServiceOptions(sandbox_network="service"),
        "network open": local.ServiceOptions(sandbox_network="open"),
    }
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="loom-bench-")))
        labs = {
            name: closing.enter_context(Laboratory(folder / name.replace(" ", "-"), options))
            for name, options in variants.items()
        }
        cold_ms: dict[str, list[float]] = {name: [] for name in labs}
        for turn in range(cold + 1):
            for name, lab in labs.items():
                session = new_session()
                caller = Caller(lab.state.port)
                took_ms = caller.ask(signed_request(lab.signed("bare", session, _BODY))).first_ms
                caller.close()
                lab.end_session("bare", session)
                if turn:  # the first fills the caches of the file system
                    cold_ms[name].append(took_ms)
        yield from _rows("cold session", cold_ms, _COLD_AIM_MS, cold)
        warm_ms: dict[str, list[float]] = {name: [] for name in labs}
        sessions = {name: new_session() for name in labs}
        callers = {name: Caller(lab.state.port) for name, lab in labs.items()}
        for turn in range(warm + 20):
            for name, lab in labs.items():
                request = signed_request(lab.signed("bare", sessions[name], _BODY))
                took_ms = callers[name].ask(request).first_ms
                if turn >= 20:
                    warm_ms[name].append(took_ms)
        for name, lab in labs.items():
            callers[name].close()
            lab.end_session("bare", sessions[name])
        yield from _rows("warm call", warm_ms, _WARM_AIM_MS, warm)


def _rows(subject: str, figures: dict[str, list[float]], aim_ms: float, n: int) -> Iterator[Row]:
    plain = figures["none"]
    for name in ("network service", "network open"):
        added = median(figures[name]) - median(plain)
        yield Row(
            what=f"{subject} with isolation ({name}), beside none",
            ours=ms(figures[name]),
            reference=ms(plain),
            compared=f"{added:+.2f} ms",
            aim=f"≤ + {aim_ms:g} ms",
            met=added <= aim_ms,
            n=n,
        )
