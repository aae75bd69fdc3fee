from __future__ import annotations

import http.client
import json
import socket
import urllib.error
import urllib.request
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from signed_requests import signed_headers

from loomlib import local
from loomlib.errors import LocalServiceError
from loomlib.local.guard import listening_socket


def request(state: local.ServiceState, headers: dict[str, str], path: str = "/_loom/status") -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", state.port, timeout=60)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_a_valid_access_key_is_accepted(service: local.ServiceState) -> None:
    status, document = request(service, {"Authorization": f"Bearer {service.token}"})
    assert (status, document["quotas"]) == (200, "none")


@pytest.mark.parametrize("key", ["", "Bearer ", "Bearer wrong", "Basic Zm9v", "Bearer ключ".encode().decode("latin-1")])
def test_any_other_key_is_refused(service: local.ServiceState, key: str) -> None:
    status, document = request(service, {"Authorization": key})
    assert status == 403
    assert document["__type"] == "UnrecognizedClientException"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.7", ""]
)
def test_a_foreign_host_is_refused_whatever_the_key(service: local.ServiceState, host: str) -> None:
    status, document = request(service, {"Authorization": f"Bearer {service.token}", "Host": host})
    assert status == 403
    assert document["__type"] == "AccessDeniedException"


def test_localhost_is_a_host_of_ours(service: local.ServiceState) -> None:
    host = {"Host": f"localhost:{service.port}"}
    assert request(service, {"Authorization": f"Bearer {service.token}"} | host)[0] == 200


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": ""}, {"Sec-Fetch-Site": "cross-site"}],
)
def test_web_pages_are_refused_whatever_the_key(service: local.ServiceState, headers: dict[str, str]) -> None:
    status, document = request(service, {"Authorization": f"Bearer {service.token}"} | headers)
    assert (status, document["__type"]) == (403, "AccessDeniedException")


def test_moto_s_own_pages_need_the_access_key_too(service: local.ServiceState) -> None:
    for path in ("/moto-api/", "/moto-api/data.json", "/latest/meta-data/", "/favicon.ico", "/"):
        assert request(service, {}, path)[0] == 403, path


@pytest.mark.parametrize("name_of_service", ["bedrock-agentcore", "logs"])
def test_a_signed_form_for_a_service_that_takes_json_is_no_failure_of_the_local_agentcore(
    service: local.ServiceState, name_of_service: str
) -> None:
    extra_headers = {"Content-Type": "application/x-www-form-urlencoded"}
    headers = signed_headers(service, "POST", "/runtimes/", b"a=b", service=name_of_service, headers=extra_headers)
    request = urllib.request.Request(service.url + "/runtimes/", b"a=b", headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=60)
    assert refused.value.code == 404
    assert "UnknownOperationException" in refused.value.read().decode()


def test_a_stranger_s_body_is_not_read(service: local.ServiceState) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        connection.sendall(
            f"POST /runtimes/x/invocations HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n"
            "Content-Length: 99999999\r\n\r\n".encode()
        )
        assert connection.recv(1000).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize(("access_key", "allowed"), [(None, True), ("AKIAIOSFODNN7EXAMPLE", False)])
def test_presigned_addresses_carry_the_key_in_their_query(
    service: local.ServiceState, access_key: str | None, allowed: bool
) -> None:
    client = boto3.client(
        "s3",
        endpoint_url=service.url,
        region_name=service.region,
        aws_access_key_id=access_key or service.access_key,
        aws_secret_access_key=service.secret_key,
        config=Config(signature_version="s3v4"),
    )
    address = client.generate_presigned_url("list_buckets")
    client.close()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    connection.request("GET", address.removeprefix(service.url))
    assert (connection.getresponse().status == 200) is allowed
    connection.close()


def test_boto3_sees_a_client_error_for_a_wrong_key(service: local.ServiceState) -> None:
    client = boto3.client(
        "bedrock-agentcore-control",
        endpoint_url=service.url,
        region_name=service.region,
        aws_access_key_id="AKIAIOSFODNN7EXAMPLE",
        aws_secret_access_key="wrong",
    )
    with pytest.raises(ClientError) as caught:
        client.list_agent_runtimes()
    client.close()
    assert caught.value.response["Error"]["Code"] == "UnrecognizedClientException"
    assert caught.value.response["ResponseMetadata"]["RetryAttempts"] == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.168.0.1", "localhost.evil.example"])
def test_no_other_address_than_loopback_is_bound(host: str) -> None:
    with pytest.raises(LocalServiceError):
        listening_socket(host, 0)


def test_a_taken_port_gives_way_to_a_free_one() -> None:
    with listening_socket("127.0.0.1", 0) as first:
        first.listen()
        with listening_socket("127.0.0.1", first.getsockname()[1]) as second:
            assert second.getsockname()[1] != first.getsockname()[1]
