"""Runs `agent.py` as `python agent.py` does, but its first server listens on a socket that was opened for it.

Arguments: the socket's descriptor and the script. Only the standard library is imported, and little of it.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from runpy import run_path

TYPE_CHECKING = False  # `typing` itself takes two milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any


class ServerHook:
    """An import hook that gives the socket to uvicorn's first server.

    Args:
        descriptor: The socket's descriptor.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of uvicorn's server, with the class changed after its execution; None for all others."""
        if name != "uvicorn.server":
            return None
        sys.meta_path.remove(self)  # pyright: ignore[reportArgumentType]
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_change(module: ModuleType) -> None:
                execute(module)
                self._change(module)

            spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec

    def _change(self, module: ModuleType) -> None:
        server_class: Any = module.Server
        serve = server_class.serve

        async def serve_on_socket(server: Any, sockets: Any = None) -> None:
            import socket

            server_class.serve = serve
            await serve(server, [socket.socket(fileno=self._descriptor)])

        server_class.serve = serve_on_socket


if __name__ == "__main__":
    number, script = int(sys.argv[1]), sys.argv[2]
    sys.argv = [script]
    sys.meta_path.insert(0, ServerHook(number))  # pyright: ignore[reportArgumentType]
    sys.path[0] = "."
    run_path(script, run_name="__main__")
