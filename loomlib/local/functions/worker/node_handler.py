"""A handler in JavaScript: this machine's Node.js runs it, next to the process connected to the service."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_RUNTIME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node_runtime.mjs")
_REQUESTS, _ANSWERS = 3, 4  # the descriptors of Node.js


class NodeHandler:
    """The handler of a function in JavaScript, imported when this object is created.

    Args:
        program: The path of Node.js.
    """

    def __init__(self, program: str) -> None:
        requests, self._requests = os.pipe()
        answers, own = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, requests, 60), (os.POSIX_SPAWN_DUP2, own, 61)]
        actions += [(os.POSIX_SPAWN_DUP2, 60, _REQUESTS), (os.POSIX_SPAWN_DUP2, 61, _ANSWERS)]
        actions += [(os.POSIX_SPAWN_CLOSE, 60), (os.POSIX_SPAWN_CLOSE, 61)]
        self._process = os.posix_spawn(program, [program, _RUNTIME], os.environ, file_actions=actions)
        os.close(requests)
        os.close(own)
        self._answers = os.fdopen(answers, "rb")
        self._answer()

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the result of one event as `{"payload": JSON text}`, or its error as `{"error": {…}}`."""
        unsent = memoryview(json.dumps(request).encode() + b"\n")
        while unsent:
            unsent = unsent[os.write(self._requests, unsent) :]
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:  # it has ended, and this process ends with it
            code = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
            sys.stdout.flush()
            os._exit(code if code >= 0 else 128 - code)
        return json.loads(line)
