"""The format of Amazon Nova's messages, which is almost Converse's.

Source: Amazon Nova user guide, "Complete request schema".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..json_values import JsonObject, as_list, as_object
from ..refusals import invalid

_OLDER_NAMES = {"max_new_tokens": "maxTokens", "top_p": "topP", "top_k": "topK"}


class NovaFormat:
    """One request: its Converse form, and the response in its own format."""

    def __init__(self, body: JsonObject) -> None:
        self._body = body

    def request(self) -> JsonObject:
        """Return the request in Converse's form."""
        version = self._body.get("schemaVersion", "messages-v1")
        if version != "messages-v1":
            raise invalid(f"Malformed input request: schemaVersion {version!r} is not messages-v1")
        contents = [as_object(message).get("content") for message in as_list(self._body.get("messages"))]
        for name, values in (("system", [self._body.get("system", [])]), ("messages/content", contents)):
            if not all(isinstance(value, list) for value in values):
                raise invalid(f"Malformed input request: #/{name}: expected type: JSONArray")
        converse = {name: value for name, value in self._body.items() if name != "schemaVersion"}
        limits = as_object(converse.get("inferenceConfig"))
        converse["inferenceConfig"] = {_OLDER_NAMES.get(name, name): value for name, value in limits.items()}
        return converse

    def answer(self, converse: JsonObject, message_id: str) -> JsonObject:
        """Return a Converse response in Nova's format."""
        return {name: converse[name] for name in ("output", "stopReason", "usage") if name in converse}

    def events(self, kind: str, payload: JsonObject, message_id: str) -> Iterator[Mapping[str, object]]:
        """Yield the event that corresponds to an event of ConverseStream."""
        yield {kind: payload}
