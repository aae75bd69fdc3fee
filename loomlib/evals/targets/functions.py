"""Plain functions as targets of an evaluation."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from loomlib.jobs.daemon_threads import in_thread
from loomlib.jobs.dask import WorkerReference, function_reference, load_object

from ..values.answers import CaseFailure, TurnAnswer
from ..values.cases import Turn
from ..values.tool_use import ToolUse

_OPTIONAL_PARAMETERS = ("session_id", "state", "turn")


class CallableTarget:
    """A function of the prompt, plain or async, as a target.

    The function returns the answer's text, a dict or a `TurnAnswer`. It also receives `session_id`, `state` and
    `turn` where it has parameters of these names. A dict has `text` and any other field of `TurnAnswer`; its `tools`
    may be names, or dicts of `ToolUse`'s fields. An exception is a failed answer. A plain function runs in a daemon
    thread, so one that hangs is abandoned when its time limit ends.

    Examples:
        >>> loom.evaluate(CallableTarget(my_function, key="prompt v3"), evalset, ["exact"])
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        key: str = "",
        labels: Sequence[str] = (),
        concurrency: int = 4,
    ) -> None:
        """Wrap a function.

        Args:
            function: The function to evaluate.
            name: The name shown in summaries; None uses the function's name.
            key: Text that identifies everything the answers depend on ("prompt v3, temperature 0"). Runs with the same
                key reuse each other's answers; without a key answers are never reused, because a function's code can
                change unnoticed.
            labels: Provenance labels shown beside every number.
            concurrency: Maximum number of cases that run at once.
        """
        self._function = function
        self.name = name or getattr(function, "__name__", "") or type(function).__name__
        self.key, self.labels, self.concurrency = key, tuple(labels), concurrency
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - whether the object's `__call__` is async
        )
        self._optional = _optional_parameters(function)

    def new_session(self) -> str:
        """Return the id of a new session."""
        return f"loom-{os.urandom(16).hex()}"

    def ask_now(self, turn: Turn, *, session_id: str, state: Mapping[str, Any] | None = None) -> TurnAnswer:
        """Call a plain function in this thread; its exceptions propagate.

        Args:
            turn: The turn to ask.
            session_id: The session of the case.
            state: The initial state of the case, sent with its first turn.
        """
        began = time.perf_counter_ns()
        result = self._function(turn.prompt, **self._arguments(turn, session_id, state))
        return to_answer(result, duration_ms=(time.perf_counter_ns() - began) / 1e6, session_id=session_id)

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """Call the function, a plain one in a daemon thread; see `Target.ask`.

        Args:
            turn: The turn to ask; its prompt is the first argument.
            session_id: The session of the case; passed on if the function has a parameter of that name.
            timeout_s: Not enforced here: a function cannot be stopped.
            state: The initial state of the case; passed on if the function has a parameter of that name.
        """
        if not self.is_async:
            return await in_thread(lambda: self.ask_now(turn, session_id=session_id, state=state))
        began = time.perf_counter_ns()
        result = await self._function(turn.prompt, **self._arguments(turn, session_id, state))
        return to_answer(result, duration_ms=(time.perf_counter_ns() - began) / 1e6, session_id=session_id)

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """Return the answers unchanged: a function has no traces."""
        return answers

    async def end(self, session_id: str) -> None:
        """Do nothing: a function has no sessions."""

    def for_workers(self) -> WorkerReference:
        """Return how a worker of a Dask cluster creates this target.

        Raises:
            ClusterError: Workers cannot import the function.
        """
        return WorkerReference(
            factory=f"{__name__}:target_of_function",
            arguments={
                "function": function_reference(self._function),
                "name": self.name,
                "key": self.key,
                "labels": list(self.labels),
                "concurrency": self.concurrency,
            },
        )

    def _arguments(self, turn: Turn, session_id: str, state: Mapping[str, Any] | None) -> dict[str, Any]:
        if not self._optional:
            return {}
        values = {"session_id": session_id, "state": state, "turn": turn}
        return {name: values[name] for name in self._optional}


def target_of_function(function: str, **options: Any) -> CallableTarget:
    """Create the target of a function on a worker of a Dask cluster.

    Args:
        function: The function as `package.module:name`.
        **options: Options of `CallableTarget`.
    """
    return CallableTarget(load_object(function), **options)


def to_answer(result: object, *, duration_ms: float | None = None, session_id: str = "") -> TurnAnswer:
    """Convert a function's return value to an answer.

    Args:
        result: A text, a dict with `text` and other fields of `TurnAnswer`, or a `TurnAnswer`.
        duration_ms: Duration of the call in milliseconds, unless `result` contains it.
        session_id: The session of the case, unless `result` contains it.

    Raises:
        TypeError: `result` is none of these.
    """
    if isinstance(result, TurnAnswer):
        return result
    if isinstance(result, str):
        return TurnAnswer(text=result, duration_ms=duration_ms, session_id=session_id)
    if isinstance(result, Mapping):
        fields: dict[str, Any] = {
            "duration_ms": duration_ms,
            "session_id": session_id,
            **cast("Mapping[str, Any]", result),
        }
        if (tools := fields.get("tools")) is not None:
            fields["tools"] = tuple([_tool(tool) for tool in tools])
        fields["text"] = str(fields.get("text", ""))
        return TurnAnswer(**fields)
    raise TypeError(f"An answer is a text, a dict with a text or a TurnAnswer, not {type(result).__name__}")


def _tool(tool: object) -> ToolUse:
    if isinstance(tool, ToolUse):
        return tool
    return ToolUse(name=tool) if isinstance(tool, str) else ToolUse(**cast("Mapping[str, Any]", tool))


def _optional_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in functions have no signature
        return ()
    names = {
        parameter.name
        for parameter in parameters[1:]
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }
    return tuple(name for name in _OPTIONAL_PARAMETERS if name in names)
