"""Results for calls that a Bedrock agent returns to its caller, as given in an eval case."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from loomlib.aws.bedrock_agents import ControlRequest
from loomlib.errors import EvalError
from loomlib.evals.values.tool_use import ExpectedTool

from .names import ToolNames

RETURN_CONTROL: Final = "return_control"
"""The failure class of a turn that ends with a call without a result."""
STATE_NAME: Final = "returnControl"
"""The member of a case's initial state that contains the results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenResult:
    """The caller's answer to one call.

    Attributes:
        text: The call's result; None if the agent makes the call itself once it is confirmed.
        is_confirmed: Whether the user agrees to the call.
    """

    text: str | None = None
    is_confirmed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenResults:
    """The results of returned calls, by the call's name or by the name of the successor's tool.

    In a case, `true` or `false` confirms or denies the call, `{"confirm": …, "result": …}` sets both, and any other
    value is the result:

        EvalCase(id="weather", turns=(Turn(prompt="Is it sunny in Paris?"),),
                 initial_state={"returnControl": {"get_weather": "21 degrees", "book_hotel": False}})

    A result of an expected tool call (`ExpectedTool.result`) is used as well.
    """

    by_name: Mapping[str, GivenResult] = field(default_factory=dict[str, GivenResult])
    names: ToolNames = field(default_factory=ToolNames)

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> GivenResults:
        """Return the results in a case's initial state.

        Args:
            state: The initial state.

        Raises:
            EvalError: `returnControl` is not a mapping.
        """
        results: object = state.get(STATE_NAME) or {}
        if not isinstance(results, Mapping):
            raise EvalError(
                "The results of returned calls must be given by name",
                on=STATE_NAME,
                try_='{"get_weather": "21 degrees"}',
            )
        members = cast("Mapping[str, Any]", results)
        return cls(by_name={str(name): _result(value) for name, value in members.items()})

    def with_expected(self, tools: Sequence[ExpectedTool], names: ToolNames) -> GivenResults:
        """Return these results and those of a turn's expected tool calls.

        Args:
            tools: The expected calls, under the names of the successor's tools.
            names: Those names.
        """
        expected = {tool.name: _result(tool.result) for tool in tools if tool.result is not None}
        return GivenResults(by_name={**expected, **self.by_name}, names=names)

    def knows(self, request: ControlRequest) -> bool:
        """Return whether the result or confirmation that the call needs is available."""
        result = self._result_for(request)
        if result is None:
            return False
        return request.needs == "confirmation" or not result.is_confirmed or result.text is not None

    def answer(self, request: ControlRequest) -> dict[str, Any]:
        """Return the result to send to Bedrock for the call."""
        result = self._result_for(request) or GivenResult()
        return request.result(result.text if result.is_confirmed else None, confirmed=result.is_confirmed)

    def text_of(self, request: ControlRequest) -> str | None:
        """Return the call's result; None without one."""
        result = self._result_for(request)
        return result.text if result is not None and result.is_confirmed else None

    def for_tool(self, tool: str) -> GivenResult | None:
        """Return the result for a call of the successor's tool, None if there is none.

        Args:
            tool: The tool's name.
        """
        actions = {**self.names.inner_actions, **self.names.actions}
        old_names = [
            name
            for action, action_tool in actions.items()
            if action_tool == tool
            for name in ("/".join(action), action[1])
        ]
        return next((self.by_name[name] for name in (*old_names, tool) if name in self.by_name), None)

    def _result_for(self, request: ControlRequest) -> GivenResult | None:
        tool = self.names.of_action(request.action_group, request.name)
        names = (f"{request.action_group}/{request.name}", request.name, tool)
        return next((self.by_name[name] for name in names if name in self.by_name), None)


def _result(value: Any) -> GivenResult:
    if isinstance(value, bool):
        return GivenResult(is_confirmed=value)
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        if members and members.keys() <= {"confirm", "result"}:
            text = members.get("result")
            return GivenResult(
                text=None if text is None else _text(text), is_confirmed=bool(members.get("confirm", True))
            )
    return GivenResult(text=_text(value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
