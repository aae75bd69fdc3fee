from __future__ import annotations

import hashlib
import io
import socket
import zipfile
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.exceptions import ClientError


def test_a_large_object_goes_in_and_out_of_s3_unchanged(aws: Any) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="large")
    content = hashlib.sha256(b"seed").digest() * 2_000_000  # 64 MB, in parts of 8 MB
    s3.upload_fileobj(io.BytesIO(content), "large", "some folder/ä b+c.bin")
    received = io.BytesIO()
    s3.download_fileobj("large", "some folder/ä b+c.bin", received)
    assert hashlib.sha256(received.getvalue()).digest() == hashlib.sha256(content).digest()
    assert [item["Key"] for item in s3.list_objects_v2(Bucket="large")["Contents"]] == ["some folder/ä b+c.bin"]


def test_packages_of_functions_may_be_as_large_as_on_aws(aws: Any) -> None:
    functions = aws.client("lambda")
    layer = {"LayerName": "large", "CompatibleRuntimes": ["python3.13"]}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("python/large.bin", bytes(25_000_000))
    version = functions.publish_layer_version(Content={"ZipFile": packed.getvalue()}, **layer)
    assert version["Content"]["CodeSize"] == len(packed.getvalue())
    with pytest.raises(ClientError, match="must be smaller than 70167211 bytes") as refused:
        functions.publish_layer_version(Content={"ZipFile": bytes(53_000_000)}, **layer)
    assert refused.value.response["Error"]["Code"] == "RequestEntityTooLargeException"


def test_an_upload_that_is_cut_off_is_not_stored(aws: Any) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="cut")
    address = urlsplit(s3.generate_presigned_url("put_object", Params={"Bucket": "cut", "Key": "half.bin"}))
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        head = (
            f"PUT {address.path}?{address.query} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 1000000\r\n\r\n"
        )
        connection.sendall(head.encode() + b"x" * 500_000)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):  # until the service has answered and hung up, or has hung up
            pass
    assert "Contents" not in s3.list_objects_v2(Bucket="cut")


@pytest.mark.parametrize("key", ["plain", "a/b/c", "a%2Fb", "x//y", "end/", "q?mark", "per%cent", "..dots", "~tilde"])
def test_s3_keys_keep_every_character(aws: Any, key: str) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="keys")
    s3.put_object(Bucket="keys", Key=key, Body=key.encode())
    assert s3.get_object(Bucket="keys", Key=key)["Body"].read() == key.encode()
    assert key in {item["Key"] for item in s3.list_objects_v2(Bucket="keys")["Contents"]}


def test_who_am_i(aws: Any) -> None:
    assert aws.client("sts").get_caller_identity()["Account"] == aws.state.account_id


def test_secrets_are_kept(aws: Any) -> None:
    secrets = aws.client("secretsmanager")
    secrets.create_secret(Name="token", SecretString="shh")
    assert secrets.get_secret_value(SecretId="token")["SecretString"] == "shh"


def test_tables_and_user_pools_and_metrics_work(aws: Any) -> None:
    before = aws.client("dynamodb").list_tables()["TableNames"]  # of other tests
    aws.client("dynamodb").create_table(
        TableName="t",
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    assert sorted(aws.client("dynamodb").list_tables()["TableNames"]) == sorted([*before, "t"])
    assert aws.client("cognito-idp").create_user_pool(PoolName="p")["UserPool"]["Name"] == "p"
    data = [{"MetricName": "m", "Value": 1.0}]
    assert aws.client("cloudwatch").put_metric_data(Namespace="n", MetricData=data)


def test_roles_can_have_the_policies_of_aws(aws: Any) -> None:
    iam = aws.client("iam")
    role = iam.create_role(RoleName="agents", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    iam.attach_role_policy(RoleName="agents", PolicyArn="arn:aws:iam::aws:policy/BedrockAgentCoreFullAccess")
    keys = aws.client("sts").assume_role(RoleArn=role, RoleSessionName="tests")["Credentials"]
    client_options = {
        "endpoint_url": aws.state.url,
        "region_name": aws.state.region,
        "aws_access_key_id": keys["AccessKeyId"],
        "aws_secret_access_key": keys["SecretAccessKey"],
        "aws_session_token": keys["SessionToken"],
    }
    boto3.client("bedrock-agentcore-control", **client_options).list_memories()
    with pytest.raises(ClientError) as refused:
        boto3.client("sqs", **client_options).list_queues()
    assert "AccessDenied" in refused.value.response["Error"]["Code"]


def test_transaction_search_is_on(aws: Any) -> None:
    xray = aws.client("xray")
    assert xray.get_trace_segment_destination()["Destination"] == "CloudWatchLogs"
    assert xray.update_trace_segment_destination(Destination="CloudWatchLogs")["Status"] == "ACTIVE"
    rule = {"Probabilistic": {"DesiredSamplingPercentage": 5.0}}
    changed = xray.update_indexing_rule(Name="Default", Rule=rule)["IndexingRule"]
    assert changed["Rule"]["Probabilistic"]["DesiredSamplingPercentage"] == 5.0
    assert [item["Name"] for item in xray.get_indexing_rules()["IndexingRules"]] == ["Default"]
    with pytest.raises(ClientError, match="CloudWatch Logs only"):
        xray.update_trace_segment_destination(Destination="XRay")
    assert xray.put_telemetry_records(TelemetryRecords=[{"Timestamp": 1}]), "moto answers the others"


def test_what_moto_does_not_implement_is_reported_in_aws_s_form_and_not_repeated(aws: Any) -> None:
    client = aws.client("logs", retries={"mode": "standard", "total_max_attempts": 3})
    with pytest.raises(ClientError) as caught:
        client.list_anomalies()
    assert caught.value.response["Error"]["Code"] == "NotImplementedException"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501
    assert caught.value.response["ResponseMetadata"]["RetryAttempts"] == 0
