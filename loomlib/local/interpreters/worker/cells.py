"""The Python process of a code interpreter's session: it executes one cell after another in one namespace.

It runs unchecked code, so its messages are not trusted. Argument: the descriptor of the socket over which
cells arrive and are answered, each as eight bytes of length and JSON. The output goes to stdout and stderr, which the
session's first process reads.
"""

from __future__ import annotations

import ast
import builtins
import json
import linecache
import os
import sys
import traceback
from socket import socket
from types import CodeType
from typing import Any


class CellNamespace:
    """The namespace of a session and the cells that were executed in it."""

    def __init__(self) -> None:
        main = type(sys)("__main__")
        self.names: dict[str, Any] = main.__dict__
        self.names["__builtins__"] = builtins
        sys.modules["__main__"] = main
        self.count = 0
        self.loop: Any = None

    def execute(self, source: str) -> int:
        """Execute a cell, show the value of its last expression, and return its exit code: 0, or 1 if it failed."""
        self.count += 1
        name = f"<cell {self.count}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        try:
            for code, is_value in compiled(source, name):
                value = self.evaluate(code)
                if is_value:
                    sys.displayhook(value)
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException as failure:  # noqa: BLE001 (foreign code)
            show(failure, name)
            return 1
        return 0

    def evaluate(self, code: CodeType) -> Any:
        """Evaluate code, on the session's event loop if it awaits something."""
        value = eval(code, self.names)  # noqa: S307 (this is what the process is for)
        if not _CO_COROUTINE & code.co_flags:
            return value
        if self.loop is None:
            import asyncio

            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(value)


def compiled(source: str, name: str) -> list[tuple[CodeType, bool]]:
    """Return a cell's statements, and separately its last expression, whose value is shown."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(source, name, "exec", ast.PyCF_ONLY_AST | flags, dont_inherit=True)
    parts: list[tuple[CodeType, bool]] = []
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if tree.body:
        parts.append((compile(tree, name, "exec", flags, dont_inherit=True), False))
    if last is not None:
        parts.append((compile(ast.Expression(last.value), name, "eval", flags, dont_inherit=True), True))
    return parts


def show(failure: BaseException, name: str) -> None:
    """Write a traceback that begins in the cell."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.stderr.write("".join(traceback.format_exception(type(failure), failure, trace)))


def serve(channel: socket) -> None:
    """Execute cells until the other end closes the channel."""
    cells, own = CellNamespace(), os.getpid()
    while head := channel.recv(8, _WAIT_ALL):
        request = json.loads(channel.recv(int.from_bytes(head, "big"), _WAIT_ALL))
        code = cells.execute(request["code"])
        if os.getpid() != own:  # the cell has forked, and this is the child
            os._exit(code)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):  # the cell has closed or replaced it
                continue
        answer = json.dumps({"exitCode": code}).encode()
        channel.sendall(len(answer).to_bytes(8, "big") + answer)


_WAIT_ALL = 0x100  # MSG_WAITALL
_CO_COROUTINE = 0x80  # inspect.CO_COROUTINE; importing `inspect` takes 15 ms

if __name__ == "__main__":
    sys.path[0] = os.getcwd()
    sys.argv = [""]
    serve(socket(fileno=int(os.environ.pop("LOOM_CELLS"))))
