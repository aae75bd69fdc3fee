"""The models that can answer Converse, by name; all of them are registered through the hook `loom_models`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from loomlib.errors import PluginError
from loomlib.plugins import find_plugins

from .json_values import JsonObject
from .refusals import ModelRefusedError


class ConverseModel(Protocol):
    """A model behind Converse and ConverseStream."""

    @property
    def simulated(self) -> bool:
        """Whether its responses and times are simulated; every display of them states this."""
        ...

    @property
    def label(self) -> str:
        """The provenance label of its numbers, such as "scripted (simulated, profile instant)"."""
        ...

    async def converse(self, model_id: str, request: JsonObject) -> JsonObject:
        """Answer a Converse request.

        Args:
            model_id: The model that is asked for.
            request: The parsed body of the request.

        Returns:
            The JSON body of the response.

        Raises:
            ModelRefusedError: The request fails with an error of AWS.
        """
        ...

    def converse_stream(self, model_id: str, request: JsonObject) -> AsyncIterator[bytes]:
        """Answer a ConverseStream request.

        Args:
            model_id: The model that is asked for.
            request: The parsed body of the request.

        Returns:
            The frames of the response, one at a time.

        Raises:
            ModelRefusedError: The request fails. It is raised by this call or before the first frame, so wait for that
                frame before you send a status; a later failure is an exception frame inside the stream.
        """
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...


ModelFactory = Callable[[str, str | None], ConverseModel]
"""Creates a model from the name of a latency profile and the model's URL (None without one)."""


def make_model(name: str = "scripted", profile: str = "instant", url: str | None = None) -> ConverseModel:
    """Create the model with that name.

    Args:
        name: "scripted", "openai", or the name of a plugin's model.
        profile: The latency profile of a simulated model.
        url: The URL of a real model, such as `http://127.0.0.1:11434/v1`.

    Raises:
        PluginError: The model does not exist, or its plugin is broken.
        ModelRefusedError: The profile does not exist.
    """
    try:
        return find_plugins("models").get("models", name, profile=profile, url=url)
    except PluginError as error:
        if isinstance(error.__cause__, ModelRefusedError):  # refused by the model itself, not a broken plugin
            raise error.__cause__ from None
        raise
