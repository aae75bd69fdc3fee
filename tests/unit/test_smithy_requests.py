"""Requests of Smithy models: where the members of an input are, and how their values are written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loomlib.local.gateways.smithy import smithy_tools
from loomlib.local.gateways.smithy_request import smithy_request
from loomlib.local.gateways.tools import TargetError


def tools(protocol: str, members: dict[str, Any], **shapes: Any) -> Any:
    http = {"method": "PUT", "uri": "/things/{key+}?fixed=1"}
    document = {
        "smithy": "2.0",
        "shapes": {
            "a#Things": {
                "type": "service",
                "operations": [{"target": "a#Put"}],
                "traits": {"aws.auth#sigv4": {"name": "things"}, f"aws.protocols#{protocol}": {}},
            },
            "a#Put": {"type": "operation", "input": {"target": "a#PutInput"}, "traits": {"smithy.api#http": http}},
            "a#PutInput": {"type": "structure", "members": members},
            **{f"a#{name}": shape for name, shape in shapes.items()},
        },
    }
    (tool,) = smithy_tools(json.dumps(document))
    return tool


def member(target: str, **traits: Any) -> dict[str, Any]:
    return {"target": target, "traits": {f"smithy.api#{name}": value for name, value in traits.items()}}


MEMBERS = {
    "key": member("smithy.api#String", required={}, httpLabel={}),
    "since": member("smithy.api#Timestamp", httpQuery="since"),
    "tags": member("a#Names", httpQuery="tag"),
    "modified": member("smithy.api#Timestamp", httpHeader="If-Modified-Since"),
    "token": member("smithy.api#String", required={}, idempotencyToken={}),
    "parts": member("a#Parts", jsonName="Parts"),
}
SHAPES = {
    "Names": {"type": "list", "member": {"target": "smithy.api#String"}},
    "Parts": {"type": "list", "member": {"target": "a#Part"}},
    "Part": {
        "type": "structure",
        "members": {
            "made": member("smithy.api#Timestamp", jsonName="madeAt"),
            "sold": member("smithy.api#Timestamp", timestampFormat="date-time"),
            "parts": {"target": "a#Parts"},
        },
    },
}
MOMENT = "2026-01-31T12:00:00Z"


def test_members_of_rest_json_are_in_the_path_the_query_the_headers_and_the_body() -> None:
    tool = tools("restJson1", MEMBERS, **SHAPES)
    assert tool.input_schema["required"] == ["key"]
    part = {"made": MOMENT, "sold": "2026-01-31T13:00:00+01:00", "parts": [{"made": 1.5}]}
    arguments = {"key": "a b/c", "since": MOMENT, "tags": ["x", "y"], "modified": MOMENT, "token": "t", "parts": [part]}
    method, path, headers, body = smithy_request(tool, arguments)
    assert (method, path) == ("PUT", "/things/a%20b/c?fixed=1&since=2026-01-31T12%3A00%3A00Z&tag=x&tag=y")
    assert headers == {"If-Modified-Since": "Sat, 31 Jan 2026 12:00:00 GMT", "content-type": "application/json"}
    expected_part = {"madeAt": 1769860800, "sold": MOMENT, "parts": [{"madeAt": 1.5}]}
    assert json.loads(body or b"") == {"token": "t", "Parts": [expected_part]}


def test_members_of_aws_json_are_in_the_body_by_their_own_names() -> None:
    tool = tools("awsJson1_1", MEMBERS, **SHAPES)
    method, path, headers, body = smithy_request(tool, {"key": "k", "parts": [{"made": MOMENT}]})
    assert (method, path) == ("POST", "/")
    assert headers == {"content-type": "application/x-amz-json-1.1", "x-amz-target": "Things.Put"}
    document = json.loads(body or b"")
    assert len(document.pop("token")) == 36  # made, as an SDK makes it
    assert document == {"key": "k", "parts": [{"made": 1769860800}]}


@pytest.mark.parametrize(
    "arguments", [{}, {"key": "a/../b"}, {"key": "k", "since": "soon"}, {"key": "k", "modified": {"a": 1}}]
)
def test_an_argument_that_cannot_be_sent_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(TargetError, match="The argument"):
        smithy_request(tools("restJson1", MEMBERS, **SHAPES), arguments)


def test_a_payload_is_the_whole_body_and_streams_are_left_out() -> None:
    members = {"key": member("smithy.api#String", httpLabel={}), "data": member("smithy.api#Blob", httpPayload={})}
    tool = tools("restJson1", members)
    assert tool.input_schema["properties"]["data"] == {"type": "string", "contentEncoding": "base64"}
    assert smithy_request(tool, {"key": "k", "data": "aGk="})[3] == b"hi"
    events: dict[str, Any] = {"type": "union", "members": {}, "traits": {"smithy.api#streaming": {}}}
    with pytest.raises(TargetError, match="no operation that a gateway can call"):
        tools("restJson1", {"events": member("a#Events")}, Events=events)


def test_a_model_that_grows_without_end_is_refused_and_markup_is_not_passed_on() -> None:
    shapes: dict[str, Any] = {"S20": {"type": "structure", "members": {}}}
    for number in range(20):
        below = {"target": f"a#S{number + 1}"}
        shapes[f"S{number}"] = {"type": "structure", "members": dict.fromkeys("abcd", below)}
    with pytest.raises(TargetError, match="values"):
        tools("awsJson1_0", {"tree": {"target": "a#S0"}}, **shapes)
    tool = tools("awsJson1_0", {"a": member("smithy.api#String", documentation="<script>x</script> a &amp; b")})
    assert tool.input_schema["properties"]["a"]["description"] == "x a & b"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"smithy": "2.0", "shapes": {"a#S": {"type": "service"}}}'])
def test_what_is_no_model_of_a_service_is_refused(text: str) -> None:
    with pytest.raises(TargetError):
        smithy_tools(text)
