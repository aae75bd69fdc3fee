"""The models that can answer Converse, by name: each comes through the hook `loom_models`, Loom's own too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from loomlib.errors import PluginError
from loomlib.local.models.json_values import JsonObject
from loomlib.local.models.refusals import ModelRefused
from loomlib.plugins import find_plugins


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


def make_model(name: str, profile: str, url: str | None) -> ConverseModel:
    """The model of that name; its factory gets `profile` and `url`.

    Raises `PluginError` naming what there is, or repeating what is wrong with the plugin that should give it, and
    `ModelRefused` for an unknown profile.
    """
    try:
        return find_plugins("models").get("models", name, profile=profile, url=url)
    except PluginError as error:
        if isinstance(error.__cause__, ModelRefused):  # a model's own no, not a broken plugin
            raise error.__cause__ from None
        raise
