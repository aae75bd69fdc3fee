"""moto's own pages, which read and reset everything, are not part of the local AgentCore."""

from __future__ import annotations

import http.client
import re
from typing import Any

import pytest
from signed_requests import signed_headers


def signed(aws: Any, method: str, path: str, service: str) -> tuple[int, str, bytes]:
    """Send a correctly signed request with the owner's key; status, error code and body."""
    state = aws.state
    headers = signed_headers(state, method, path, service=service)
    connection = http.client.HTTPConnection("127.0.0.1", state.port, timeout=60)
    connection.request(method, path, b"" if method == "POST" else None, headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    code = re.search(rb"<Code>(\w+)</Code>", body)
    return answer.status, code[1].decode() if code else answer.headers["x-amzn-errortype"], body


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
    assert signed(aws, method, path, scope)[:2] == (404, "ResourceNotFoundException")
    assert logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]


@pytest.mark.parametrize("scope", ["moto_api", "motoapi", "instance_metadata", "nothing"])
def test_a_scope_that_names_no_service_of_aws_is_refused(aws: Any, scope: str) -> None:
    assert signed(aws, "POST", "/reset", scope)[:2] in [
        (404, "ResourceNotFoundException"),
        (501, "NotImplementedException"),
    ]
