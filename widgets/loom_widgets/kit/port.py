"""The part of a panel that the objects it holds may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from loomlib import Workbench

    from .stream import Stream
    from .tables import Tables


class PanelPort(Protocol):
    """A panel as seen by the objects that it holds: its workbench, its state and its messages to the views.

    `Panel` implements all of it. An object that needs more, such as another object of the panel, receives that in its
    own `__init__`.
    """

    bench: Workbench
    tables: Tables

    @property
    def state(self) -> Any:
        """The small values by name that the views draw; changed by `show`."""
        ...

    def show(self, **values: Any) -> None:
        """Set values in `state`; the others stay."""
        ...

    def say(self, sentence: str) -> None:
        """Set the status line."""
        ...

    def show_code(self, text: str) -> None:
        """Show the last action as Python."""
        ...

    def send_message(self, kind: str, **values: Any) -> None:
        """Send a message to all views."""
        ...

    def stream(self, kind: str, **values: Any) -> Stream:
        """Return a stream that sends frequent items in batches."""
        ...

    def welcome(self) -> Mapping[str, Any]:
        """Return what a newly opened view needs besides `state`."""
        ...

    def later(self, name: str, **form: Any) -> None:
        """Start another action of the panel in its own lane, without waiting for it."""
        ...

    def stop(self, lane: str | None = None) -> bool:
        """Cancel the jobs of a lane (or of all lanes); return whether there were any."""
        ...

    def announce(self) -> None:
        """Make the other panels of the same home folder reload their lists, after a change."""
        ...
