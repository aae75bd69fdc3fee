"""The scripted model's answers: from the results of tools, or from the contents of the request."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence

from ..json_values import as_list, as_object
from ..request import ConverseRequest, ModelToolCall, Tool, ToolOutcome
from .choosing import Unfilled, describe
from .language import pattern, split_name
from .memories import (
    answer_from_facts,
    asked_for,
    facts_in,
    fitting,
    is_memory_tool,
    possibly_relevant,
    remembered,
    say_fact,
)
from .prose import best_sentence, wants_text, write_text

_LONG = 400
_SHORT = 60
_SENTENCE = re.compile(r"\s.*[.!?…]$", re.DOTALL)
_QUESTION = re.compile(r"\?\s*$")
_VERBS = ("get", "fetch", "tool", "current", "lookup", "find", "run")


def answer_with_results(
    request: ConverseRequest,
    results: Sequence[tuple[ModelToolCall, ToolOutcome]],
    unfilled: Sequence[Unfilled] = (),
) -> str:
    """Answer with one sentence per result, after sentences about what the prompt states or asks about the user.

    Args:
        request: The request.
        results: The calls since the newest question, with their results.
        unfilled: Tools that fit the question and lack an argument.
    """
    others = [(call, outcome) for call, outcome in results if not is_memory_tool(call.name) or outcome.failed]
    if not others:
        return answer_without_tools(request, unfilled, recalled=say_result(*results[-1]))
    parts = [_personal(request), *(say_result(call, outcome) for call, outcome in others), *map(_ask_for, unfilled)]
    sentences = [part for part in parts if part]
    return ("\n" if any("\n" in sentence for sentence in sentences) else " ").join(sentences)


def say_result(call: ModelToolCall, outcome: ToolOutcome) -> str:
    """Word the result of one call."""
    texts = [_readable(value, call.arguments) for value in outcome.values]
    text = "\n".join(text for text in texts if text).strip()
    if outcome.failed or text.startswith("Error:"):
        reason = text.removeprefix("Error:").strip().rstrip(".") or "it gave no reason"
        return f"The tool {call.name} failed{_for(call.arguments)}: {reason}."
    if not text:
        return f"The tool {call.name} returned nothing{_for(call.arguments)}."
    expression = call.arguments.get("expression")
    if isinstance(expression, str) and len(text) <= _SHORT:
        bare = re.sub(r"^(?:the )?(?:result|answer)(?: is)?\s*[:=]?\s*", "", text, flags=re.IGNORECASE).rstrip(".")
        return f"{bare}." if "=" in bare else f"{expression} = {bare}."
    if len(text) > _LONG or "\n" in text or _SENTENCE.search(text):
        return text
    return f"{_subject(call)}: {text}."


def answer_without_tools(request: ConverseRequest, unfilled: Sequence[Unfilled], recalled: str = "") -> str:
    """Answer from the prompt, the conversation, memory and the system prompt alone.

    Args:
        request: The request.
        unfilled: Tools that fit the question and lack an argument.
        recalled: The result of a memory lookup, used if there is no other answer.
    """
    question = request.turns[request.newest_question]
    prompt = question.text
    if unfilled:
        return " ".join([_personal(request), _ask_for(unfilled[0])]).strip()
    personal = _personal(request)
    if personal:
        return personal
    if pattern("answers", "abilities").search(prompt):
        return _abilities(request.tools)
    if wants_text(prompt):
        return write_text(prompt)
    if pattern("answers", "thanks").match(prompt):
        return "You are welcome."
    earlier = [turn.text for turn in request.turns[: request.newest_question] if turn.role == "user"]
    from_texts = best_sentence(prompt, [request.system, *earlier])
    if answer := from_texts or possibly_relevant(prompt, remembered(request)) or recalled:
        return answer
    if pattern("answers", "greeting").match(prompt):
        return f"Hello. {_abilities(request.tools)}"
    if question.attachments:
        kinds = ", ".join(dict.fromkeys(question.attachments))
        return f"I received an attachment ({kinds}), which a scripted model cannot look into."
    quotation = prompt if len(prompt) <= 160 else f"{prompt[:157]}…"
    return (
        f"You said: “{quotation}” No tool of mine fits that, "
        "and as a scripted model I have no knowledge of my own to answer from."
    )


def _personal(request: ConverseRequest) -> str:
    """Answer questions about the user in the prompt, and acknowledge facts that it states for the first time."""
    prompt = request.turns[request.newest_question].text
    attributes = asked_for(prompt)
    stated = facts_in([prompt])
    remembered_line = fitting(prompt, remembered(request)) if attributes or _QUESTION.search(prompt) else None
    if attributes:
        before = [turn.text for turn in request.turns[: request.newest_question + 1] if turn.role == "user"]
        return answer_from_facts(attributes, facts_in([request.system, *before]), remembered_line)
    if remembered_line and pattern("answers", "own").search(prompt):
        return remembered_line
    return f"Noted. {' '.join(say_fact(*fact) for fact in stated.items())}" if stated else ""


def _abilities(tools: Sequence[Tool]) -> str:
    if not tools:
        return "I am a scripted model without tools: I can write plain text about a topic and recall what you told me."
    listed = "; ".join(f"{tool.name} ({describe(tool)})" if describe(tool) else tool.name for tool in tools[:12])
    return f"I can use these tools: {listed}."


def _ask_for(unfilled: Unfilled) -> str:
    needed = " and ".join(" ".join(split_name(name)) for name in unfilled.missing)
    return f"For {unfilled.tool.name} I still need: {needed}. Which should I use?"


def _subject(call: ModelToolCall) -> str:
    name = " ".join(word for word in split_name(call.name) if word not in _VERBS) or call.name
    return f"{name[:1].upper()}{name[1:]}{_for(call.arguments)}"


def _for(arguments: Mapping[str, object]) -> str:
    plain = [
        str(value)
        for value in arguments.values()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]
    listing = ", ".join(text for text in plain if len(text) <= _SHORT)
    return f" ({listing})" if listing else ""


def _readable(value: object, arguments: Mapping[str, object]) -> str:
    """Return a result as text.

    JSON and Python literals become "name: value" pairs, without those that repeat an argument.
    """
    if isinstance(value, str):
        stripped = value.strip()
        if stripped[:1] not in ("{", "["):
            return stripped
        for parse in (json.loads, ast.literal_eval):
            try:
                value = parse(stripped)
                break
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
        else:
            return stripped
    pairs = {name: item for name, item in as_object(value).items() if item not in arguments.values()}
    return _flat(pairs or value)


def _flat(value: object) -> str:
    pairs, items = as_object(value), as_list(value)
    if pairs:
        return ", ".join(f"{' '.join(split_name(str(key))) or key}: {_flat(item)}" for key, item in pairs.items())
    if items:
        return "; ".join(map(_flat, items))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
