"""A CloudFormation template as a value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class StackTemplate:
    """A template, with notes to read before a pipeline uses it.

    Attributes:
        content: The template, in CloudFormation's format.
        capabilities: Capabilities that have to be acknowledged when creating the stack, such as `CAPABILITY_IAM`.
        notes: Steps that the template cannot do by itself.
    """

    content: Mapping[str, Any]
    capabilities: tuple[str, ...] = ("CAPABILITY_IAM",)
    notes: tuple[str, ...] = ()

    def json(self) -> str:
        """Return the template as JSON."""
        return json.dumps(self.content, indent=2, ensure_ascii=False) + "\n"

    def yaml(self) -> str:
        """Return the template as YAML."""
        plain = json.loads(json.dumps(self.content))
        return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)
