"""The format of an agent's requests and answers: read it, set it, or find it; `agent.protocols.messages`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..agents import AgentEntry, Chunk, InvocationError, new_session_id
from ..agents.format_probe import REQUESTS, FormatTrial, FoundFormat, confirm_format, find_format, read_trial
from ..agents.message_format import MessageFormat
from ..aws.bearer import Bearer, token_of
from ..aws.runtimes import stop_session
from ..errors import LoomError
from ..json_values import to_text
from ..presentation.html import card, table, view
from .context import Context
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 120
_OTHER_PROMPT = "What is 3 + 5?"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FormatSearch:
    """Result of a probe.

    Attributes:
        agent_name: The agent.
        found: The format; None if none was found.
        trials: The requests that were sent, each with its result.
        labels: Provenance labels.
    """

    agent_name: str
    found: FoundFormat | None
    trials: tuple[tuple[str, str], ...]
    labels: tuple[str, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """The requests that were sent, with their results."""
        import pandas as pd

        return pd.DataFrame(list(self.trials), columns=["request", "result"])

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        if self.found is None:
            remedy = "Set the format with agent.protocols.messages.set(request=…)."
            return f"None of the {len(self.trials)} requests was answered. {remedy}"
        return f"{self.agent_name} accepts {_request_text(self.found.form.request)}: {self.found.reason}."

    def _facts(self) -> list[tuple[str, str]]:
        if self.found is None:
            return []
        form = self.found.form
        facts = [("answer path", form.answer or "default"), ("error path", form.error or "error")]
        return [*facts, ("answered", self.found.text[:_LONGEST])]

    def __repr__(self) -> str:
        lines = [self.sentence, *(f"{name}: {value}" for name, value in self._facts())]
        return "\n".join([*lines, *(f"  {request}  {result}" for request, result in self.trials)])

    def _repr_html_(self) -> str:
        state = ("good", "found") if self.found else ("bad", "not found")
        about = card("Message format", state=state, labels=self.labels, facts=self._facts(), note=self.sentence)
        return about + str(view(table(("request", "result"), self.trials, caption="requests sent by the probe")))


class AgentMessages:
    """The format of one agent's requests and answers; `agent.protocols.messages`.

    Args:
        context: The workbench's resources.
        entry: The agent.
        qualifier: The endpoint to probe.
        bearer: The bearer token to send.
        changed: Called with the agent's entry after its format has changed.
    """

    def __init__(
        self,
        context: Context,
        entry: AgentEntry,
        qualifier: str,
        bearer: Bearer | None,
        changed: Callable[[AgentEntry], None],
    ) -> None:
        self._context, self._entry, self._qualifier, self._bearer = context, entry, qualifier, bearer
        self._changed = changed

    @property
    def form(self) -> MessageFormat | None:
        """The format in the catalog; None for the default: `{"prompt": …}`, and the answer in a usual field."""
        return self._entry.message_format

    def set(self, request: Mapping[str, Any] | None = None, *, answer: str = "", error: str = "") -> MessageFormat:
        """Store how the agent receives a prompt, and where it returns the answer and errors.

        From then on, prompts, evaluations and studies of this agent use this format.

            agent.protocols.messages.set({"message": "{prompt}"}, answer="result.response", error="result.error")

        Args:
            request: The JSON body, with `{prompt}` and, where needed, `{session_id}` in its texts.
            answer: JMESPath of the answer's text, in a JSON body or in each event of a stream.
            error: JMESPath of a failure that is reported in an answer with the status 200.

        Raises:
            LoomError: The request has no `{prompt}`, or a path is not JMESPath.
        """
        try:
            form = MessageFormat(answer=answer, error=error, **({} if request is None else {"request": request}))
            if form.body("1", "") == form.body("2", ""):
                raise ValueError(
                    "the request needs the placeholder {prompt} in a field's value; names of fields are not filled in"
                )
        except ValueError as problem:
            sentence = str(problem)
            raise LoomError(sentence[:1].upper() + sentence[1:], on=self._entry.name) from problem
        self._keep(form)
        return form

    def reset(self) -> None:
        """Restore the default format."""
        self._keep(None)

    def probe(
        self, prompt: str = "What is 2 + 2?", *, store: bool = True, progress: Callable[[str], None] | None = None
    ) -> FormatSearch:
        """Find the format by sending requests in common formats.

        The first request has no prompt. Then common formats are tried until one is answered, and that one is sent
        again. These are real calls, at most 18, in one session that ends afterwards.

        Args:
            prompt: The prompt of the requests.
            store: Whether to store the format that is found, unless it is the default.
            progress: Called with a line at each request; displayed in the notebook by default.

        Raises:
            LoomError: The agent speaks MCP or A2A, which define their own message format.
        """
        if self._entry.protocol != "HTTP":
            raise LoomError(
                f"{self._entry.protocol} defines its own message format",
                on=self._entry.name,
                try_=f"agent.{self._entry.protocol.lower()}()",
            )
        report, session = progress or WaitLine(), new_session_id()
        rows: list[tuple[str, str]] = []
        found_format: FoundFormat | None = None
        try:
            control = self._ask({}, session)
            for count, request in enumerate(REQUESTS, 1):
                report(f"form {count} of {len(REQUESTS)}: {_request_text(request)}")
                form = MessageFormat(request=request)
                trial = self._ask(form.body(prompt, session), session, request)
                result = find_format(trial, control, prompt)
                rows.append((_request_text(request), result if isinstance(result, str) else "answered"))
                if not isinstance(result, str):
                    other = self._ask(form.body(_OTHER_PROMPT, session), session, request)
                    found_format = confirm_format(result, trial, other, prompt)
                    break
        finally:
            self._end(session)
        if found_format is not None and store:
            usual = found_format.form == MessageFormat()
            self._keep(None if usual else found_format.form)
        return FormatSearch(
            agent_name=self._entry.name, found=found_format, trials=tuple(rows), labels=tuple(self._context.labels)
        )

    def _ask(self, payload: Mapping[str, Any], session: str, request: Mapping[str, Any] | None = None) -> FormatTrial:
        """Send a body unchanged, and return the answer without applying a format to it."""
        form, pieces = request or {}, list[bytes]()
        stream = self._context.invoker.stream(
            replace(self._entry, message_format=None),
            None,
            payload=payload,
            session_id=session,
            qualifier=self._qualifier,
            bearer=token_of(self._bearer),
            labels=(*self._context.labels, "probe"),
        )
        failure = ""
        with stream as events:
            for event in events:
                if isinstance(event, Chunk):
                    pieces.append(event.data)
                elif isinstance(event, InvocationError):
                    failure = event.message
        record = stream.record
        if failure and record is not None and record.failure != "agent_error":
            return FormatTrial(request=form, failure=failure[:200])
        if failure and not pieces:
            return FormatTrial(request=form, failure=failure[:200])
        return read_trial(form, (record and record.content_type) or "", pieces)

    def _end(self, session: str) -> None:
        with suppress(LoomError):  # it ends by itself at its idle timeout
            stop_session(
                self._context.clients,
                str(self._entry.arn),
                session,
                qualifier=self._qualifier,
                region=self._entry.region,
                bearer=token_of(self._bearer),
            )

    def _keep(self, form: MessageFormat | None) -> None:
        self._context.store.agents.set_message_format(self._entry.id, None if form is None else form.members())
        self._entry = self._context.catalog.get(self._entry)
        self._changed(self._entry)

    def __repr__(self) -> str:
        return f"<AgentMessages: {self._sentence()}>"

    def _repr_html_(self) -> str:
        form = self.form
        facts = (
            [] if form is None else [("answer path", form.answer or "default"), ("error path", form.error or "error")]
        )
        return card("Message format", labels=self._context.labels, facts=facts, note=self._sentence())

    def _sentence(self) -> str:
        form = self.form
        return f"{self._entry.name} accepts {_request_text((form or MessageFormat()).request)}"


def _request_text(request: Mapping[str, Any]) -> str:
    return to_text(request)
