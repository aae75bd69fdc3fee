"""Judges that are chosen by name get what a name cannot say: a connection to their model, and the agent's spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..values.evaluator import Evaluator

if TYPE_CHECKING:
    from loomlib.aws import Clients
    from loomlib.store import Store


def connected(evaluator: Evaluator, clients: Clients | None, store: Store | None = None) -> Evaluator:
    """The evaluator behind `clients`, and with the spans in `store`, where it has use for them; else itself.

    An evaluator says so by the methods `connected_to(clients)` and `with_spans(source)`, which return another one.
    """
    connect = getattr(evaluator, "connected_to", None)
    if clients is not None and callable(connect):
        evaluator = cast("Evaluator", connect(clients))
    give = getattr(evaluator, "with_spans", None)
    if store is not None and callable(give):
        from .stored_spans import StoredSpans

        evaluator = cast("Evaluator", give(StoredSpans(store)))
    return evaluator
