"""Policy statements, collected action by action and merged."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from .arns import StatementTarget
from .values import RoleStatement


@dataclass(slots=True)
class _Group:
    label: str
    target: StatementTarget
    actions: set[str] = field(default_factory=set[str])
    reasons: list[str] = field(default_factory=list[str])
    places: list[str] = field(default_factory=list[str])


class StatementList:
    """Collects actions with their resources; entries with the same resources, or the same actions, are merged."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, tuple[str, ...], str], _Group] = {}

    def add(self, label: str, action: str, target: StatementTarget, reason: str, place: str) -> None:
        """Add an action.

        Args:
            label: The name of its statement.
            action: The action.
            target: The resources.
            reason: Why it is needed.
            place: The place in the code or configuration that requires it.
        """
        key = (label, target.resources, _text(target))
        group = self._groups.setdefault(key, _Group(label, target))
        group.actions.add(action)
        for item, items in ((reason, group.reasons), (target.reason, group.reasons), (place, group.places)):
            if item and item not in items:
                items.append(item)

    def all(self) -> tuple[RoleStatement, ...]:
        """Return the statements, in the order of their names."""
        merged: dict[tuple[str, frozenset[str], str], list[_Group]] = {}
        for group in self._groups.values():
            key = (group.label, frozenset(group.actions), _text(group.target))
            merged.setdefault(key, []).append(group)
        statements: list[RoleStatement] = []
        counts: dict[str, int] = {}
        for (label, actions, _), groups in sorted(merged.items(), key=lambda item: _order(item[0], item[1])):
            counts[label] = counts.get(label, 0) + 1
            statements.append(
                RoleStatement(
                    sid=label if counts[label] == 1 else f"{label}{counts[label]}",
                    actions=tuple(sorted(actions)),
                    resources=tuple(sorted({arn for group in groups for arn in group.target.resources})),
                    condition=groups[0].target.condition,
                    reason="; ".join(dict.fromkeys(reason for group in groups for reason in group.reasons)),
                    places=tuple(dict.fromkeys(place for group in groups for place in group.places)),
                )
            )
        return tuple(statements)


def _text(target: StatementTarget) -> str:
    return json.dumps(target.condition, sort_keys=True)


def _order(key: tuple[str, frozenset[str], str], groups: list[_Group]) -> tuple[str, list[str], str, list[str]]:
    return key[0], sorted(key[1]), key[2], sorted(arn for group in groups for arn in group.target.resources)
