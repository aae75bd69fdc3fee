"""A change worth trying: of the system prompt, of a tool's description, of the model, or of any variable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from loomlib.errors import EvalError

from ..values.digests import digest_of

SYSTEM_PROMPT: Final = "SYSTEM_PROMPT"
MODEL_ID: Final = "MODEL_ID"
TOOL_DESCRIPTIONS: Final = "TOOL_DESCRIPTIONS"
"""The variables that Loom's blueprints read: a text, a model's id, and JSON with a description by tool name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One change, as the variables that an agent's processes get and as descriptions of its tools.

    `name` is what tables call it and `why` what its proposer hopes for; neither is part of its content.

        Proposal.prompt("You are a shop's assistant. Goods can be returned within 30 days.")
        Proposal.tool_description("find_order", "Look up and track an order, parcel or package.")
        Proposal.model("global.anthropic.claude-haiku-4-5")
    """

    name: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    tool_descriptions: Mapping[str, str] = field(default_factory=dict[str, str])
    why: str = ""

    def __post_init__(self) -> None:
        if not self.variables and not self.tool_descriptions:
            raise ValueError(f"the proposal {self.name!r} changes nothing")
        if TOOL_DESCRIPTIONS in self.variables:
            raise ValueError("descriptions of tools are given as tool_descriptions, so that others' are kept")

    @classmethod
    def prompt(cls, text: str, *, name: str = "", why: str = "") -> Proposal:
        """Another system prompt."""
        return cls(name=name or f"prompt: {_short(text)}", variables={SYSTEM_PROMPT: text}, why=why)

    @classmethod
    def tool_description(cls, tool: str, text: str, *, name: str = "", why: str = "") -> Proposal:
        """Another description of one tool."""
        return cls(name=name or f"{tool}: {_short(text)}", tool_descriptions={tool: text}, why=why)

    @classmethod
    def model(cls, model_id: str, *, name: str = "", why: str = "") -> Proposal:
        """Another model."""
        return cls(name=name or f"model: {model_id}", variables={MODEL_ID: model_id}, why=why)

    @property
    def digest(self) -> str:
        """A hash of what it changes: another name or reason makes no other proposal of it."""
        return digest_of(dict(self.variables), dict(self.tool_descriptions))

    def applied(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The variables with this change; descriptions of other tools stay."""
        changed = {**environment, **self.variables}
        if self.tool_descriptions:
            told = _descriptions(environment) | dict(self.tool_descriptions)
            changed[TOOL_DESCRIPTIONS] = json.dumps(told, sort_keys=True, ensure_ascii=False)
        return changed

    def plain(self) -> dict[str, Any]:
        """As JSON values; `Proposal.read` takes them back."""
        return {
            "name": self.name,
            "variables": dict(self.variables),
            "tool_descriptions": dict(self.tool_descriptions),
            "why": self.why,
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Proposal:
        """The proposal that `plain()` wrote down."""
        return cls(
            name=str(stored["name"]),
            variables={str(key): str(value) for key, value in stored["variables"].items()},
            tool_descriptions={str(key): str(value) for key, value in stored["tool_descriptions"].items()},
            why=str(stored["why"]),
        )


def configuration_digest(environment: Mapping[str, str]) -> str:
    """A hash of all variables: two ways to the same agent are one."""
    told = dict(environment)
    if TOOL_DESCRIPTIONS in told:
        told[TOOL_DESCRIPTIONS] = json.dumps(_descriptions(told), sort_keys=True)
    return digest_of(told)


def _descriptions(environment: Mapping[str, str]) -> dict[str, str]:
    text = environment.get(TOOL_DESCRIPTIONS, "{}")
    try:
        found: object = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise EvalError(f"{TOOL_DESCRIPTIONS} is no JSON object", try_='{"tool": "its description"}')
    return {str(name): str(value) for name, value in cast("dict[str, object]", found).items()}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
