"""Guardrails in InvokeModel: headers, tags in prompts, and two members of the response.

Source: Amazon Bedrock user guide, "Use a guardrail with InvokeModel" and "Apply tags to user input to filter content".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ..json_values import JsonObject, as_list, as_object, as_text
from ..refusals import invalid

ACTION: Final = "amazon-bedrock-guardrailAction"
TRACE: Final = "amazon-bedrock-trace"
_OPTIONS: Final = "amazon-bedrock-guardrailConfig"
_PREFIX: Final = b"x-amzn-bedrock-"
_QUALIFIERS: Final = {"guardContent": "guard_content", "groundingSource": "grounding_source", "query": "query"}
_MODES: Final = {"": "sync", "SYNCHRONOUS": "sync", "ASYNCHRONOUS": "async"}
_TRACES: Final = {"": "disabled", "DISABLED": "disabled", "ENABLED": "enabled", "ENABLED_FULL": "enabled_full"}
_TRACE_NAMES: Final = {"inputAssessment": "input", "outputAssessments": "outputs"}


def read_guardrail(headers: Mapping[bytes, bytes], body: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return Converse's `guardrailConfig` of a request, `{}` without a guardrail, and the body without its options.

    Args:
        headers: The request's headers.
        body: The parsed body.

    Raises:
        ModelRefusedError: A header is missing, or a value is unknown.
    """
    own = {name: value for name, value in body.items() if name != _OPTIONS}
    key, version, trace = (
        headers.get(_PREFIX + name, b"").decode("latin-1")
        for name in (b"guardrailidentifier", b"guardrailversion", b"trace")
    )
    options = as_object(body.get(_OPTIONS))
    if not key and not version:
        if options:
            raise invalid(f"{_OPTIONS} needs the headers of a guardrail: guardrailIdentifier and guardrailVersion")
        return {}, own
    if not key or not version:
        raise invalid("A guardrail requires both guardrailIdentifier and guardrailVersion")
    mode = as_text(options.get("streamProcessingMode")).upper()
    if trace not in _TRACES or mode not in _MODES:
        raise invalid(
            f"trace is {trace!r} and streamProcessingMode is {mode!r}; try {', '.join(filter(None, _TRACES))} and "
            f"{', '.join(filter(None, _MODES))}"
        )
    return {
        "guardrailIdentifier": key,
        "guardrailVersion": version,
        "trace": _TRACES[trace],
        "streamProcessingMode": _MODES[mode],
        "tagSuffix": as_text(options.get("tagSuffix")),
    }, own


def guarded_request(converse: JsonObject, guardrail: JsonObject) -> JsonObject:
    """Return a request in Converse's form with a guardrail, its tagged texts as `guardContent` blocks.

    Args:
        converse: The request.
        guardrail: What `read_guardrail` returned.
    """
    configuration = {name: value for name, value in guardrail.items() if name != "tagSuffix"}
    suffix = re.escape(as_text(guardrail["tagSuffix"]))
    tag = re.compile(  # the text of a tag cannot contain another tag, so unclosed tags are read in linear time
        rf"<amazon-bedrock-guardrails-({'|'.join(_QUALIFIERS)})_{suffix}>((?:(?!<amazon-bedrock-guardrails-).)*?)"
        rf"</amazon-bedrock-guardrails-\1_{suffix}>",
        re.DOTALL,
    )
    request = {**converse, "guardrailConfig": configuration}
    if not suffix:
        return request
    request["messages"] = [
        {**message, "content": _untagged(as_list(message.get("content")), tag)}
        for message in map(as_object, as_list(converse.get("messages")))
    ]
    if "system" in converse:
        request["system"] = _untagged(as_list(converse["system"]), tag)
    return request


def without_intervention(converse: JsonObject) -> JsonObject:
    """Return a Converse response without the members that a guardrail adds."""
    plain = {name: value for name, value in converse.items() if name != "trace"}
    if plain.get("stopReason") == "guardrail_intervened":
        plain["stopReason"] = "end_turn"
    return plain


def guardrail_members(stop_reason: object, trace: object) -> JsonObject:
    """Return the members that a guardrail adds to a response.

    Args:
        stop_reason: The stop reason in Converse's form.
        trace: The trace in Converse's form, None without one.
    """
    members: JsonObject = {ACTION: "INTERVENED" if stop_reason == "guardrail_intervened" else "NONE"}
    if guardrail := as_object(as_object(trace).get("guardrail")):
        own = {_TRACE_NAMES.get(name, name): value for name, value in guardrail.items()}
        if "outputs" in own:
            assessments = as_object(own["outputs"]).items()
            own["outputs"] = [{key: item} for key, items in assessments for item in as_list(items)]
        members[TRACE] = {"guardrail": own}
    return members


def _untagged(blocks: list[object], tag: re.Pattern[str]) -> list[object]:
    parts: list[object] = []
    for entry in blocks:
        text = as_text(as_object(entry).get("text"))
        if tag.search(text) is None:
            parts.append(entry)
            continue
        pieces = tag.split(text)  # plain text, then kind, tagged text and plain text for each tag
        parts += _plain(pieces[0])
        for kind, tagged, after in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
            if tagged.strip():
                parts.append({"guardContent": {"text": {"text": tagged, "qualifiers": [_QUALIFIERS[kind]]}}})
            parts += _plain(after)
    return parts


def _plain(text: str) -> list[object]:
    return [{"text": text}] if text.strip() else []
