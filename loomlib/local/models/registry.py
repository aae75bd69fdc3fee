"""The models that can answer Converse, by name: Loom's own, and those that plugins give (hook `loom_models`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from loomlib.local.models.json_values import JsonObject
from loomlib.plugins import load_plugins


class ConverseModel(Protocol):
    """What stands behind Converse and ConverseStream. Both raise `ModelRefused`."""

    @property
    def simulated(self) -> bool:
        """Whether its times and answers are made up rather than a real model's."""
        ...

    @property
    def label(self) -> str:
        """What to print beside a number that comes from it."""
        ...

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        """The JSON body of a Converse response."""
        ...

    def converse_stream(self, model_id: str, request: JsonObject) -> AsyncIterator[bytes]:
        """One event-stream frame at a time. A refusal comes from this call or before the first frame."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


ModelFactory = Callable[[str, str | None], ConverseModel]
"""Makes a model from the profile's name and the model's address (None when there is none)."""


def _scripted(profile: str, url: str | None) -> ConverseModel:
    from loomlib.local.models.scripted_model import ScriptedModel

    return ScriptedModel(profile=profile)


def _openai(profile: str, url: str | None) -> ConverseModel:
    from loomlib.local.models.openai_model import OpenAiModel

    return OpenAiModel(url=url)


MODELS: dict[str, ModelFactory] = {"scripted": _scripted, "openai": _openai}


def make_model(name: str, profile: str, url: str | None) -> ConverseModel:
    """The model of that name; a plugin's factory gets `profile` and `url`. `ValueError` names what there is."""
    if name in MODELS:
        return MODELS[name](profile, url)
    plugins = load_plugins()
    given = plugins.names("models")
    if name not in given:
        raise ValueError(f"there is no model {name!r}; known models are {', '.join(sorted({*MODELS, *given}))}")
    return plugins.get("models", name, profile=profile, url=url)
