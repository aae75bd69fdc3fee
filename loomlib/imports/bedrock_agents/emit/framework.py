"""A framework as seen by the generator: templates, requirements, and notes for the README."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..features import FeatureName
from .generated import FrameworkName


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework for which agents are generated.

    The templates of its folder define two modules that the shared ones import: `model_loop.py` with the class
    `ModelLoop`, and the modules that it needs, such as `tools.py`.

    Attributes:
        name: Its name, which is also the folder of its templates.
        title: Its display name.
        modules: The paths of its files; each has a template of the path with ".j2".
        requirements: The lines of `requirements.txt` in addition to those of every agent.
        starts_tracing: Whether its module `tracing.py` has a function `start_tracing` to call when a process starts.
        notes: Sentences added to the reasons of `assess_features` in the README, by feature.
    """

    name: FrameworkName
    title: str
    modules: tuple[str, ...]
    requirements: tuple[str, ...]
    starts_tracing: bool = False
    notes: Mapping[FeatureName, str] = field(default_factory=dict[FeatureName, str])
