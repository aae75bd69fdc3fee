"""Invoke of Lambda; moto answers all other operations."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Mapping
from typing import Any, cast

from ..resources import Place
from ..wire import RefusedError
from .pool import FunctionPool
from .versions import find_version

_log = logging.getLogger(__name__)


class FunctionPlane:
    """Answers the operations that run functions.

    Args:
        pool: Runs them.
    """

    def __init__(self, pool: FunctionPool) -> None:
        self._pool = pool
        self._background: set[asyncio.Task[None]] = set()

    async def invoke(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any]:
        """Run a function: wait for its result, only start it (`Event`), or only check the request (`DryRun`).

        Raises:
            RefusedError: The function does not exist or cannot be run.
        """
        function = await asyncio.to_thread(find_version, parameters["FunctionName"], parameters.get("Qualifier"), place)
        kind = parameters.get("InvocationType") or "RequestResponse"
        event = _event(parameters.get("Payload"))
        if kind == "DryRun":
            return {"StatusCode": 204, "Payload": b""}
        context = _client_context(parameters.get("ClientContext"))
        if kind == "Event":
            task = asyncio.get_running_loop().create_task(self._run(function, event, context))
            self._background.add(task)
            task.add_done_callback(self._background.discard)
            return {"StatusCode": 202, "Payload": b""}
        result = await self._pool.call(function, event, client_context=context)
        answer: dict[str, Any] = {
            "StatusCode": 200,
            "ExecutedVersion": function.version,
            "Payload": result.payload.encode(),
        }
        if result.failed:
            answer["FunctionError"] = "Unhandled"
        if parameters.get("LogType") == "Tail":
            answer["LogResult"] = base64.b64encode(result.log.encode()).decode()
        return answer

    async def _run(self, function: Any, event: str, context: Mapping[str, Any] | None) -> None:
        try:
            await self._pool.call(function, event, client_context=context)
        except RefusedError as refused:
            _log.warning("The event for %s was not processed: %s", function.name, refused.message)


def _event(payload: str | None) -> str:
    """Return the JSON text of an event; without one it is an empty object.

    Raises:
        RefusedError: It is not JSON.
    """
    text = base64.b64decode(payload or "").decode("utf-8", "replace") or "{}"  # the router's form of bytes
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"Could not parse request body into json: {error}"
        raise RefusedError("InvalidRequestContentException", 400, message, Type="User") from error
    return text


def _client_context(encoded: str | None) -> Mapping[str, Any] | None:
    if not encoded:
        return None
    try:
        content: Any = json.loads(base64.b64decode(encoded))
    except ValueError as error:
        message = "Client context must be a valid Base64-encoded JSON object."
        raise RefusedError("InvalidRequestContentException", 400, message, Type="User") from error
    return cast("dict[str, Any]", content) if isinstance(content, dict) else None
