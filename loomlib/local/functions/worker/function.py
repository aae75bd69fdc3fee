"""The process of a Lambda function: it imports the handler once and calls it with one event after another.

Its arguments are those of `sessions/bootstrap.py`, whose lifeline, limits and end it shares. The handler runs in the
main thread, as in AWS's runtime; events come from the thread that follows the service.
"""

from __future__ import annotations

import _socket
import json
import os
import queue
import sys
from _thread import allocate_lock, start_new_thread
from typing import TYPE_CHECKING, Any

FOLDER = os.path.dirname(os.path.abspath(__file__))

if TYPE_CHECKING or __name__ != "__main__":
    from ...sessions import bootstrap, spawning
    from . import handlers
else:
    sys.path[:1] = [os.path.join(FOLDER, "..", "..", "sessions"), FOLDER]
    import bootstrap
    import handlers
    import spawning

    del sys.path[:2]


class PendingEvent:
    """A request that waits for the main thread, and then its answer.

    Args:
        operation: "init", to import the handler, or "call".
        request: The event and what belongs to it.
    """

    def __init__(self, operation: str, request: dict[str, Any]) -> None:
        self.operation, self.request = operation, request
        self.answer: dict[str, Any] = {}
        self.done = allocate_lock()
        self.done.acquire()


def main() -> None:
    """Prepare the process, import the handler, and call it until the service ends the process."""
    os.close(int(sys.argv[1]))  # the socket of an agent's server, which there is none of
    lifeline_fd = bootstrap.lowered(sys.argv[2])
    mark, limits, port = sys.argv[3:6]
    if port != "-":
        bootstrap.announce(lifeline_fd, int(port.rstrip("+")))
    bootstrap.keep_limits(limits)
    waiting: queue.SimpleQueue[PendingEvent] = queue.SimpleQueue()

    def work(channel: _socket.socket, words: list[bytes], _: list[int]) -> None:
        pending = PendingEvent(words[0].decode(), json.loads(words[1]))
        waiting.put(pending)
        pending.done.acquire()
        content = json.dumps(pending.answer, ensure_ascii=False).encode("utf-8", "replace")
        channel.sendall(len(content).to_bytes(8, "big") + content)

    network = bootstrap.held_lock()

    def answer(descriptor: int) -> None:
        if port.endswith("+") and network.acquire(timeout=bootstrap.NETWORK_WITHIN_S):
            network.release()  # for the next request: the network is up
        spawning.answer(descriptor, {b"work": work})

    start_new_thread(bootstrap.follow_the_service, (lifeline_fd, mark, network, answer))
    sys.path.insert(0, os.getcwd())
    sys.argv = [""]
    handler: handlers.FunctionHandler | None = None
    while True:
        pending = waiting.get()
        try:
            if handler is None:  # now the network is there, which the handler's module may use
                handler = handlers.FunctionHandler(os.environ.get("_HANDLER", ""))
            if pending.operation == "call":
                pending.answer = handler.call(pending.request)
        finally:
            pending.done.release()


if __name__ == "__main__":
    main()
