"""Execution of the control plane's operations on declared resources."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ..paging import page_request
from ..service_models import service_model
from ..tenancy import new_tenant, sees_resource
from ..wire import conflict, invalid, not_found
from .behaviour import Behaviour, Draft
from .declaration import Resource, bind
from .family import Family, Parameters, digest_of, sentence_noun
from .naming import Place
from .provisioning import Provisioning
from .records import ResourceRecord
from .store import ResourceStore

_MOST_TAGS = 50  # AWS: tags of one resource

Result = dict[str, Any]
OperationHandler = Callable[[Parameters, Place], Awaitable[Result]]


class ResourceEngine:
    """All operations on declared resources, and the tagging operations they share.

    A request without background work is complete when it is answered: the response has the status CREATING or UPDATING,
    as on AWS, and the next read returns READY.

    Args:
        store: Where the resources are stored.
        resources: Each declaration with its hooks.
        account_id: The account of callers whose key does not name one.
        model: The service model with their operations.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        store: ResourceStore,
        resources: Sequence[tuple[Resource, Behaviour]],
        *,
        account_id: str,
        model: str = "bedrock-agentcore-control",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self._account_id, self._clock = account_id, clock
        self._changing = asyncio.Lock()
        self._provisioning = Provisioning(store, self._changing, self._moment)
        service = service_model(model)
        self._families = {
            resource.noun: Family(resource, behaviour, bind(resource, service)) for resource, behaviour in resources
        }
        self.handlers: dict[str, OperationHandler] = {
            "TagResource": self._tag,
            "UntagResource": self._untag,
            "ListTagsForResource": self._list_tags,
        }
        verbs = {
            "create": self._create,
            "get": self._get,
            "list": self._list,
            "versions": self._list_versions,
            "update": self._update,
            "delete": self._delete,
        }
        for family in self._families.values():
            for verb, operation in family.binding.operations.items():
                if not family.resource.only_presets or verb in ("get", "list"):
                    self.handlers[operation] = partial(verbs[verb], family)

    async def call(self, operation: str, parameters: Parameters, *, region: str, account_id: str = "") -> Result:
        """Answer one operation.

        Args:
            operation: Its name in the service model, such as `CreateMemory`.
            parameters: Its parameters, valid for the service model.
            region: The caller's region: resources are created, named, found and listed there.
            account_id: The caller's account; empty for the service's own.

        Raises:
            RefusedError: The answer is an AWS error.
        """
        return await self.handlers[operation](parameters, Place(region, account_id or self._account_id))

    def check_place(self, key: str, *, region: str, account_id: str = "") -> None:
        """Refuse a resource of another region or account, which its caller cannot see.

        Args:
            key: The ARN or the id in the path of a request.
            region: The caller's region.
            account_id: The caller's account; empty for the service's own.

        Raises:
            RefusedError: The resource is elsewhere (404).
        """
        identifier, named_record = key.rpartition("/")[2], self.store.of_arn(key)
        random = [family.kind for family in self._families.values() if "{suffix}" in family.resource.id]
        for record in [named_record] if named_record else [self.store.of_id(kind, identifier) for kind in random]:
            if record is None:
                continue
            if record.place != (region, account_id or self._account_id) or not sees_resource(record.tenant):
                raise not_found(f"{sentence_noun(record.kind)} not found: {key}")

    def resume(self) -> None:
        """Continue the background work that an earlier service left unfinished."""
        for family in self._families.values():
            self._provisioning.resume(family)

    async def close(self) -> None:
        """Cancel the background work; the next service resumes it."""
        await self._provisioning.close()

    @property
    def changing(self) -> asyncio.Lock:
        """The lock that is held while a resource is read and changed; for operations other than the declared ones."""
        return self._changing

    # The verbs

    async def _create(self, family: Family, parameters: Parameters, place: Place) -> Result:
        resource, binding = family.resource, family.binding
        token, moment = parameters.get("clientToken") or "", self._moment()
        name = resource.name_of(parameters.get(binding.name))
        digest = digest_of(parameters)
        async with self._changing:
            same = self.store.of_token(family.kind, place, token) if token else None
            if same is not None and sees_resource(same.tenant):
                family.check_token(same, "create", digest)
                return self._answer(family, "create", family.during("creating", same))
            parent = self._parent(family, parameters, place)
            above = parent.arn if parent else ""
            if same := self.store.find(family.kind, place, name, parent=above, by_name=True):
                raise family.name_taken(same)
            identity = resource.new_id(name)
            record = ResourceRecord(
                kind=family.kind,
                region=place.region,
                parent=above,
                id=identity,
                name=name,
                arn=resource.arn_of(id=identity, name=name, **place._asdict(), parent=parent),
                version=1 if resource.versioned else 0,
                status=binding.statuses.creating if family.behaviour.needs_provisioning else binding.statuses.ready,
                document=family.document(parameters),
                tokens={"create": (token, digest)} if token else {},
                created_at=moment,
                updated_at=moment,
                tenant=new_tenant(parent.tenant if parent else ""),
            )
            draft = Draft(record=record, parameters=parameters, parent=parent)
            await family.behaviour.before_create(draft)
            tags: Mapping[str, str] = parameters.get("tags") or {}
            _check_tags(tags)
            also = [item if item.number else replace(item, tenant=record.tenant) for item in draft.also]
            record = (await asyncio.to_thread(self.store.put, [draft.record, *also], tags=tags))[0]
        self._provisioning.begin(family, record)
        return self._answer(family, "create", family.during("creating", record))

    async def _get(self, family: Family, parameters: Parameters, place: Place) -> Result:
        record = self._find(family, parameters, place)
        if version := family.wanted_version(parameters):
            record = self._version(record, version)
        return self._answer(family, "get", record)

    async def _list(self, family: Family, parameters: Parameters, place: Place) -> Result:
        parent = self._parent(family, parameters, place)
        stored = self.store.records(family.kind, place=place, parent=parent.arn if parent else "")
        stored = [record for record in stored if sees_resource(record.tenant)]
        presets = [] if parent else family.resource.presets_in(place.region)
        records = [record for record in (*presets, *stored) if family.behaviour.is_listed(record, parameters)]
        if family.resource.newest_first:
            records.reverse()
        return self._page(family, "list", records, parameters)

    async def _list_versions(self, family: Family, parameters: Parameters, place: Place) -> Result:
        versions = self.store.versions(self._find(family, parameters, place))
        return self._page(family, "versions", versions[::-1], parameters)

    async def _update(self, family: Family, parameters: Parameters, place: Place) -> Result:
        resource, binding, moment = family.resource, family.binding, self._moment()
        token, digest = parameters.get("clientToken") or "", digest_of(parameters)
        async with self._changing:
            former = self._changeable(family, parameters, place)
            if token and former.tokens.get("update", ("",))[0] == token:
                family.check_token(former, "update", digest)
                return self._answer(family, "update", family.during("updating", former))
            if family.is_provisioning(former):
                raise conflict(f"{former.id} is {former.status}; wait until it is {binding.statuses.ready}")
            changes = family.document(parameters)
            record = replace(
                former,
                version=former.version + 1 if resource.versioned else 0,
                status=binding.statuses.updating if family.behaviour.needs_provisioning else binding.statuses.ready,
                failure="",
                document=changes if resource.update == "replace" else {**former.document, **changes},
                internal={} if resource.versioned else former.internal,
                tokens={**former.tokens, "update": (token, digest)} if token else former.tokens,
                updated_at=moment,
            )
            parent = self._parent(family, parameters, place)
            draft = Draft(record=record, parameters=parameters, former=former, parent=parent)
            await family.behaviour.before_update(draft)
            name = draft.record.name
            if name != former.name:
                above = parent.arn if parent else ""
                if same := self.store.find(family.kind, place, name, parent=above, by_name=True):
                    raise family.name_taken(same)
            record = (await asyncio.to_thread(self.store.put, [draft.record, *draft.also]))[0]
        self._provisioning.begin(family, record)
        return self._answer(family, "update", family.during("updating", record))

    async def _delete(self, family: Family, parameters: Parameters, place: Place) -> Result:
        async with self._changing:
            record = self._changeable(family, parameters, place)
            version = family.wanted_version(parameters)
            if version is not None:
                record = self._version(record, version)
            await family.behaviour.before_delete(record, version)
            # The record first, so that no new operation starts with it.
            if version is None:
                await asyncio.to_thread(self.store.remove, record)
            else:
                await asyncio.to_thread(self.store.remove_version, record, version)
        await self._provisioning.abandon(record, version)
        await family.behaviour.after_delete(record, version)
        return self._answer(family, "delete", family.during("deleting", record))

    # Tags

    async def _tag(self, parameters: Parameters, place: Place) -> Result:
        arn, tags = self._tagged(parameters, place), parameters["tags"]
        async with self._changing:
            _check_tags(self.store.tags(arn) | tags)
            await asyncio.to_thread(self.store.tag, arn, tags)
        return {}

    async def _untag(self, parameters: Parameters, place: Place) -> Result:
        await asyncio.to_thread(self.store.untag, self._tagged(parameters, place), parameters["tagKeys"])
        return {}

    async def _list_tags(self, parameters: Parameters, place: Place) -> Result:
        return {"tags": self.store.tags(self._tagged(parameters, place))}

    def _tagged(self, parameters: Parameters, place: Place) -> str:
        arn: str = parameters["resourceArn"]
        record = self.store.of_arn(arn)
        if record is None or record.place != place or not sees_resource(record.tenant):
            raise not_found(f"The resource {arn} does not exist")
        return arn

    # Lookup and form

    def _find(self, family: Family, parameters: Parameters, place: Place) -> ResourceRecord:
        key: str = parameters[family.binding.identifier]
        presets = family.resource.presets_in(place.region)
        if preset := next((item for item in presets if key in (item.id, item.arn)), None):
            return preset
        parent = self._parent(family, parameters, place)
        above = parent.arn if parent else ""
        record = self.store.visible(family.kind, place, key, parent=above, by_name=family.binding.by_name)
        if record is None:
            below = f" in {parent.id}" if parent else ""
            raise not_found(f"{sentence_noun(family.kind)} not found{below}: {key}")
        return record

    def _changeable(self, family: Family, parameters: Parameters, place: Place) -> ResourceRecord:
        record = self._find(family, parameters, place)
        if not record.number:
            raise invalid(f"{sentence_noun(family.kind)} {record.id} is managed by AWS and cannot be changed")
        return record

    def _parent(self, family: Family, parameters: Parameters, place: Place) -> ResourceRecord | None:
        if family.resource.parent is None:
            return None
        parent_family = self._families[family.resource.parent.noun]
        parent_parameters = {
            **parameters,
            parent_family.binding.identifier: parameters[family.binding.parent_identifier],
        }
        return self._find(parent_family, parent_parameters, place)

    def _version(self, record: ResourceRecord, number: int) -> ResourceRecord:
        if version := self.store.version(record, number):
            return version
        raise not_found(f"{record.id} has no version {number}")

    def _answer(self, family: Family, verb: str, record: ResourceRecord) -> Result:
        members = self._members(family, verb, record)
        envelope = family.binding.envelopes.get(verb)
        return {envelope: members} if envelope else members

    def _members(self, family: Family, verb: str, record: ResourceRecord) -> Result:
        return family.members(verb, record, self.store.of_arn(record.parent) if record.parent else None)

    def _page(self, family: Family, verb: str, records: Sequence[ResourceRecord], parameters: Parameters) -> Result:
        """Cut a page out of ordered records; a preset's position comes before all numbers."""
        request = page_request(parameters, family.binding.operations[verb], int, size=family.resource.page_size)
        presets = [preset.id for preset in family.resource.presets]

        def position(record: ResourceRecord) -> int:
            place = record.version if verb == "versions" else record.number
            return place or presets.index(record.id) - len(presets)

        if request.after is not None:
            after: int = request.after[0]
            descending = verb == "versions" or family.resource.newest_first
            records = [item for item in records if (position(item) < after if descending else position(item) > after)]
        rows = [self._members(family, verb, record) for record in records[: request.fetch]]
        return request.page(family.binding.envelopes[verb], rows, lambda at: [position(records[at])])

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(round(self._clock(), 3), UTC)


def _check_tags(tags: Mapping[str, str]) -> None:
    if len(tags) > _MOST_TAGS:
        raise invalid(f"A resource can have at most {_MOST_TAGS} tags")
