"""Knowledge bases: documents of a bucket are ingested, found, filtered and cited, with plain boto3."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from loomlib import local
from tests.service.conftest import Aws
from tests.waiting import wait_until

EMBEDDING = "arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-embed-text-v2:0"
MODEL = "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0"
DOCUMENTS = {
    "guides/returns.txt": "Parcels can be returned within 30 days. The refund arrives within 5 working days.",
    "guides/warranty.md": "# Warranty\nThe warranty of a kettle lasts 24 months. Lamps have a warranty of 36 months.",
    "guides/hours.html": "<h1>Hours</h1><script>var x=1</script><p>The shop opens at nine &amp; closes at six.</p>",
    "guides/stock.csv": "item,colour\nkettle,red\nlamp,blue\n",
    "other/ignored.txt": "Nothing in here is about parcels.",
}
METADATA = {"metadataAttributes": {"topic": "returns", "year": 2026, "tags": ["a", "b"], "edition": 1}}


@pytest.fixture(scope="module")
def bucket(aws: Aws) -> str:
    name = f"knowledge-{uuid.uuid4().hex[:8]}"
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=name)
    for key, text in DOCUMENTS.items():
        s3.put_object(Bucket=name, Key=key, Body=text.encode())
    s3.put_object(Bucket=name, Key="guides/returns.txt.metadata.json", Body=json.dumps(METADATA).encode())
    return name


@pytest.fixture(scope="module")
def create(aws: Aws) -> Iterator[Callable[..., tuple[str, str]]]:
    agent = aws.client("bedrock-agent")
    base_ids: list[str] = []

    def make(source: dict[str, Any], **more: Any) -> tuple[str, str]:
        base = agent.create_knowledge_base(
            name=f"base-{uuid.uuid4().hex[:8]}",
            roleArn="arn:aws:iam::123456789012:role/knowledge",
            knowledgeBaseConfiguration={
                "type": "VECTOR",
                "vectorKnowledgeBaseConfiguration": {"embeddingModelArn": EMBEDDING},
            },
        )["knowledgeBase"]
        base_ids.append(base["knowledgeBaseId"])
        data_source = agent.create_data_source(
            knowledgeBaseId=base["knowledgeBaseId"], name="source", dataSourceConfiguration=source, **more
        )["dataSource"]
        return base["knowledgeBaseId"], data_source["dataSourceId"]

    yield make
    for base in base_ids:
        agent.delete_knowledge_base(knowledgeBaseId=base)


def ingested(aws: Aws, base: str, source: str) -> dict[str, Any]:
    agent = aws.client("bedrock-agent")
    source_ref = {"knowledgeBaseId": base, "dataSourceId": source}
    job = agent.start_ingestion_job(**source_ref)["ingestionJob"]
    assert job["status"] == "STARTING"

    def ended() -> dict[str, Any] | None:
        now = agent.get_ingestion_job(**source_ref, ingestionJobId=job["ingestionJobId"])["ingestionJob"]
        return now if now["status"] in ("COMPLETE", "FAILED", "STOPPED") else None

    return wait_until(ended)


@pytest.fixture(scope="module")
def shop(aws: Aws, bucket: str, create: Callable[..., tuple[str, str]]) -> tuple[str, str]:
    configuration = {"bucketArn": f"arn:aws:s3:::{bucket}", "inclusionPrefixes": ["guides/"]}
    base, source = create({"type": "S3", "s3Configuration": configuration})
    job = ingested(aws, base, source)
    assert (job["status"], job["statistics"]["numberOfNewDocumentsIndexed"]) == ("COMPLETE", 4)
    return base, source


def found(aws: Aws, base: str, question: str, **search: Any) -> list[dict[str, Any]]:
    more = {"retrievalConfiguration": {"vectorSearchConfiguration": search}} if search else {}
    return aws.client("bedrock-agent-runtime").retrieve(
        knowledgeBaseId=base, retrievalQuery={"text": question}, **more
    )["retrievalResults"]


def test_a_knowledge_base_and_its_source_are_listed_and_tagged(aws: Aws, shop: tuple[str, str]) -> None:
    agent = aws.client("bedrock-agent")
    base = agent.get_knowledge_base(knowledgeBaseId=shop[0])["knowledgeBase"]
    assert base["status"] == "ACTIVE"
    assert base["knowledgeBaseArn"] == f"arn:aws:bedrock:us-east-1:123456789012:knowledge-base/{shop[0]}"
    assert shop[0] == shop[0].upper()
    assert shop[0] in [item["knowledgeBaseId"] for item in agent.list_knowledge_bases()["knowledgeBaseSummaries"]]
    sources = agent.list_data_sources(knowledgeBaseId=shop[0])["dataSourceSummaries"]
    assert [(item["dataSourceId"], item["status"]) for item in sources] == [(shop[1], "AVAILABLE")]
    agent.tag_resource(resourceArn=base["knowledgeBaseArn"], tags={"team": "shop"})
    assert agent.list_tags_for_resource(resourceArn=base["knowledgeBaseArn"])["tags"] == {"team": "shop"}


@pytest.mark.parametrize(
    ("question", "name", "part"),
    [
        ("How long can I return a parcel?", "returns.txt", "30 days"),
        ("What is the warranty of a lamp?", "warranty.md", "36 months"),
        ("When does the shop open?", "hours.html", "opens at nine & closes"),
        ("Which colour is the kettle?", "stock.csv", "colour: red"),
    ],
)
def test_the_passage_that_answers_comes_first(
    aws: Aws, shop: tuple[str, str], bucket: str, question: str, name: str, part: str
) -> None:
    for kind in ("HYBRID", "SEMANTIC"):
        first = found(aws, shop[0], question, overrideSearchType=kind, numberOfResults=2)[0]
        assert first["location"] == {"type": "S3", "s3Location": {"uri": f"s3://{bucket}/guides/{name}"}}
        assert part in first["content"]["text"]
        assert "var x" not in first["content"]["text"]
        assert 0 < first["score"] <= 1


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ({"equals": {"key": "topic", "value": "returns"}}, 1),
        ({"notEquals": {"key": "topic", "value": "returns"}}, 3),
        ({"greaterThan": {"key": "year", "value": 2025}}, 1),
        ({"lessThan": {"key": "year", "value": 2026}}, 0),
        ({"greaterThan": {"key": "topic", "value": 1}}, 0),
        ({"listContains": {"key": "tags", "value": "b"}}, 1),
        ({"startsWith": {"key": "topic", "value": "ret"}}, 1),
        ({"in": {"key": "topic", "value": ["returns", "x"]}}, 1),
        ({"in": {"key": "year", "value": [True]}}, 0),
        ({"equals": {"key": "edition", "value": True}}, 0),
        ({"equals": {"key": "edition", "value": 1}}, 1),
        ({"notIn": {"key": "topic", "value": ["returns"]}}, 3),
        (
            {
                "andAll": [
                    {"equals": {"key": "year", "value": 2026}},
                    {
                        "orAll": [
                            {"stringContains": {"key": "topic", "value": "x"}},
                            {"equals": {"key": "a", "value": 1}},
                        ]
                    },
                ]
            },
            0,
        ),
    ],
)
def test_metadata_filter_the_passages(aws: Aws, shop: tuple[str, str], condition: dict[str, Any], count: int) -> None:
    passages = found(aws, shop[0], "parcels", filter=condition)
    assert len(passages) == count
    if count == 1:
        assert passages[0]["metadata"]["topic"] == "returns"


@pytest.mark.parametrize("value", [5, "returns of parcels"])
@pytest.mark.parametrize("kind", ["in", "notIn"])
def test_a_filter_for_members_of_a_list_requires_a_list(
    aws: Aws, shop: tuple[str, str], kind: str, value: object
) -> None:
    with pytest.raises(ClientError, match=f"The value of the filter {kind} must be a list"):
        found(aws, shop[0], "parcels", filter={"orAll": [{kind: {"key": "topic", "value": value}}] * 2})


def test_passages_come_in_pages(aws: Aws, shop: tuple[str, str]) -> None:
    pages = (
        aws.client("bedrock-agent-runtime")
        .get_paginator("retrieve")
        .paginate(
            knowledgeBaseId=shop[0],
            retrievalQuery={"text": "warranty"},
            retrievalConfiguration={"vectorSearchConfiguration": {"numberOfResults": 3}},
        )
    )
    sizes = [len(page["retrievalResults"]) for page in pages]
    assert sizes == [3, 1]


def test_an_answer_cites_its_sources_and_remembers_its_session(aws: Aws, shop: tuple[str, str], bucket: str) -> None:
    runtime = aws.client("bedrock-agent-runtime")
    configuration = {
        "type": "KNOWLEDGE_BASE",
        "knowledgeBaseConfiguration": {"knowledgeBaseId": shop[0], "modelArn": MODEL},
    }
    answer = runtime.retrieve_and_generate(
        input={"text": "What is the warranty of a lamp?"}, retrieveAndGenerateConfiguration=configuration
    )
    assert "36 months" in answer["output"]["text"]
    uris = [
        reference["location"]["s3Location"]["uri"]
        for citation in answer["citations"]
        for reference in citation["retrievedReferences"]
    ]
    assert f"s3://{bucket}/guides/warranty.md" in uris
    part = answer["citations"][0]["generatedResponsePart"]["textResponsePart"]
    assert answer["output"]["text"][part["span"]["start"] : part["span"]["end"] + 1] == part["text"]
    again = runtime.retrieve_and_generate(
        input={"text": "When does the shop open?"},
        retrieveAndGenerateConfiguration=configuration,
        sessionId=answer["sessionId"],
    )
    assert again["sessionId"] == answer["sessionId"]
    streamed = runtime.retrieve_and_generate_stream(
        input={"text": "What is the warranty of a lamp?"}, retrieveAndGenerateConfiguration=configuration
    )
    events = list(streamed["stream"])
    assert streamed["sessionId"] != answer["sessionId"]
    assert "36 months" in events[0]["output"]["text"]
    assert events[1]["citation"]["retrievedReferences"][0]["content"]["text"]
    with pytest.raises(ClientError, match="does not exist"):
        runtime.retrieve_and_generate(
            input={"text": "Hi"}, retrieveAndGenerateConfiguration=configuration, sessionId="unknown"
        )


def test_a_second_job_indexes_changes_only(aws: Aws, create: Callable[..., tuple[str, str]]) -> None:
    s3, name = aws.client("s3"), f"changes-{uuid.uuid4().hex[:8]}"
    s3.create_bucket(Bucket=name)
    for key in ("a.txt", "b.txt", "c.txt", "d.pdf"):
        s3.put_object(Bucket=name, Key=key, Body=f"The document {key} speaks of frogs.".encode())
    base, source = create({"type": "S3", "s3Configuration": {"bucketArn": f"arn:aws:s3:::{name}"}})
    first = ingested(aws, base, source)
    assert first["statistics"]["numberOfDocumentsFailed"] == 1
    assert "Documents of the kind .pdf cannot be read here" in first["failureReasons"][0]
    assert len(found(aws, base, "frogs")) == 3  # a question before the change, whose index the change updates
    s3.delete_object(Bucket=name, Key="a.txt")
    s3.delete_object(Bucket=name, Key="d.pdf")
    s3.put_object(Bucket=name, Key="b.txt", Body=b"Now it speaks of lakes.")
    statistics = ingested(aws, base, source)["statistics"]
    assert {name: count for name, count in statistics.items() if count} == {
        "numberOfDocumentsScanned": 2,
        "numberOfModifiedDocumentsIndexed": 1,
        "numberOfDocumentsDeleted": 2,
    }
    texts = [item["content"]["text"] for item in found(aws, base, "lakes")]
    assert texts == ["Now it speaks of lakes.", "The document c.txt speaks of frogs."]
    assert [item["content"]["text"] for item in found(aws, base, "frogs")] == texts[::-1]
    jobs = aws.client("bedrock-agent").list_ingestion_jobs(knowledgeBaseId=base, dataSourceId=source)
    assert [job["status"] for job in jobs["ingestionJobSummaries"]] == ["COMPLETE", "COMPLETE"]


def test_a_missing_bucket_fails_the_job(aws: Aws, create: Callable[..., tuple[str, str]]) -> None:
    base, source = create({"type": "S3", "s3Configuration": {"bucketArn": "arn:aws:s3:::no-such-bucket"}})
    job = ingested(aws, base, source)
    assert job["status"] == "FAILED"
    assert "no-such-bucket cannot be read" in job["failureReasons"][0]


@pytest.mark.parametrize(
    ("chunking", "count", "longest"),
    [
        ({"chunkingStrategy": "NONE"}, 1, 4_000),
        (
            {
                "chunkingStrategy": "FIXED_SIZE",
                "fixedSizeChunkingConfiguration": {"maxTokens": 50, "overlapPercentage": 20},
            },
            15,
            200,
        ),
        (
            {
                "chunkingStrategy": "HIERARCHICAL",
                "hierarchicalChunkingConfiguration": {
                    "levelConfigurations": [{"maxTokens": 200}, {"maxTokens": 40}],
                    "overlapTokens": 10,
                },
            },
            5,
            800,
        ),
        (
            {
                "chunkingStrategy": "SEMANTIC",
                "semanticChunkingConfiguration": {
                    "maxTokens": 100,
                    "bufferSize": 0,
                    "breakpointPercentileThreshold": 80,
                },
            },
            8,
            400,
        ),
    ],
    ids=lambda value: value.get("chunkingStrategy") if isinstance(value, dict) else None,
)
def test_documents_given_directly_are_chunked_as_configured(
    aws: Aws, create: Callable[..., tuple[str, str]], chunking: dict[str, Any], count: int, longest: int
) -> None:
    agent = aws.client("bedrock-agent")
    base, source = create({"type": "CUSTOM"}, vectorIngestionConfiguration={"chunkingConfiguration": chunking})
    text = " ".join(f"Frog number {at} lives in the pond of village {at % 7}." for at in range(70))
    document = {
        "content": {
            "dataSourceType": "CUSTOM",
            "custom": {
                "customDocumentIdentifier": {"id": "frogs"},
                "sourceType": "IN_LINE",
                "inlineContent": {"type": "TEXT", "textContent": {"data": text}},
            },
        },
        "metadata": {
            "type": "IN_LINE_ATTRIBUTE",
            "inlineAttributes": [{"key": "kind", "value": {"type": "STRING", "stringValue": "frog"}}],
        },
    }
    source_ref = {"knowledgeBaseId": base, "dataSourceId": source}
    details = agent.ingest_knowledge_base_documents(**source_ref, documents=[document])["documentDetails"]
    assert [item["status"] for item in details] == ["INDEXED"]
    passages = found(aws, base, "frogs in ponds", numberOfResults=100)
    assert len(passages) >= count
    assert max(len(item["content"]["text"]) for item in passages) <= longest
    assert passages[0]["metadata"]["kind"] == "frog"
    assert passages[0]["location"] == {"type": "CUSTOM", "customDocumentLocation": {"id": "frogs"}}
    identifiers = [{"dataSourceType": "CUSTOM", "custom": {"id": "frogs"}}]
    deletions = agent.delete_knowledge_base_documents(**source_ref, documentIdentifiers=identifiers)["documentDetails"]
    assert [item["status"] for item in deletions] == ["DELETING"]
    assert found(aws, base, "frogs") == []


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({"type": "WEB"}, "data sources of the type WEB"),
        ({"type": "S3"}, "s3Configuration is missing"),
    ],
)
def test_what_is_not_served_is_refused_by_name(
    aws: Aws, create: Callable[..., tuple[str, str]], source: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ClientError, match=reason):
        create(source)


def test_an_unknown_knowledge_base_is_not_found(aws: Aws) -> None:
    with pytest.raises(ClientError) as refused:
        found(aws, "ABCDEFGHIJ", "anything")
    assert refused.value.response["Error"]["Code"] == "ResourceNotFoundException"


def test_a_restart_keeps_the_documents(start_service: Callable[..., Aws]) -> None:
    first = start_service()
    agent = first.client("bedrock-agent")
    base = agent.create_knowledge_base(
        name="kept",
        roleArn="arn:aws:iam::123456789012:role/knowledge",
        knowledgeBaseConfiguration={
            "type": "VECTOR",
            "vectorKnowledgeBaseConfiguration": {"embeddingModelArn": EMBEDDING},
        },
    )["knowledgeBase"]["knowledgeBaseId"]
    source = agent.create_data_source(knowledgeBaseId=base, name="s", dataSourceConfiguration={"type": "CUSTOM"})
    document = {
        "content": {
            "dataSourceType": "CUSTOM",
            "custom": {
                "customDocumentIdentifier": {"id": "one"},
                "sourceType": "IN_LINE",
                "inlineContent": {"type": "TEXT", "textContent": {"data": "Frogs like ponds."}},
            },
        }
    }
    agent.ingest_knowledge_base_documents(
        knowledgeBaseId=base, dataSourceId=source["dataSource"]["dataSourceId"], documents=[document]
    )
    local.stop(first.state.home)
    second = start_service()
    assert [item["content"]["text"] for item in found(second, base, "frogs")] == ["Frogs like ponds."]


def test_embedding_models_answer_in_their_own_formats(aws: Aws) -> None:
    runtime = aws.client("bedrock-runtime")

    def invoke(model: str, **body: Any) -> dict[str, Any]:
        return json.loads(runtime.invoke_model(modelId=model, body=json.dumps(body))["body"].read())

    frog, toad, tax = (
        invoke("amazon.titan-embed-text-v2:0", inputText=text, dimensions=512)
        for text in ("A frog in a pond", "A toad in a lake", "Income tax returns")
    )
    assert (len(frog["embedding"]), frog["inputTextTokenCount"]) == (512, 4)
    near, far = (
        sum(a * b for a, b in zip(frog["embedding"], other["embedding"], strict=True)) for other in (toad, tax)
    )
    assert near > far
    several = invoke("cohere.embed-english-v3", texts=["one", "two"], input_type="search_document")
    assert [len(vector) for vector in several["embeddings"]] == [1024, 1024]
    with pytest.raises(ClientError, match="dimensions must be one of 256, 512, 1024"):
        invoke("amazon.titan-embed-text-v2:0", inputText="x", dimensions=100)
    with pytest.raises(ClientError, match="inputText is missing"):
        invoke("amazon.titan-embed-text-v2:0")


def test_the_type_of_a_document_given_directly_is_that_of_its_content(
    aws: Aws, create: Callable[..., tuple[str, str]]
) -> None:
    base, source = create({"type": "CUSTOM"})

    def document(identity: str, **content: Any) -> dict[str, Any]:
        custom = {"customDocumentIdentifier": {"id": identity}, "sourceType": "IN_LINE", "inlineContent": content}
        return {"content": {"dataSourceType": "CUSTOM", "custom": custom}}

    text = {"type": "TEXT", "textContent": {"data": "Employees have 30 days of holidays."}}
    page = {"mimeType": "text/html; charset=utf-8", "data": b"<p>Lunch is at noon.</p><script>x</script>"}
    scan = {"mimeType": "application/pdf", "data": b"%PDF-1.7"}
    details = aws.client("bedrock-agent").ingest_knowledge_base_documents(
        knowledgeBaseId=base,
        dataSourceId=source,
        documents=[
            document("handbook-v1.2", **text),
            document("hr@example.com", **text),
            document("lunch", type="BYTE", byteContent=page),
            document("scan", type="BYTE", byteContent=scan),
        ],
    )["documentDetails"]
    assert [item["status"] for item in details] == ["INDEXED", "INDEXED", "INDEXED", "FAILED"]
    assert "kind .pdf cannot be read" in details[3]["statusReason"]
    assert found(aws, base, "When is lunch?")[0]["content"]["text"] == "Lunch is at noon."


def test_a_table_with_a_long_cell_is_indexed_like_other_documents(
    aws: Aws, create: Callable[..., tuple[str, str]]
) -> None:
    name, s3 = f"tables-{uuid.uuid4().hex[:8]}", aws.client("s3")
    s3.create_bucket(Bucket=name)
    s3.put_object(Bucket=name, Key="a.csv", Body=b'title,body\nA,"' + b"word " * 30_000 + b'"\n')
    s3.put_object(Bucket=name, Key="b.txt", Body=b"Frogs are green.")
    base, source = create({"type": "S3", "s3Configuration": {"bucketArn": f"arn:aws:s3:::{name}"}})
    job = ingested(aws, base, source)
    assert (job["status"], job["statistics"]["numberOfNewDocumentsIndexed"]) == ("COMPLETE", 2)


def bucket_of(aws: Aws, contents: dict[str, str]) -> dict[str, Any]:
    """Return the configuration of a data source in a new bucket."""
    name, s3 = f"documents-{uuid.uuid4().hex[:8]}", aws.client("s3")
    s3.create_bucket(Bucket=name)
    for key, content in contents.items():
        s3.put_object(Bucket=name, Key=key, Body=content.encode())
    return {"type": "S3", "s3Configuration": {"bucketArn": f"arn:aws:s3:::{name}"}}


def in_line(identity: str, text: str, **attributes: str) -> dict[str, Any]:
    """Return a document for IngestKnowledgeBaseDocuments."""
    custom = {
        "customDocumentIdentifier": {"id": identity},
        "sourceType": "IN_LINE",
        "inlineContent": {"type": "TEXT", "textContent": {"data": text}},
    }
    document: dict[str, Any] = {"content": {"dataSourceType": "CUSTOM", "custom": custom}}
    if attributes:
        values = [{"key": key, "value": {"type": "STRING", "stringValue": value}} for key, value in attributes.items()]
        document["metadata"] = {"type": "IN_LINE_ATTRIBUTE", "inlineAttributes": values}
    return document


@pytest.mark.parametrize("policy", ["DELETE", "RETAIN"])
def test_a_data_source_deleted_during_its_job_is_not_filled_again(
    aws: Aws, create: Callable[..., tuple[str, str]], policy: str
) -> None:
    agent = aws.client("bedrock-agent")
    text = "Frogs live in ponds and eat flies. " * 400
    configuration = bucket_of(aws, {f"{at:02}.txt": f"{at} {text}" for at in range(40)})
    base, source = create(configuration, dataDeletionPolicy=policy)
    other = create(configuration)
    reference = {"knowledgeBaseId": base, "dataSourceId": source}
    agent.start_ingestion_job(**reference)
    wait_until(lambda: agent.list_knowledge_base_documents(**reference)["documentDetails"])
    agent.delete_data_source(**reference)
    left = len(found(aws, base, "frogs", numberOfResults=100))
    assert policy == "RETAIN" or left == 0
    assert ingested(aws, *other)["status"] == "COMPLETE"  # as much work as the other job had left
    assert len(found(aws, base, "frogs", numberOfResults=100)) == left


def test_a_malformed_document_fails_and_the_others_are_indexed(
    aws: Aws, create: Callable[..., tuple[str, str]]
) -> None:
    contents = {"a.html": "<p>Alpha</p><![foo[x]]>Gamma", "b.txt": "Beta", "c.txt": "Frogs like ponds."}
    bucket = bucket_of(aws, contents)
    base, source = create(bucket)
    assert ingested(aws, base, source)["statistics"]["numberOfDocumentsFailed"] == 0
    assert found(aws, base, "alpha")[0]["content"]["text"] == "Alpha\nGamma"
    name = bucket["s3Configuration"]["bucketArn"].rpartition(":")[2]
    aws.client("s3").put_object(Bucket=name, Key="b.txt.metadata.json", Body=b"{broken")
    job = ingested(aws, base, source)
    assert (job["status"], job["statistics"]["numberOfDocumentsFailed"]) == ("COMPLETE", 1)
    assert "must contain a valid metadataAttributes object" in job["failureReasons"][0]
    assert found(aws, base, "frogs")[0]["content"]["text"] == "Frogs like ponds."


def test_half_a_surrogate_pair_in_a_document_is_replaced(aws: Aws, create: Callable[..., tuple[str, str]]) -> None:
    base, source = create({"type": "CUSTOM"})
    details = aws.client("bedrock-agent").ingest_knowledge_base_documents(
        knowledgeBaseId=base, dataSourceId=source, documents=[in_line("s3://b/k", "Frogs \ud83d here.")]
    )["documentDetails"]
    assert [(item["status"], item["identifier"]) for item in details] == [
        ("INDEXED", {"dataSourceType": "CUSTOM", "custom": {"id": "s3://b/k"}})
    ]
    assert found(aws, base, "frogs")[0]["content"]["text"] == "Frogs ? here."


def test_cells_of_tables_stay_apart_and_complete(aws: Aws, create: Callable[..., tuple[str, str]]) -> None:
    page = "<table><tr><th>Name</th><td>Alice</td></tr></table><dl><dt>Term</dt><dd>Meaning</dd></dl><span>a</span>b"
    contents = {"a.html": page, "b.csv": "a,b\n1\n2,3,4\n", "c.csv": "x,x\n1,2\n"}
    base, source = create(bucket_of(aws, contents))
    assert ingested(aws, base, source)["status"] == "COMPLETE"
    assert {item["content"]["text"] for item in found(aws, base, "name")} == {
        "Name Alice\nTerm\nMeaning\nab",
        "a: 1.\na: 2; b: 3; 4.",
        "x: 1; x: 2.",
    }


def test_documents_in_requests_are_for_custom_data_sources(aws: Aws, create: Callable[..., tuple[str, str]]) -> None:
    base, source = create(bucket_of(aws, {}))
    with pytest.raises(ClientError, match=f"the data source {source} is of the type S3"):
        aws.client("bedrock-agent").ingest_knowledge_base_documents(
            knowledgeBaseId=base, dataSourceId=source, documents=[in_line("one", "Frogs")]
        )


def test_metadata_do_not_replace_the_source_of_a_passage(aws: Aws, create: Callable[..., tuple[str, str]]) -> None:
    base, source = create({"type": "CUSTOM"})
    attributes = {"x-amz-bedrock-kb-source-uri": "s3://trusted/handbook.txt", "kind": "frog"}
    aws.client("bedrock-agent").ingest_knowledge_base_documents(
        knowledgeBaseId=base, dataSourceId=source, documents=[in_line("one", "Frogs", **attributes)]
    )
    metadata = found(aws, base, "frogs")[0]["metadata"]
    assert (metadata["x-amz-bedrock-kb-source-uri"], metadata["kind"]) == ("one", "frog")


def test_ingestion_jobs_are_filtered_and_sorted(aws: Aws, create: Callable[..., tuple[str, str]]) -> None:
    base, source = create({"type": "S3", "s3Configuration": {"bucketArn": "arn:aws:s3:::no-such-bucket"}})
    ids = [ingested(aws, base, source)["ingestionJobId"] for _ in range(2)]

    def listed(**options: Any) -> list[str]:
        jobs = aws.client("bedrock-agent").list_ingestion_jobs(knowledgeBaseId=base, dataSourceId=source, **options)
        return [job["ingestionJobId"] for job in jobs["ingestionJobSummaries"]]

    by_status = {"attribute": "STATUS", "operator": "EQ"}
    assert listed(filters=[{**by_status, "values": ["STOPPED"]}]) == []
    assert listed(filters=[{**by_status, "values": ["FAILED", "STOPPED"]}]) == ids[::-1]
    assert listed(sortBy={"attribute": "STARTED_AT", "order": "ASCENDING"}) == ids
    assert listed(sortBy={"attribute": "STARTED_AT", "order": "DESCENDING"}) == ids[::-1]


def test_a_guardrail_assesses_the_question_alone_and_a_blocked_one_is_forgotten(
    aws: Aws, create: Callable[..., tuple[str, str]]
) -> None:
    base, source = create({"type": "CUSTOM"})
    text = "The warranty of a kettle lasts 24 months. Zanzibar is our supplier."
    aws.client("bedrock-agent").ingest_knowledge_base_documents(
        knowledgeBaseId=base, dataSourceId=source, documents=[in_line("one", text)]
    )
    control, runtime = aws.client("bedrock"), aws.client("bedrock-agent-runtime")
    guardrail = control.create_guardrail(
        name=f"guard-{uuid.uuid4().hex[:8]}",
        blockedInputMessaging="The question is blocked.",
        blockedOutputsMessaging="The answer is blocked.",
        wordPolicyConfig={
            "wordsConfig": [
                {"text": "nightjar"},
                {"text": "supplier", "outputEnabled": False, "inputAction": "BLOCK"},
            ]
        },
    )

    def asked(question: str, session: str | None = None, template: str = "") -> tuple[str, str, str]:
        generation: dict[str, Any] = {
            "guardrailConfiguration": {"guardrailId": guardrail["guardrailId"], "guardrailVersion": "DRAFT"}
        }
        if template:
            generation["promptTemplate"] = {"textPromptTemplate": template}
        answer = runtime.retrieve_and_generate(
            input={"text": question},
            retrieveAndGenerateConfiguration={
                "type": "KNOWLEDGE_BASE",
                "knowledgeBaseConfiguration": {
                    "knowledgeBaseId": base,
                    "modelArn": MODEL,
                    "generationConfiguration": generation,
                },
            },
            **({"sessionId": session} if session else {}),
        )
        return answer["sessionId"], answer["guardrailAction"], answer["output"]["text"]

    question = "How long is the warranty of a kettle?"
    session, action, _ = asked(question)
    assert action == "NONE"
    assert asked("Tell me about project nightjar", session)[1:] == ("INTERVENED", "The question is blocked.")
    assert asked(question, session)[1] == "NONE"
    template = "Use these:\n$search_results$\nto answer: $query$"
    assert asked(question, session, template)[1] == "NONE"
    assert asked("Tell me about project nightjar", session, template)[2] == "The question is blocked."
    control.delete_guardrail(guardrailIdentifier=guardrail["guardrailId"])
