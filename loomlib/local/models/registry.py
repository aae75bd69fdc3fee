"""The models that can answer Converse, by name. A plugin adds one with `MODELS["name"] = factory`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from loomlib.local.models.json_values import JsonObject


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
