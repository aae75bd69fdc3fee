"""The answer of a Bedrock agent in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..aws import bedrock_agents
from ..aws.bedrock_agents import BedrockAgent, BedrockAgentAnswer, ControlRequest
from ..errors import RequestRejectedError
from ..presentation.formats import milliseconds
from ..presentation.html import card
from .context import Context
from .frames import agent_step_frame, passage_frame

if TYPE_CHECKING:
    import pandas as pd


class BedrockAgentReply:
    """The answer of a Bedrock agent in one turn: text, or calls that it returns to its caller.

    Args:
        context: The workbench's resources.
        agent: The agent.
        value: The answer.
    """

    def __init__(self, context: Context, agent: BedrockAgent, value: BedrockAgentAnswer) -> None:
        self._context, self._agent, self.value = context, agent, value

    @property
    def text(self) -> str:
        """The answer; "" if the agent returns control."""
        return self.value.text

    @property
    def session_id(self) -> str:
        """The session id, for further questions."""
        return self.value.session_id

    @property
    def requests(self) -> tuple[ControlRequest, ...]:
        """The calls for which the agent returns control; answer them with `answer`."""
        return self.value.requests

    @property
    def steps(self) -> pd.DataFrame:
        """The trace, one row for each step: kind, name, collaborator, input, output, duration, tokens."""
        return agent_step_frame(self.value.steps)

    @property
    def citations(self) -> pd.DataFrame:
        """The passages that the answer cites: score, text, source, metadata."""
        return passage_frame(passage for _, passages in self.value.citations for passage in passages)

    @property
    def files(self) -> Mapping[str, bytes]:
        """The files that the agent's code created, by name."""
        return self.value.files

    def answer(self, results: str | Mapping[str, str] | None = None, *, confirm: bool = True) -> BedrockAgentReply:
        """Send the agent the results of the calls that it returned, so that it continues.

            reply = agent.ask("What is the weather in Paris?")
            reply.requests
            reply.answer({"get_weather": "21 degrees"}).text

        Args:
            results: The result of each call by the call's name; a string for a single call. None if the agent only
                asks for a confirmation.
            confirm: Whether the user agrees to calls that need a confirmation.

        Raises:
            RequestRejectedError: The agent returned no calls, or a result is missing.
        """
        requests = self.value.requests
        if not requests:
            raise RequestRejectedError(
                "The agent is not waiting for results",
                on=self._agent.name,
                try_="ask(prompt, session_id=reply.session_id)",
            )
        results_by_name: Mapping[str, str] = results if isinstance(results, Mapping) else {}
        if isinstance(results, str):
            first, *others = requests
            if others:
                names = ", ".join(request.name for request in requests)
                raise RequestRejectedError(
                    f"The agent is waiting for {len(requests)} results",
                    on=self._agent.name,
                    try_=f"a mapping with {names}",
                )
            results_by_name = {first.name: results}
        call_results: list[dict[str, Any]] = []
        for request in requests:
            text = results_by_name.get(request.name)
            if text is None and request.needs != "confirmation" and confirm:
                raise RequestRejectedError(
                    f"The result of {request.name} is missing",
                    on=self._agent.name,
                    try_=f"reply.answer({{{request.name!r}: …}})",
                )
            call_results.append(request.result(text, confirmed=confirm))
        state = {"invocationId": self.value.invocation_id, "returnControlInvocationResults": call_results}
        value = bedrock_agents.ask_bedrock_agent(
            self._context.clients,
            self._agent,
            alias_id=self.value.alias_id,
            session_id=self.value.session_id,
            state=state,
        )
        return BedrockAgentReply(self._context, self._agent, value)

    def __repr__(self) -> str:
        if self.requests:
            request_lines = "\n".join(f"{item.name}({_arguments(item)}) needs {item.needs}" for item in self.requests)
            return f"<BedrockAgentReply: {milliseconds(self.value.duration_ms)}, returns control>\n{request_lines}"
        return (
            f"<BedrockAgentReply: {milliseconds(self.value.duration_ms)}, {len(self.value.steps)} steps>\n{self.text}"
        )

    def _repr_html_(self) -> str:
        facts = [("client duration", milliseconds(self.value.duration_ms)), ("session", self.session_id)]
        facts += [(f"call ({item.needs})", f"{item.name}({_arguments(item)})") for item in self.requests]
        calls = [step for step in self.value.steps if step.kind in ("action", "search", "agent")]
        facts += [(step.kind, step.name) for step in calls]
        title = "Return of control" if self.requests else "Answer"
        return card(title, labels=self._context.labels, facts=facts, text=self.text or None)


def _arguments(request: ControlRequest) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in request.arguments.items())
