"""Resources of an example's agents: Lambda functions, S3 objects, knowledge bases and guardrails, created once."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import time
import zipfile
from collections.abc import Mapping
from typing import Any, Final

from loomlib.errors import RequestTimeoutError, ResourceNotFoundError

from .connection import Clients
from .errors import translated
from .functions import create_function, find_function
from .guardrails import create_guardrail, create_version, delete_guardrail, find_guardrail
from .knowledge_bases import create_knowledge_base, find_knowledge_base
from .paging import iter_items

_EMBEDDING: Final = "amazon.titan-embed-text-v2:0"
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can store
_SOURCE: Final = "loom-example"
_MOST_DOCUMENTS: Final = 10  # maximum per request (service model of IngestKnowledgeBaseDocuments)
_PAUSE_S: Final = 0.2
_READY_S: Final = 120.0


def example_function(clients: Clients, name: str, code: str) -> str:
    """Return the ARN of a Lambda function; create it if it does not exist, and update it if its code differs.

    Args:
        clients: The AWS clients of a connection.
        name: Its name.
        code: Python code with `handler(event, context)`.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("main.py", date_time=_EARLIEST), code)
    package = packed.getvalue()
    try:
        function = find_function(clients, name)
    except ResourceNotFoundError:
        return create_function(clients, name, package, handler="main.handler").arn
    client = clients.client("lambda")
    with translated("Reading a function", on=name):
        code_digest = client.get_function(FunctionName=name)["Configuration"].get("CodeSha256")
        if code_digest != base64.b64encode(hashlib.sha256(package).digest()).decode():
            client.update_function_code(FunctionName=name, ZipFile=package)
    return function.arn


def example_bucket(clients: Clients, example: str, objects: Mapping[str, str]) -> str:
    """Create an example's bucket and its objects, and return the bucket's name.

    Args:
        clients: The AWS clients of a connection.
        example: The example's name.
        objects: The texts by key.
    """
    bucket = f"loom-{example}-{clients.account_id()}-{clients.region}"[:63].strip("-")
    client = clients.client("s3")
    with translated("Writing an example's objects", on=bucket):
        names = [item["Name"] for item in client.list_buckets()["Buckets"]]
        if bucket not in names:
            elsewhere = clients.region != "us-east-1"
            more = {"CreateBucketConfiguration": {"LocationConstraint": clients.region}} if elsewhere else {}
            client.create_bucket(Bucket=bucket, **more)
        for key, text in objects.items():
            client.put_object(Bucket=bucket, Key=key, Body=text.encode())
    return bucket


def example_knowledge_base(clients: Clients, name: str, documents: Mapping[str, str]) -> str:
    """Return the id of a knowledge base with the given documents; create it if it does not exist.

    Args:
        clients: The AWS clients of a connection.
        name: Its name.
        documents: The documents' texts by id.

    Raises:
        RequestTimeoutError: The documents are not indexed in time.
    """
    try:
        base = find_knowledge_base(clients, name)
    except ResourceNotFoundError:
        model = f"arn:aws:bedrock:{clients.region}::foundation-model/{_EMBEDDING}"
        configuration = {"type": "VECTOR", "vectorKnowledgeBaseConfiguration": {"embeddingModelArn": model}}
        base = create_knowledge_base(clients, name, configuration=configuration)
    control = clients.client("bedrock-agent")
    request = {"knowledgeBaseId": base.id}
    current = f"{_SOURCE}-{_digest(documents)}"
    listed = iter_items(control.list_data_sources, "dataSourceSummaries", request, "Listing data sources", name)
    source_ids = {item["name"]: item["dataSourceId"] for item in listed}
    with translated("Creating a data source", on=name):
        for former in (source for other, source in source_ids.items() if other != current):
            control.delete_data_source(**request, dataSourceId=former)
        if current not in source_ids:
            answer = control.create_data_source(**request, name=current, dataSourceConfiguration={"type": "CUSTOM"})
            source_ids[current] = answer["dataSource"]["dataSourceId"]
    source_request = {**request, "dataSourceId": source_ids[current]}

    def statuses() -> list[str]:
        details = iter_items(
            control.list_knowledge_base_documents, "documentDetails", source_request, "Listing documents", name
        )
        return [item["status"] for item in details]

    if len(statuses()) < len(documents):  # a source's name contains the digest of its documents
        entries = [_document(key, text) for key, text in documents.items()]
        for begin in range(0, len(entries), _MOST_DOCUMENTS):
            with translated("Ingesting documents", on=name):
                control.ingest_knowledge_base_documents(
                    **source_request, documents=entries[begin : begin + _MOST_DOCUMENTS]
                )
    deadline = time.monotonic() + _READY_S
    while not set(statuses()) <= {"INDEXED", "FAILED"}:
        if time.monotonic() > deadline:
            raise RequestTimeoutError("The documents are not indexed yet", on=name, try_="create the example again")
        time.sleep(_PAUSE_S)
    return base.id


def example_guardrail(clients: Clients, name: str, members: Mapping[str, Any]) -> str:
    """Return the id of a guardrail with a version 1; create it again if its members differ.

    Args:
        clients: The AWS clients of a connection.
        name: Its name.
        members: The other members of CreateGuardrail.
    """
    described = {"description": f"{_SOURCE}-{_digest(members)}", **members}
    try:
        guardrail = find_guardrail(clients, name)
        if guardrail.description != described["description"]:
            delete_guardrail(clients, guardrail)
            guardrail = create_guardrail(clients, name, described)
    except ResourceNotFoundError:
        guardrail = create_guardrail(clients, name, described)
    request = {"guardrailIdentifier": guardrail.id}
    listed = iter_items(clients.client("bedrock").list_guardrails, "guardrails", request, "Listing versions", name)
    if all(item["version"] == "DRAFT" for item in listed):
        create_version(clients, guardrail)
    return guardrail.id


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _document(key: str, text: str) -> dict[str, Any]:
    inline = {"type": "TEXT", "textContent": {"data": text}}
    custom = {"customDocumentIdentifier": {"id": key}, "sourceType": "IN_LINE", "inlineContent": inline}
    return {"content": {"dataSourceType": "CUSTOM", "custom": custom}}
