"""Header fields of requests to AgentCore and to other servers: each name once, in any case, and signed as sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest

from loomlib.aws import Clients, Connection
from loomlib.aws.signing import SESSION_HEADER, plain_request, sign_get, sign_invocation, sign_request

ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/echo-abcdefghij"
RUNTIME = {"arn": ARN, "region": "us-east-1", "qualifier": "DEFAULT", "session_id": "s" * 36}
URL = "http://127.0.0.1:9/x"


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    connection = Connection(region="us-east-1", environment={"AWS_ENDPOINT_URL": "http://127.0.0.1:9", **keys})
    with closing(Clients(connection)) as opened:
        yield opened


def fields(headers: Mapping[str, str]) -> dict[str, str]:
    """The fields under names in lower case, none of which occurs twice."""
    by_name = {name.lower(): value for name, value in headers.items()}
    assert len(by_name) == len(headers), sorted(headers)
    return by_name


@pytest.mark.parametrize("bearer", [None, "token"])
def test_a_field_replaces_one_of_the_same_name_in_any_case(clients: Clients, bearer: str | None) -> None:
    own = {"content-type": "text/csv", "accept": "text/csv", SESSION_HEADER.lower(): "t" * 36}
    for request in (
        sign_invocation(clients, **RUNTIME, body=b"{}", headers=own, bearer=bearer),
        sign_get(clients, "ws", **RUNTIME, headers=own, bearer=bearer),
        sign_request(clients, URL, "us-east-1", "POST", b"{}", own, bearer=bearer),
        plain_request(URL, {}, "POST", b"{}", own),
    ):
        assert fields(request.headers).items() >= own.items()


def test_fixed_fields_of_another_server_replace_those_of_a_request() -> None:
    request = plain_request(URL, {"Accept": "fixed"}, "POST", b"", {"accept": "text/csv"})
    assert fields(request.headers)["accept"] == "fixed"


def test_a_caller_s_accept_encoding_is_replaced_and_not_signed(clients: Clients) -> None:
    request = sign_invocation(clients, **RUNTIME, body=b"{}", headers={"accept-encoding": "gzip"})
    sent = fields(request.headers)
    assert sent["accept-encoding"] == "identity"
    assert "accept-encoding" not in sent["authorization"]
