"""The prompts of an agent's steps: which steps are enabled, and their templates, models and parsers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..wire import invalid, not_implemented
from .templates import OWN_TEMPLATES, filled
from .versions import AgentVersion

_INFERENCE: Final = {
    "temperature": "temperature", "topP": "topP", "maximumLength": "maxTokens", "stopSequences": "stopSequences",
}  # fmt: skip
_TYPES: Final = (
    "PRE_PROCESSING", "ORCHESTRATION", "KNOWLEDGE_BASE_RESPONSE_GENERATION", "POST_PROCESSING", "MEMORY_SUMMARIZATION",
)  # fmt: skip
"""The prompt types that CreateAgent accepts: the routing classifier has no configuration there."""

_NOT_PARSED: Final = ("ORCHESTRATION", "MEMORY_SUMMARIZATION")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSettings:
    """The settings of a step of an agent's turn.

    Attributes:
        kind: Bedrock's prompt type, such as PRE_PROCESSING.
        is_enabled: Whether the step runs.
        is_overridden: Whether the agent has its own template.
        template: The template.
        model: The id of the model that it calls.
        inference: The inference configuration, unchanged.
        more: Converse's `additionalModelRequestFields`.
        parser: The ARN of the Lambda function that reads the model's answer; "" for the default parser.
    """

    kind: str
    is_enabled: bool
    is_overridden: bool
    template: str = field(repr=False)
    model: str
    inference: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    parser: str = ""

    @property
    def limits(self) -> dict[str, Any]:
        """Converse's `inferenceConfig`."""
        return {_INFERENCE[name]: value for name, value in self.inference.items() if name in _INFERENCE and value}

    @property
    def trace_settings(self) -> dict[str, Any]:
        """The settings that the trace shows in addition to the prompt."""
        members: dict[str, Any] = {"type": self.kind, "foundationModel": self.model}
        members |= {"inferenceConfiguration": dict(self.inference)} if self.inference else {}
        if self.is_overridden:
            members["promptCreationMode"] = "OVERRIDDEN"
        if self.parser:
            members |= {"parserMode": "OVERRIDDEN", "overrideLambda": self.parser}
        return members


def step_settings(version: AgentVersion, kind: str) -> StepSettings:
    """Return the settings of a step.

    Args:
        version: The agent's version.
        kind: Bedrock's prompt type.
    """
    override: Mapping[str, Any] = version.document.get("promptOverrideConfiguration") or {}
    prompt = _prompts_by_type(version.document).get(kind, {})
    is_overridden = prompt.get("promptCreationMode") == "OVERRIDDEN"
    model_id = str((prompt.get("foundationModel") if is_overridden else "") or version.document["foundationModel"])
    return StepSettings(
        kind=kind,
        is_enabled=prompt.get("promptState", _state(version.document, kind)) == "ENABLED",
        is_overridden=is_overridden,
        template=str((prompt.get("basePromptTemplate") if is_overridden else "") or OWN_TEMPLATES[kind]),
        model=model_id.rpartition("/")[2],
        inference=(prompt.get("inferenceConfiguration") if is_overridden else None) or {},
        more=(prompt.get("additionalModelRequestFields") if is_overridden else None) or {},
        parser=str(override.get("overrideLambda") or "") if prompt.get("parserMode") == "OVERRIDDEN" else "",
    )


def check_prompts(document: Mapping[str, Any]) -> None:
    """Refuse prompts that cannot be executed.

    Args:
        document: The agent's members in CreateAgent.

    Raises:
        RefusedError: A prompt lacks its template or its parser (400), there is no orchestration, or a Lambda function
            parses a step whose raw responses differ from Bedrock's here (501).
    """
    override: Mapping[str, Any] = document.get("promptOverrideConfiguration") or {}
    for kind, prompt in _prompts_by_type(document).items():
        if prompt.get("promptCreationMode") == "OVERRIDDEN" and not prompt.get("basePromptTemplate"):
            raise invalid(f"The overridden prompt {kind} has no basePromptTemplate")
        if kind == "ORCHESTRATION" and prompt.get("promptState") == "DISABLED":
            raise not_implemented("agents without orchestration (promptState DISABLED)")
        if prompt.get("parserMode") == "OVERRIDDEN":
            if kind in _NOT_PARSED:
                raise not_implemented(f"prompts of agents that a Lambda function parses ({kind})")
            if not override.get("overrideLambda"):
                raise invalid(f"overrideLambda is missing; the parser of the prompt {kind} requires it")


def shown_prompts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return `promptOverrideConfiguration` as GetAgent shows it: with every step, including those not overridden.

    Args:
        document: The agent's members in CreateAgent.
    """
    override: Mapping[str, Any] = document.get("promptOverrideConfiguration") or {}
    prompts_by_type = _prompts_by_type(document)
    prompts: list[Mapping[str, Any]] = []
    for kind in _TYPES:
        default: dict[str, Any] = {
            "promptType": kind,
            "promptCreationMode": "DEFAULT",
            "promptState": _state(document, kind),
            "parserMode": "DEFAULT",
            "basePromptTemplate": OWN_TEMPLATES[kind],
        }
        prompts.append({**default, **prompts_by_type.get(kind, {})})
    return {**override, "promptConfigurations": prompts}


def system_prompt(version: AgentVersion, attributes: Mapping[str, str], memory: Sequence[str] = ()) -> str:
    """Return the system prompt of the orchestration.

    A template's placeholders for the instruction, the prompt session attributes and the memory are filled in; the
    others are removed, because the tools are in the request itself.

    Args:
        version: The agent's version.
        attributes: The prompt session attributes.
        memory: The summaries of earlier sessions, the newest first.
    """
    instruction: str = version.document["instruction"]
    summaries = "\n".join(f"<summary>\n{text}\n</summary>" for text in memory)
    values = {
        "instruction": instruction,
        "prompt_session_attributes": "\n".join(f"{name}: {value}" for name, value in attributes.items()),
        "memory_content": f"<memory_synopsis>\n{summaries}\n</memory_synopsis>" if summaries else "",
    }
    system, messages = filled(step_settings(version, "ORCHESTRATION").template, values)
    # A plain text template has no separate system prompt.
    text = system or "\n\n".join(block["text"] for message in messages for block in message["content"])
    return text.strip() or instruction


def _prompts_by_type(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    override: Mapping[str, Any] = document.get("promptOverrideConfiguration") or {}
    return {prompt.get("promptType", ""): prompt for prompt in override.get("promptConfigurations") or ()}


def _state(document: Mapping[str, Any], kind: str) -> str:
    """Return the default state of a step that the configuration does not mention."""
    memory: Mapping[str, Any] = document.get("memoryConfiguration") or {}
    is_enabled = {
        "ORCHESTRATION": True,
        "MEMORY_SUMMARIZATION": bool(memory.get("enabledMemoryTypes")),
        "ROUTING_CLASSIFIER": document.get("agentCollaboration") == "SUPERVISOR_ROUTER",
    }
    return "ENABLED" if is_enabled.get(kind) else "DISABLED"
