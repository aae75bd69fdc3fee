"""A proposed change: to the system prompt, a tool's description, the model, or any environment variable."""

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
"""The variables that Loom's blueprints read: a prompt, a model id, and a JSON object of descriptions by tool name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One change to an agent.

    Attributes:
        name: The name shown in tables; not part of the content.
        variables: Environment variables to set in the agent's processes.
        tool_descriptions: Tool descriptions to set, by tool name.
        why: What the change should achieve; not part of the content.

    Examples:
        >>> Proposal.prompt("You are a shop's assistant. Goods can be returned within 30 days.")
        >>> Proposal.tool_description("find_order", "Look up and track an order, parcel or package.")
        >>> Proposal.model("global.anthropic.claude-haiku-4-5")
    """

    name: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    tool_descriptions: Mapping[str, str] = field(default_factory=dict[str, str])
    why: str = ""

    def __post_init__(self) -> None:
        if not self.variables and not self.tool_descriptions:
            raise ValueError(f"The proposal {self.name!r} changes nothing")
        if TOOL_DESCRIPTIONS in self.variables:
            raise ValueError("Pass tool descriptions as tool_descriptions; other tools then keep their descriptions")

    @classmethod
    def prompt(cls, text: str, *, name: str = "", why: str = "") -> Proposal:
        """Return a proposal to replace the system prompt.

        Args:
            text: The whole prompt.
            name: The name shown in tables.
            why: What the change should achieve.
        """
        return cls(name=name or f"prompt: {_short(text)}", variables={SYSTEM_PROMPT: text}, why=why)

    @classmethod
    def tool_description(cls, tool: str, text: str, *, name: str = "", why: str = "") -> Proposal:
        """Return a proposal to replace a tool's description.

        Args:
            tool: The tool's name.
            text: The whole description.
            name: The name shown in tables.
            why: What the change should achieve.
        """
        return cls(name=name or f"{tool}: {_short(text)}", tool_descriptions={tool: text}, why=why)

    @classmethod
    def model(cls, model_id: str, *, name: str = "", why: str = "") -> Proposal:
        """Return a proposal to use another model.

        Args:
            model_id: The model.
            name: The name shown in tables.
            why: What the change should achieve.
        """
        return cls(name=name or f"model: {model_id}", variables={MODEL_ID: model_id}, why=why)

    @property
    def digest(self) -> str:
        """Hash of what the proposal changes, without its name and reason."""
        return digest_of(dict(self.variables), dict(self.tool_descriptions))

    def applied(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variables with this change; other tools keep their descriptions."""
        changed = {**environment, **self.variables}
        if self.tool_descriptions:
            descriptions = _descriptions(environment) | dict(self.tool_descriptions)
            changed[TOOL_DESCRIPTIONS] = json.dumps(descriptions, sort_keys=True, ensure_ascii=False)
        return changed

    def plain(self) -> dict[str, Any]:
        """Return JSON values that `Proposal.read` reads."""
        return {
            "name": self.name,
            "variables": dict(self.variables),
            "tool_descriptions": dict(self.tool_descriptions),
            "why": self.why,
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Proposal:
        """Return the proposal that `plain` wrote."""
        return cls(
            name=str(stored["name"]),
            variables={str(key): str(value) for key, value in stored["variables"].items()},
            tool_descriptions={str(key): str(value) for key, value in stored["tool_descriptions"].items()},
            why=str(stored["why"]),
        )


def configuration_digest(environment: Mapping[str, str]) -> str:
    """Return a hash of all variables; it does not depend on the JSON formatting of the tool descriptions."""
    variables = dict(environment)
    if TOOL_DESCRIPTIONS in variables:
        variables[TOOL_DESCRIPTIONS] = json.dumps(_descriptions(variables), sort_keys=True)
    return digest_of(variables)


def _descriptions(environment: Mapping[str, str]) -> dict[str, str]:
    text = environment.get(TOOL_DESCRIPTIONS, "{}")
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise EvalError(f"{TOOL_DESCRIPTIONS} is not a JSON object", try_='{"tool": "its description"}')
    return {str(name): str(value) for name, value in cast("dict[str, object]", document).items()}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
