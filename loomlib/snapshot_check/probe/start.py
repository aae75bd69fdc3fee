"""Starts the agent's script, examines the process when it would serve, and answers requests with what it found."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

_NAME = "_loom_snapshot_probe"
_SCRIPT = "LOOM_CHECKED_SCRIPT"


def main() -> None:
    """Run the agent's script as `__main__`, traced."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    script = os.path.join(root, os.environ.pop(_SCRIPT))
    sys.path[0] = root
    from _loom_snapshot_probe.examination import Examination  # pyright: ignore

    examination = cast("Any", Examination(root))
    sys.meta_path.insert(0, _ServerHook(examination))  # pyright: ignore[reportArgumentType]
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

    def __init__(self, examination: Any) -> None:
        self._examination, self._taken = examination, False

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
            if not self._taken and (is_main or server.config.port == 8080):
                self._taken = True
                start_lifespan = server.lifespan.startup

                async def start_lifespan_and_examine() -> None:
                    await start_lifespan()
                    if not server.lifespan.should_exit:
                        server.config.loaded_app = _answering(self._examination.document(server))

                server.lifespan.startup = start_lifespan_and_examine
            await startup(server, *args, **options)

        server_class.startup = startup_and_examine


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
