"""The form of an agent's requests and answers, where it is not AgentCore's usual one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Protocol, cast

import jmespath
from jmespath.exceptions import JMESPathError

from loomlib.errors import LoomError
from loomlib.json_values import as_mapping, as_text, to_text

PROMPT: Final = "{prompt}"
SESSION: Final = "{session_id}"
_USUAL: Final = {"prompt": PROMPT}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFormat:
    """The format of an agent's requests, and the paths to its answer and its errors.

    The paths are JMESPath expressions (jmespath.org), as in `aws --query`. They apply to a JSON body, and to each event
    of a stream.

    Examples:
        >>> MessageFormat(request={"message": "{prompt}"}, answer="result.response", error="result.error")

    Attributes:
        request: The JSON body. In its texts, `{prompt}` and `{session_id}` are replaced.
        answer: Path of the answer's text; "" for the usual places (`result`, `response`, `output`, …).
        error: Path of a failure that the agent reports in an answer with the status 200; "" for the usual place,
            `error`.
    """

    request: Mapping[str, Any] = field(default_factory=lambda: dict(_USUAL))
    answer: str = ""
    error: str = ""

    def __post_init__(self) -> None:
        if PROMPT not in json.dumps(self.request):
            raise ValueError(f'the request needs the placeholder {PROMPT}, such as {{"message": "{PROMPT}"}}')
        for path in (self.answer, self.error):
            _compiled(path)

    def body(self, prompt: str, session_id: str) -> Mapping[str, Any]:
        """Return the body of a request.

        Args:
            prompt: The prompt.
            session_id: The runtime session.
        """
        return cast("Mapping[str, Any]", _filled(self.request, {PROMPT: prompt, SESSION: session_id}))

    def answer_in(self, value: object) -> str | None:
        """Return the answer's text in a JSON value, None where there is none at the path."""
        answer = _search(self.answer, value)
        return None if answer is None else to_text(answer)

    def error_in(self, value: object) -> str | None:
        """Return the failure that a JSON value reports, None without one."""
        error = _search(self.error, value)
        return to_text(error) if error else None

    def members(self) -> dict[str, Any]:
        """Return the format as JSON, as it is stored and exported."""
        return {"request": dict(self.request), "answer": self.answer, "error": self.error}


def read_message_format(members: Mapping[str, Any]) -> MessageFormat | None:
    """Return a stored or exported format; None for an empty mapping.

    Raises:
        LoomError: It is not a format.
    """
    if not members:
        return None
    try:
        return MessageFormat(
            request=as_mapping(members.get("request")) or _USUAL,
            answer=as_text(members.get("answer")),
            error=as_text(members.get("error")),
        )
    except ValueError as error:
        raise LoomError("The format of an agent's messages cannot be read", on=str(error)) from error


class _Expression(Protocol):
    def search(self, value: object) -> object: ...


@lru_cache(maxsize=256)
def _compiled(path: str) -> _Expression | None:
    if not path:
        return None
    try:
        return cast("_Expression", jmespath.compile(path))
    except (JMESPathError, RecursionError) as error:
        raise ValueError(f"{path[:200]!r} is not a JMESPath expression: {str(error).splitlines()[0]}") from error


def _search(path: str, value: object) -> object:
    expression = _compiled(path)
    if expression is None:
        return None
    try:
        return expression.search(value)
    except (JMESPathError, RecursionError, TypeError, ValueError):  # a function of the path rejects what it found
        return None


def _filled(template: object, values: Mapping[str, str]) -> object:
    if isinstance(template, str):
        # The session first: a prompt that contains "{session_id}" stays as it is.
        return values[PROMPT].join(part.replace(SESSION, values[SESSION]) for part in template.split(PROMPT))
    if isinstance(template, Mapping):
        entries = cast("Mapping[str, object]", template)
        return {name: _filled(value, values) for name, value in entries.items()}
    if isinstance(template, Sequence):
        return [_filled(value, values) for value in cast("Sequence[object]", template)]
    return template
