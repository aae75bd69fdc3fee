"""Knowledge bases of Amazon Bedrock: list, create, fill from S3, search and ask."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from loomlib.errors import AwsError, ResourceNotFoundError

from .connection import Clients
from .errors import translated
from .paging import iter_items

_SETTLED: Final = ("ACTIVE", "FAILED")
_ENDED: Final = ("COMPLETE", "FAILED", "STOPPED")
_PAUSE_S: Final = 0.2
_SOURCES: Final = {
    "s3Location": "uri",
    "customDocumentLocation": "id",
    "webLocation": "url",
    "confluenceLocation": "url",
    "salesforceLocation": "url",
    "sharePointLocation": "url",
    "kendraDocumentLocation": "uri",
}


class IngestionError(AwsError):
    """Documents could not be ingested; the message contains Bedrock's reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBase:
    """A knowledge base.

    Attributes:
        id: Its id.
        name: Its name.
        arn: Its ARN.
        status: Bedrock's status, such as ACTIVE.
        description: Its description, "" without one.
        region: The AWS region.
        updated_at: When it was changed last.
    """

    id: str
    name: str
    arn: str
    status: str
    description: str
    region: str
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """A finished ingestion job.

    Attributes:
        status: COMPLETE, FAILED or STOPPED.
        scanned: Number of documents that were read.
        indexed: Number of new and changed documents.
        deleted: Number of documents that were deleted.
        failed: Number of documents that could not be indexed.
        reasons: Why documents or the job failed.
        duration_s: Time from its start to its end as reported by Bedrock, in seconds.
    """

    status: str
    scanned: int
    indexed: int
    deleted: int
    failed: int
    reasons: tuple[str, ...]
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage that answers a question.

    Attributes:
        text: The passage.
        score: Bedrock's score, None in citations.
        source: Address of its document.
        metadata: Attributes of its document.
    """

    text: str
    score: float | None
    source: str
    metadata: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeAnswer:
    """An answer from a knowledge base.

    Attributes:
        text: The answer.
        citations: Parts of the answer, each with the passages that it rests on.
        session_id: The session, for further questions.
        duration_ms: From the call to its answer, at the client.
    """

    text: str
    citations: tuple[tuple[str, tuple[Passage, ...]], ...]
    session_id: str
    duration_ms: float


def list_knowledge_bases(clients: Clients, *, region: str | None = None) -> Iterator[KnowledgeBase]:
    """Return every knowledge base of the account in a region, each read in full."""
    control, where = clients.client("bedrock-agent", region), region or clients.region
    for item in iter_items(
        control.list_knowledge_bases, "knowledgeBaseSummaries", {}, "Listing knowledge bases", where
    ):
        yield get_knowledge_base(clients, item["knowledgeBaseId"], region=where)


def find_knowledge_base(clients: Clients, key: str, *, region: str | None = None) -> KnowledgeBase:
    """Return a knowledge base by its name, id or ARN.

    Args:
        clients: The AWS clients of a connection.
        key: The knowledge base's name, id or ARN.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is none.
    """
    control, where = clients.client("bedrock-agent", region), region or clients.region
    for item in iter_items(
        control.list_knowledge_bases, "knowledgeBaseSummaries", {}, "Listing knowledge bases", where
    ):
        if key in (item["name"], item["knowledgeBaseId"]) or key.endswith(f"/{item['knowledgeBaseId']}"):
            return get_knowledge_base(clients, item["knowledgeBaseId"], region=where)
    raise ResourceNotFoundError(
        "There is no such knowledge base", on=f"{key} in {where}", try_="bench.bedrock.knowledge_bases.table()"
    )


def get_knowledge_base(clients: Clients, base_id: str, *, region: str | None = None) -> KnowledgeBase:
    """Return a knowledge base by its id.

    Args:
        clients: The AWS clients of a connection.
        base_id: The knowledge base's id.
        region: The region, if it is not the connection's.

    Raises:
        ResourceNotFoundError: There is none.
    """
    with translated("Reading a knowledge base", on=base_id):
        shape: Mapping[str, Any] = clients.client("bedrock-agent", region).get_knowledge_base(knowledgeBaseId=base_id)[
            "knowledgeBase"
        ]
    return KnowledgeBase(
        id=shape["knowledgeBaseId"],
        name=shape["name"],
        arn=shape["knowledgeBaseArn"],
        status=shape["status"],
        description=shape.get("description") or "",
        region=region or clients.region,
        updated_at=shape["updatedAt"],
    )


def create_knowledge_base(
    clients: Clients,
    name: str,
    *,
    role_arn: str | None = None,
    configuration: Mapping[str, Any],
    storage: Mapping[str, Any] | None = None,
    region: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> KnowledgeBase:
    """Create a knowledge base and wait until it is active (CreateKnowledgeBase).

    Args:
        clients: The AWS clients of a connection.
        name: Its name.
        role_arn: The role with which it reads its documents; by default one that only the local service accepts.
        configuration: `knowledgeBaseConfiguration`.
        storage: `storageConfiguration`; on AWS it is required.
        region: The region, if it is not the connection's.
        progress: Called with a line of progress.

    Raises:
        ConflictError: The name is taken.
        RequestRejectedError: Bedrock rejects the configuration.
    """
    more = {"storageConfiguration": storage} if storage else {}
    role = role_arn or f"arn:aws:iam::{clients.account_id()}:role/loom-local"
    with translated("Creating a knowledge base", on=name):
        new_base = clients.client("bedrock-agent", region).create_knowledge_base(
            name=name, roleArn=role, knowledgeBaseConfiguration=configuration, **more
        )["knowledgeBase"]
    while (base := get_knowledge_base(clients, new_base["knowledgeBaseId"], region=region)).status not in _SETTLED:
        progress(f"The knowledge base {name} is {base.status} …")
        time.sleep(_PAUSE_S)
    return base


def delete_knowledge_base(clients: Clients, base: KnowledgeBase) -> None:
    """Delete a knowledge base with its data sources."""
    control = clients.client("bedrock-agent", base.region)
    request = {"knowledgeBaseId": base.id}
    for item in iter_items(
        control.list_data_sources, "dataSourceSummaries", request, "Listing data sources", base.name
    ):
        with translated("Deleting a data source", on=item["name"]):
            control.delete_data_source(**request, dataSourceId=item["dataSourceId"])
    with translated("Deleting a knowledge base", on=base.name):
        control.delete_knowledge_base(**request)


def ingest_from_s3(
    clients: Clients,
    base: KnowledgeBase,
    *,
    bucket: str,
    prefix: str = "",
    chunking: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Ingestion:
    """Ingest the documents below an S3 prefix and wait for completion; create the data source if it does not exist.

    Args:
        clients: The AWS clients of a connection.
        base: The knowledge base.
        bucket: The bucket.
        prefix: Only objects with this prefix.
        chunking: `chunkingConfiguration` of a new data source; Bedrock's default without one.
        progress: Called with a line of progress.

    Raises:
        IngestionError: The job failed.
    """
    control, identifiers = clients.client("bedrock-agent", base.region), {"knowledgeBaseId": base.id}
    place: dict[str, Any] = {"bucketArn": f"arn:aws:s3:::{bucket}"}
    place |= {"inclusionPrefixes": [prefix]} if prefix else {}
    source = f"{bucket}-{prefix.strip('/').replace('/', '-')}".strip("-")[:100]
    request = {"knowledgeBaseId": base.id}
    listed = iter_items(control.list_data_sources, "dataSourceSummaries", request, "Listing data sources", base.name)
    source_ids = {item["name"]: item["dataSourceId"] for item in listed}
    if source in source_ids and _place(control, base, source_ids[source]) != place:  # it reads another bucket or prefix
        digest = hashlib.sha256(f"{bucket}/{prefix}".encode()).hexdigest()[:8]
        source = f"{source[:91].rstrip('-')}-{digest}"
    if source not in source_ids:
        more = {"vectorIngestionConfiguration": {"chunkingConfiguration": chunking}} if chunking else {}
        with translated("Creating a data source", on=source):
            answer = control.create_data_source(
                **identifiers, name=source, dataSourceConfiguration={"type": "S3", "s3Configuration": place}, **more
            )
        source_ids[source] = answer["dataSource"]["dataSourceId"]
    identifiers["dataSourceId"] = source_ids[source]
    with translated("Starting an ingestion job", on=source):
        job: Mapping[str, Any] = control.start_ingestion_job(**identifiers)["ingestionJob"]
    while job["status"] not in _ENDED:
        progress(f"Ingesting: {job.get('statistics', {}).get('numberOfDocumentsScanned', 0)} documents read …")
        time.sleep(_PAUSE_S)
        with translated("Reading an ingestion job", on=source):
            job = control.get_ingestion_job(**identifiers, ingestionJobId=job["ingestionJobId"])["ingestionJob"]
    counts: Mapping[str, int] = job.get("statistics") or {}
    ended = Ingestion(
        status=job["status"],
        scanned=counts.get("numberOfDocumentsScanned", 0),
        indexed=counts.get("numberOfNewDocumentsIndexed", 0) + counts.get("numberOfModifiedDocumentsIndexed", 0),
        deleted=counts.get("numberOfDocumentsDeleted", 0),
        failed=counts.get("numberOfDocumentsFailed", 0),
        reasons=tuple(job.get("failureReasons") or ()),
        duration_s=(job["updatedAt"] - job["startedAt"]).total_seconds(),
    )
    if ended.status == "FAILED":
        raise IngestionError(
            f"The ingestion failed: {'; '.join(ended.reasons) or 'Bedrock gives no reason'}",
            on=f"s3://{bucket}/{prefix}",
        )
    return ended


def _place(control: Any, base: KnowledgeBase, source_id: str) -> dict[str, Any]:
    """Return the bucket and the prefixes that a data source reads; empty for a source other than S3."""
    with translated("Reading a data source", on=source_id):
        shape: Mapping[str, Any] = control.get_data_source(knowledgeBaseId=base.id, dataSourceId=source_id)
    configuration: Mapping[str, Any] = shape["dataSource"]["dataSourceConfiguration"].get("s3Configuration") or {}
    return {member: configuration[member] for member in ("bucketArn", "inclusionPrefixes") if configuration.get(member)}


def search_knowledge(
    clients: Clients,
    base: KnowledgeBase,
    question: str,
    *,
    k: int,
    hybrid: bool | None = None,
    where: Mapping[str, Any] | None = None,
) -> list[Passage]:
    """Return the passages that answer a question best (Retrieve).

    Args:
        clients: The AWS clients of a connection.
        base: The knowledge base.
        question: The question.
        k: The largest number of passages.
        hybrid: Whether to combine keyword and semantic search; None lets Bedrock decide.
        where: A `RetrievalFilter` on metadata.
    """
    search: dict[str, Any] = {"numberOfResults": k}
    search |= {} if hybrid is None else {"overrideSearchType": "HYBRID" if hybrid else "SEMANTIC"}
    search |= {"filter": where} if where else {}
    with translated("Searching a knowledge base", on=base.name):
        answer: Mapping[str, Any] = clients.client("bedrock-agent-runtime", base.region).retrieve(
            knowledgeBaseId=base.id,
            retrievalQuery={"text": question},
            retrievalConfiguration={"vectorSearchConfiguration": search},
        )
    return [passage(item) for item in answer["retrievalResults"]]


def ask_knowledge(
    clients: Clients, base: KnowledgeBase, question: str, *, model_arn: str, k: int, session_id: str | None = None
) -> KnowledgeAnswer:
    """Have a model answer a question from a knowledge base (RetrieveAndGenerate).

    Args:
        clients: The AWS clients of a connection.
        base: The knowledge base.
        question: The question.
        model_arn: ARN of the model or of its inference profile.
        k: Number of passages that the model is given.
        session_id: The session of earlier questions.
    """
    more = {"sessionId": session_id} if session_id else {}
    began = time.perf_counter()
    with translated("Asking a knowledge base", on=base.name):
        answer: Mapping[str, Any] = clients.client("bedrock-agent-runtime", base.region).retrieve_and_generate(
            input={"text": question},
            retrieveAndGenerateConfiguration={
                "type": "KNOWLEDGE_BASE",
                "knowledgeBaseConfiguration": {
                    "knowledgeBaseId": base.id,
                    "modelArn": model_arn,
                    "retrievalConfiguration": {"vectorSearchConfiguration": {"numberOfResults": k}},
                },
            },
            **more,
        )
    return KnowledgeAnswer(
        text=answer["output"]["text"],
        citations=tuple(map(citation, answer["citations"])),
        session_id=answer["sessionId"],
        duration_ms=(time.perf_counter() - began) * 1_000,
    )


def passage(item: Mapping[str, Any]) -> Passage:
    """Return a passage of Bedrock's answer, a result or a reference."""
    location: Mapping[str, Any] = item.get("location") or {}
    source = next((location[member][name] for member, name in _SOURCES.items() if location.get(member)), "")
    metadata: Mapping[str, Any] = item.get("metadata") or {}
    own = {name: value for name, value in metadata.items() if not name.startswith("x-amz-bedrock-kb-")}
    return Passage(text=item["content"].get("text") or "", score=item.get("score"), source=source, metadata=own)


def citation(item: Mapping[str, Any]) -> tuple[str, tuple[Passage, ...]]:
    """Return a citation of Bedrock's answer: a part of the answer, and the passages that it rests on."""
    part: Mapping[str, Any] = item.get("generatedResponsePart") or {}
    text: Mapping[str, Any] = part.get("textResponsePart") or {}
    references: Sequence[Mapping[str, Any]] = item.get("retrievedReferences") or ()
    return text.get("text", ""), tuple(map(passage, references))
