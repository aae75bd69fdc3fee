"""The times of the parts of a session's start, of which the agent's process sends some."""

from __future__ import annotations

import time

import pytest

from loomlib.local.sessions.start_times import BOOT_PARTS, RESTORE_PARTS, StartTimes


@pytest.mark.parametrize(("kind", "parts", "own_times"), [("boot", BOOT_PARTS, 2), ("restore", RESTORE_PARTS, 1)])
@pytest.mark.parametrize("sends", ["its times", "nothing", "too many", "times of another hour"])
def test_a_start_has_all_its_parts_or_none(kind: str, parts: tuple[str, ...], own_times: int, sends: str) -> None:
    times = StartTimes()
    times.note_request(kind)
    count = {"nothing": 0, "too many": 3}.get(sends, own_times)
    shift_ns = 3_600 * 10**9 if sends == "times of another hour" else 0
    message = " ".join(str(time.monotonic_ns() + shift_ns) for _ in range(count)) + "\n"
    for index in range(len(message)):
        times.on_signal(message[index].encode())
    if kind == "restore":
        times.reachable()
    times.note_answer()
    assert tuple(times.parts()) == (parts if sends == "its times" else ())
