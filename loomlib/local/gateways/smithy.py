"""Tools from a Smithy model of an AWS service: one for each operation, with the input's members as arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .smithy_shapes import (
    Shape,
    SmithyShapes,
    WireForms,
    list_of,
    member_form,
    object_of,
    target_of,
    traits_of,
)
from .tools import GatewayTool, TargetError

_REST_JSON: Final = "aws.protocols#restJson1"
_PROTOCOLS: Final = (_REST_JSON, "aws.protocols#awsJson1_1", "aws.protocols#awsJson1_0")
_OTHER_PROTOCOLS: Final = ("aws.protocols#", "smithy.protocols#")
_SIGV4: Final = "aws.auth#sigv4"
_OPERATIONS_OF_RESOURCES: Final = ("create", "put", "read", "update", "delete", "list")
_MOST_OPERATIONS: Final = 1_000
_DEEPEST_RESOURCES: Final = 20


def smithy_tools(text: str) -> list[GatewayTool]:
    """Return the tools of a Smithy model in its JSON form.

    Streaming operations are left out, because the result of a tool is a single message.

    Args:
        text: A model of one AWS service whose protocol is restJson1, awsJson1_0 or awsJson1_1.

    Raises:
        TargetError: The model cannot be read, or its service cannot be called by a gateway.
    """
    shapes = SmithyShapes.of(text)
    name, service = shapes.service()
    traits = traits_of(service)
    protocol = _protocol(name, traits)
    signing = object_of(traits.get(_SIGV4)).get("name")
    if not isinstance(signing, str):
        raise TargetError(
            f"{name} has no trait {_SIGV4}; a Smithy target must be an AWS service that is called with a signature"
        )
    common = {"kind": "smithy", "service": signing, "protocol": protocol}
    operations = {name: shapes.shape(name) for name in dict.fromkeys(_operations(shapes, service, 0))}
    if len(operations) > _MOST_OPERATIONS:
        raise TargetError(f"The Smithy model has more than {_MOST_OPERATIONS:,} operations")
    operations = {name: shape for name, shape in operations.items() if not _streams(shapes, shape)}
    inputs = [member for shape in operations.values() for member in shapes.members(_shape_of(shape, "input")).values()]
    forms = WireForms(shapes, map(target_of, inputs), is_rest=protocol == "restJson1")
    tools: dict[str, GatewayTool] = {}
    for operation, shape in operations.items():
        request = {**common, "target": f"{_local(name)}.{_local(operation)}"}
        tool = _tool(shapes, forms, operation, shape, request)
        if tool.name in tools:
            raise TargetError(f"The Smithy model has two operations with the name {tool.name}")
        tools[tool.name] = tool
    if not tools:
        raise TargetError(f"{name} has no operation that a gateway can call")
    return list(tools.values())


def _protocol(name: str, traits: Mapping[str, Any]) -> str:
    for protocol in _PROTOCOLS:
        if protocol in traits:
            return protocol.partition("#")[2]
    others = [trait.partition("#")[2] for trait in traits if trait.startswith(_OTHER_PROTOCOLS)]
    supported = ", ".join(protocol.partition("#")[2] for protocol in _PROTOCOLS)
    raise TargetError(f"{name} uses {', '.join(others) or 'no protocol'}; a gateway supports {supported}")


def _operations(shapes: SmithyShapes, holder: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield the ids of the operations of a service or a resource, including those of its child resources."""
    if depth > _DEEPEST_RESOURCES:
        raise TargetError("The resources of the Smithy model contain each other")
    for member in ("operations", "collectionOperations"):
        for entry in list_of(holder.get(member)):
            yield target_of(entry)
    if depth:
        for member in _OPERATIONS_OF_RESOURCES:
            if member in holder:
                yield target_of(holder[member])
    for entry in list_of(holder.get("resources")):
        yield from _operations(shapes, shapes.shape(target_of(entry)), depth + 1)


def _streams(shapes: SmithyShapes, operation: Mapping[str, Any]) -> bool:
    for side in ("input", "output"):
        for member in shapes.members(_shape_of(operation, side)).values():
            target = target_of(member)
            shape: Shape = {} if target.startswith("smithy.api#") else shapes.shape(target)
            is_blob = shape.get("type") == "blob" and side == "input"
            if "smithy.api#streaming" in {*traits_of(member), *traits_of(shape)} and not is_blob:
                return True
    return False


def _tool(
    shapes: SmithyShapes, forms: WireForms, name: str, operation: Mapping[str, Any], request: dict[str, Any]
) -> GatewayTool:
    input_id = _shape_of(operation, "input")
    if input_id and shapes.kind(input_id) != "structure":
        raise TargetError(f"The input of {name} is not a structure")
    members = shapes.members(input_id)
    schema: dict[str, Any] = shapes.schema(input_id) if input_id else {"type": "object", "properties": {}}
    is_rest = request["protocol"] == "restJson1"
    request |= {"method": "POST", "uri": "/"}
    if is_rest:
        http_trait = object_of(traits_of(operation).get("smithy.api#http"))
        if not isinstance(http_trait.get("method"), str) or not isinstance(http_trait.get("uri"), str):
            raise TargetError(f"{name} has no trait smithy.api#http, which restJson1 requires of an operation")
        request |= {"method": http_trait["method"], "uri": http_trait["uri"]}
    request["members"] = {key: _binding(shapes, key, member, is_rest=is_rest) for key, member in members.items()}
    request["forms"] = forms.below(members)
    return GatewayTool(
        name=_local(name),
        description=shapes.description(operation, most=4_000),
        input_schema=schema,
        request=request,
    )


def _binding(shapes: SmithyShapes, name: str, member: Mapping[str, Any], *, is_rest: bool) -> dict[str, Any]:
    """Return the place of an input member in the request."""
    traits = traits_of(member)
    place, wire = "body", name
    if is_rest:
        wire = str(traits.get("smithy.api#jsonName", name))
        for trait, where in _PLACES.items():
            if trait in traits:
                place, value = where, traits[trait]
                wire = value if isinstance(value, str) else name
                break
    kind = shapes.kind(target_of(member))
    return {
        "in": place,
        "wire": wire,
        "type": kind,
        "form": member_form(shapes, member, place=place),
        **({"generated": True} if "smithy.api#idempotencyToken" in traits else {}),
    }


_PLACES: Final = {
    "smithy.api#httpLabel": "label",
    "smithy.api#httpQuery": "query",
    "smithy.api#httpQueryParams": "query_map",
    "smithy.api#httpHeader": "header",
    "smithy.api#httpPrefixHeaders": "header_map",
    "smithy.api#httpPayload": "payload",
}


def _shape_of(operation: Mapping[str, Any], side: str) -> str:
    reference = operation.get(side)
    target = target_of(reference) if reference else ""
    return "" if target == "smithy.api#Unit" else target


def _local(shape_id: str) -> str:
    return shape_id.rpartition("#")[2]
