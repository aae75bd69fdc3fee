"""The model's request of an agent: its system prompt, and the prompts that a configuration overrides."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ..wire import not_implemented
from .versions import AgentVersion

_PLACEHOLDER: Final = re.compile(r"\$[a-z_]+\$")
_INFERENCE: Final = {
    "temperature": "temperature", "topP": "topP", "maximumLength": "maxTokens", "stopSequences": "stopSequences",
}  # fmt: skip
_DEFAULT: Final = json.dumps({"system": "$instruction$\n\n$prompt_session_attributes$", "messages": []})
"""The orchestration's template without an override: Loom's own, not Bedrock's."""

_TYPES: Final = (
    "PRE_PROCESSING", "ORCHESTRATION", "KNOWLEDGE_BASE_RESPONSE_GENERATION", "POST_PROCESSING", "MEMORY_SUMMARIZATION",
)  # fmt: skip
_TYPES_OFF: Final = ("PRE_PROCESSING", "POST_PROCESSING", "KNOWLEDGE_BASE_RESPONSE_GENERATION")


def check_prompts(document: Mapping[str, Any]) -> None:
    """Refuse overridden prompts that are not executed here.

    Args:
        document: The agent's members in CreateAgent.

    Raises:
        RefusedError: A step other than the orchestration is overridden, or a Lambda function parses (501).
    """
    override: Mapping[str, Any] = document.get("promptOverrideConfiguration") or {}
    for prompt in override.get("promptConfigurations") or ():
        kind = prompt.get("promptType", "")
        if prompt.get("parserMode") == "OVERRIDDEN":
            raise not_implemented(f"prompts of agents that a Lambda function parses ({kind})")
        overridden = prompt.get("promptCreationMode") == "OVERRIDDEN" and prompt.get("promptState") != "DISABLED"
        if kind in _TYPES_OFF and overridden:
            raise not_implemented(f"the step {kind} of agents")


def shown_prompts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return `promptOverrideConfiguration` as GetAgent shows it: with every step, those that are not overridden too.

    Args:
        document: The agent's members in CreateAgent.
    """
    override: Mapping[str, Any] = document.get("promptOverrideConfiguration") or {}
    given: Mapping[str, Mapping[str, Any]] = {
        prompt.get("promptType", ""): prompt for prompt in override.get("promptConfigurations") or ()
    }
    prompts: list[Mapping[str, Any]] = []
    for kind in _TYPES:
        default: dict[str, Any] = {
            "promptType": kind,
            "promptCreationMode": "DEFAULT",
            "promptState": "ENABLED" if kind == "ORCHESTRATION" else "DISABLED",
            "parserMode": "DEFAULT",
        }
        if kind == "ORCHESTRATION":
            default["basePromptTemplate"] = _DEFAULT
        prompts.append({**default, **given.get(kind, {})})
    return {**override, "promptConfigurations": prompts}


def orchestration(version: AgentVersion) -> Mapping[str, Any]:
    """Return the overridden prompt of the orchestration; empty if there is none."""
    override: Mapping[str, Any] = version.document.get("promptOverrideConfiguration") or {}
    prompts: Sequence[Mapping[str, Any]] = override.get("promptConfigurations") or ()
    for prompt in prompts:
        if prompt.get("promptType") == "ORCHESTRATION" and prompt.get("promptCreationMode") == "OVERRIDDEN":
            return prompt
    return {}


def system_prompt(version: AgentVersion, attributes: Mapping[str, str]) -> str:
    """Return the system prompt.

    A template's placeholders for the instruction and the prompt session attributes are filled in; the others are
    removed, because the tools are in the request itself.

    Args:
        version: The agent's version.
        attributes: The prompt session attributes.
    """
    instruction: str = version.document["instruction"]
    shown = "\n".join(f"{name}: {value}" for name, value in attributes.items())
    template = _system_of(str(orchestration(version).get("basePromptTemplate") or _DEFAULT))
    values = {"$instruction$": instruction, "$prompt_session_attributes$": shown}
    return _PLACEHOLDER.sub(lambda match: values.get(match[0], ""), template).strip() or instruction


def inference(version: AgentVersion) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return Converse's `inferenceConfig`, and the same as the trace shows it."""
    given: Mapping[str, Any] = orchestration(version).get("inferenceConfiguration") or {}
    return {_INFERENCE[name]: value for name, value in given.items() if name in _INFERENCE and value}, dict(given)


def model_id(version: AgentVersion) -> str:
    """Return the model that a version asks."""
    named = str(orchestration(version).get("foundationModel") or version.document["foundationModel"])
    return named.rpartition("/")[2]


def _system_of(template: str) -> str:
    """Return the system prompt of a template: its member `system` if it is JSON, else all of it."""
    try:
        document = json.loads(template)
    except (ValueError, RecursionError):
        return template
    if not isinstance(document, dict):
        return template
    system = cast("dict[str, Any]", document).get("system")
    return system if isinstance(system, str) else template
