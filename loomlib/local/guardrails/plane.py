"""The operations on guardrails: those of Bedrock's control plane, and ApplyGuardrail."""

from __future__ import annotations

import asyncio
import secrets
import string
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, cast

from ..paging import page_request
from ..patterns import PatternError
from ..resources import Place, ResourceRecord
from ..resources.store import ResourceStore
from ..tenancy import new_tenant, sees_resource
from ..wire import conflict, invalid, not_found, not_implemented
from .assessing import GuardrailVersion, assess
from .sensitive import own_pattern

_KIND: Final = "Guardrail"
_DRAFT: Final = "DRAFT"
_LETTERS: Final = string.ascii_lowercase + string.digits
_PAGE: Final = 100
_APART: Final = frozenset({"name", "tags", "clientRequestToken", "guardrailIdentifier"})
_POLICIES: Final = (
    "topicPolicy", "contentPolicy", "wordPolicy", "sensitiveInformationPolicy", "contextualGroundingPolicy",
)  # fmt: skip
_SOURCES: Final = frozenset({"grounding_source", "query"})


class GuardrailPlane:
    """Creates, versions and applies guardrails.

    Args:
        store: The resources.
    """

    def __init__(self, store: ResourceStore) -> None:
        self._store = store
        self._changing = asyncio.Lock()

    async def create_guardrail(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Create a guardrail, whose working draft is the version DRAFT."""
        _check(parameters)
        token: str = parameters.get("clientRequestToken") or ""
        async with self._changing:
            same = self._store.of_token(_KIND, place, token) if token else None
            if same is not None and sees_resource(same.tenant):
                return _created(same)
            if self._store.find(_KIND, place, parameters["name"], by_name=True):
                raise conflict(f"Another guardrail with name {parameters['name']} already exists")
            identity = "".join(secrets.choice(_LETTERS) for _ in range(12))
            moment = datetime.now(UTC)
            record = ResourceRecord(
                kind=_KIND,
                region=place.region,
                id=identity,
                name=parameters["name"],
                arn=f"arn:aws:bedrock:{place.region}:{place.account_id}:guardrail/{identity}",
                status="READY",
                document=_document_of(parameters),
                tokens={"create": (token, "")} if token else {},
                created_at=moment,
                updated_at=moment,
                tenant=new_tenant(),
            )
            tags = {tag["key"]: tag["value"] for tag in parameters.get("tags") or ()}
            return _created((await asyncio.to_thread(self._store.put, [record], tags=tags))[0])

    async def update_guardrail(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Replace the working draft."""
        _check(parameters)
        async with self._changing:
            former = self._find(parameters["guardrailIdentifier"], place)
            same = self._store.find(_KIND, place, parameters["name"], by_name=True)
            if same is not None and same.arn != former.arn:
                raise conflict(f"Another guardrail with name {parameters['name']} already exists")
            changed = replace(
                former, name=parameters["name"], document=_document_of(parameters), updated_at=datetime.now(UTC)
            )
            changed = (await asyncio.to_thread(self._store.put, [changed]))[0]
        return {**_identifiers(changed, _DRAFT), "updatedAt": changed.updated_at.timestamp()}

    async def create_guardrail_version(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Store the working draft as a numbered version, which never changes."""
        async with self._changing:
            record = self._find(parameters["guardrailIdentifier"], place)
            versions = _versions(record)
            last = int(record.internal.get("last", 0)) + 1
            snapshot = {
                "name": record.name,
                "document": {**record.document, "description": parameters.get("description") or ""},
                "createdAt": datetime.now(UTC).timestamp(),
            }
            internal = {"last": last, "versions": {**versions, str(last): snapshot}}
            await asyncio.to_thread(self._store.put, [replace(record, internal=internal)])
        return {"guardrailId": record.id, "version": str(last)}

    async def get_guardrail(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Return the configuration of a version, by default the working draft."""
        record = self._find(parameters["guardrailIdentifier"], place)
        version: str = parameters.get("guardrailVersion") or _DRAFT
        document = _version(record, version)
        guardrail: dict[str, Any] = {
            **_summary(record, version),
            **{name: document[name] for name in ("blockedInputMessaging", "blockedOutputsMessaging")},
            **{
                name: _policy_response(document[f"{name}Config"]) for name in _POLICIES if document.get(f"{name}Config")
            },
            "guardrailId": record.id,
            "guardrailArn": record.arn,
            "statusReasons": [],
            "failureRecommendations": [],
        }
        if key := document.get("kmsKeyId"):
            guardrail["kmsKeyArn"] = key
        return guardrail

    async def list_guardrails(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """List the working drafts, or the versions of one guardrail."""
        request = page_request(parameters, "ListGuardrails", int, size=_PAGE)
        if key := parameters.get("guardrailIdentifier"):
            record = self._find(key, place)
            rows = [(int(version), _summary(record, version)) for version in _versions(record)]
            rows = [(0, _summary(record, _DRAFT)), *sorted(rows, key=lambda row: row[0])]
        else:
            records = [item for item in self._store.records(_KIND, place=place) if sees_resource(item.tenant)]
            rows = [(item.number, _summary(item, _DRAFT)) for item in records]
        if request.after is not None:
            rows = [row for row in rows if row[0] > request.after[0]]
        page = rows[: request.fetch]
        return request.page("guardrails", [row[1] for row in page], lambda at: [page[at][0]])

    async def delete_guardrail(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Delete a guardrail, or one of its versions."""
        async with self._changing:
            record = self._find(parameters["guardrailIdentifier"], place)
            version: str | None = parameters.get("guardrailVersion")
            if version is None or version == _DRAFT:
                await asyncio.to_thread(self._store.remove, record)
                return {}
            _version(record, version)
            remaining_versions = {name: snapshot for name, snapshot in _versions(record).items() if name != version}
            internal = {**record.internal, "versions": remaining_versions}
            await asyncio.to_thread(self._store.put, [replace(record, internal=internal)])
        return {}

    async def tag_resource(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any] | None:
        """Tag a guardrail; moto handles Bedrock's other resources."""
        if (record := self._tagged(parameters, place)) is None:
            return None
        tags = {tag["key"]: tag["value"] for tag in parameters["tags"]}
        await asyncio.to_thread(self._store.tag, record.arn, tags)
        return {}

    async def untag_resource(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any] | None:
        """Remove tags of a guardrail."""
        if (record := self._tagged(parameters, place)) is None:
            return None
        await asyncio.to_thread(self._store.untag, record.arn, parameters["tagKeys"])
        return {}

    async def list_tags_for_resource(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any] | None:
        """Return the tags of a guardrail."""
        if (record := self._tagged(parameters, place)) is None:
            return None
        tags = self._store.tags(record.arn)
        return {"tags": [{"key": key, "value": value} for key, value in tags.items()]}

    async def apply_guardrail(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Assess texts without a model call."""
        guardrail = self.version(parameters["guardrailIdentifier"], parameters["guardrailVersion"], place)
        guarded: list[str] = []
        sources: list[str] = []
        queries: list[str] = []
        for block in parameters["content"]:
            if "text" not in block:
                raise not_implemented("guardrails for images")
            text: str = block["text"]["text"]
            qualifiers = set[str](block["text"].get("qualifiers") or ())
            sources += [text] * ("grounding_source" in qualifiers)
            queries += [text] * ("query" in qualifiers)
            guarded += [text] * (not qualifiers & _SOURCES or "guard_content" in qualifiers)
        if not guarded:
            raise invalid("The content has no block to assess: all blocks are grounding sources or queries")
        assessed = await asyncio.to_thread(
            assess, guardrail, guarded, parameters["source"], sources=sources, query="\n".join(queries)
        )
        intervened = assessed.blocked or assessed.masked
        return {
            "usage": assessed.usage(),
            "action": "GUARDRAIL_INTERVENED" if intervened else "NONE",
            "actionReason": assessed.reason,
            "outputs": [{"text": text} for text in assessed.outputs],
            "assessments": [assessed.document(full=parameters.get("outputScope") == "FULL")],
            "guardrailCoverage": assessed.coverage(),
        }

    def version(self, key: str, version: str, place: Place) -> GuardrailVersion:
        """Return a version of a guardrail.

        Args:
            key: Its id or its ARN.
            version: "DRAFT" or a number.
            place: The caller's region and account.

        Raises:
            RefusedError: It does not exist (404).
        """
        record = self._find(key, place)
        return GuardrailVersion(id=record.id, arn=record.arn, version=version, configuration=_version(record, version))

    def _find(self, key: str, place: Place) -> ResourceRecord:
        if record := self._store.visible(_KIND, place, key):
            return record
        raise not_found(f"The guardrail {key} does not exist")

    def _tagged(self, parameters: Mapping[str, Any], place: Place) -> ResourceRecord | None:
        arn: str = parameters["resourceARN"]
        return self._find(arn, place) if ":guardrail/" in arn else None


def _check(parameters: Mapping[str, Any]) -> None:
    """Refuse settings that are not supported here, and those that AWS refuses."""
    if parameters.get("automatedReasoningPolicyConfig"):
        raise not_implemented("automated reasoning policies of guardrails")
    if not any(parameters.get(f"{name}Config") for name in _POLICIES):
        raise invalid("A guardrail needs at least one policy")
    for item in _items(parameters, "contentPolicyConfig", "filtersConfig"):
        if item["type"] == "PROMPT_ATTACK" and item["outputStrength"] != "NONE":
            raise invalid("The output strength of the content filter PROMPT_ATTACK must be NONE")
        if "IMAGE" in [*(item.get("inputModalities") or ()), *(item.get("outputModalities") or ())]:
            raise not_implemented("guardrails for images")
    if not all(item["text"].strip() for item in _items(parameters, "wordPolicyConfig", "wordsConfig")):
        raise invalid("A word of the word policy is blank")
    for item in _items(parameters, "contextualGroundingPolicyConfig", "filtersConfig"):
        if not 0 <= item["threshold"] < 1:
            raise invalid(f"The threshold of {item['type']} must be at least 0 and less than 1")
    for item in _items(parameters, "sensitiveInformationPolicyConfig", "regexesConfig"):
        try:
            own_pattern(item["pattern"])
        except PatternError as error:
            raise invalid(f"The regular expression {item['name']} cannot be used: {error}") from error


def _items(parameters: Mapping[str, Any], policy: str, entries: str) -> list[Mapping[str, Any]]:
    configuration: Mapping[str, Any] = parameters.get(policy) or {}
    return configuration.get(entries) or []


def _document_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name not in _APART and value is not None}


def _identifiers(record: ResourceRecord, version: str) -> dict[str, Any]:
    return {"guardrailId": record.id, "guardrailArn": record.arn, "version": version}


def _created(record: ResourceRecord) -> dict[str, Any]:
    return {**_identifiers(record, _DRAFT), "createdAt": record.created_at.timestamp()}


def _versions(record: ResourceRecord) -> dict[str, Any]:
    return cast("dict[str, Any]", record.internal.get("versions", {}))


def _version(record: ResourceRecord, version: str) -> dict[str, Any]:
    """Return the configuration of a version."""
    if version == _DRAFT:
        return dict(record.document)
    if snapshot := _versions(record).get(version):
        return cast("dict[str, Any]", snapshot["document"])
    raise not_found(f"The guardrail {record.id} has no version {version}")


def _summary(record: ResourceRecord, version: str) -> dict[str, Any]:
    snapshot = _versions(record).get(version)
    created = snapshot["createdAt"] if snapshot else record.created_at.timestamp()
    updated = created if snapshot else record.updated_at.timestamp()
    document = snapshot["document"] if snapshot else record.document
    summary = {
        "id": record.id,
        "arn": record.arn,
        "status": record.status,
        "name": snapshot["name"] if snapshot else record.name,
        "version": version,
        "createdAt": created,
        "updatedAt": updated,
    }
    return {**summary, "description": document["description"]} if document.get("description") else summary


def _policy_response(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy with GetGuardrail's member names, such as `topics` for `topicsConfig`."""
    return {name.removesuffix("Config"): value for name, value in configuration.items()}
