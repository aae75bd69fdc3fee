"""Knowledge bases and their data sources as resources of Bedrock's control plane."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from ..resources import Behaviour, Draft, Resource, ResourceRecord
from ..wire import invalid, not_implemented
from .store import KnowledgeStore

MODEL: Final = "bedrock-agent"
KNOWLEDGE_BASE: Final = Resource(
    noun="KnowledgeBase", service="bedrock", arn="knowledge-base/{id}", id="{suffix}", letters="upper"
)
DATA_SOURCE: Final = Resource(
    noun="DataSource",
    service="bedrock",
    arn="knowledge-base/{parent}/data-source/{id}",
    id="{suffix}",
    letters="upper",
    parent=KNOWLEDGE_BASE,
)
_KINDS: Final = frozenset({"VECTOR", "MANAGED"})
_NOT_HERE: Final = {
    "customTransformationConfiguration": "transformations of documents by Lambda functions",
    "parsingConfiguration": "parsing of documents by models",
    "contextEnrichmentConfiguration": "enrichment of chunks by models",
}


class KnowledgeBaseBehaviour(Behaviour):
    """Refuses knowledge bases without vectors, and deletes the contents of a deleted knowledge base.

    The vectors are always stored here, whichever vector store the configuration names.

    Args:
        store: The documents and chunks.
    """

    def __init__(self, store: KnowledgeStore) -> None:
        self._store = store

    async def before_create(self, draft: Draft) -> None:
        """Refuse kinds that are not served here."""
        self._check(draft.parameters)

    async def before_update(self, draft: Draft) -> None:
        """Refuse kinds that are not served here."""
        self._check(draft.parameters)

    async def after_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Delete the documents and the jobs."""
        await asyncio.to_thread(self._store.forget, record.id)

    def _check(self, parameters: Mapping[str, Any]) -> None:
        kind = parameters["knowledgeBaseConfiguration"]["type"]
        if kind not in _KINDS:
            raise not_implemented(f"knowledge bases of the type {kind}")


class DataSourceBehaviour(Behaviour):
    """Refuses sources other than S3 and direct ingestion, and deletes the contents of a deleted source.

    Args:
        store: The documents and chunks.
    """

    def __init__(self, store: KnowledgeStore) -> None:
        self._store = store

    async def before_create(self, draft: Draft) -> None:
        """Refuse what is not read here."""
        self._check(draft.parameters)

    async def before_update(self, draft: Draft) -> None:
        """Refuse unsupported settings and, like AWS, a change of the chunking configuration."""
        self._check(draft.parameters)
        document: Mapping[str, Any] = draft.former.document if draft.former else {}
        former = document.get("vectorIngestionConfiguration")
        if draft.parameters.get("vectorIngestionConfiguration", former) != former:
            raise invalid("The chunking configuration of a data source cannot change; create another data source")

    async def after_delete(self, record: ResourceRecord, version: int | None) -> None:
        """Delete its jobs, and its documents unless its policy retains them."""
        retained = record.document.get("dataDeletionPolicy") == "RETAIN"
        base = record.parent.rpartition("/")[2]
        await asyncio.to_thread(self._store.forget, base, record.id, keeps_documents=retained)

    def members(self, record: ResourceRecord) -> Mapping[str, Any]:
        """Return the deletion policy, which AWS sets by default."""
        return {"dataDeletionPolicy": record.document.get("dataDeletionPolicy") or "DELETE"}

    def _check(self, parameters: Mapping[str, Any]) -> None:
        source = parameters["dataSourceConfiguration"]
        if source["type"] not in ("S3", "CUSTOM"):
            raise not_implemented(f"data sources of the type {source['type']}, only S3 and CUSTOM")
        if source["type"] == "S3" and not source.get("s3Configuration"):
            raise invalid("s3Configuration is missing: a data source of type S3 requires it")
        ingestion: Mapping[str, Any] = parameters.get("vectorIngestionConfiguration") or {}
        for member, feature in _NOT_HERE.items():
            if ingestion.get(member):
                raise not_implemented(feature)
        chunking: Mapping[str, Any] = ingestion.get("chunkingConfiguration") or {}
        for strategy in ("FIXED_SIZE", "HIERARCHICAL", "SEMANTIC"):
            member = {"FIXED_SIZE": "fixedSize", "HIERARCHICAL": "hierarchical", "SEMANTIC": "semantic"}[strategy]
            needed = f"{member}ChunkingConfiguration"
            if chunking.get("chunkingStrategy") == strategy and not chunking.get(needed):
                raise invalid(f"{needed} is missing: the chunking strategy {strategy} requires it")
