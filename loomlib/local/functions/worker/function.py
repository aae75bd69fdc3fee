"""The process of a Lambda function: it imports the handler once and calls it with one event after another.

Its arguments are those of `sessions/bootstrap.py`, whose service connection, limits and shutdown it shares. The handler
runs in the main thread, as in AWS's runtime; events come from the thread that reads the service's messages.
"""

from __future__ import annotations

import os
import queue
import sys
from _thread import allocate_lock
from typing import TYPE_CHECKING, Any

FOLDER = os.path.dirname(os.path.abspath(__file__))

if TYPE_CHECKING or __name__ != "__main__":
    from ...sessions import work_channel
    from . import handlers, node_handler
else:
    sys.path[:1] = [os.path.join(FOLDER, "..", "..", "sessions"), FOLDER]
    import handlers
    import node_handler
    import work_channel

    del sys.path[:2]
    for name in ("bootstrap", "handlers", "node_handler", "spawning", "work_channel"):
        del sys.modules[name]  # the function's code may have modules of these names


class PendingEvent:
    """A request that waits for the main thread, and later its answer.

    Args:
        operation: "init", to import the handler, or "call".
        request: The event with its context.
    """

    def __init__(self, operation: str, request: dict[str, Any]) -> None:
        self.operation, self.request = operation, request
        self.answer: dict[str, Any] = {}
        self.done = allocate_lock()
        self.done.acquire()


def main() -> None:
    """Prepare the process, import the handler, and call it until the service ends the process."""
    channel = work_channel.WorkChannel()
    waiting: queue.SimpleQueue[PendingEvent] = queue.SimpleQueue()

    def work(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        pending = PendingEvent(operation, request)
        waiting.put(pending)
        pending.done.acquire()
        return pending.answer

    channel.follow(work)
    sys.path.insert(0, os.getcwd())
    sys.argv = [""]
    handler: handlers.FunctionHandler | node_handler.NodeHandler | None = None
    node = os.environ.pop("LOOM_NODE", "")
    while True:
        pending = waiting.get()
        try:
            if handler is None:  # the network is up now, and the handler's module may use it
                name = os.environ.get("_HANDLER", "")
                handler = node_handler.NodeHandler(node) if node else handlers.FunctionHandler(name)
            if pending.operation == "call":
                pending.answer = handler.call(pending.request)
        finally:
            pending.done.release()


if __name__ == "__main__":
    main()
