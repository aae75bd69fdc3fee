"""Session starts on platform V2 beside V1 and beside `python agent.py`, in turns."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from loomlib import local

from .agents import AGENTS
from .by_hand import ByHand
from .laboratory import Laboratory, new_session
from .raw import Caller, Heard, plain_request, signed_request
from .table import Row, ms, percentile

_BODY = {"prompt": "hello"}
_AIM_MS, _GROWTH = 125.0, 1.1
_EDGE = 100  # starts with none and with many sessions alive are compared: a single start varies by more than the aim


def starts(n: int = 20, many: int = 100) -> Iterator[Row]:
    """Request to first byte of a new session of a Strands agent; then many sessions that stay alive."""
    for level in ("off", "best"):
        with ExitStack() as closing:
            folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="loom-bench-")))
            labs = {
                platform: closing.enter_context(
                    Laboratory(
                        folder / platform,
                        local.ServiceOptions(
                            sandbox="off" if level == "off" else "best",
                            platform_default="V2" if platform == "V2" else "V1",
                        ),
                    )
                )
                for platform in ("V1", "V2")
            }
            yield from _beside(labs, folder, n, f"sandbox {level}")
            yield _growth(labs["V2"], many, f"sandbox {level}")


def _beside(labs: dict[str, Laboratory], folder: Path, n: int, how: str) -> Iterator[Row]:
    took: dict[str, list[float]] = {"V1": [], "V2": [], "by hand": []}
    answers: dict[str, set[bytes]] = {"V1": set(), "V2": set()}
    for turn in range(n + 1):
        session = new_session()
        for platform, lab in labs.items():
            response = _start(lab, session)
            lab.end_session("strands", session)
            answers[platform].add(b"".join(piece for _, piece in response.arrivals))
            if turn:  # the first fills the caches of the file system
                took[platform].append(response.first_ms)
        hand = ByHand(folder / "hand", AGENTS["strands"], lean=False)
        try:
            first_ms, _ = hand.first_answer(plain_request(hand.port, session, json.dumps(_BODY).encode()))
        finally:
            hand.close()
        if turn:
            took["by hand"].append(first_ms)
    quarter = percentile(took["V2"], 0.75)
    for name in ("V1", "by hand"):
        yield Row(
            what=f"session start on V2 ({how}), beside {name}",
            ours=f"{ms(took['V2'])}, p75 {quarter:.0f} ms",
            reference=ms(took[name]),
            compared=f"× {median(took['V2']) / median(took[name]):.3f}",
            aim=f"p75 ≤ {_AIM_MS:g} ms",
            met=quarter <= _AIM_MS,
            n=n,
        )
    yield Row(
        what=f"answers on V2 ({how}), beside V1",
        ours=f"{len(answers['V2'])} distinct",
        reference=f"{len(answers['V1'])} distinct",
        aim="identical",
        met=answers["V1"] == answers["V2"],
        n=n,
    )


def _growth(lab: Laboratory, many: int, how: str) -> Row:
    def starts() -> list[float]:
        took: list[float] = []
        for _ in range(_EDGE):
            session = new_session()
            took.append(_start(lab, session).first_ms)
            lab.end_session("strands", session)
        return took

    first = starts()
    alive = [new_session() for _ in range(many - 1)]
    for session in alive:
        _start(lab, session)
    last = starts()
    for session in alive:
        lab.end_session("strands", session)
    ratio = median(last) / median(first)
    return Row(
        what=f"session start on V2 beside {many - 1} sessions alive ({how}), beside none",
        ours=ms(last),
        reference=ms(first),
        compared=f"× {ratio:.3f}",
        aim=f"≤ × {_GROWTH:g}",
        met=ratio <= _GROWTH,
        n=_EDGE,
    )


def _start(lab: Laboratory, session: str) -> Heard:
    caller = Caller(lab.state.port)
    try:
        return caller.ask(signed_request(lab.signed("strands", session, _BODY)))
    finally:
        caller.close()
