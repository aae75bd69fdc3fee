"""Amazon Bedrock's knowledge bases: data sources in S3, ingestion in chunks, retrieval by meaning and by words."""
