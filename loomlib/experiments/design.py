"""Study designs as stored values, and the randomized order of a study's units."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from loomlib.errors import StudyError

if TYPE_CHECKING:
    from loomlib.store import PlannedMeasurement

C = TypeVar("C")


def design_values(design: type[Any], stored: Mapping[str, Any], *, kind: str) -> dict[str, Any]:
    """Return a stored design's values, to construct `design` from.

    Args:
        design: The dataclass of the design.
        stored: The stored design.
        kind: The kind of study that `design` belongs to.

    Raises:
        StudyError: The study is of another kind, or has a field that a later release added: running it without that
            field would measure something different.
    """
    values = {name: value for name, value in stored.items() if name != "kind"}
    unknown = sorted(set(values) - {field.name for field in fields(design)})
    if stored.get("kind") != kind:
        raise StudyError(
            f"The stored study is not a {kind} study",
            on=f"kind {stored.get('kind')!r}",
            try_="resume it with the class of its kind",
        )
    if unknown:
        raise StudyError(
            "The stored study has settings that this release does not know",
            on=", ".join(unknown),
            try_="upgrade loomlib",
        )
    return values


def randomized_blocks(counts: Mapping[C, int], *, seed: int) -> list[tuple[int, C]]:
    """Order units in randomized complete blocks.

    Block k holds the k-th unit of each condition that still has one, shuffled by `seed`. Whatever drifts while the
    study runs (a busy machine, a warming cache) affects all conditions alike, and the k-th units of two conditions lie
    close together, which is what pairing them relies on (Box, Hunter & Hunter, Statistics for Experimenters, 2nd ed.
    2005, ch. 4).

    Args:
        counts: Units of each condition.
        seed: Seed of the order.

    Returns:
        `(block, condition)` of each unit, in order.
    """
    shuffler = random.Random(seed)  # noqa: S311 - an order, not a secret
    order: list[tuple[int, C]] = []
    for block in range(max(counts.values(), default=0)):
        conditions = [condition for condition, count in counts.items() if count > block]
        shuffler.shuffle(conditions)
        order += [(block, condition) for condition in conditions]
    return order


def planned_units(order: Iterable[tuple[int, str]]) -> list[PlannedMeasurement]:
    """Return the units to store as a study's plan.

    Args:
        order: `(block, condition)` of each unit, in order.
    """
    from loomlib.store import PlannedMeasurement

    return [
        PlannedMeasurement(position=position, block=block, scenario=condition)
        for position, (block, condition) in enumerate(order)
    ]


def differing_settings(stored: Mapping[str, Any], requested: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of the settings in which two stored designs differ."""
    return sorted(name for name in requested if stored.get(name) != requested[name])
