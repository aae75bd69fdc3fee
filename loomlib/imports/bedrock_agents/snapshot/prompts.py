"""The steps of an agent's turn: their prompts, parameters and parsers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from loomlib.json_values import as_list, as_mapping, as_text, number_or_none

from ..model import InferenceParameters, PromptStep, StepName
from ..openapi import plain_json
from .scrubbing import Scrubber

_STEPS: Final[Mapping[str, StepName]] = {
    "PRE_PROCESSING": "pre_processing",
    "ROUTING_CLASSIFIER": "routing_classifier",
    "ORCHESTRATION": "orchestration",
    "KNOWLEDGE_BASE_RESPONSE_GENERATION": "knowledge_base_response",
    "POST_PROCESSING": "post_processing",
    "MEMORY_SUMMARIZATION": "memory_summarization",
}
"""The steps in the order of a turn."""


def read_prompts(configuration: Mapping[str, Any], scrubber: Scrubber) -> tuple[PromptStep, ...]:
    """Return the steps of a `promptOverrideConfiguration` in the order of a turn.

    Args:
        configuration: The configuration.
        scrubber: Removes secrets.
    """
    parser = as_text(configuration.get("overrideLambda"))
    listed = [as_mapping(item) for item in as_list(configuration.get("promptConfigurations"))]
    by_type = {as_text(item.get("promptType")): item for item in listed}
    return tuple(_step(name, by_type[kind], parser, scrubber) for kind, name in _STEPS.items() if kind in by_type)


def _step(name: StepName, configuration: Mapping[str, Any], parser: str, scrubber: Scrubber) -> PromptStep:
    is_overridden = configuration.get("promptCreationMode") == "OVERRIDDEN"
    return PromptStep(
        name=name,
        is_enabled=configuration.get("promptState") != "DISABLED",
        is_overridden=is_overridden,
        template=scrubber.text(as_text(configuration.get("basePromptTemplate"))) if is_overridden else "",
        inference=_inference(configuration, scrubber),
        model=as_text(configuration.get("foundationModel")),
        parser_lambda=parser if configuration.get("parserMode") == "OVERRIDDEN" else "",
    )


def _inference(configuration: Mapping[str, Any], scrubber: Scrubber) -> InferenceParameters:
    inference = as_mapping(configuration.get("inferenceConfiguration"))

    def count(name: str) -> int | None:
        number = number_or_none(inference.get(name))
        return int(number) if number is not None else None

    return InferenceParameters(
        temperature=number_or_none(inference.get("temperature")),
        top_p=number_or_none(inference.get("topP")),
        top_k=count("topK"),
        max_tokens=count("maximumLength"),
        stop_sequences=tuple(scrubber.text(as_text(item)) for item in as_list(inference.get("stopSequences"))),
        more=scrubber.schema(plain_json(as_mapping(configuration.get("additionalModelRequestFields")))),
    )
