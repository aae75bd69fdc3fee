"""Action groups: their executors, and the tools in their schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.aws.bedrock_agent_parts import RelatedText
from loomlib.errors import LoomError
from loomlib.json_values import as_list, as_mapping, as_text, mapping_or_none

from ..model import ActionGroup, BuiltIn, Executor
from ..openapi import api_tools, parse_document, plain_json
from .functions import function_tools
from .scrubbing import Scrubber

_BUILT_IN: Final[Mapping[str, BuiltIn]] = {
    "AMAZON.UserInput": "user_input",
    "AMAZON.CodeInterpreter": "code_interpreter",
    "ANTHROPIC.Computer": "computer",
    "ANTHROPIC.Bash": "bash",
    "ANTHROPIC.TextEditor": "text_editor",
}


@dataclass(frozen=True, slots=True)
class ReadGroup:
    """An action group, and approximations made in reading it."""

    group: ActionGroup
    notes: tuple[str, ...] = field(default=())


def read_action_group(members: Mapping[str, Any], reference: RelatedText | None, scrubber: Scrubber) -> ReadGroup:
    """Return an action group; parts that cannot be read are reported as its `problem`.

    Args:
        members: Its members in GetAgentActionGroup. `apiSchema` may also be the text or the document itself.
        reference: Its API schema in S3, or the reason why the group cannot be read; None for neither.
        scrubber: Removes secrets.
    """
    signature = as_text(members.get("parentActionSignature"))
    scrubber.know([as_text(members.get("actionGroupName"))])
    common: dict[str, Any] = {
        "id": as_text(members.get("actionGroupId")),
        "name": scrubber.identifier(as_text(members.get("actionGroupName"))),
        "description": scrubber.text(as_text(members.get("description"))),
        "is_enabled": members.get("actionGroupState") != "DISABLED",
    }
    if signature:
        return ReadGroup(_built_in(signature, members, common, scrubber))
    executor, function = _executor(as_mapping(members.get("actionGroupExecutor")))
    common |= {"executor": executor, "lambda_arn": function}
    problem = "" if executor != "none" else "it has neither a Lambda function nor return of control"
    try:
        functions = _functions(members.get("functionSchema"))
        if functions is not None:
            scrubber.know(as_text(as_mapping(item).get("name")) for item in functions)
            document = scrubber.schema(plain_json({"functions": functions}))
            tools = tuple(function_tools(document["functions"], description=common["description"]))
            if not tools:
                problem = problem or "its schema has no functions"
            return ReadGroup(ActionGroup(**common, schema="functions", tools=tools, problem=problem))
        return _with_api(members.get("apiSchema"), reference, common, problem, scrubber)
    except LoomError as error:
        source = reference.source if reference else ""
        failed = f"its schema {source}".rstrip() + f" cannot be read: {error.what}"
        group = ActionGroup(**common, schema="missing", api_source=source, problem=_sentence(failed, scrubber))
        return ReadGroup(group)


def _with_api(
    api_schema: object, reference: RelatedText | None, common: Mapping[str, Any], problem: str, scrubber: Scrubber
) -> ReadGroup:
    """Return a group with an API schema, which may be a text, a document, or an address in S3."""
    source = reference.source if reference else ""
    members = as_mapping(api_schema)
    inline = members.get("payload") if "payload" in members else api_schema if _is_document(api_schema) else None
    if reference and (reference.problem or inline is None):
        if reference.problem:
            failed = _sentence(reference.problem, scrubber)
            return ReadGroup(ActionGroup(**common, schema="missing", api_source=source, problem=failed))
        inline = reference.text
    if not inline:
        missing = "its schema is missing" if api_schema is not None else "it has no schema of its functions"
        return ReadGroup(ActionGroup(**common, schema="missing", api_source=source, problem=missing))
    document = parse_document(inline) if isinstance(inline, str) else plain_json(inline)
    scrubber.know(
        as_text(as_mapping(operation).get("operationId"))
        for item in as_mapping(document.get("paths")).values()
        for operation in as_mapping(item).values()
    )
    document = scrubber.schema(document)
    read = api_tools(document)
    problems = [*filter(None, [problem]), *read.problems]
    group = ActionGroup(
        **common,
        schema="openapi",
        tools=read.tools,
        api_document=document,
        api_source=source or "inline",
        problem=_sentence("; ".join(problems), scrubber),
    )
    return ReadGroup(group, tuple(f"{group.name}: {note}." for note in read.notes))


def _is_document(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    members = mapping_or_none(value)
    return members is not None and ("paths" in members or "openapi" in members)


def _functions(function_schema: object) -> Sequence[Any] | None:
    """Return the list of functions that a `functionSchema` has; None without one."""
    if isinstance(function_schema, str) and function_schema.strip():
        function_schema = parse_document(
            f'{{"functions": {function_schema}}}' if function_schema.lstrip().startswith("[") else function_schema
        )
    if listed := as_list(function_schema):
        return listed
    members = mapping_or_none(function_schema)
    return as_list(members.get("functions")) if members else None


def _executor(configuration: Mapping[str, Any]) -> tuple[Executor, str]:
    if function := as_text(configuration.get("lambda")):
        return "lambda", function
    return ("return_control", "") if configuration.get("customControl") == "RETURN_CONTROL" else ("none", "")


def _built_in(signature: str, members: Mapping[str, Any], common: Mapping[str, Any], scrubber: Scrubber) -> ActionGroup:
    kind = _BUILT_IN.get(signature)
    parameters = as_mapping(members.get("parentActionGroupSignatureParams"))
    return ActionGroup(
        **common,
        executor="built_in",
        schema="built_in",
        built_in=kind,
        built_in_parameters=scrubber.values({name: str(value) for name, value in parameters.items()}),
        problem="" if kind else f"Loom does not know the built-in action group {signature}",
    )


def _sentence(text: str, scrubber: Scrubber) -> str:
    return scrubber.text(text).strip().rstrip(".")
