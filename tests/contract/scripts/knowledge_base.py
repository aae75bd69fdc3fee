"""A knowledge base filled from S3, searched and asked with boto3, as Bedrock's documentation does."""

import json
import time
import uuid

import boto3

EMBEDDING = "arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-embed-text-v2:0"
MODEL = "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0"
INDEX = "arn:aws:s3vectors:us-east-1:123456789012:bucket/handbook/index/handbook"
name = f"handbook-{uuid.uuid4().hex[:8]}"
s3, agent, runtime = (boto3.client(service) for service in ("s3", "bedrock-agent", "bedrock-agent-runtime"))

s3.create_bucket(Bucket=name)
s3.put_object(Bucket=name, Key="warranty.md", Body=b"The warranty of a lamp lasts 36 months.")
s3.put_object(Bucket=name, Key="returns.md", Body=b"Goods can be returned within 30 days.")
metadata = {"metadataAttributes": {"topic": "returns"}}
s3.put_object(Bucket=name, Key="returns.md.metadata.json", Body=json.dumps(metadata))

base = agent.create_knowledge_base(
    name=name,
    roleArn="arn:aws:iam::123456789012:role/knowledge",
    knowledgeBaseConfiguration={
        "type": "VECTOR",
        "vectorKnowledgeBaseConfiguration": {"embeddingModelArn": EMBEDDING},
    },
    storageConfiguration={"type": "S3_VECTORS", "s3VectorsConfiguration": {"indexArn": INDEX}},
)["knowledgeBase"]["knowledgeBaseId"]
while agent.get_knowledge_base(knowledgeBaseId=base)["knowledgeBase"]["status"] == "CREATING":
    time.sleep(0.1)
source = agent.create_data_source(
    knowledgeBaseId=base,
    name="documents",
    dataSourceConfiguration={"type": "S3", "s3Configuration": {"bucketArn": f"arn:aws:s3:::{name}"}},
    vectorIngestionConfiguration={
        "chunkingConfiguration": {
            "chunkingStrategy": "FIXED_SIZE",
            "fixedSizeChunkingConfiguration": {"maxTokens": 100, "overlapPercentage": 20},
        }
    },
)["dataSource"]["dataSourceId"]
named = {"knowledgeBaseId": base, "dataSourceId": source}
job = agent.start_ingestion_job(**named)["ingestionJob"]
while job["status"] not in ("COMPLETE", "FAILED"):
    time.sleep(0.1)
    job = agent.get_ingestion_job(**named, ingestionJobId=job["ingestionJobId"])["ingestionJob"]
print(job["status"], job["statistics"]["numberOfNewDocumentsIndexed"])


def found(question, **search):
    answer = runtime.retrieve(
        knowledgeBaseId=base,
        retrievalQuery={"text": question},
        retrievalConfiguration={"vectorSearchConfiguration": {"numberOfResults": 2, **search}},
    )
    return answer["retrievalResults"]


first = found("How long is the warranty of a lamp?")[0]
print(first["content"]["text"], first["location"]["s3Location"]["uri"] == f"s3://{name}/warranty.md")
filtered = found("How long is the warranty?", filter={"equals": {"key": "topic", "value": "returns"}})
print([result["content"]["text"] for result in filtered])
answer = runtime.retrieve_and_generate(
    input={"text": "How long is the warranty of a lamp?"},
    retrieveAndGenerateConfiguration={
        "type": "KNOWLEDGE_BASE",
        "knowledgeBaseConfiguration": {"knowledgeBaseId": base, "modelArn": MODEL},
    },
)
references = [reference for citation in answer["citations"] for reference in citation["retrievedReferences"]]
print("36 months" in answer["output"]["text"], len(references) > 0, bool(answer["sessionId"]))
agent.delete_data_source(**named)
print(agent.delete_knowledge_base(knowledgeBaseId=base)["status"])
