"""A process that stores invocations, to be killed: it notes each one once the store has acknowledged it."""

from __future__ import annotations

import itertools
import os

from loomlib.store import Store


def write(url: str, notes: str) -> None:
    """Store invocations without end; each gets a line in the file of notes by one system call."""
    notes_fd = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with Store.open(url) as store:
        for number in itertools.count():
            text = f"{os.getpid()}-{number}"
            id = store.invocations.begin(agent_id=1, session_id="s", prompt=text)
            store.invocations.finish(
                id, status="complete", response=text * 100, client_done_time=1.0, client_duration_ms=1.0
            )
            os.write(notes_fd, f"{text}\n".encode())
