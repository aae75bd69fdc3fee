"""The processes of Lambda functions: one call at a time in each, kept warm for later calls of the same version."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ..contract import LogSink, RuntimeVersion
from ..runtimes.extraction import InvalidPackageError
from ..sessions import SessionPool
from ..sessions.environment import SERVER
from ..sessions.sandbox_worker import SandboxWorker, WorkerEndedError, WorkerPlan
from ..sessions.workspace import make_workspace
from ..wire import RefusedError
from .call_log import CallLog
from .layers import layer_variables
from .packages import FunctionPackages
from .versions import FunctionVersion

_WORKER: Final = Path(__file__).parent / "worker"
_SESSIONS: Final = Path(__file__).parent.parent / "sessions"
_WARM_S: Final = 600.0
"""How long a process waits for its next call; AWS documents no figure."""

_MOST_PROCESSES: Final = 100
_UNKNOWN: Final = {"errorType": "Runtime.Unknown", "errorMessage": "The function's process sent no result"}
_LARGEST_PAYLOAD: Final = 6_291_556  # Lambda developer guide, "Lambda quotas": synchronous payloads, in bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionResult:
    """The result of a call.

    Attributes:
        payload: JSON text: the result, or the error.
        failed: Whether the function failed.
        log: The end of the call's log.
    """

    payload: str
    failed: bool
    log: str


class FunctionPool:
    """Runs versions of functions.

    Args:
        home: The home folder, below which packages are extracted.
        sessions: The sessions of runtimes, whose folder, isolation and limits apply to the processes.
        sink: Receives the log lines.
    """

    def __init__(self, home: Path, sessions: SessionPool, sink: LogSink) -> None:
        self._shared, self._sink = sessions.shared, sink
        self._packages = FunctionPackages(home)
        self._idle: dict[str, list[FunctionProcess]] = {}
        self._processes: set[FunctionProcess] = set()
        self._closing = False

    async def call(
        self, function: FunctionVersion, event: str, *, client_context: Mapping[str, Any] | None = None
    ) -> FunctionResult:
        """Run a function with one event.

        Args:
            function: The version.
            event: The event as JSON text.
            client_context: The caller's ClientContext.

        Raises:
            RefusedError: Too many functions are running (429), or the package cannot be run.
        """
        request_id = str(uuid.uuid4())
        process, init_s = await self._process(function)
        log = CallLog(self._sink, function, process.stream, request_id)
        log.start()
        request = {
            "event": event,
            "request_id": request_id,
            "name": function.name,
            "version": function.version,
            "arn": function.arn,
            "memory_mb": function.memory_mb,
            "timeout_s": function.timeout_s,
            "log_group": function.log_group,
            "log_stream": process.stream,
            "client_context": client_context,
        }
        begun = time.monotonic()
        try:
            async with asyncio.timeout(function.timeout_s):
                answer = await process.worker.ask("call", request)
        except TimeoutError:
            message = f"Task timed out after {function.timeout_s}.00 seconds"
            answer: dict[str, Any] = {"error": _fault(request_id, "Sandbox.Timedout", message)}
            process.worker.begin_end("its call took too long")
        except WorkerEndedError as error:
            answer = {"error": _fault(request_id, "Runtime.ExitError", f"Runtime exited: {error}")}
        except asyncio.CancelledError:
            process.worker.begin_end("its caller disconnected")
            raise
        log.lines(process.worker.take_output())
        log.report(time.monotonic() - begun, init_s, answer.get("memory_mb"))
        self._give_back(process)
        result = answer.get("payload")
        failed = "error" in answer or not isinstance(result, str)
        payload = result if isinstance(result, str) and not failed else json.dumps(answer.get("error") or _UNKNOWN)
        if len(payload.encode()) > _LARGEST_PAYLOAD:
            message = f"Response payload size exceeded maximum allowed payload size ({_LARGEST_PAYLOAD} bytes)."
            failed, payload = True, json.dumps({"errorType": "Function.ResponseSizeTooLarge", "errorMessage": message})
        return FunctionResult(payload=payload, failed=failed, log=log.tail)

    async def close(self) -> None:
        """End every process."""
        self._closing = True
        await asyncio.gather(*(process.worker.end("The local AgentCore is stopping") for process in self._processes))

    async def _process(self, function: FunctionVersion) -> tuple[FunctionProcess, float]:
        """Return an idle process, and the duration of its start; 0 for a warm one."""
        idle = self._idle.get(function.digest, [])
        while idle:
            process = idle.pop()
            process.cool.cancel()
            if not process.worker.is_ending:
                return process, 0.0
        if self._closing or len(self._processes) >= _MOST_PROCESSES:
            raise RefusedError("TooManyRequestsException", 429, "Rate Exceeded.", Type="User")
        begun = time.monotonic()
        try:
            code = await self._packages.code_of(function.package)
            layers = [await self._packages.code_of(layer) for layer in reversed(function.layers)]
        except InvalidPackageError as error:
            raise RefusedError("InvalidZipFileException", 502, str(error), Type="User") from error
        await self._shared.prepare()
        mark = str(uuid.uuid4())
        folder = await asyncio.to_thread(make_workspace, self._shared.folder, mark, code)
        process = FunctionProcess(function, mark)
        environment = self._environment(function, code, mark) | layer_variables(layers, function.environment)
        plan = WorkerPlan(
            mark=mark,
            folder=folder,
            bootstrap=_WORKER / "function.py",
            environment=environment | {"AWS_LAMBDA_LOG_STREAM_NAME": process.stream, "LAMBDA_TASK_ROOT": str(folder)},
            isolation=self._shared.isolation,
            read=(_WORKER, _SESSIONS, code, *layers, *((function.node,) if function.node else ())),
            reaches_service=True,
        )
        process.worker = SandboxWorker(plan, self._shared, on_end=lambda: self._forget(process))
        self._processes.add(process)
        await self._initialize(process)
        return process, time.monotonic() - begun

    async def _initialize(self, process: FunctionProcess) -> None:
        """Import the handler, outside the time limit of calls; the call reports a failure of the import."""
        try:
            async with asyncio.timeout(self._shared.start_timeout_s):
                await process.worker.ask("init", {})
        except TimeoutError:
            process.worker.begin_end(f"its start took longer than {self._shared.start_timeout_s:g} s")
        except WorkerEndedError:
            return
        except BaseException:
            process.worker.begin_end("its caller disconnected")
            raise

    def _give_back(self, process: FunctionProcess) -> None:
        if process.worker.is_ending or self._closing:
            return
        loop = asyncio.get_running_loop()
        process.cool = loop.call_later(_WARM_S, process.worker.begin_end, "it was idle for too long")
        self._idle.setdefault(process.function.digest, []).append(process)

    def _forget(self, process: FunctionProcess) -> None:
        self._processes.discard(process)
        if self._shared.keys is not None:
            self._shared.keys.end(process.mark)
        idle = self._idle.get(process.function.digest, [])
        if process in idle:
            idle.remove(process)
        if not idle:
            self._idle.pop(process.function.digest, None)

    def _environment(self, function: FunctionVersion, code: Path, mark: str) -> dict[str, str]:
        as_runtime = RuntimeVersion(
            runtime_id=function.name,
            arn=function.arn,
            version=function.version,
            code=code,
            entry_point=(function.handler,),
            environment=function.environment,
            role_arn=function.role_arn,
            node=function.node,
        )
        environment = self._shared.environment(as_runtime, qualifier=function.version, session_id=mark, mark=mark)
        for name in (SERVER, "AGENTCORE_RUNTIME_URL"):
            environment.pop(name, None)
        return environment | {
            "_HANDLER": function.handler,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{function.runtime}",
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": function.version,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
            "AWS_LAMBDA_LOG_GROUP_NAME": function.log_group,
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        }


class FunctionProcess:
    """One process of a version, which runs one call at a time.

    Args:
        function: The version.
        mark: The unique id of the process.
    """

    worker: SandboxWorker
    cool: asyncio.TimerHandle

    def __init__(self, function: FunctionVersion, mark: str) -> None:
        self.function, self.mark = function, mark
        day = datetime.now(UTC).strftime("%Y/%m/%d")
        self.stream = f"{day}/[{function.version}]{secrets.token_hex(16)}"


def _fault(request_id: str, kind: str, message: str) -> dict[str, Any]:
    return {"errorType": kind, "errorMessage": f"RequestId: {request_id} Error: {message}"}
