"""Questions that an MCP server asks during a call, answered in the Test panel: elicitation and sampling."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Lock
from typing import Any, Final

from loomlib.agents.protocols import Elicitation, Sampling
from loomlib.errors import LoomError
from loomlib.json_values import as_mapping, as_text

from ...kit import Form, PanelPort, action
from ...kit.schema_forms import fields_of, values_of
from .words import short_text, well_formed

_MOST_MESSAGES: Final = 50


@dataclass(kw_only=True, slots=True)
class ServerQuestion:
    """A question that waits for its answer."""

    number: int
    asked: Elicitation | Sampling
    settled: Event = field(default_factory=Event)
    answer: Mapping[str, Any] | str | None = None
    """The answer in the form that callbacks of `agent.protocols.mcp` return; None declines."""

    def message(self) -> dict[str, Any]:
        """Return the question as a message to a view."""
        if isinstance(self.asked, Elicitation):
            return {
                "question": self.number,
                "asks": "user",
                "message": short_text(self.asked.message),
                "fields": fields_of(self.asked.schema),
                "url": well_formed(self.asked.url)[:2_000],
            }
        from loomlib.workbench.sampling import DEFAULT_MODEL

        return {
            "question": self.number,
            "asks": "model",
            "message": "The server requests an answer from your model.",
            "messages": [
                [short_text(as_text(message.get("role"))), short_text(Sampling(messages=[message]).text)]
                for message in self.asked.messages[:_MOST_MESSAGES]
            ],
            "system": short_text(self.asked.system_prompt),
            "most": self.asked.max_tokens,
            "model": DEFAULT_MODEL,
        }


class ServerQuestions:
    """The questions of the open MCP session; they are shown one after the other."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel
        self._asking, self._questions, self._numbers = Lock(), list[ServerQuestion](), count(1)
        self.on_answer: list[Callable[[str, str], object]] = []
        """Called with the callback's name and the answer as Python, before the answer is sent to the server."""

    @action(lane="question")
    def answer_server(self, form: Form) -> None:
        """Answer the question of the server: accept with the form's values or with a text, decline or cancel."""
        question = self._current_question(form)
        request, action = question.asked, form.text("action")
        if action == "accept" and isinstance(request, Elicitation):
            question.answer = values_of(request.schema, as_mapping(form.get("values")))
        elif action == "accept":
            if not form.text("text").strip():
                raise LoomError("The answer is empty", try_="write it, let the model answer, or decline")
            question.answer = form.text("text")
        else:
            question.answer = "cancel" if action == "cancel" and isinstance(request, Elicitation) else None
        name, parameter = ("on_elicit", "question") if isinstance(request, Elicitation) else ("on_sample", "request")
        for listener in self.on_answer:
            listener(name, f"lambda {parameter}: {question.answer!r}")
        self._settle(question)

    @action(lane="model")
    def sample(self, form: Form) -> Mapping[str, Any]:
        """Let a model answer the server's sampling request; the answer is shown before it is sent."""
        from loomlib.workbench.sampling import DEFAULT_MODEL, sampling_model

        request = self._current_question(form).asked
        if not isinstance(request, Sampling):
            raise LoomError("The server asks you, not a model", try_="fill in the form")
        model = form.text("model").strip()
        self._panel.say(f"Asking {short_text(model)} …")
        answer = sampling_model(self._panel.bench, model or DEFAULT_MODEL)(request)
        labels = ["simulated"] if answer["_meta"]["loom/simulated"] else []
        self._panel.say(f"The model has answered{''.join(f', {label}' for label in labels)}.")
        return {"text": well_formed(answer["content"]["text"]), "labels": labels}

    def ask(self, asked: Elicitation | Sampling) -> Mapping[str, Any] | str | None:
        """Show a question of the server and wait for its answer."""
        with self._asking:
            question = ServerQuestion(number=next(self._numbers), asked=asked)
            self._questions.append(question)
        self._show_question()
        self._panel.say("The server asks a question.")
        question.settled.wait()
        return question.answer

    def _current_question(self, form: Form) -> ServerQuestion:
        """Return the question that waits.

        Raises:
            LoomError: No question waits, or the form names another one, which its view still shows.
        """
        with self._asking:
            if not self._questions or form.get("question", self._questions[0].number) != self._questions[0].number:
                raise LoomError("This question can no longer be answered", try_="call the tool again")
            return self._questions[0]

    def _settle(self, question: ServerQuestion) -> None:
        with self._asking:
            self._questions = [other for other in self._questions if other is not question]
        question.settled.set()
        self._show_question()

    def drop(self) -> None:
        """Decline the unanswered questions, because their call has ended."""
        with self._asking:
            questions, self._questions = self._questions, []
        for question in questions:
            question.settled.set()
        self._show_question()

    def _show_question(self) -> None:
        self._panel.send_message("question", **self.message())

    def message(self) -> dict[str, Any]:
        """Return the question that is shown as a message to a view; empty when there is none."""
        with self._asking:
            return self._questions[0].message() if self._questions else {}
