"""Values of the Model Context Protocol, as callbacks receive them, and the text of a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypedDict

from loomlib.errors import ProtocolError
from loomlib.json_values import as_list, as_mapping, as_text, mapping_or_none, to_text
from loomlib.presentation.formats import size

PROTOCOL_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The protocol versions with a handshake that Loom speaks, newest first; the newest is offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressNotification:
    """A progress notification of a call.

    Attributes:
        progress: How much is done; it only grows.
        total: How much there is to do; None when the server does not know.
        message: What is being done.
        at_ms: Milliseconds after the request was sent.
    """

    progress: float
    total: float | None = None
    message: str = ""
    at_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMessage:
    """A log notification of a server.

    Attributes:
        level: One of RFC 5424's levels, from `debug` to `emergency`.
        data: What was logged: a text, or any JSON value.
        logger: The logger's name.
        at_ms: Milliseconds after the request of the call was sent; None outside calls.
    """

    level: str
    data: Any
    logger: str = ""
    at_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Elicitation:
    """A server's question to the person who uses the client.

    Attributes:
        message: The question.
        schema: The JSON schema of the answer; empty in the mode "url".
        mode: "form", or "url" for something to do on a web page.
        url: The page of the mode "url".
    """

    message: str
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    mode: str = "form"
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """A server's request for an answer of the client's model.

    Attributes:
        messages: The conversation: `role` and `content`, as in the protocol.
        system_prompt: The system prompt.
        max_tokens: The maximum number of tokens of the answer.
        params: The request as it came: temperature, model preferences, tools.
    """

    messages: Sequence[Mapping[str, Any]]
    system_prompt: str = ""
    max_tokens: int = 0
    params: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @property
    def text(self) -> str:
        """The text of the last message."""
        content = as_mapping(self.messages[-1]).get("content") if self.messages else None
        return text_of(as_list(content) or (content,))


class CallbackOptions(TypedDict, total=False):
    """The arguments of `Callbacks`, which describes each."""

    on_progress: Callable[[ProgressNotification], object] | None
    on_log: Callable[[LogMessage], object] | None
    on_elicit: Callable[[Elicitation], Mapping[str, Any] | str | None] | None
    on_sample: Callable[[Sampling], str | Mapping[str, Any] | None] | None
    roots: Sequence[str | Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """A client's callbacks for the server's reports and requests; without one, the capability is not offered.

    Attributes:
        on_progress: Called with each progress notification.
        on_log: Called with each log notification.
        on_elicit: Answers a question: a mapping with the fields (for a URL `{}`) accepts, None declines, "cancel"
            cancels.
        on_sample: Answers for the client's model: a text, or the protocol's result as a mapping; None declines.
        roots: Folders or URIs that the server may ask for.
    """

    on_progress: Callable[[ProgressNotification], object] | None = None
    on_log: Callable[[LogMessage], object] | None = None
    on_elicit: Callable[[Elicitation], Mapping[str, Any] | str | None] | None = None
    on_sample: Callable[[Sampling], str | Mapping[str, Any] | None] | None = None
    roots: Sequence[str | Path] = ()

    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities that a client with these callbacks declares."""
        declared: dict[str, Any] = {}
        if self.on_elicit is not None:
            declared["elicitation"] = {"form": {}, "url": {}}
        if self.on_sample is not None:
            declared["sampling"] = {}
        if self.roots:
            declared["roots"] = {"listChanged": True}
        return declared

    def root_values(self) -> list[dict[str, str]]:
        """Return the roots in the protocol's form."""
        values: list[dict[str, str]] = []
        for root in self.roots:
            uri = str(root) if "://" in str(root) else Path(root).absolute().as_uri()
            values.append({"uri": uri, "name": uri.rstrip("/").rpartition("/")[2]})
        return values


def text_of(content: Sequence[Any]) -> str:
    """Return the text of content blocks; other kinds as a short description in square brackets."""
    return "\n".join(filter(None, (_block_text(as_mapping(block)) for block in content)))


def result_text(result: Mapping[str, Any]) -> str:
    """Return the text of a result of tools/call, resources/read or prompts/get; structured content as JSON."""
    if contents := as_list(result.get("contents")):
        return "\n".join(filter(None, (_resource_text(as_mapping(one)) for one in contents)))
    if messages := as_list(result.get("messages")):
        return "\n\n".join(
            f"{as_text(as_mapping(one).get('role'))}: {text_of((as_mapping(one).get('content'),))}" for one in messages
        )
    text = text_of(as_list(result.get("content")))
    return text or to_text(result.get("structuredContent"))


def sampling_result(answer: object) -> dict[str, Any]:
    """Return what `on_sample` returned in the protocol's form."""
    if isinstance(answer, str):
        return {
            "role": "assistant",
            "content": {"type": "text", "text": answer},
            "model": "loom",
            "stopReason": "endTurn",
        }
    if (fields := mapping_or_none(answer)) is not None:
        return dict(fields)
    raise ProtocolError(
        "on_sample returned neither a text nor a mapping", on=type(answer).__name__, try_="return the answer's text"
    )


def _block_text(block: Mapping[str, Any]) -> str:
    kind = as_text(block.get("type"))
    if kind == "text":
        return as_text(block.get("text"))
    if kind == "resource":
        return _resource_text(as_mapping(block.get("resource")))
    if kind == "resource_link":
        return f"[resource {as_text(block.get('uri'))}]"
    length = len(as_text(block.get("data"))) * 3 // 4
    return f"[{kind} {as_text(block.get('mimeType'))}, {size(length)}]" if kind else ""


def _resource_text(resource: Mapping[str, Any]) -> str:
    if isinstance(resource.get("text"), str):
        return str(resource["text"])
    length = len(as_text(resource.get("blob"))) * 3 // 4
    return f"[{as_text(resource.get('mimeType')) or 'resource'} {as_text(resource.get('uri'))}, {size(length)}]"
