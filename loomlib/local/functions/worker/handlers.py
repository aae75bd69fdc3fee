"""Importing and calling the handler of a Lambda function, with the errors of AWS's Python runtime."""

from __future__ import annotations

import importlib
import json
import logging
import resource
import sys
import time
import traceback
from typing import Any

LARGEST_PAYLOAD = 6_291_556
"""Lambda developer guide, "Lambda quotas": synchronous payloads, in bytes."""


class FunctionContext:
    """The second argument of a handler (Lambda developer guide, "Using the Lambda context object").

    Args:
        request: The service's request with the event.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self.aws_request_id: str = request["request_id"]
        self.function_name: str = request["name"]
        self.function_version: str = request["version"]
        self.invoked_function_arn: str = request["arn"]
        self.memory_limit_in_mb: str = str(request["memory_mb"])
        self.log_group_name: str = request["log_group"]
        self.log_stream_name: str = request["log_stream"]
        self.identity = None
        self.client_context = ClientContext(request["client_context"]) if request.get("client_context") else None
        self._ends = time.monotonic() + request["timeout_s"]

    def get_remaining_time_in_millis(self) -> int:
        """Return the remaining time of the call in milliseconds."""
        return max(0, int(1000 * (self._ends - time.monotonic())))

    def log(self, message: object) -> None:
        """Write a line to the function's log."""
        sys.stdout.write(f"{message}\n")


class ClientContext:
    """The caller's ClientContext.

    Args:
        content: Its JSON object.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self.custom: Any = content.get("custom")
        self.env: Any = content.get("env")
        self.client: Any = content.get("client")


class FunctionHandler:
    """The handler of a function; if its import fails, every call returns that error.

    Args:
        name: `module.function`, or `folder/module.function`.
    """

    def __init__(self, name: str) -> None:
        self._error: dict[str, Any] = {}
        self._function: Any = None
        self._request_id = ""
        log = logging.StreamHandler(sys.stdout)
        log.setFormatter(_LogFormat(self))
        logging.getLogger().addHandler(log)
        path, dot, function = name.rpartition(".")
        module = path.replace("/", ".")
        if not dot:
            self._error = _failure("Runtime.MalformedHandlerName", f"Bad handler '{name}': not enough values to unpack")
            return
        try:
            self._function = getattr(importlib.import_module(module), function, None)
        except SyntaxError as error:
            self._error = _failure("Runtime.UserCodeSyntaxError", f"Syntax error in module '{module}': {error}")
        except ImportError as error:
            self._error = _failure("Runtime.ImportModuleError", f"Unable to import module '{module}': {error}")
        except BaseException as error:  # noqa: BLE001 (foreign code)
            self._error = _raised(error)
        else:
            if self._function is None:
                self._error = _failure("Runtime.HandlerNotFound", f"Handler '{function}' missing on module '{module}'")

    @property
    def request_id(self) -> str:
        """The id of the running call."""
        return self._request_id

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the result of one event as `{"payload": JSON text}`, or its error as `{"error": {…}}`."""
        self._request_id = request["request_id"]
        try:
            answer = self._call(request)
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        answer["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        if "error" in answer:
            answer["error"] = {**answer["error"], "requestId": self._request_id}
        return answer

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._error:
            return {"error": self._error}
        try:
            result = self._function(json.loads(request["event"]), FunctionContext(request))
        except BaseException as error:  # noqa: BLE001 (foreign code)
            return {"error": _raised(error)}
        try:
            payload = json.dumps(result)
        except (TypeError, ValueError, RecursionError) as error:
            return {"error": _failure("Runtime.MarshalError", f"Unable to marshal response: {error}")}
        if len(payload) <= LARGEST_PAYLOAD:
            return {"payload": payload}
        message = f"Response payload size exceeded maximum allowed payload size ({LARGEST_PAYLOAD} bytes)."
        return {"error": {"errorType": "Function.ResponseSizeTooLarge", "errorMessage": message}}


class _LogFormat(logging.Formatter):
    def __init__(self, handler: FunctionHandler) -> None:
        super().__init__("[%(levelname)s]\t%(asctime)s.%(msecs)03dZ\t%(request_id)s\t%(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime
        self._handler = handler

    def format(self, record: logging.LogRecord) -> str:
        record.request_id = self._handler.request_id
        return super().format(record)


def _failure(kind: str, message: str) -> dict[str, Any]:
    return {"errorMessage": message, "errorType": kind, "stackTrace": []}


def _raised(error: BaseException) -> dict[str, Any]:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    sys.stdout.write(f"[ERROR] {type(error).__name__}: {error}\n")
    return {**_failure(type(error).__name__, str(error)), "stackTrace": traceback.format_list(frames)}
