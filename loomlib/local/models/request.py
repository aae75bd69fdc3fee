"""A Converse request as values: its turns, tools and limits."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .json_values import JsonObject, as_integer, as_list, as_object, as_text, as_texts, field_of
from .refusals import invalid
from .tokens import estimate_input_tokens

_MAX_TOOL_NAME = 64
_CONTEXT = re.compile(r"\s*<([\w-]{0,64}(?:context|memor)[\w-]{0,64})>(.*)</\1>\s*", re.DOTALL | re.IGNORECASE)
_TOPIC = re.compile(r"</?topic\b[^>\n]*>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that the model may call; `schema` is the JSON schema of its input."""

    name: str
    description: str = ""
    schema: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelToolCall:
    """A tool call that a model asked for."""

    id: str
    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """The result of a tool call: `values` are its JSON and text blocks, in order."""

    id: str
    values: tuple[object, ...]
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """One message of the conversation.

    Attributes:
        role: "user" or "assistant".
        text: Its text, without the lines that a memory added before it.
        calls: The tool calls in it.
        outcomes: The tool results in it.
        attachments: The kinds of its other blocks, such as "image".
        remembered: The lines that a memory added before the text (`<user_context>…</user_context>`); they are
            information about the user, never a question.
    """

    role: str
    text: str = ""
    calls: tuple[ModelToolCall, ...] = ()
    outcomes: tuple[ToolOutcome, ...] = ()
    attachments: tuple[str, ...] = ()
    remembered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConverseRequest:
    """A whole request.

    Attributes:
        model_id: The model that is asked for.
        body: The request body, unchanged.
        system: The system prompt.
        turns: The messages.
        tools: The tools that may be called.
        choice: "auto", "any" or "tool".
        forced_tool: The tool that must be called if `choice` is "tool".
        max_tokens: The limit of output tokens.
        stop_sequences: Texts that end the answer.
        output_schema: The JSON schema of the answer, from Converse's `outputConfig`.
        input_tokens: Estimated tokens of the request.
        digest: A hash of the request; all pseudo-random values are derived from it.
    """

    model_id: str
    body: JsonObject = field(repr=False)
    system: str = ""
    turns: tuple[ChatTurn, ...]
    tools: tuple[Tool, ...] = ()
    choice: str = "auto"
    forced_tool: str | None = None
    max_tokens: int | None = None
    stop_sequences: tuple[str, ...] = ()
    output_schema: JsonObject | None = None
    input_tokens: int = 0
    digest: str = ""

    @property
    def newest_question(self) -> int:
        """The index of the newest turn in which the user asks, rather than only returns tool results."""
        questions = [i for i, turn in enumerate(self.turns) if turn.role == "user" and (turn.text or turn.attachments)]
        fresh = [i for i in questions if not self.turns[i].outcomes]
        return (fresh or questions or [0])[-1]


def read_request(model_id: str, body: JsonObject) -> ConverseRequest:
    """Read a Converse body.

    Args:
        model_id: The model that is asked for.
        body: The parsed body.

    Raises:
        ModelRefusedError: Bedrock would refuse the request (ValidationException).
    """
    turns = tuple(_read_turn(i, as_object(message)) for i, message in enumerate(as_list(body.get("messages"))))
    if not turns:
        raise invalid("The messages field is empty: a conversation needs at least one message.")
    if turns[0].role != "user":
        raise invalid("A conversation must start with a user message.")
    tool_config = as_object(body.get("toolConfig"))
    tools = tuple(_read_tool(as_object(entry)) for entry in as_list(tool_config.get("tools")) if _is_tool(entry))
    _check_tool_traffic(turns, has_tools="toolConfig" in body)
    tool_choice = as_object(tool_config.get("toolChoice"))
    if "none" in tool_choice:  # not of Converse but of Anthropic's format
        tools = ()
    choice, forced_tool = _read_choice(tool_choice, tools)
    limits = as_object(body.get("inferenceConfig"))
    max_tokens = as_integer(limits.get("maxTokens"))
    if max_tokens is not None and max_tokens < 1:
        raise invalid("inferenceConfig.maxTokens must be at least 1.")
    canonical = json.dumps([model_id, body], sort_keys=True, ensure_ascii=False, default=repr)
    return ConverseRequest(
        model_id=model_id,
        body=body,
        system="\n".join(as_text(as_object(block).get("text")) for block in as_list(body.get("system"))).strip(),
        turns=turns,
        tools=tools,
        choice=choice,
        forced_tool=forced_tool,
        max_tokens=max_tokens,
        stop_sequences=tuple(text for text in as_texts(limits.get("stopSequences")) if text),
        output_schema=_read_output_schema(as_object(body.get("outputConfig"))),
        input_tokens=estimate_input_tokens(body),
        digest=hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def record_lines(text: str) -> list[str]:
    """Split a text from a memory into lines, one for each record.

    Preferences are JSON; summaries are topics in tags.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        plain = line.strip()
        if plain.startswith("{"):
            with contextlib.suppress(ValueError, RecursionError):
                plain = as_text(as_object(json.loads(plain)).get("preference")) or plain
        lines.append(_TOPIC.sub("", plain).strip())
    return [line for line in lines if line]


def _read_turn(index: int, message: JsonObject) -> ChatTurn:
    role = as_text(message.get("role"))
    if role not in ("user", "assistant"):
        raise invalid(f"messages.{index}.role is {role!r}; it must be 'user' or 'assistant'.")
    texts: list[str] = []
    remembered: list[str] = []
    calls: list[ModelToolCall] = []
    outcomes: list[ToolOutcome] = []
    attachments: list[str] = []
    for place, entry in enumerate(as_list(message.get("content"))):
        block = as_object(entry)
        if "text" in block:
            text = as_text(block["text"])
            if not text.strip():
                raise invalid(
                    f"The text field in the ContentBlock object at messages.{index}.content.{place} is blank."
                )
            if role == "user" and (context := _CONTEXT.fullmatch(text)):
                remembered += record_lines(context[2])
            else:
                texts.append(text)
        elif "toolUse" in block:
            use = as_object(block["toolUse"])
            arguments = as_object(use.get("input"))
            calls.append(
                ModelToolCall(id=as_text(use.get("toolUseId")), name=as_text(use.get("name")), arguments=arguments)
            )
        elif "toolResult" in block:
            outcomes.append(_read_outcome(as_object(block["toolResult"])))
        else:
            kind = next(iter(block), "")
            if kind and kind not in ("cachePoint", "reasoningContent"):
                attachments.append(kind)
    return ChatTurn(
        role=role,
        text="\n".join(texts),
        calls=tuple(calls),
        outcomes=tuple(outcomes),
        attachments=tuple(attachments),
        remembered=tuple(remembered),
    )


def _read_outcome(result: JsonObject) -> ToolOutcome:
    values = [
        block["json"] if "json" in block else block["text"]
        for block in map(as_object, as_list(result.get("content")))
        if "json" in block or "text" in block
    ]
    return ToolOutcome(
        id=as_text(result.get("toolUseId")), values=tuple(values), failed=result.get("status") == "error"
    )


def _is_tool(entry: object) -> bool:
    return "toolSpec" in as_object(entry)


def _read_tool(entry: JsonObject) -> Tool:
    spec = as_object(entry["toolSpec"])
    name = as_text(spec.get("name"))
    if not name or len(name) > _MAX_TOOL_NAME:
        raise invalid(f"A tool's name must have 1 to {_MAX_TOOL_NAME} characters, not {len(name)}.")
    schema = as_object(as_object(spec.get("inputSchema")).get("json"))
    return Tool(name=name, description=as_text(spec.get("description")), schema=schema)


def _read_choice(choice: JsonObject, tools: tuple[Tool, ...]) -> tuple[str, str | None]:
    if "tool" in choice:
        name = as_text(as_object(choice["tool"]).get("name"))
        if name not in {tool.name for tool in tools}:
            raise invalid(f"toolConfig.toolChoice.tool.name is {name!r}, which is not one of toolConfig.tools.")
        return "tool", name
    return ("any", None) if "any" in choice and tools else ("auto", None)


def _read_output_schema(config: JsonObject) -> JsonObject | None:
    text = as_text(field_of(config, "textFormat", "structure", "jsonSchema", "schema"))
    if not text:
        return None
    try:
        return as_object(json.loads(text))
    except ValueError as error:
        raise invalid(f"outputConfig.textFormat.structure.jsonSchema.schema is not JSON: {error}") from error


def _check_tool_traffic(turns: tuple[ChatTurn, ...], *, has_tools: bool) -> None:
    """Check that every call of the previous turn has a result, and every result a call."""
    if not has_tools and any(turn.calls or turn.outcomes for turn in turns):
        raise invalid("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
    for index, turn in enumerate(turns):
        before = turns[index - 1] if index else None
        call_ids = {call.id for call in before.calls} if before and before.role == "assistant" else set[str]()
        outcome_ids = {outcome.id for outcome in turn.outcomes}
        if missing := sorted(call_ids - outcome_ids):
            raise invalid(
                f"Expected toolResult blocks at messages.{index}.content for the following Ids: {', '.join(missing)}"
            )
        # A history that was truncated to its newest messages can start with results whose calls are missing.
        if index and outcome_ids - call_ids:
            raise invalid(
                f"The toolResult blocks at messages.{index}.content belong to no call of the previous turn: "
                + ", ".join(sorted(outcome_ids - call_ids))
            )
