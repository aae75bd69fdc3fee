"""Execute the control plane's operations on declared resources."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from moto.core.model import ServiceModel
from moto.core.utils import get_service_model

from ...recovery import full_disk_message, is_full_disk
from ..paging import page_request
from ..wire import RefusedError, conflict, invalid, not_found
from .behaviour import Behaviour, Draft, SettlementError
from .declaration import Binding, Resource, bind
from .naming import Place
from .records import ResourceRecord
from .store import ResourceStore

_log = logging.getLogger(__name__)
_MOST_TAGS = 50  # AWS: tags of one resource
_FULL_DISK_PAUSE_S = 1.0

Parameters = Mapping[str, Any]
Result = dict[str, Any]
OperationHandler = Callable[[Parameters, Place], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class _Family:
    """A declared resource with its hooks and its binding to the service model."""

    resource: Resource
    behaviour: Behaviour
    binding: Binding

    @property
    def kind(self) -> str:
        return self.resource.noun


class ResourceEngine:
    """All operations on declared resources, and the tagging operations they share.

    A request without background work is done when it is answered: the answer says CREATING or UPDATING as AWS's does,
    and what is read next says READY.

    Args:
        store: Where the resources are stored.
        resources: Each declaration with its hooks.
        account_id: The account of callers whose key names none.
        model: The service model that has their operations.
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
        self._tasks: dict[asyncio.Task[None], ResourceRecord] = {}
        service: ServiceModel = get_service_model(model)
        self._families = {
            resource.noun: _Family(resource, behaviour, bind(resource, service)) for resource, behaviour in resources
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
            Refused: The answer is an AWS error.
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
        identifier, named = key.rpartition("/")[2], self.store.of_arn(key)
        random = [family.kind for family in self._families.values() if "{suffix}" in family.resource.id]
        for record in [named] if named else [self.store.of_id(kind, identifier) for kind in random]:
            if record is not None and record.place != (region, account_id or self._account_id):
                raise not_found(f"{_sentence_noun(record.kind)} not found: {key}")

    def resume(self) -> None:
        """Continue the background work that an earlier service left unfinished."""
        for family in self._families.values():
            if family.behaviour.settles:
                for record in self.store.records(family.kind):
                    for version in self.store.versions(record) or [record]:
                        if _is_settling(family, version):
                            self._begin(family, version)

    async def close(self) -> None:
        """Cancel the background work; the next service resumes it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def changing(self) -> asyncio.Lock:
        """Held while a resource is read and changed; for operations beside those of the declarations."""
        return self._changing

    # The verbs

    async def _create(self, family: _Family, parameters: Parameters, place: Place) -> Result:
        resource, binding = family.resource, family.binding
        token, moment = parameters.get("clientToken") or "", self._moment()
        name = resource.name_of(parameters.get(binding.name))
        digest = _digest(parameters)
        async with self._changing:
            if token and (same := self.store.of_token(family.kind, place, token)):
                self._check_token(family, same, "create", digest)
                return self._answer(family, "create", _seen_as(same, family, "creating"))
            parent = self._parent(family, parameters, place)
            above = parent.arn if parent else ""
            if same := self.store.find(family.kind, place, name, parent=above, by_name=True):
                raise _taken(resource, same)
            identity = resource.new_id(name)
            record = ResourceRecord(
                kind=family.kind,
                region=place.region,
                parent=above,
                id=identity,
                name=name,
                arn=resource.arn_of(id=identity, name=name, **place._asdict(), parent=parent),
                version=1 if resource.versioned else 0,
                status=binding.statuses.creating if family.behaviour.settles else binding.statuses.ready,
                document=_given(binding, parameters),
                tokens={"create": (token, digest)} if token else {},
                created_at=moment,
                updated_at=moment,
            )
            draft = Draft(record=record, parameters=parameters, parent=parent)
            await family.behaviour.before_create(draft)
            tags: Mapping[str, str] = parameters.get("tags") or {}
            _check_tags(tags)
            record = (await asyncio.to_thread(self.store.put, [draft.record, *draft.also], tags=tags))[0]
        self._begin(family, record)
        return self._answer(family, "create", _seen_as(record, family, "creating"))

    async def _get(self, family: _Family, parameters: Parameters, place: Place) -> Result:
        record = self._find(family, parameters, place)
        if wanted := self._wanted_version(family, parameters):
            record = self._version(record, wanted)
        return self._answer(family, "get", record)

    async def _list(self, family: _Family, parameters: Parameters, place: Place) -> Result:
        parent = self._parent(family, parameters, place)
        stored = self.store.records(family.kind, place=place, parent=parent.arn if parent else "")
        presets = [] if parent else family.resource.presets_in(place.region)
        records = [record for record in (*presets, *stored) if family.behaviour.is_listed(record, parameters)]
        if family.resource.newest_first:
            records.reverse()
        return self._page(family, "list", records, parameters)

    async def _list_versions(self, family: _Family, parameters: Parameters, place: Place) -> Result:
        versions = self.store.versions(self._find(family, parameters, place))
        return self._page(family, "versions", versions[::-1], parameters)

    async def _update(self, family: _Family, parameters: Parameters, place: Place) -> Result:
        resource, binding, moment = family.resource, family.binding, self._moment()
        token, digest = parameters.get("clientToken") or "", _digest(parameters)
        async with self._changing:
            former = self._changeable(family, parameters, place)
            if token and former.tokens.get("update", ("",))[0] == token:
                self._check_token(family, former, "update", digest)
                return self._answer(family, "update", _seen_as(former, family, "updating"))
            if _is_settling(family, former):
                raise conflict(f"{former.id} is {former.status}; wait until it is {binding.statuses.ready}")
            changes = _given(binding, parameters)
            record = replace(
                former,
                version=former.version + 1 if resource.versioned else 0,
                status=binding.statuses.updating if family.behaviour.settles else binding.statuses.ready,
                failure="",
                document=changes if resource.update == "replace" else {**former.document, **changes},
                internal={} if resource.versioned else former.internal,
                tokens={**former.tokens, "update": (token, digest)} if token else former.tokens,
                updated_at=moment,
            )
            parent = self._parent(family, parameters, place)
            draft = Draft(record=record, parameters=parameters, former=former, parent=parent)
            await family.behaviour.before_update(draft)
            record = (await asyncio.to_thread(self.store.put, [draft.record, *draft.also]))[0]
        self._begin(family, record)
        return self._answer(family, "update", _seen_as(record, family, "updating"))

    async def _delete(self, family: _Family, parameters: Parameters, place: Place) -> Result:
        async with self._changing:
            record = self._changeable(family, parameters, place)
            version = self._wanted_version(family, parameters)
            if version is not None:
                record = self._version(record, version)
            await family.behaviour.before_delete(record, version)
            # First the record, so that nothing new begins with it.
            if version is None:
                await asyncio.to_thread(self.store.remove, record)
            else:
                await asyncio.to_thread(self.store.remove_version, record, version)
        await self._abandon(record, version)
        await family.behaviour.after_delete(record, version)
        return self._answer(family, "delete", _seen_as(record, family, "deleting"))

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
        if record is None or record.place != place:
            raise not_found(f"No resource {arn}")
        return arn

    # Background work

    def _begin(self, family: _Family, record: ResourceRecord) -> None:
        if _is_settling(family, record):
            task = asyncio.get_running_loop().create_task(self._settle(family, record))
            self._tasks[task] = record
            task.add_done_callback(self._tasks.pop)

    async def _abandon(self, deleted: ResourceRecord, version: int | None) -> None:
        """Stop the background work for a deleted resource, or for one version, which would leave files behind."""
        tasks = [
            task
            for task, record in self._tasks.items()
            if record.arn == deleted.arn and version in (None, record.version)
        ]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if tasks:
            _log.info("%s %s was deleted while it was %s", deleted.kind, deleted.id, deleted.status)

    async def _settle(self, family: _Family, record: ResourceRecord) -> None:
        statuses, failure = family.binding.statuses, ""
        try:
            record = replace(await family.behaviour.settle(record), status=statuses.ready)
        except Exception as error:  # noqa: BLE001 - a resource that nobody settles would stay CREATING for ever
            if is_full_disk(error):
                failure = full_disk_message(self.store.home)
            elif isinstance(error, SettlementError):
                failure = str(error)
            else:
                _log.exception("%s %s failed while it was %s", family.kind, record.id, record.status)
                failure = f"The local AgentCore failed while this was {record.status}: {error!r}"
        if failure:
            record = replace(record, status=statuses.failures[record.status], failure=failure)
        record = replace(record, updated_at=self._moment())
        while not await self._put_settled(family, record):  # noqa: ASYNC110 - nothing announces that space was freed
            await asyncio.sleep(_FULL_DISK_PAUSE_S)
        _log.info("%s %s version %d is %s %s", family.kind, record.id, record.version, record.status, failure)

    async def _put_settled(self, family: _Family, record: ResourceRecord) -> bool:
        """Store what background work has made, unless it was deleted meanwhile; return False if the disk is full."""
        async with self._changing:
            current = self.store.of_arn(record.arn)
            if current is None or (record.version and self.store.version(current, record.version) is None):
                return True
            if record.version == current.version:
                record = replace(record, tokens=current.tokens)
            try:
                await asyncio.to_thread(self.store.put, [record, *family.behaviour.after_settle(record)])
            except sqlite3.Error as error:
                if not is_full_disk(error):
                    raise
                _log.error("%s %s is not yet %s: the disk is full", family.kind, record.id, record.status)
                return False
        return True

    # Lookup and form

    def _find(self, family: _Family, parameters: Parameters, place: Place) -> ResourceRecord:
        key: str = parameters[family.binding.identifier]
        presets = family.resource.presets_in(place.region)
        if preset := next((item for item in presets if key in (item.id, item.arn)), None):
            return preset
        parent = self._parent(family, parameters, place)
        above = parent.arn if parent else ""
        record = self.store.find(family.kind, place, key, parent=above, by_name=family.binding.by_name)
        if record is None:
            below = f" in {parent.id}" if parent else ""
            raise not_found(f"{_sentence_noun(family.kind)} not found{below}: {key}")
        return record

    def _changeable(self, family: _Family, parameters: Parameters, place: Place) -> ResourceRecord:
        record = self._find(family, parameters, place)
        if not record.number:
            raise invalid(f"{_sentence_noun(family.kind)} {record.id} is managed by AWS and cannot be changed")
        return record

    def _parent(self, family: _Family, parameters: Parameters, place: Place) -> ResourceRecord | None:
        if family.resource.parent is None:
            return None
        above = self._families[family.resource.parent.noun]
        named = {**parameters, above.binding.identifier: parameters[family.binding.parent_identifier]}
        return self._find(above, named, place)

    def _wanted_version(self, family: _Family, parameters: Parameters) -> int | None:
        wanted = parameters.get(f"{family.resource.prefix}Version") if family.resource.versioned else None
        return int(wanted) if wanted else None

    def _version(self, record: ResourceRecord, number: int) -> ResourceRecord:
        if version := self.store.version(record, number):
            return version
        raise not_found(f"{record.id} has no version {number}")

    def _check_token(self, family: _Family, record: ResourceRecord, verb: str, digest: str) -> None:
        """Reject a client token reused with other parameters; an older release's digest matches any."""
        former = record.tokens[verb][1]
        if former and former != digest:
            message = "clientToken was used already, with other parameters"
            if family.resource.duplicate == "ConflictException":
                raise conflict(message)
            raise invalid(message, "IdempotentParameterMismatchException")

    def _answer(self, family: _Family, verb: str, record: ResourceRecord) -> Result:
        members = self._members(family, verb, record)
        envelope = family.binding.envelopes.get(verb)
        return {envelope: members} if envelope else members

    def _members(self, family: _Family, verb: str, record: ResourceRecord) -> Result:
        parent = self.store.of_arn(record.parent) if record.parent else None
        members = {**family.resource.shown(record, parent), **family.behaviour.members(record)}
        if verb in ("list", "versions"):
            members = {**family.resource.summary_defaults, **members}
        return {name: members[name] for name in family.binding.outputs[verb] if name in members}

    def _page(self, family: _Family, verb: str, records: Sequence[ResourceRecord], parameters: Parameters) -> Result:
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
        shown = [self._members(family, verb, record) for record in records[: request.fetch]]
        return request.page(family.binding.envelopes[verb], shown, lambda at: [position(records[at])])

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(round(self._clock(), 3), UTC)


def _is_settling(family: _Family, record: ResourceRecord) -> bool:
    statuses = family.binding.statuses
    return family.behaviour.settles and record.status in (statuses.creating, statuses.updating)


def _seen_as(record: ResourceRecord, family: _Family, step: str) -> ResourceRecord:
    """Return the record as responses show it while AWS would still be creating or updating it."""
    return replace(record, status=getattr(family.binding.statuses, step) or record.status)


def _given(binding: Binding, parameters: Parameters) -> dict[str, Any]:
    """Return the parameters that describe the resource, without its identifiers and the client token."""
    apart = {"clientToken", "tags", binding.name, binding.identifier, binding.parent_identifier}
    return {name: value for name, value in parameters.items() if name not in apart and value is not None}


def _taken(resource: Resource, record: ResourceRecord) -> RefusedError:
    message = f"{_sentence_noun(resource.noun)} with name {record.name} already exists: {record.id}"
    message = resource.duplicate_message.format(name=record.name) or message
    return conflict(message) if resource.duplicate == "ConflictException" else invalid(message, "ResourceConflict")


def _check_tags(tags: Mapping[str, str]) -> None:
    if len(tags) > _MOST_TAGS:
        raise invalid(f"A resource can have at most {_MOST_TAGS} tags")


def _sentence_noun(noun: str) -> str:
    """Return `AgentRuntime` as `Agent runtime`."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in noun).strip()
    return spaced.capitalize()


def _digest(parameters: Parameters) -> str:
    content = {name: value for name, value in parameters.items() if name != "clientToken"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
