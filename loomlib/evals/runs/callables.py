"""A plain function as something to evaluate."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ..answers import CaseFailure, TurnAnswer
from ..cases import Turn
from ..tool_use import ToolUse
from .own_threads import in_thread

_EXTRAS = ("session_id", "state", "turn")


class CallableTarget:
    """A function of the prompt, plain or async, that returns the answer's text, a dict, or a `TurnAnswer`.

    It is also given `session_id`, `state` and `turn` where it has parameters of these names. A dict has `text` and any
    other field of `TurnAnswer`; its tools may be names, or dicts of `ToolUse`'s fields. What it raises is a failure to
    answer. A plain function runs in threads that nobody waits for: one that hangs is left behind when its
    time is over.

    `key` names what the answers depend on ("prompt v3, temperature 0"): runs of one key use each other's answers.
    Without it a function's answers are its run's own, for nobody can see whether it still does what it did.
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
        self._function = function
        self.name = name or getattr(function, "__name__", "") or type(function).__name__
        self.key, self.labels, self.concurrency = key, tuple(labels), concurrency
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - whether an object's own call is async
        )
        self._extras = _extras(function)

    def new_session(self) -> str:
        """An id for a conversation."""
        return f"loom-{os.urandom(16).hex()}"

    def ask_now(self, turn: Turn, *, session_id: str, state: Mapping[str, Any] | None = None) -> TurnAnswer:
        """The answer of a plain function, in the caller's thread; raises what it raises."""
        began = time.perf_counter_ns()
        found = self._function(turn.prompt, **self._more(turn, session_id, state))
        return answer_of(found, duration_ms=(time.perf_counter_ns() - began) / 1e6, session_id=session_id)

    async def ask(
        self, turn: Turn, *, session_id: str, timeout_s: float | None, state: Mapping[str, Any] | None = None
    ) -> TurnAnswer | CaseFailure:
        """The answer; a plain function's in a thread, which goes on by itself when the time is over."""
        if not self.is_async:
            return await in_thread(lambda: self.ask_now(turn, session_id=session_id, state=state))
        began = time.perf_counter_ns()
        found = await self._function(turn.prompt, **self._more(turn, session_id, state))
        return answer_of(found, duration_ms=(time.perf_counter_ns() - began) / 1e6, session_id=session_id)

    async def collect_tools(self, answers: Sequence[TurnAnswer]) -> Sequence[TurnAnswer]:
        """A function says itself what it used, or nobody knows."""
        return answers

    async def end(self, session_id: str) -> None:
        """Nothing to end."""

    def _more(self, turn: Turn, session_id: str, state: Mapping[str, Any] | None) -> dict[str, Any]:
        if not self._extras:
            return {}
        known = {"session_id": session_id, "state": state, "turn": turn}
        return {name: known[name] for name in self._extras}


def answer_of(found: object, *, duration_ms: float | None = None, session_id: str = "") -> TurnAnswer:
    """The answer that a function's return value means; `TypeError` for what is none."""
    if isinstance(found, TurnAnswer):
        return found
    if isinstance(found, str):
        return TurnAnswer(text=found, duration_ms=duration_ms, session_id=session_id)
    if isinstance(found, Mapping):
        said: dict[str, Any] = {
            "duration_ms": duration_ms,
            "session_id": session_id,
            **cast("Mapping[str, Any]", found),
        }
        if (tools := said.get("tools")) is not None:
            said["tools"] = tuple([_tool(each) for each in tools])
        said["text"] = str(said.get("text", ""))
        return TurnAnswer(**said)
    raise TypeError(f"an answer is a text, a dict with a text or a TurnAnswer, not {type(found).__name__}")


def _tool(said: object) -> ToolUse:
    if isinstance(said, ToolUse):
        return said
    return ToolUse(name=said) if isinstance(said, str) else ToolUse(**cast("Mapping[str, Any]", said))


def _extras(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin tells no signature
        return ()
    behind = {each.name for each in parameters[1:] if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)}
    return tuple(name for name in _EXTRAS if name in behind)
