"""The six places in which one invocation left a mark, side by side, each with what it cannot see.

They are, from outside in: the client's own timing, the agent's log lines, its spans and messages, the metrics it
embedded in its log (EMF), AgentCore's metrics about it, and Logs Insights over all of this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from loomlib.errors import AwsError, ResourceNotFoundError

LAYER_STATES: Final = ("found", "empty", "refused")
"""A layer has something to say, has nothing, or could not be read (its `says` tells why)."""

CANNOT_SEE: Final = {
    "client": "Anything inside: network, service and agent are one number here.",
    "runtime logs": "Parts of the duration. Lines that are printed carry no session id, and a streamed answer's line "
    "ends when the stream begins.",
    "spans and messages": "What happens before and after the agent: network, service, the start of the process.",
    "embedded metrics": "Which request a value belongs to: it carries no session or trace id, only a minute or so.",
    "service metrics": "Anything inside the process, and a single request: they are sums by the minute.",
    "Logs Insights": "What was not logged; and it answers seconds to minutes later than the log itself.",
}
"""What each layer cannot see, in the order from outside in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What one layer says about an invocation: `says` in words, `facts` as numbers with their units in the names."""

    name: str
    source: str
    state: str
    says: str
    facts: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if self.state not in LAYER_STATES:
            raise ValueError(f"a layer is {', '.join(LAYER_STATES)}, not {self.state!r}")

    @property
    def cannot_see(self) -> str:
        """Its blind spot."""
        return CANNOT_SEE[self.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a source gave: words, and numbers."""

    says: str = ""
    facts: tuple[tuple[str, Any], ...] = ()


def read_layer(name: str, source: str, read: Callable[[], Reading], *, empty: str) -> Layer:
    """The layer that `read` gives; `empty` says what it means that there is nothing.

    A layer that may not be read, or that AWS cannot give now, is a state: the others can be looked at all the same.
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
    """One row a layer, ready for a DataFrame."""
    return [
        {
            "layer": each.name,
            "state": each.state,
            "says": each.says,
            "facts": ", ".join(f"{name} {_text(value)}" for name, value in each.facts),
            "cannot_see": each.cannot_see,
            "source": each.source,
        }
        for each in layers
    ]


def _text(value: object) -> str:
    return f"{value:,.3g}" if isinstance(value, float) else str(value)
