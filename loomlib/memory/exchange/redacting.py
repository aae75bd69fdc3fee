"""Events and records as an export may keep them: secrets and personal data struck out, still importable."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from ...aws.memory_writing import json_ready
from ...redaction import Document, Redactor

_NOT_IN_METADATA: Final = re.compile(r"[^a-zA-Z0-9\s._:/=+@-]")
_NOT_IN_IDS: Final = re.compile(r"[^a-zA-Z0-9_:-]+")
_LARGEST_TEXT: Final = 16_000
_SERVICE_KEYS: Final = "x-loom-"


class ExportRedactor:
    """One export's. A value has the same placeholder wherever it stands; without a redactor nothing is struck out."""

    def __init__(self, redactor: Redactor | None) -> None:
        self._document: Document | None = redactor.document() if redactor else None

    @property
    def counts(self) -> dict[str, int]:
        """How many of each kind were struck out."""
        return dict(self._document.counts) if self._document else {}

    def event(self, shape: Mapping[str, Any]) -> dict[str, Any]:
        """An event's line."""
        line: dict[str, Any] = {
            "kind": "event",
            "eventId": str(shape["eventId"]),
            "actorId": self.name(str(shape["actorId"])),
            "sessionId": self.name(str(shape["sessionId"])),
            "eventTimestamp": json_ready(shape["eventTimestamp"]),
            "payload": [self._payload(each) for each in shape.get("payload") or ()],
        }
        if branch := shape.get("branch"):
            line["branch"] = {**json_ready(branch), "name": self.name(str(branch.get("name", "")))}
        if shape.get("metadata"):
            line["metadata"] = self._metadata(shape["metadata"])
        return line

    def record(self, shape: Mapping[str, Any], strategies: Mapping[str, str]) -> dict[str, Any]:
        """A record's line; its strategy by name, for another memory's has another id."""
        strategy_id = str(shape.get("memoryStrategyId") or "")
        line: dict[str, Any] = {
            "kind": "record",
            "memoryRecordId": str(shape["memoryRecordId"]),
            "text": self.text(_content(shape))[:_LARGEST_TEXT],
            "namespaces": [self.path(str(each)) for each in shape.get("namespaces") or ()],
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
        """A text; JSON within it is struck out as JSON, so that it stays some."""
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
        """An id of an actor or session: what looks like a secret in it becomes a word that is allowed there."""
        return "/".join(map(self._bare_id, name.split("/")))

    def path(self, namespace: str) -> str:
        """A namespace, in the same way."""
        return self.name(namespace)

    def _bare_id(self, part: str) -> str:
        if self._document is None or not part:
            return part
        clean = self._document.text(part)
        return part if clean == part else _NOT_IN_IDS.sub("-", clean).strip("-:") or "redacted"

    def _payload(self, each: Mapping[str, Any]) -> dict[str, Any]:
        if "conversational" in each:
            said = each["conversational"]
            content = {"text": self.text(_content(said))}
            return {"conversational": {"role": said["role"], "content": content}}
        return cast("dict[str, Any]", self._value(json_ready(each)))

    def _value(self, value: Any) -> Any:
        if self._document is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        clean = self._document.value(value)
        return self._opened(clean)

    def _opened(self, value: Any) -> Any:
        """JSON within the texts of JSON: Strands keeps messages so."""
        if isinstance(value, str):
            return self.text(value) if value.lstrip()[:1] in ("{", "[") else value
        if isinstance(value, dict):
            return {key: self._opened(each) for key, each in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self._opened(each) for each in cast("list[Any]", value)]
        return value

    def _metadata(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Metadata knows no brackets: `[email 1]` is `email 1` there. What the service itself notes stays."""
        found: dict[str, Any] = {}
        for key, wrapped in cast("dict[str, Any]", json_ready(metadata)).items():
            if self._document is None or key.startswith(_SERVICE_KEYS):
                found[key] = wrapped
                continue
            # The key goes along, so that a field named as a secret's is known as one.
            inner = {
                form: value if form == "dateTimeValue" else self._document.value({key: value})
                for form, value in cast("dict[str, Any]", wrapped).items()
            }
            for form, value in inner.items():
                if isinstance(value, dict):
                    ((name, clean),) = cast("dict[str, Any]", value).items()
                    is_text = form != "numberValue" or isinstance(clean, str)
                    found[_plain(name)] = {"stringValue" if form == "numberValue" and is_text else form: _plain(clean)}
                else:
                    found[key] = {form: value}
        return found


def _content(shape: Mapping[str, Any]) -> str:
    content: dict[str, Any] = shape.get("content") or {}
    return str(content.get("text", ""))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _NOT_IN_METADATA.sub("", value)[:256] or "-"
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    return value
