"""The common part of the processes of Lambda functions and code interpreters: preparation and requests for work.

They use the arguments, the lifeline, the limits and the shutdown of `bootstrap.py`, without an agent.
"""

from __future__ import annotations

import json
import os
import sys
from _thread import start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING or __name__ != "work_channel":
    from . import bootstrap, spawning
else:
    import bootstrap
    import spawning

if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable
    from typing import Any


class WorkChannel:
    """The process's connection to the service; creating it prepares the process."""

    def __init__(self) -> None:
        os.close(int(sys.argv[1]))  # the socket of an agent's server; this process has none
        self._lifeline_fd = bootstrap.lowered(sys.argv[2])
        self._mark, limits, self._port = sys.argv[3:6]
        if self._port != "-":
            bootstrap.announce(self._lifeline_fd, int(self._port.rstrip("+")))
        bootstrap.keep_limits(limits)

    def follow(self, work: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
        """Answer the service's requests in threads, until the service ends the process.

        Args:
            work: Called with the operation and its arguments; returns the answer.
        """

        def send_result(channel: socket, words: list[bytes], _: list[int]) -> None:
            result = work(words[0].decode(), json.loads(words[1]))
            content = json.dumps(result, ensure_ascii=False).encode("utf-8", "replace")
            channel.sendall(len(content).to_bytes(8, "big") + content)

        network = bootstrap.held_lock()

        def answer(descriptor: int) -> None:
            if self._port.endswith("+") and network.acquire(timeout=bootstrap.NETWORK_WITHIN_S):
                network.release()  # for the next request: the network is up
            spawning.answer(descriptor, {b"work": send_result})

        start_new_thread(bootstrap.follow_the_service, (self._lifeline_fd, self._mark, network, answer))
