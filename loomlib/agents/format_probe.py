"""Find the format of an agent's messages from its answers to requests in several formats."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from loomlib.json_values import as_mapping

from .answers import agent_error, reader_for, whole_text
from .message_format import PROMPT, MessageFormat

_MESSAGE: Final = {"role": "user", "content": PROMPT}
REQUESTS: Final[tuple[Mapping[str, Any], ...]] = (
    {"prompt": PROMPT},
    {"message": PROMPT},
    {"input": PROMPT},
    {"query": PROMPT},
    {"question": PROMPT},
    {"text": PROMPT},
    {"inputText": PROMPT},
    {"user_input": PROMPT},
    {"content": PROMPT},
    {"messages": [_MESSAGE]},
    {"messages": [{"role": "user", "content": [{"text": PROMPT}]}]},
    {"input": {"prompt": PROMPT}},
    {"input": {"text": PROMPT}},
    {"input": {"messages": [_MESSAGE]}},
    {"request": {"message": PROMPT}},
    {"data": {"prompt": PROMPT}},
)
"""Forms that agents of the SDKs' and frameworks' examples take, the usual one first."""

_ANSWERS: Final = (
    "response", "answer", "result", "output", "content", "text", "reply", "message", "completion", "generated_text",
    "data", "body",
)  # fmt: skip
_FLAGS: Final = (("status", ("error", "failed", "failure")), ("success", (False,)), ("ok", (False,)))
_REASONS: Final = ("error_message", "errorMessage", "detail", "reason", "message")
_UNEXPLAINED: Final = "'the agent reports an error'"
_ID: Final = re.compile(r"[0-9a-fA-F-]{16,}|\d{4}-\d\d-\d\d[T ][\d:.+Z-]*|[\d.:-]+")
_DEEPEST: Final = 8
_MOST_LEAVES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatTrial:
    """The agent's answer to one request of the probe.

    Attributes:
        request: The request's form; empty for the request without any field.
        failure: Why it is not an answer; "" for an answer.
        values: The JSON body, or the events of the stream.
        content_type: The answer's content type.
        body: The answer as it was received.
    """

    request: Mapping[str, Any]
    failure: str = ""
    values: tuple[object, ...] = field(default=(), repr=False)
    content_type: str = ""
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFormat:
    """The form that a trial shows.

    Attributes:
        form: The form.
        text: The text of the answer at its place.
        reason: Why the trial counts as an answer to the prompt.
    """

    form: MessageFormat
    text: str
    reason: str


def read_trial(request: Mapping[str, Any], content_type: str, pieces: Sequence[bytes]) -> FormatTrial:
    """Return the trial of an answer.

    Args:
        request: The request's form.
        content_type: The answer's content type.
        pieces: The whole body, or the data of each event of a stream.
    """
    values: list[object] = []
    for piece in pieces:
        try:
            values.append(json.loads(piece))
        except (ValueError, RecursionError):
            values.append(piece.decode("utf-8", "replace"))
    stream = content_type.partition(";")[0].strip().lower() == "text/event-stream"
    body = b"".join(b"data: " + piece + b"\n\n" for piece in pieces) if stream else b"".join(pieces)
    return FormatTrial(request=request, values=tuple(values), content_type=content_type, body=body)


def find_format(trial: FormatTrial, control: FormatTrial, prompt: str) -> FoundFormat | str:
    """Return the form that a trial shows, or why it shows none.

    The agent has taken the prompt if its answer is not an error and differs from its answer to an empty request.

    Args:
        trial: The answer to a request with the prompt.
        control: The answer to a request without any field.
        prompt: The prompt.
    """
    if trial.failure:
        return trial.failure
    error = _error_path(control, trial)
    reported = _reported(trial, error)
    if reported:
        return f"it returns an error: {reported}"
    usual = _usual_text(trial)
    form = MessageFormat(request=trial.request, error=error)
    answered_nothing = bool(control.failure or _reported(control, error))
    if usual and usual != prompt and (answered_nothing or usual != _usual_text(control)):
        return FoundFormat(form=form, text=usual, reason=_reason(answered_nothing))
    found_format = _elsewhere(
        trial, () if answered_nothing else _leaves(control), prompt, form, _reason(answered_nothing)
    )
    return found_format or "it answers the same without a prompt"


def confirm_format(usual: FoundFormat, trial: FormatTrial, other: FormatTrial, prompt: str) -> FoundFormat:
    """Return the form with the place of the text that depends on the prompt.

    A text such as "success" at a usual place is the same for every prompt, so the answer is elsewhere.

    Args:
        usual: The form that the trial shows.
        trial: The answer to the prompt.
        other: The answer to another prompt in the same form.
        prompt: The prompt.
    """
    if other.failure or usual.form.answer or _usual_text(other) != usual.text:
        return usual
    return _elsewhere(trial, _leaves(other), prompt, usual.form, usual.reason) or usual


def _elsewhere(
    trial: FormatTrial, others: Iterable[tuple[str, str]], prompt: str, form: MessageFormat, reason: str
) -> FoundFormat | None:
    """Return the format whose answer path is the best-ranked text that the other answer does not have at that path."""
    for path, text in sorted(set(_leaves(trial)) - set(others), key=_rank):
        if text != prompt and not _ID.fullmatch(text):
            placed = replace(form, answer=path)
            whole = "".join(filter(None, (placed.answer_in(value) for value in trial.values)))
            return FoundFormat(form=placed, text=whole, reason=reason)
    return None


def _reason(answered_nothing: bool) -> str:
    if answered_nothing:
        return "it answers only if there is a prompt"
    return "its answer differs from that to an empty request"


def _usual_text(trial: FormatTrial) -> str:
    """Return the text at the usual places, "" without one."""
    kind = trial.content_type.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return "".join(filter(None, map(whole_text, trial.values)))
    reader = reader_for(kind)
    return "".join(piece.text for piece in (*reader.feed(trial.body), *reader.finish()))


def _reported(trial: FormatTrial, path: str) -> str:
    form = MessageFormat(error=path)
    for value in trial.values:
        if reported := form.error_in(value) or agent_error(value):
            return reported[:200]
    return ""


def _error_path(control: FormatTrial, trial: FormatTrial) -> str:
    """Return the path of errors that an answer to an empty request reports in another place than `error`."""
    for value in (*control.values, *trial.values):
        fields = as_mapping(value)
        for flag, bad in _FLAGS:
            if fields.get(flag) in bad and isinstance(fields.get(flag), str | bool):
                reason = next((name for name in _REASONS if isinstance(fields.get(name), str)), _UNEXPLAINED)
                expected = f"'{fields[flag]}'" if isinstance(fields[flag], str) else "`false`"
                return f"{flag} == {expected} && {reason}"
    return ""


def _leaves(trial: FormatTrial) -> Iterator[tuple[str, str]]:
    """Yield the texts in the values with the path of each; of a stream, those of its first events."""
    count = 0
    for value in trial.values[:_DEEPEST]:
        for leaf in _texts(value, "", 0):
            count += 1
            if count > _MOST_LEAVES:
                return
            yield leaf


def _texts(value: object, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if path and value.strip():
            yield path, value
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for name, inner in cast("Mapping[str, object]", value).items():
            key = name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else json.dumps(name)
            yield from _texts(inner, f"{path}.{key}" if path else key, depth + 1)
    elif depth < _DEEPEST and isinstance(value, list) and value:
        items = cast("list[object]", value)
        yield from _texts(items[-1], f"{path}[-1]", depth + 1)


def _rank(leaf: tuple[str, str]) -> tuple[int, int, str]:
    path, text = leaf
    name = re.split(r"[.\[]", re.sub(r"\[-1\]", "", path))[-1].strip('"')
    rank = _ANSWERS.index(name) if name in _ANSWERS else len(_ANSWERS)
    return rank, -len(text), path
