"""The six places that record an invocation, side by side, each with what it cannot show.

From outside in: the client's own timing, the agent's log lines, its spans and messages, the metrics embedded in its log
(EMF), AgentCore's metrics, and Logs Insights over all of this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from loomlib.errors import AwsError, ResourceNotFoundError
from loomlib.presentation.formats import cell

LAYER_STATES: Final = ("found", "empty", "refused")
"""`found`; `empty`: the layer has no data; `refused`: it could not be read, its `says` has the error."""

CANNOT_SEE: Final = {
    "client": "What happens inside: network, service and agent are one number here.",
    "runtime logs": "The parts of the duration. Printed lines carry no session id, and a streamed answer's line "
    "is logged when the stream begins.",
    "spans and messages": "What happens before and after the agent: network, service, process start.",
    "embedded metrics": "Which request a value belongs to: values carry no session or trace id, only the minute.",
    "service metrics": "What happens inside the process, and single requests: they are sums per minute.",
    "Logs Insights": "What was not logged; its results are seconds to minutes behind the log itself.",
}
"""The blind spot of each layer, from outside in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What one layer shows and what it cannot show.

    Attributes:
        name: The layer's name.
        source: Where the data is stored.
        state: One of `LAYER_STATES`.
        says: The summary, or why there is nothing.
        facts: Names with units, and values.
    """

    name: str
    source: str
    state: str
    says: str
    facts: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if self.state not in LAYER_STATES:
            raise ValueError(f"the state of a layer is one of {', '.join(LAYER_STATES)}, not {self.state!r}")

    @property
    def cannot_see(self) -> str:
        """What the layer cannot show."""
        return CANNOT_SEE[self.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerReading:
    """The data of a layer: a summary, and named values."""

    says: str = ""
    facts: tuple[tuple[str, Any], ...] = ()


def read_layer(name: str, source: str, read: Callable[[], LayerReading], *, empty: str) -> Layer:
    """Read one layer. An unreadable layer has its own state, so that the others are still shown.

    Args:
        name: The layer's name.
        source: Where its data is stored.
        read: Reads it.
        empty: The sentence for no data.
    """
    try:
        reading = read()
    except ResourceNotFoundError:
        return Layer(name=name, source=source, state="empty", says=empty)
    except AwsError as error:
        return Layer(name=name, source=source, state="refused", says=str(error))
    if not reading.facts:
        return Layer(name=name, source=source, state="empty", says=empty)
    return Layer(name=name, source=source, state="found", says=reading.says, facts=reading.facts)


def layer_rows(layers: Sequence[Layer]) -> list[dict[str, Any]]:
    """Return one row per layer, ready for a DataFrame."""
    return [
        {
            "layer": layer.name,
            "state": layer.state,
            "says": layer.says,
            "facts": ", ".join(f"{name} {cell(value)}" for name, value in layer.facts),
            "cannot_see": layer.cannot_see,
            "source": layer.source,
        }
        for layer in layers
    ]
