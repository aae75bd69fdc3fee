"""Ingestion of documents: the jobs that read a data source, and documents that are ingested directly."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import mimetypes
import secrets
import string
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from ..paging import page_request
from ..resources import Place, ResourceRecord
from ..resources.store import ResourceStore
from ..wire import conflict, invalid, not_found, not_implemented
from .chunking import chunks_of
from .documents import DocumentError, SourceDocument, SourceError, inline_metadata, read_source
from .resources import DATA_SOURCE, KNOWLEDGE_BASE
from .store import GoneError, KnowledgeStore, StoredDocument

_log = logging.getLogger(__name__)
_LETTERS: Final = string.ascii_uppercase + string.digits
_STATISTICS: Final = (
    "numberOfDocumentsScanned", "numberOfMetadataDocumentsScanned", "numberOfNewDocumentsIndexed",
    "numberOfModifiedDocumentsIndexed", "numberOfMetadataDocumentsModified", "numberOfDocumentsDeleted",
    "numberOfDocumentsFailed",
)  # fmt: skip
_MOST_REASONS: Final = 20
_RUNNING: Final = ("STARTING", "IN_PROGRESS")


class IngestionPlane:
    """Operations on ingestion jobs and documents of knowledge bases.

    Args:
        resources: The knowledge bases and data sources.
        store: Their documents.
    """

    def __init__(self, resources: ResourceStore, store: KnowledgeStore) -> None:
        self._resources, self._store = resources, store
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopped: set[str] = set()
        self._starting = asyncio.Lock()

    async def close(self) -> None:
        """Stop all jobs after their current documents; their status becomes STOPPED."""
        self._stopped.update(self._tasks)
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def start_ingestion_job(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Start to ingest a data source: new and changed documents are indexed, deleted ones are removed."""
        base, source = self._source(parameters, place)
        if source.document["dataSourceConfiguration"]["type"] != "S3":
            raise invalid("A data source of the type CUSTOM has no ingestion jobs; use IngestKnowledgeBaseDocuments")
        token: str = parameters.get("clientToken") or ""
        async with self._starting:
            jobs = await asyncio.to_thread(self._store.jobs, base.id, source.id)
            if token and (same := next((job for job in jobs if job["token"] == token), None)):
                return {"ingestionJob": self._job_response(same)}
            if running := next((job for job in jobs if job["status"] in _RUNNING), None):
                raise conflict(f"The ingestion job {running['id']} of this data source is still running")
            job = _new_job(base.id, source.id, token, parameters.get("description") or "")
            try:
                await asyncio.to_thread(self._store.put_job, job)
            except GoneError as error:
                raise not_found(str(error)) from error
        task = asyncio.get_running_loop().create_task(asyncio.to_thread(self._run, dict(job), source, place))
        self._tasks[job["id"]] = task
        task.add_done_callback(lambda _: self._tasks.pop(job["id"], None))
        return {"ingestionJob": self._job_response(job)}

    async def get_ingestion_job(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Return a job."""
        return {"ingestionJob": self._job_response(await self._job(parameters, place))}

    async def list_ingestion_jobs(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """List the jobs of a data source, the newest first unless the request sorts them."""
        base, source = self._source(parameters, place)
        request = page_request(parameters, "ListIngestionJobs", int)
        start = request.after[0] + 1 if request.after else 0
        jobs = [self._job_response(job) for job in await asyncio.to_thread(self._store.jobs, base.id, source.id)]
        for condition in parameters.get("filters") or ():
            jobs = [job for job in jobs if job[condition["attribute"].lower()] in condition["values"]]
        if order := parameters.get("sortBy"):
            member = {"STATUS": "status", "STARTED_AT": "startedAt"}[order["attribute"]]
            jobs.sort(key=lambda job: job[member], reverse=order["order"] == "DESCENDING")
        summaries = [
            {name: value for name, value in job.items() if name != "failureReasons"}
            for job in jobs[start : start + request.fetch]
        ]
        return request.page("ingestionJobSummaries", summaries, lambda at: [start + at])

    async def stop_ingestion_job(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Stop a job after its current document."""
        job = await self._job(parameters, place)
        if job["status"] not in _RUNNING:
            raise conflict(f"The ingestion job {job['id']} is {job['status']}")
        if job["id"] in self._tasks:  # it may have ended meanwhile
            self._stopped.add(job["id"])
        return {"ingestionJob": self._job_response(job)}

    async def ingest_knowledge_base_documents(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Index the documents in the request."""
        base, source = self._source(parameters, place)
        if (kind := source.document["dataSourceConfiguration"]["type"]) != "CUSTOM":
            raise invalid(
                f"The documents are of the type CUSTOM, but the data source {source.id} is of the type {kind}"
            )
        documents = [_document_in_request(document) for document in parameters["documents"]]
        for document in documents:
            try:
                await asyncio.to_thread(self._index, base.id, source, document, "CUSTOM")
            except GoneError as error:
                raise not_found(str(error)) from error
        return await self._details(base.id, source.id, [document.address for document in documents])

    async def list_knowledge_base_documents(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """List the documents of a data source."""
        base, source = self._source(parameters, place)
        request = page_request(parameters, "ListKnowledgeBaseDocuments", str)
        documents = await asyncio.to_thread(self._store.documents, base.id, source.id)
        documents = [item for item in documents if request.after is None or item.address > request.after[0]]
        page = documents[: request.fetch]
        details = [_detail(base.id, item) for item in page]
        return request.page("documentDetails", details, lambda at: [page[at].address])

    async def get_knowledge_base_documents(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Return the states of documents."""
        base, source = self._source(parameters, place)
        return await self._details(base.id, source.id, list(map(_address, parameters["documentIdentifiers"])))

    async def delete_knowledge_base_documents(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Delete documents."""
        base, source = self._source(parameters, place)
        addresses = list(map(_address, parameters["documentIdentifiers"]))
        answer = await self._details(base.id, source.id, addresses)
        await asyncio.to_thread(self._store.remove, base.id, source.id, addresses)
        for detail in answer["documentDetails"]:
            detail["status"] = "DELETING" if detail["status"] != "NOT_FOUND" else "NOT_FOUND"
        return answer

    # Indexing, in threads

    def _run(self, job: dict[str, Any], source: ResourceRecord, place: Place) -> None:
        counts: Counter[str] = Counter()

        def note(status: str) -> None:
            job.update(status=status, updated_at=time.time(), statistics=dict.fromkeys(_STATISTICS, 0) | counts)
            self._store.put_job(job)

        def fail(reason: str) -> None:
            job["reasons"] = [*job["reasons"], reason]
            with contextlib.suppress(GoneError):
                note("FAILED")

        try:
            note("IN_PROGRESS")
            stored_documents = self._store.documents(job["base"], job["source"])
            former = {item.address: item for item in stored_documents if item.kind == "S3"}
            seen_addresses: set[str] = set()
            for document in read_source(source.document["dataSourceConfiguration"]["s3Configuration"], place):
                if job["id"] in self._stopped:
                    note("STOPPED")
                    return
                seen_addresses.add(document.address)
                counts["numberOfDocumentsScanned"] += 1
                counts["numberOfMetadataDocumentsScanned"] += bool(document.metadata or document.failure)
                stored_document = former.get(document.address)
                if (
                    stored_document is not None
                    and not document.failure
                    and stored_document.digest == document.digest
                    and stored_document.status == "INDEXED"
                ):
                    continue
                if failure := self._index(job["base"], source, document, "S3"):
                    counts["numberOfDocumentsFailed"] += 1
                    job["reasons"] = [*job["reasons"], f"{document.address}: {failure}"][:_MOST_REASONS]
                else:
                    changed = "numberOfModifiedDocumentsIndexed" if stored_document else "numberOfNewDocumentsIndexed"
                    counts[changed] += 1
                note("IN_PROGRESS")
            counts["numberOfDocumentsDeleted"] = self._store.remove(
                job["base"], job["source"], set(former) - seen_addresses
            )
            note("COMPLETE")
        except GoneError:
            return
        except SourceError as error:
            fail(str(error))
        except Exception as error:  # noqa: BLE001 - a job that nobody ends would stay IN_PROGRESS for ever
            _log.exception("The ingestion job %s failed", job["id"])
            fail(f"The local AgentCore failed: {error!r}")
        finally:
            self._stopped.discard(job["id"])

    def _index(self, base: str, source: ResourceRecord, document: SourceDocument, kind: str) -> str:
        """Index a document and return why it failed, "" if it did not."""
        configuration: Mapping[str, Any] = source.document.get("vectorIngestionConfiguration") or {}
        chunks, failure = [], ""
        try:
            chunks = chunks_of(document.text(), configuration.get("chunkingConfiguration"))
        except DocumentError as error:
            failure = str(error)
        self._store.put(
            base,
            source.id,
            document.address,
            kind=kind,
            digest=document.digest,
            metadata=document.metadata,
            chunks=chunks,
            failure=failure,
        )
        return failure

    # Lookup and form

    def _source(self, parameters: Mapping[str, Any], place: Place) -> tuple[ResourceRecord, ResourceRecord]:
        base = find_base(self._resources, parameters["knowledgeBaseId"], place)
        source = self._resources.visible(DATA_SOURCE.noun, place, parameters["dataSourceId"], parent=base.arn)
        if source is None:
            raise not_found(f"Data source not found in {base.id}: {parameters['dataSourceId']}")
        return base, source

    async def _job(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        base, source = self._source(parameters, place)
        job_id = parameters["ingestionJobId"]
        jobs = await asyncio.to_thread(self._store.jobs, base.id, source.id)
        job = next((job for job in jobs if job["id"] == job_id), None)
        if job is None:
            raise not_found(f"Ingestion job not found: {job_id}")
        return job

    def _job_response(self, job: Mapping[str, Any]) -> dict[str, Any]:
        stopping = job["id"] in self._stopped and job["status"] in _RUNNING
        return _job_response({**job, "status": "STOPPING"} if stopping else job)

    async def _details(self, base: str, source: str, addresses: list[str]) -> dict[str, Any]:
        documents = {item.address: item for item in await asyncio.to_thread(self._store.documents, base, source)}
        return {
            "documentDetails": [
                _detail(base, documents[address])
                if address in documents
                else {
                    "knowledgeBaseId": base,
                    "dataSourceId": source,
                    "status": "NOT_FOUND",
                    "identifier": _identifier(address, "S3" if address.startswith("s3://") else "CUSTOM"),
                }
                for address in addresses
            ]
        }


def find_base(resources: ResourceStore, key: str, place: Place) -> ResourceRecord:
    """Return a knowledge base.

    Args:
        resources: The resources.
        key: Its id or its ARN.
        place: The caller's region and account.

    Raises:
        RefusedError: It does not exist (404).
    """
    if record := resources.visible(KNOWLEDGE_BASE.noun, place, key):
        return record
    raise not_found(f"Knowledge base not found: {key}")


def _document_in_request(document: Mapping[str, Any]) -> SourceDocument:
    """Return a document in a request."""
    content = document["content"]
    if content["dataSourceType"] != "CUSTOM":
        raise not_implemented("single documents from S3, only documents that the request holds")
    custom: Mapping[str, Any] = content["custom"]
    inline: Mapping[str, Any] = custom.get("inlineContent") or {}
    texts: Mapping[str, Any] = inline.get("textContent") or {}
    files: Mapping[str, Any] = inline.get("byteContent") or {}
    text: str | None = texts.get("data")
    data: str | None = files.get("data")
    if text is None and data is None:
        raise not_implemented("custom documents without inline content")
    return SourceDocument(
        address=custom["customDocumentIdentifier"]["id"],
        content=text.encode("utf-8", "replace") if text is not None else base64.b64decode(data or ""),
        metadata=inline_metadata(document.get("metadata")),
        kind="txt" if text is not None else _kind_of(str(files.get("mimeType", ""))),
    )


def _kind_of(mime_type: str) -> str:
    """Return the usual ending of files of a type, such as "html" for `text/html; charset=utf-8`; "" if unknown."""
    plain = mime_type.partition(";")[0].strip().lower()
    return "md" if plain == "text/markdown" else (mimetypes.guess_extension(plain) or "").removeprefix(".")


def _address(identifier: Mapping[str, Any]) -> str:
    inner: Mapping[str, Any] = identifier.get("custom") or identifier.get("s3") or {}
    address = inner.get("id") or inner.get("uri")
    if not address:
        raise invalid("A document identifier needs custom.id or s3.uri")
    return str(address)


def _identifier(address: str, kind: str) -> dict[str, Any]:
    if kind == "S3":
        return {"dataSourceType": "S3", "s3": {"uri": address}}
    return {"dataSourceType": "CUSTOM", "custom": {"id": address}}


def _new_job(base: str, source: str, token: str, description: str) -> dict[str, Any]:
    moment = time.time()
    return {
        "id": "".join(secrets.choice(_LETTERS) for _ in range(10)),
        "base": base,
        "source": source,
        "token": token,
        "status": "STARTING",
        "description": description,
        "statistics": dict.fromkeys(_STATISTICS, 0),
        "reasons": [],
        "started_at": moment,
        "updated_at": moment,
    }


def _detail(base: str, document: StoredDocument) -> dict[str, Any]:
    return {
        "knowledgeBaseId": base,
        "dataSourceId": document.source,
        "status": document.status,
        "identifier": _identifier(document.address, document.kind),
        "statusReason": document.reason,
        "updatedAt": document.updated_at,
    }


def _job_response(job: Mapping[str, Any]) -> dict[str, Any]:
    details = {
        "knowledgeBaseId": job["base"],
        "dataSourceId": job["source"],
        "ingestionJobId": job["id"],
        "status": job["status"],
        "statistics": job["statistics"],
        "failureReasons": job["reasons"],
        "startedAt": job["started_at"],
        "updatedAt": job["updated_at"],
    }
    return {**details, "description": job["description"]} if job["description"] else details
