"""Redacts the events and records of an export so that an import still accepts them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from ...aws.memory_shapes import EXTRACTOR_KEY, SOURCE_EVENTS_KEY
from ...aws.memory_writing import json_ready
from ...redaction import Document, Redactor
from ..displays import safe_id

_NOT_IN_METADATA: Final = re.compile(r"[^a-zA-Z0-9\s._:/=+@-]")
_NOT_IN_IDS: Final = re.compile(r"[^a-zA-Z0-9_:-]+")
_LARGEST_TEXT: Final = 16_000
_SERVICE_KEYS: Final = frozenset((EXTRACTOR_KEY, SOURCE_EVENTS_KEY))


class ExportRedactor:
    """Redacts one export: a value has the same placeholder everywhere. Without a redactor nothing is changed."""

    def __init__(self, redactor: Redactor | None) -> None:
        self._document: Document | None = redactor.document() if redactor else None

    @property
    def counts(self) -> dict[str, int]:
        """Number of redacted values by kind."""
        return dict(self._document.counts) if self._document else {}

    def event(self, shape: Mapping[str, Any]) -> dict[str, Any]:
        """Return the line of an event."""
        line: dict[str, Any] = {
            "kind": "event",
            "eventId": str(shape["eventId"]),
            "actorId": self.name(str(shape["actorId"])),
            "sessionId": self.name(str(shape["sessionId"])),
            "eventTimestamp": json_ready(shape["eventTimestamp"]),
            "payload": [self._payload(part) for part in shape.get("payload") or ()],
        }
        if branch := shape.get("branch"):
            line["branch"] = {**json_ready(branch), "name": self.name(str(branch.get("name", "")))}
        if shape.get("metadata"):
            line["metadata"] = self._metadata(shape["metadata"])
        return line

    def record(self, shape: Mapping[str, Any], strategies: Mapping[str, str]) -> dict[str, Any]:
        """Return the line of a record.

        Args:
            shape: The record as the service returns it.
            strategies: Names of the strategies by id; the ids of another memory differ.
        """
        strategy_id = str(shape.get("memoryStrategyId") or "")
        line: dict[str, Any] = {
            "kind": "record",
            "memoryRecordId": str(shape["memoryRecordId"]),
            "text": self.text(_content(shape))[:_LARGEST_TEXT],
            "namespaces": [self.name(str(namespace)) for namespace in shape.get("namespaces") or ()],
            "strategy": strategies.get(strategy_id, ""),
            "memoryStrategyId": strategy_id,
            "createdAt": json_ready(shape["createdAt"]),
        }
        if shape.get("timestamp") is not None:
            line["timestamp"] = json_ready(shape["timestamp"])
        if shape.get("metadata"):
            line["metadata"] = self._metadata(shape["metadata"])
        return line

    def text(self, text: str) -> str:
        """Redact a text; JSON within it is redacted value by value, so that it stays valid."""
        if self._document is None:
            return text
        if text.lstrip()[:1] in ("{", "["):
            try:
                inner: Any = json.loads(text)
            except (ValueError, RecursionError):
                return self._document.text(text)
            clean = self._document.value(inner)
            text = text if clean == inner else json.dumps(clean, ensure_ascii=False)
        return self._document.text(text)

    def name(self, name: str) -> str:
        """Redact an actor or session id or a namespace; placeholders have only characters that are allowed in ids."""
        return "/".join(map(self._id_part, name.split("/")))

    def _id_part(self, part: str) -> str:
        if self._document is None or not part:
            return part
        clean = self._document.text(part)
        return part if clean == part else _NOT_IN_IDS.sub("-", clean).strip("-:") or "redacted"

    def _payload(self, part: Mapping[str, Any]) -> dict[str, Any]:
        if "conversational" in part:
            message = part["conversational"]
            content = {"text": self.text(_content(message))}
            return {"conversational": {"role": message["role"], "content": content}}
        return cast("dict[str, Any]", self._value(json_ready(part)))

    def _value(self, value: Any) -> Any:
        if self._document is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        clean = self._document.value(value)
        return self._nested_json(clean)

    def _nested_json(self, value: Any) -> Any:
        """Redact JSON within the strings of JSON, which is how Strands stores messages."""
        if isinstance(value, str):
            return self.text(value) if value.lstrip()[:1] in ("{", "[") else value
        if isinstance(value, dict):
            return {key: self._nested_json(item) for key, item in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self._nested_json(item) for item in cast("list[Any]", value)]
        return value

    def _metadata(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Redact metadata, where brackets are not allowed (`[email 1]` becomes `email 1`); the service's keys stay."""
        redacted: dict[str, Any] = {}
        for key, wrapped in cast("dict[str, Any]", json_ready(metadata)).items():
            if self._document is None or (key in _SERVICE_KEYS and _is_safe(wrapped)):
                redacted[key] = wrapped
                continue
            # With its key, because a field name such as "password" marks the value as a secret.
            inner = {
                form: value if form == "dateTimeValue" else self._document.value({key: value})
                for form, value in cast("dict[str, Any]", wrapped).items()
            }
            for form, value in inner.items():
                if isinstance(value, dict):
                    ((name, clean),) = cast("dict[str, Any]", value).items()
                    is_text = form != "numberValue" or isinstance(clean, str)
                    redacted[_allowed(name)] = {
                        "stringValue" if form == "numberValue" and is_text else form: _allowed(clean)
                    }
                else:
                    redacted[key] = {form: value}
        return redacted


def _content(shape: Mapping[str, Any]) -> str:
    content: dict[str, Any] = shape.get("content") or {}
    return str(content.get("text", ""))


def _is_safe(value: Any) -> bool:
    """Return whether a value contains no secret of a known form; ids look random, so the general rule is not used."""
    text = json.dumps(value, ensure_ascii=False)
    return safe_id(text) == text


def _allowed(value: Any) -> Any:
    if isinstance(value, str):
        return _NOT_IN_METADATA.sub("", value)[:256] or "-"
    if isinstance(value, list):
        return [_allowed(item) for item in cast("list[Any]", value)]
    return value
