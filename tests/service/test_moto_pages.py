"""moto's own pages, which read and reset everything, are no part of the local AgentCore."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


def signed(aws: Any, method: str, path: str, service: str) -> tuple[int, str | None, bytes]:
    """Send a correctly signed request with the owner's key; status, error type and body."""
    state = aws.state
    request = AWSRequest(method=method, url=state.url + path, data=b"" if method == "POST" else None)
    SigV4Auth(Credentials(state.access_key, state.secret_key), service, state.region).add_auth(request)
    connection = http.client.HTTPConnection("127.0.0.1", state.port, timeout=60)
    connection.request(method, path, headers=dict(request.headers), body=request.data)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers["x-amzn-errortype"], body


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("POST", "/moto-api/reset", "s3"),
        ("POST", "/moto-api/reset-auth", "logs"),
        ("POST", "/moto-api/seed?a=1", "s3"),
        ("POST", "/moto-api/reset", "moto_api"),
        ("POST", "/moto-api/reset", "motoapi"),
        ("POST", "/moto%2Dapi/reset", "s3"),
        ("POST", "/moto-apix", "s3"),
        ("GET", "/moto-api/", "s3"),
        ("GET", "/moto-api/data.json", "s3"),
        ("POST", "/moto-api/recorder/start-recording", "s3"),
        ("POST", "/moto-api/config", "s3"),
        ("GET", "/latest/meta-data/iam/security-credentials/role", "s3"),
        ("GET", "/latest/api/token", "s3"),
        ("GET", "/latest/meta-data/", "s3"),
    ],
)
def test_moto_s_own_pages_do_not_exist(aws: Any, method: str, path: str, scope: str) -> None:
    logs = aws.client("logs")
    group = "kept" + str(abs(hash((method, path, scope))))
    logs.create_log_group(logGroupName=group)
    status, error, body = signed(aws, method, path, scope)
    assert (status, error) == (404, "ResourceNotFoundException")
    assert json.loads(body)["__type"] == "ResourceNotFoundException"
    assert logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]


@pytest.mark.parametrize("scope", ["moto_api", "motoapi", "instance_metadata", "nothing"])
def test_a_scope_that_names_no_service_of_aws_is_refused(aws: Any, scope: str) -> None:
    assert signed(aws, "POST", "/reset", scope)[:2] in [
        (404, "ResourceNotFoundException"),
        (501, "NotImplementedException"),
    ]
