"""Sampling of tokens: Converse's `inferenceConfig` as parameters of llama.cpp."""

from __future__ import annotations

from typing import Final

from ..json_values import JsonObject, as_number, as_object
from ..refusals import invalid
from ..request import ConverseRequest

_DEFAULT_TEMPERATURE: Final = 0.7
_DEFAULT_TOP_P: Final = 0.9


def sampling_of(request: ConverseRequest) -> JsonObject:
    """Return the parameters of a request: temperature 0 selects the most likely token, any other samples randomly.

    The default temperature is 0.7 and the default top P 0.9, as with Amazon Nova; sampling has no other limits.

    Raises:
        ModelRefusedError: A value is out of range (ValidationException).
    """
    limits = as_object(request.body.get("inferenceConfig"))
    values = {"temperature": _DEFAULT_TEMPERATURE, "topP": _DEFAULT_TOP_P}
    for name in values:
        if limits.get(name) is not None:
            value = as_number(limits[name])
            if value is None or not 0 <= value <= 1:
                raise invalid(f"inferenceConfig.{name} must be between 0 and 1.")
            values[name] = float(value)
    stops: list[object] = list(request.stop_sequences)
    return {
        "temperature": values["temperature"],
        "top_p": values["topP"],
        "samplers": ["top_p", "temperature"],
        "seed": -1,
        "stop": stops,
    }
