"""Starts the agent's script, examines the process when it would serve, and answers requests with what it found."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

_WARM_WITHIN_S = 120.0  # AgentCore's limit for the build hook
_SERVES_WITHIN_S = 10.0  # until a server at another port, which may start after the agent's, accepts connections
_SCRIPT, _WARMUP = "LOOM_CHECKED_SCRIPT", "LOOM_CHECKED_WARMUP"


def main() -> None:
    """Run the agent's script as `__main__`, traced."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    script, warmup = os.path.join(root, os.environ.pop(_SCRIPT)), os.environ.pop(_WARMUP, "")
    sys.path[0] = root
    from _loom_snapshot_probe.examination import Examination  # pyright: ignore

    examination = cast("Any", Examination(root))
    sys.meta_path.insert(0, _ServerHook(examination, warmup))  # pyright: ignore[reportArgumentType]
    sys.path[0] = os.path.dirname(script)
    sys.argv = [os.path.relpath(script)]
    module = ModuleType("__main__")
    vars(module).update(__file__=script, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec", dont_inherit=True)
    examination.start()
    exec(code, vars(module))  # noqa: S102 (the agent's own script)


class _ServerHook:
    """An import hook that lets the first server of the main thread answer with the findings, once it has started up."""

    def __init__(self, examination: Any, warmup: str) -> None:
        self._examination, self._is_taken = examination, False
        self._hook_port, self._warmup = _port_and_path(warmup)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return uvicorn.server's spec as the other finders do, with the class changed after its execution."""
        if name != "uvicorn.server":
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader.exec_module = self._changing(spec.loader.exec_module)  # type: ignore[method-assign]
                return spec
        return None

    def _changing(self, execute: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
        def execute_and_change(module: ModuleType) -> None:
            execute(module)
            self._change(module)

        return execute_and_change

    def _change(self, module: ModuleType) -> None:
        server_class: Any = module.Server
        startup = server_class.startup

        async def startup_and_examine(server: Any, *args: Any, **options: Any) -> None:
            is_main = threading.current_thread() is threading.main_thread()
            serves_hook = self._hook_port not in (None, 8080) and server.config.port == self._hook_port
            if not self._is_taken and not serves_hook and (is_main or server.config.port == 8080):
                self._is_taken = True
                start_lifespan = server.lifespan.startup

                async def start_lifespan_and_examine() -> None:
                    await start_lifespan()
                    if not server.lifespan.should_exit:
                        status = await self._warm_up(server)
                        document = self._examination.document()
                        document["is_warm"] = 200 <= status < 300
                        server.config.loaded_app = _answering(document)

                server.lifespan.startup = start_lifespan_and_examine
            await startup(server, *args, **options)

        server_class.startup = startup_and_examine

    async def _warm_up(self, server: Any) -> int:
        """Call the agent's warm-up hook once as the platform does, and return the status; 200 when there is none."""
        if not self._warmup:
            return 200
        try:
            if self._hook_port in (None, server.config.port):
                work = _post(server, self._warmup)
            else:
                work = _post_to_port(self._hook_port, self._warmup)
            return await asyncio.wait_for(work, _WARM_WITHIN_S)
        except Exception:  # noqa: BLE001 (the agent's own application)
            return 500


def _port_and_path(warmup: str) -> tuple[int | None, str]:
    """Return the port and the path of a warm-up hook; without a port it is at the agent's own server."""
    port, slash, path = warmup.partition("/")
    if port.startswith(":") and port[1:].isdigit():
        return int(port[1:]), slash + path
    return None, warmup


async def _post_to_port(port: int, path: str) -> int:
    """Send the hook's POST to another server of this process and return the status.

    It starts no thread and closes its connection, because the examination would attribute both to the agent.
    """
    deadline = time.monotonic() + _SERVES_WITHIN_S
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.05)  # the platform calls the hook later, when the agent is healthy
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode())
    try:
        line = await reader.readline()
        while await reader.read(65_536):
            pass
    finally:
        writer.close()
        await writer.wait_closed()
    return int(line.split()[1])


async def _post(server: Any, path: str) -> int:
    """Call the warm-up hook of the agent's own server, which does not listen yet, and return the status."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 8080), "headers": [(b"host", b"127.0.0.1"), (b"content-length", b"0")],
        "state": dict(server.lifespan.state),
    }  # fmt: skip
    answers: list[Any] = []
    messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        answers.append(message)

    await server.config.loaded_app(scope, receive, send)
    return next((int(message["status"]) for message in answers if "status" in message), 500)


def _answering(document: dict[str, Any]) -> Any:
    """Return an ASGI application that answers `/ping` as an agent does and every other path with the document."""
    content = json.dumps(document).encode()
    began = int(time.time())

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = content
        if scope["path"] == "/ping":
            body = json.dumps({"status": "Healthy", "time_of_last_update": began}).encode()
        while scope["method"] == "POST" and (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return application


if __name__ == "__main__":
    main()
