"""OpenAPI documents of action groups become tools, also those that break other importers."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from loomlib.imports.bedrock_agents import ImportedTool
from loomlib.imports.bedrock_agents.openapi import ApiDocumentError, api_tools, parse_document, plain_json


def document(paths: dict[str, Any], version: str = "3.0.0", **more: Any) -> dict[str, Any]:
    return {"openapi": version, "info": {"title": "Shop", "version": "1"}, "paths": paths, **more}


def tool_of(operation: dict[str, Any], path: str = "/orders/{id}", **more: Any) -> ImportedTool:
    (tool,) = api_tools(document({path: {"post": {"description": "Does it", **operation}}}, **more)).tools
    return tool


def body(schema: dict[str, Any], *, required: bool = True, kind: str = "application/json") -> dict[str, Any]:
    return {"required": required, "content": {kind: {"schema": schema}}}


# What other importers' users complain about


def test_a_bearer_scheme_with_members_that_its_form_does_not_have_is_read() -> None:
    """A strict validation of `securitySchemes` refuses the whole agent because of the `name` (starter toolkit, 201)."""
    scheme = {"type": "http", "name": "bearerToken", "in": "header", "bearerFormat": "JWT", "scheme": "bearer"}
    api = document(
        {"/orders": {"get": {"operationId": "listOrders", "description": "Lists orders"}}},
        components={"securitySchemes": {"bearerToken": scheme}},
        security=[{"bearerToken": []}],
    )
    assert [tool.name for tool in api_tools(api).tools] == ["listOrders"]


def test_escapes_of_characters_beyond_the_basic_plane_are_read_in_json_and_in_yaml() -> None:
    """A reader of YAML alone refuses `\\ud83d\\ude00` (starter toolkit, 410)."""
    text = json.dumps(document({"/a": {"get": {"description": "Says \U0001f600 and ü"}}}))
    with pytest.raises(yaml.YAMLError):
        yaml.load(text, yaml.CSafeLoader)
    assert api_tools(parse_document(text)).tools[0].description == "Says \U0001f600 and ü"
    escaped = 'openapi: 3.0.0\npaths:\n  /a:\n    get: {description: "Says \\ud83d\\ude00 and \\u00fc"}\n'
    assert api_tools(parse_document(escaped)).tools[0].description == "Says \U0001f600 and ü"
    alone = '{"openapi": "3.0.0", "paths": {"/a": {"get": {"description": "half \\ud83d"}}}}'
    assert parse_document(alone)["paths"]["/a"]["get"]["description"].encode() == "half \ufffd".encode()


def test_a_schema_keeps_what_a_lambda_target_of_a_gateway_has_no_place_for() -> None:
    """Only type, properties, required, items and description survive elsewhere (SDK, 261)."""
    schema = {
        "type": "object",
        "required": ["state"],
        "properties": {
            "state": {"type": "string", "enum": ["open", "closed"], "pattern": "^[a-z]+$"},
            "amount": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "format": "double"},
            "lines": {"type": "array", "maxItems": 3, "items": {"type": "object", "additionalProperties": False}},
        },
    }
    tool = tool_of({"operationId": "change", "requestBody": body(schema)}, path="/orders")
    assert tool.input_schema == {
        "type": "object",
        "required": ["state"],
        "properties": {
            "state": {"type": "string", "enum": ["open", "closed"], "pattern": "^[a-z]+$"},
            "amount": {"type": "number", "exclusiveMinimum": 0, "format": "double"},
            "lines": {"type": "array", "maxItems": 3, "items": {"type": "object", "additionalProperties": False}},
        },
    }


# Reading a document


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + json.dumps(document({"/a": {"get": {"description": "x"}}})),
        json.dumps(json.dumps(document({"/a": {"get": {"description": "x"}}}))),
        "openapi: 3.1.0\npaths:\n  /a:\n    get:\n      description: x\n",
        '{"openapi": "3.0.0", "paths": {"/a": {"get": {"description": "x",},},},}',
        "openapi: 3.0.0\npaths:\n  /a:\n    get:\n      description: \"x\"  # \x07\n",
    ],
    ids=["byte order mark", "JSON in JSON", "YAML", "trailing commas", "control character"],
)  # fmt: skip
def test_every_form_of_a_text_is_read(text: str) -> None:
    (tool,) = api_tools(parse_document(text)).tools
    assert (tool.method, tool.path, tool.name) == ("GET", "/a", "get_a")


def test_yaml_keeps_texts_that_yaml_1_1_turns_into_other_values() -> None:
    text = """
openapi: 3.0.0
on: x
paths: {}
x-values:
  country: NO
  day: 2026-01-31
  time: 12:30:45
  zip: 01234
  version: 1.10
  number: 12
  yes: true
  nothing: ~
  bytes: !!binary aGk=
200: ok
base: &base {a: 1, b: 2}
merged: {<<: *base, b: 3}
"""
    read = parse_document(text)
    assert read["x-values"] == {
        "country": "NO", "day": "2026-01-31", "time": "12:30:45", "zip": "01234", "version": 1.1, "number": 12,
        "yes": True, "nothing": None, "bytes": "aGk=",
    }  # fmt: skip
    assert (read["200"], read["on"], read["merged"]) == ("ok", "x", {"a": 1, "b": 3})


def test_aliases_that_expand_without_end_are_refused_at_once() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for level in range(1, 12):
        bomb += f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n"
    with pytest.raises(ApiDocumentError, match="too many values"):
        parse_document(bomb)
    with pytest.raises(ApiDocumentError, match="nested too deeply"):
        parse_document("a: &a [*a]\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("- a\n- b\n", "not an object"),
        ("just words", "not an object"),
        ("{a: [}", "neither JSON nor YAML"),
        ("!!python/object/apply:os.system ['true']", "not an object"),
        ("[" * 5_000 + "]" * 5_000, "neither JSON nor YAML|nested more than"),
        ('{"a": ' * 150 + "1" + "}" * 150, "nested more than 100 levels"),
    ],
)
def test_what_is_no_document_is_refused_with_one_reason(text: str, reason: str) -> None:
    with pytest.raises(ApiDocumentError, match=reason):
        parse_document(text)


def test_values_that_json_does_not_have_become_texts() -> None:
    assert plain_json({1: float("nan"), "a": (1, 2), "b": {3.5: None}, "c": b"x"}) == {
        "1": "nan", "a": [1, 2], "b": {"3.5": None}, "c": "b'x'",
    }  # fmt: skip


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read = parse_document(text)
    except ApiDocumentError:
        return
    json.dumps(read, ensure_ascii=False).encode()


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=5), _PLAIN, max_size=4), st.booleans())
def test_a_document_is_the_same_from_json_and_from_yaml(value: dict[str, Any], flow: bool) -> None:
    assert parse_document(json.dumps(value)) == plain_json(value)
    assert parse_document(yaml.safe_dump(value, default_flow_style=flow)) == plain_json(value)


# Operations


def test_parameters_of_a_path_hold_for_its_operations_which_may_replace_them() -> None:
    item = {
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
            {"name": "limit", "in": "query", "description": "of the path", "schema": {"type": "integer"}},
            {"$ref": "#/components/parameters/Language"},
        ],
        "get": {
            "description": "Reads it",
            "parameters": [{"name": "limit", "in": "query", "description": "own", "schema": {"type": "number"}}],
        },
    }
    language = {"name": "Accept-Language", "in": "header", "schema": {"type": "string", "enum": ["de", "en"]}}
    (tool,) = api_tools(document({"/a/{id}": item}, components={"parameters": {"Language": language}})).tools
    assert [(p.name, p.place, p.type, p.is_required, p.description) for p in tool.parameters] == [
        ("id", "path", "string", True, ""),
        ("limit", "query", "number", False, "own"),
        ("Accept-Language", "header", "string", False, ""),
    ]


def test_headers_of_the_protocol_itself_are_no_parameters() -> None:
    names = ("Authorization", "Content-Type", "accept", "X-Trace")
    tool = tool_of({"parameters": [{"name": name, "in": "header"} for name in names]})
    assert [parameter.name for parameter in tool.parameters] == ["X-Trace"]


def test_the_members_of_a_body_become_parameters_and_keep_their_names_apart() -> None:
    note = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "text": {"type": "string"}}}
    tool = tool_of(
        {
            "operationId": "addNote",
            "parameters": [
                {"name": "id", "in": "path", "schema": {"type": "string"}},
                {"name": "id", "in": "query"},
                {"name": "filter[state]", "in": "query"},
            ],
            "requestBody": {"$ref": "#/components/requestBodies/Note"},
        },
        components={
            "schemas": {"Note": note},
            "requestBodies": {"Note": body({"$ref": "#/components/schemas/Note"}, kind="application/json; v=1")},
        },
    )
    assert [(p.name, p.sent_name, p.place, p.is_required) for p in tool.parameters] == [
        ("id", "id", "path", True),
        ("query_id", "id", "query", False),
        ("filter_state", "filter[state]", "query", False),
        ("body_id", "id", "body", True),
        ("text", "text", "body", False),
    ]
    assert (tool.content_type, tool.body_is_whole) == ("application/json; v=1", False)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "array", "items": {"type": "string"}}, "array"),
        ({"type": "string", "format": "binary"}, "string"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "object"),
        (
            {"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]},
            "object",
        ),
    ],
)
def test_a_body_that_is_no_object_with_members_is_one_parameter(schema: dict[str, Any], kind: str) -> None:
    tool = tool_of({"requestBody": body(schema)}, path="/orders")
    (parameter,) = tool.parameters
    assert (parameter.name, parameter.type, parameter.place, parameter.is_required) == ("body", kind, "body", True)
    assert tool.body_is_whole


def test_an_optional_body_requires_nothing_and_json_is_preferred() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
    contents = {"text/plain": {"schema": {"type": "string"}}, "application/vnd.api+json": {"schema": schema}}
    tool = tool_of({"requestBody": {"content": contents}})
    assert (tool.content_type, [(p.name, p.is_required) for p in tool.parameters]) == (
        "application/vnd.api+json", [("a", False)],
    )  # fmt: skip


def test_schemas_of_3_1_and_compositions_become_one_type() -> None:
    properties = {
        "maybe": {"type": ["null", "integer"]},
        "optional": {"anyOf": [{"type": "number"}, {"type": "null"}], "title": "Optional"},
        "old": {"type": "string", "nullable": True, "example": "x"},
        "all": {"allOf": [{"$ref": "#/components/schemas/A"}, {"properties": {"b": {}}, "required": ["b"]}]},
        "fixed": {"const": True},
        "listed": {"enum": [1, 2]},
    }
    api = {"components": {"schemas": {"A": {"type": "object", "properties": {"a": {}}, "required": ["a"]}}}}
    tool = tool_of({"requestBody": body({"type": "object", "properties": properties})}, version="3.1.0", **api)
    kinds = {parameter.name: parameter.type for parameter in tool.parameters}
    assert kinds == {
        "maybe": "integer", "optional": "number", "old": "string", "all": "object", "fixed": "boolean",
        "listed": "integer",
    }  # fmt: skip
    schemas = {parameter.name: parameter.schema for parameter in tool.parameters}
    assert schemas["all"] == {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]}
    assert schemas["optional"] == {"type": "number", "title": "Optional"}
    assert schemas["old"] == {"type": "string", "examples": ["x"]}


def test_references_that_go_in_a_circle_are_cut_with_a_note() -> None:
    node = {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/components/schemas/Node"}}}
    api = document(
        {"/a": {"post": {"requestBody": body({"$ref": "#/components/schemas/Node"})}}},
        components={"schemas": {"Node": node}},
    )
    read = api_tools(api)
    assert read.notes == ("the schema Node contains itself and is cut where it repeats",)
    assert read.problems == ()
    schemas = {parameter.name: parameter.schema for parameter in read.tools[0].parameters}
    assert schemas["next"] == {"type": "object", "description": "A nested Node"}


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        (
            "https://example.com/schemas.json#/Note",
            "it refers to another document: https://example.com/schemas.json#/Note",
        ),
        ("#/components/schemas/None", "the reference #/components/schemas/None cannot be resolved"),
        ("file:///etc/passwd", "it refers to another document: file:///etc/passwd"),
    ],
)
def test_only_references_within_the_document_are_followed(reference: str, problem: str) -> None:
    read = api_tools(document({"/a": {"post": {"requestBody": body({"$ref": reference})}}}))
    assert read.problems == (problem,)
    assert len(read.tools) == 1


def test_references_with_escapes_and_references_to_themselves() -> None:
    api = document(
        {
            "/a~b": {"get": {"description": "x", "parameters": [{"$ref": "#/components/parameters/a~1b%20c"}]}},
            "/self": {"$ref": "#/paths/~1self"},
        },
        components={"parameters": {"a/b c": {"name": "q", "in": "query"}}},
    )
    read = api_tools(api)
    assert [parameter.name for parameter in read.tools[0].parameters] == ["q"]
    assert read.problems == ("the reference #/paths/~1self refers to itself",)


def test_one_operation_that_cannot_be_read_does_not_hide_the_others() -> None:
    wrong = {"description": "x", "parameters": [{"name": "a", "in": "somewhere"}]}
    read = api_tools(document({"/a": {"get": wrong, "post": {"description": "fine"}}}))
    assert [tool.method for tool in read.tools] == ["POST"]
    assert read.problems == ("GET /a: the parameter a has the unsupported place 'somewhere'",)


@pytest.mark.parametrize(
    ("api", "reason"),
    [
        ({"swagger": "2.0", "paths": {"/a": {"get": {}}}}, r"version 2\.0, not OpenAPI 3"),
        (document({}), "no operations"),
        ({"openapi": "3.0.0", "paths": [1]}, "no operations"),
        (document({"/a": {"summary": "nothing"}}), "no operations"),
    ],
)
def test_a_document_without_operations_is_refused(api: dict[str, Any], reason: str) -> None:
    with pytest.raises(ApiDocumentError, match=reason):
        api_tools(api)


def test_names_descriptions_and_confirmations_of_operations() -> None:
    operations = {
        "get": {"summary": "Reads", "x-requireConfirmation": "DISABLED"},
        "put": {"x-requireConfirmation": "ENABLED"},
        "delete": {"operationId": "remove", "description": "Removes", "x-requireConfirmation": True},
    }
    tools = {tool.method: tool for tool in api_tools(document({"/a/{b}": operations})).tools}
    assert {method: (tool.name, tool.description) for method, tool in tools.items()} == {
        "GET": ("get_a/{b}", "Reads"), "PUT": ("put_a/{b}", "PUT /a/{b}"), "DELETE": ("remove", "Removes"),
    }  # fmt: skip
    assert [tool.requires_confirmation for tool in tools.values()] == [False, True, True]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ("$ref", "type", "properties", "items", "allOf", "anyOf", "parameters", "schema", "content", "requestBody",
             "in", "name", "required", "enum", "get", "post", "description", "operationId", "#")
        ) | st.text(max_size=5),
        inner | st.sampled_from(("#/paths", "#/paths/~1a", "query", "object", "array")),
        max_size=4,
    ),
    max_leaves=30,
)  # fmt: skip


@given(_JSON, _JSON)
def test_any_document_becomes_tools_or_is_refused(item: Any, components: Any) -> None:
    api = {"openapi": "3.0.0", "paths": {"/a": {"get": item, "post": item}, "/b": item}, "components": components}
    try:
        read = api_tools(plain_json(api))
    except ApiDocumentError:
        return
    for tool in read.tools:
        names = [parameter.name for parameter in tool.parameters]
        assert len(names) == len(set(names))
        json.dumps(tool.input_schema)
