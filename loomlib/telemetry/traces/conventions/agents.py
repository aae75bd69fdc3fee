"""Find the spans that represent an agent, where a span's own attributes do not say so.

A graph of LangGraph is an agent, and its nodes are not, although instrumentations may name a node "agent" or record a
graph as a chain. A span around an agent that does nothing of its own is not another agent either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from loomlib.json_values import as_mapping, parse_embedded, to_text

from ..span import Span

_NODE: Final = "langgraph_node"
_NAMESPACE: Final = "langgraph_checkpoint_ns"
_STEPS: Final = frozenset({"chat", "execute_tool", "cycle"})


def agents_by_structure(
    spans: Mapping[str, Span],
    parents: Mapping[str, str | None],
    operations: Mapping[str, str],
    facts: Mapping[str, Mapping[str, Any]],
) -> dict[str, str]:
    """Return the operations of spans that only the structure of the trace shows, by span id.

    Args:
        spans: The spans of a trace, by span id.
        parents: Each span's parent, None for a root.
        operations: Each span's operation according to its attributes.
        facts: The attributes of the spans that were translated, in the GenAI conventions.
    """
    changed: dict[str, str] = {}
    places = {id: place for id, values in facts.items() if (place := _place_in_graph(values)) is not None}
    nodes = {id for id, place in places.items() if place[0] in (spans[id].name, _entity(facts[id]))}
    nodes = {id for id in nodes if places.get(parents[id] or "") != places[id]}  # else a part of the same node
    for id in nodes:
        if operations[id] == "invoke_agent":
            changed[id] = "other"
    for id in nodes:
        graph = parents[id]
        if graph is not None and graph in facts and operations[graph] not in _STEPS:
            changed[graph] = "invoke_agent"
    agents = _Agents(spans, parents, {**operations, **changed}, facts)
    return changed | dict.fromkeys((*agents.around_others(), *agents.recorded_again()), "other")


def _place_in_graph(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the node of a graph that a span belongs to, and the namespace that tells runs of it apart."""
    prefix = "traceloop.association.properties."
    if f"{prefix}{_NODE}" in values:
        stated = {name: values.get(f"{prefix}{name}") for name in (_NODE, _NAMESPACE)}
    elif _NODE in to_text(metadata := values.get("metadata")):
        stated = as_mapping(parse_embedded(metadata))
    else:
        return None
    return to_text(stated.get(_NODE)), to_text(stated.get(_NAMESPACE))


def _entity(values: Mapping[str, Any]) -> str:
    return to_text(values.get("traceloop.entity.name"))


class _Agents:
    """The agents of a trace, with the agent above each, and which of them have steps of their own."""

    def __init__(
        self,
        spans: Mapping[str, Span],
        parents: Mapping[str, str | None],
        operations: Mapping[str, str],
        facts: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self._spans, self._parents, self._facts = spans, parents, facts
        self._ids = {id for id, operation in operations.items() if operation == "invoke_agent"}
        self._above: dict[str, str | None] = {}
        self._inner: dict[str | None, list[str]] = {}
        self._busy: set[str | None] = set()
        if len(self._ids) < 2:
            return
        for id in self._ids:
            self._inner.setdefault(self._agent_above(id), []).append(id)
        self._busy = {self._agent_above(id) for id, operation in operations.items() if operation in _STEPS}

    def around_others(self) -> set[str]:
        """Return the agents that only contain other agents, if a translated span is among them."""
        return {
            id
            for id in self._ids - self._busy
            if (inner := self._inner.get(id)) and (id in self._facts or all(item in self._facts for item in inner))
        }

    def recorded_again(self) -> set[str]:
        """Return the agents without content beside a translated one that has the same name and runs meanwhile."""
        again: set[str] = set()
        for group in self._inner.values():
            idle = [id for id in group if id not in self._busy and id not in self._inner]
            for id in idle:
                span = self._spans[id]
                others = (item for item in group if item != id and item not in idle and item in self._facts)
                if any(_is_same(span, self._spans[item], self._facts[item]) for item in others):
                    again.add(id)
        return again

    def _agent_above(self, id: str) -> str | None:
        path: list[str] = []
        at = self._parents[id]
        while at is not None and at not in self._ids and at not in self._above:
            path.append(at)
            at = self._parents[at]
        agent_id = at if at is None or at in self._ids else self._above[at]
        self._above.update(dict.fromkeys(path, agent_id))
        return agent_id


def _is_same(idle: Span, other: Span, facts: Mapping[str, Any]) -> bool:
    name = idle.facts.get("gen_ai.agent.name")
    overlaps = idle.start_ns <= other.end_ns and other.start_ns <= idle.end_ns
    return name is not None and name in (facts.get("gen_ai.agent.name"), _entity(facts)) and overlaps
