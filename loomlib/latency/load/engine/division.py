"""How the calls of a step are divided among processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loomlib.aws.load_client import ScheduledCall

from ..calls import OfferedCall


def divide(calls: Sequence[OfferedCall], pending: Sequence[int], processes: int) -> list[list[int]]:
    """Return for each process the positions of its calls, in the order of their indexes; no process without calls.

    The calls of a user stay together. Users, and calls that belong to none, are dealt out in the order of their starts,
    so that every process has its share at any time.

    Args:
        calls: The calls of the step.
        pending: The positions of the calls to make.
        processes: Largest number of processes.
    """
    parts: list[list[int]] = [[] for _ in range(processes)]
    of_user: dict[int, int] = {}
    dealt = 0
    for position in sorted(pending, key=lambda position: (calls[position].at_s or 0.0, calls[position].index)):
        user = calls[position].user
        if user is not None and user in of_user:
            parts[of_user[user]].append(position)
            continue
        process = dealt % processes
        dealt += 1
        if user is not None:
            of_user[user] = process
        parts[process].append(position)
    return [sorted(part, key=lambda position: calls[position].index) for part in parts if part]


def planned(calls: Sequence[OfferedCall], part: Sequence[int]) -> Iterator[ScheduledCall]:
    """Yield the calls of a process in the form of its plan.

    Args:
        calls: The calls of the step.
        part: The positions of the process's calls.
    """
    for position in part:
        call = calls[position]
        yield ScheduledCall(
            index=call.index,
            session_id=call.session_id,
            body=call.body,
            at_ns=None if call.at_s is None else round(call.at_s * 1e9),
            think_ns=round(call.think_s * 1e9),
            chain=call.user,
        )
