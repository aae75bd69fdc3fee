"""Remove secrets from the texts of an agent, and count them.

Personal data is kept: an address in an instruction is part of the agent's behaviour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from loomlib.json_values import as_list, as_text, mapping_or_none

_VALUES: Final = frozenset(("default", "example", "examples", "const", "value"))
"""Members of a schema or a parameter that contain a caller's value."""

_NAMES_BELOW: Final = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "schemas", "parameters", "responses", "requestBodies",
     "headers", "securitySchemes", "examples", "links", "callbacks", "paths", "mapping", "scopes", "variables",
     "content", "encoding", "security", "dependentRequired", "dependentSchemas")
)  # fmt: skip
"""Members of an OpenAPI document whose own members are named by its author: a property `token` is not a secret."""

_SAME_VALUE: Final = frozenset(("", "examples", "content"))
"""Members that describe the value of the property or the parameter above them."""

_IDENTIFIERS: Final = frozenset(
    ("$ref", "operationId", "name", "required", "propertyName", "tokenUrl", "authorizationUrl", "refreshUrl", "type",
     "format", "in", "scheme", "bearerFormat")
)  # fmt: skip


class Scrubber:
    """Replaces secrets by placeholders without numbers, so that the result does not depend on the order of reading."""

    def __init__(self) -> None:
        from loomlib.redaction import KNOWN_FORMS, Redactor  # the rules take 20 ms to compile
        from loomlib.redaction.secrets import is_secret_name

        from .text_redactor import TextRedactor

        self._is_secret_name = is_secret_name
        self._clean: set[str] = set()
        self._names: set[str] = set()
        self._texts = TextRedactor(self._names).document()
        # Referenced names must not change, unless their form is unmistakably that of a secret.
        self._identifiers = Redactor(KNOWN_FORMS, numbered=False).document()

    def know(self, names: Iterable[str]) -> None:
        """Register names that are kept in texts, even if they look random.

        Args:
            names: The names of the agent's own functions, operations and action groups.
        """
        self._names.update(names)

    @property
    def counts(self) -> dict[str, int]:
        """Number of replaced secrets by rule, sorted."""
        return dict(sorted((Counter(self._texts.counts) + Counter(self._identifiers.counts)).items()))

    def text(self, text: str) -> str:
        """Return a human-written text without secrets.

        Args:
            text: An instruction, a description, a prompt, or the like.
        """
        if text in self._clean:
            return text
        scrubbed = self._texts.text(_encodable(text))
        if scrubbed == text:  # schemas repeat their texts
            self._clean.add(text)
        return scrubbed

    def identifier(self, text: str) -> str:
        """Return a name, an id or a path; only documented forms of secrets in it are replaced.

        Args:
            text: The referenced name, id or path.
        """
        return self._identifiers.text(_encodable(text))

    def values(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return texts by name; the whole value of a name such as `api_key` is replaced.

        Args:
            values: Tags or environment variables.
        """
        return {self.identifier(name): as_text(self._member(name, value)) for name, value in values.items()}

    def schema(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a JSON schema or an OpenAPI document without secrets in its texts, defaults and examples.

        Args:
            document: Plain JSON values, of limited depth.
        """
        return {
            self.identifier(name): self._walked(name, inner, named_by="", secret=False)
            for name, inner in document.items()
        }

    def _walked(self, name: str, value: Any, *, named_by: str, secret: bool, is_item: bool = False) -> Any:
        """Return the value of a member.

        Args:
            name: The member's name.
            value: Its value.
            named_by: Its parent member, if the document's author chooses the names of that member's members.
            secret: Whether it belongs to a property or a parameter with a secret's name.
            is_item: Whether it is an item of the member's list.
        """
        is_constant = name == "enum" and secret and len(as_list(value)) == 1  # `const` of OpenAPI 3.0
        is_value = name in _VALUES and not (name == "examples" and mapping_or_none(value) is not None)
        if not named_by and (is_value or is_constant):
            return self._texts.value({"secret": value})["secret"] if secret else self._texts.value(value)
        if (members := mapping_or_none(value)) is not None:
            own_name = as_text(members.get("name")) if "in" in members else name if named_by else ""
            below = name if name in _NAMES_BELOW and not (named_by or is_item) else ""
            is_secret = self._is_secret_name(own_name) or (secret and below in _SAME_VALUE)
            return {
                self.identifier(key): self._walked(key, inner, named_by=below, secret=is_secret)
                for key, inner in members.items()
            }
        if not isinstance(value, str):
            if items := as_list(value):
                return [self._walked(name, item, named_by=named_by, secret=secret, is_item=True) for item in items]
            return value
        if name in _IDENTIFIERS or named_by:
            return self.identifier(value)
        return self._member(name, value)

    def _member(self, name: str, value: str) -> Any:
        return self._texts.value({"secret": value})["secret"] if self._is_secret_name(name) else self.text(value)


def _encodable(text: str) -> str:
    """Return a text that can be encoded in UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
