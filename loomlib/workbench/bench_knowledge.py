"""The knowledge bases of an account: list, create, fill, search, ask and delete; `bench.bedrock.knowledge_bases`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..aws import knowledge_bases
from ..aws.deploy import make_bucket
from ..aws.errors import translated
from ..aws.knowledge_bases import Ingestion, KnowledgeAnswer, KnowledgeBase
from ..errors import RequestRejectedError, ResourceNotFoundError
from ..presentation.formats import milliseconds
from ..presentation.html import card
from .account_resources import AccountResources
from .context import Context
from .frames import knowledge_base_frame, passage_frame
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd

_EMBEDDING: Final = "arn:aws:bedrock:{region}::foundation-model/amazon.titan-embed-text-v2:0"
_MODEL: Final = "arn:aws:bedrock:{region}::foundation-model/amazon.nova-lite-v1:0"
_TEXTS: Final = frozenset({".txt", ".md", ".html", ".htm", ".csv"})


class KnowledgeReply:
    """An answer from a knowledge base.

    Attributes:
        value: The answer with its citations.
        labels: Provenance labels, such as "local AgentCore".
    """

    def __init__(self, value: KnowledgeAnswer, labels: tuple[str, ...]) -> None:
        self.value, self.labels = value, labels

    @property
    def text(self) -> str:
        """The answer."""
        return self.value.text

    @property
    def sources(self) -> list[str]:
        """Addresses of the documents that it cites, each once."""
        cited = (passage.source for _, passages in self.value.citations for passage in passages)
        return list(dict.fromkeys(cited))

    def __repr__(self) -> str:
        return f"<KnowledgeReply: {milliseconds(self.value.duration_ms)}, {len(self.sources)} cited>\n{self.text}"

    def _repr_html_(self) -> str:
        facts = [("client duration", milliseconds(self.value.duration_ms))]
        facts += [("source", source) for source in self.sources]
        return card("Answer", labels=self.labels, facts=facts, text=self.text)


class KnowledgeBaseView:
    """One knowledge base.

    Args:
        context: The workbench's resources.
        value: The knowledge base.
    """

    def __init__(self, context: Context, value: KnowledgeBase) -> None:
        self._context, self.value = context, value

    def __repr__(self) -> str:
        """Return its name, status and id."""
        return f"Knowledge base {self.value.name} ({self.value.status.lower()}), {self.value.id}"

    def add_folder(
        self,
        folder: str | Path,
        *,
        bucket: str | None = None,
        chunk_tokens: int | None = None,
        chunking: Mapping[str, Any] | None = None,
    ) -> Ingestion:
        """Upload a folder's text files to S3 and ingest them; changed files are ingested again.

        Text files end in .txt, .md, .html, .htm or .csv; each is uploaded with its `NAME.metadata.json` if it exists.

        Args:
            folder: The folder.
            bucket: The bucket; `loom-knowledge-ACCOUNT-REGION` by default.
            chunk_tokens: Maximum chunk size in tokens, used the first time; Bedrock's default of about 300 if omitted.
            chunking: Bedrock's `chunkingConfiguration` instead, used the first time.

        Raises:
            RequestRejectedError: The folder has no text files.
            IngestionError: The ingestion failed.
        """
        root = Path(folder)
        files = [file for file in sorted(root.rglob("*")) if file.is_file() and file.suffix.lower() in _TEXTS]
        if not files:
            raise RequestRejectedError(
                "The folder has no text files", on=str(root), try_="files that end in .txt, .md, .html"
            )
        clients = self._context.clients
        where = bucket or f"loom-knowledge-{clients.account_id()}-{clients.region}"
        prefix = f"{self.value.name}/"
        line, s3 = WaitLine(), clients.s3()
        for at, file in enumerate(files):
            line(f"Uploading {at} of {len(files)} files …")
            beside = file.with_name(f"{file.name}.metadata.json")
            for one in (file, beside) if beside.is_file() else (file,):
                self._upload(s3, where, prefix + one.relative_to(root).as_posix(), one.read_bytes())
        if chunk_tokens is not None and chunking is None:
            fixed = {"maxTokens": chunk_tokens, "overlapPercentage": 20}
            chunking = {"chunkingStrategy": "FIXED_SIZE", "fixedSizeChunkingConfiguration": fixed}
        return knowledge_bases.ingest_from_s3(
            clients, self.value, bucket=where, prefix=prefix, chunking=chunking, progress=line
        )

    def add_s3(self, bucket: str, prefix: str = "", *, chunking: Mapping[str, Any] | None = None) -> Ingestion:
        """Ingest the documents of a bucket; documents that changed since the last time are ingested again.

        Args:
            bucket: The bucket.
            prefix: Only objects below it.
            chunking: Bedrock's `chunkingConfiguration`, used the first time.

        Raises:
            IngestionError: The ingestion failed.
        """
        line = WaitLine()
        return knowledge_bases.ingest_from_s3(
            self._context.clients, self.value, bucket=bucket, prefix=prefix, chunking=chunking, progress=line
        )

    def search(
        self, question: str, *, k: int = 5, hybrid: bool | None = None, where: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        """Return the passages that answer a question best: score, text, source, metadata.

        Args:
            question: The question.
            k: The largest number of passages, at most 100.
            hybrid: Whether to search by words as well as by meaning; Bedrock decides if None.
            where: Bedrock's filter on metadata, such as `{"equals": {"key": "topic", "value": "returns"}}`.
        """
        passages = knowledge_bases.search_knowledge(
            self._context.clients, self.value, question, k=k, hybrid=hybrid, where=where
        )
        return passage_frame(passages)

    def ask(
        self, question: str, *, model_arn: str | None = None, k: int = 5, session_id: str | None = None
    ) -> KnowledgeReply:
        """Have a model answer a question from the passages, with citations.

        Args:
            question: The question.
            model_arn: ARN of the model or of its inference profile; Amazon Nova Lite by default.
            k: Number of passages passed to the model.
            session_id: `reply.value.session_id` of an earlier question, to continue its session.
        """
        model = model_arn or _MODEL.format(region=self.value.region)
        answer = knowledge_bases.ask_knowledge(
            self._context.clients, self.value, question, model_arn=model, k=k, session_id=session_id
        )
        return KnowledgeReply(answer, self._context.labels)

    def _upload(self, s3: Any, bucket: str, key: str, content: bytes) -> None:
        try:
            with translated("Uploading a document", on=f"s3://{bucket}/{key}"):
                s3.put_object(Bucket=bucket, Key=key, Body=content)
        except ResourceNotFoundError:
            make_bucket(self._context.clients, bucket)
            with translated("Uploading a document", on=f"s3://{bucket}/{key}"):
                s3.put_object(Bucket=bucket, Key=key, Body=content)


class BenchKnowledgeBases(AccountResources[KnowledgeBase, KnowledgeBaseView]):
    """The knowledge bases that a workbench can reach; `bench.bedrock.knowledge_bases`.

    Args:
        context: The workbench's resources.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(
            context,
            list_all=knowledge_bases.list_knowledge_bases,
            find=knowledge_bases.find_knowledge_base,
            delete=knowledge_bases.delete_knowledge_base,
            frame=knowledge_base_frame,
            view=KnowledgeBaseView,
        )

    def create(
        self,
        name: str,
        *,
        role_arn: str | None = None,
        storage: Mapping[str, Any] | None = None,
        embedding_model_arn: str | None = None,
        region: str | None = None,
    ) -> KnowledgeBaseView:
        """Create a vector knowledge base and wait until it is active.

            base = bench.bedrock.knowledge_bases.create("handbook")
            base.add_folder("documents")
            base.ask("How long is the warranty?").text

        Args:
            name: Its name.
            role_arn: The role with which it reads its documents; on AWS it must exist.
            storage: Bedrock's `storageConfiguration`, required on AWS; the local AgentCore stores the vectors itself.
            embedding_model_arn: The embedding model; Titan Text Embeddings V2 by default.
            region: The AWS region; the connection's by default.

        Raises:
            ConflictError: The name is taken.
            RequestRejectedError: Bedrock refuses the configuration.
        """
        clients, line = self._context.clients, WaitLine()
        model = embedding_model_arn or _EMBEDDING.format(region=region or clients.region)
        configuration = {"type": "VECTOR", "vectorKnowledgeBaseConfiguration": {"embeddingModelArn": model}}
        knowledge_base = knowledge_bases.create_knowledge_base(
            clients,
            name,
            role_arn=role_arn,
            configuration=configuration,
            storage=storage,
            region=region,
            progress=line,
        )
        return KnowledgeBaseView(self._context, knowledge_base)
