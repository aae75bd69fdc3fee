"""Finds the calls of AWS in an agent's code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from ...aws.service_models import service_operations
from .code_values import (
    Arguments,
    AwsClient,
    BoundOperation,
    CodeTooLargeError,
    Entries,
    Items,
    SdkObject,
    Value,
    texts_of,
)
from .evaluation import ExpressionEvaluator
from .program import CodeProgram, CodeScope, read_program
from .qualified_names import qualified_name
from .resource_methods import ACTIONS_OF_RESOURCES, BOUND_PARAMETERS
from .sdk_classes import SdkCallable, find_sdk_callable
from .values import COMPUTED, SIGNED_REQUEST, UNSEEN_CALLS, CodeText, CodeUse, CodeUses, UnresolvedUse

_NO_CALL: Final = frozenset({"close", "can_paginate", "get_paginator", "get_waiter", "meta", "exceptions"})
_TRANSFERS: Final = {
    # Methods that boto3 adds to clients: their operations, and their positional parameters.
    "upload_file": (("PutObject",), ("Filename", "Bucket", "Key")),
    "upload_fileobj": (("PutObject",), ("Fileobj", "Bucket", "Key")),
    "download_file": (("GetObject",), ("Bucket", "Key", "Filename")),
    "download_fileobj": (("GetObject",), ("Bucket", "Key", "Fileobj")),
    "copy": (("CopyObject",), ("CopySource", "Bucket", "Key")),
}
_LIST_RESOURCES: Final = "list the resources that it uses under [resources] in loom-agent.toml"
_WRITE_PERMISSION: Final = "add the permission to your own policy and deploy with role_arn"


def find_uses(folder: Path | str) -> CodeUses:
    """Find the AWS calls in an agent's code: boto3 clients, the methods called on them, and SDK classes.

    Names are followed through assignments, constants, environment variables, parameters and returned values of the
    agent's own Python files. Values that cannot be determined are returned as unresolved. The code is read, never run.

    Args:
        folder: The agent's folder, or its only file.
    """
    program = read_program(Path(folder))
    finder = _Finder(program)
    for module in program.modules.values():
        try:
            for call, scope in module.calls:
                finder.look(call, scope)
            for attribute, scope in module.attributes:
                finder.look_at_attribute(attribute, scope)
        except RecursionError:
            problem = "The code is nested too deeply to be analyzed"
            finder.report(module.file, 0, problem, _LIST_RESOURCES)
        except CodeTooLargeError:
            problem = "The code is too large to be analyzed"
            finder.report(module.file, 0, problem, _LIST_RESOURCES)
    for file, reason in program.unread:
        finder.report(file, 0, f"The file cannot be read as Python: {reason}", "correct the file")
    for file in program.others:
        problem = "JavaScript code is not analyzed"
        finder.report(file, 0, problem, _LIST_RESOURCES)
    finder.add_idle_clients()
    return CodeUses(
        uses=tuple(sorted(finder.uses, key=lambda use: (use.file, use.line, use.service, use.operation))),
        unresolved=tuple(dict.fromkeys(sorted(finder.unresolved, key=lambda open_: (open_.file, open_.line)))),
        files=tuple(sorted(module.file for module in program.modules.values())),
    )


class _Finder:
    def __init__(self, program: CodeProgram) -> None:
        self._evaluator = ExpressionEvaluator(program)
        self.uses: list[CodeUse] = []
        self._by_place: dict[tuple[str, str, str], list[CodeUse]] = {}
        self.unresolved: list[UnresolvedUse] = []
        self._created_clients: dict[tuple[str, int], set[str]] = {}
        self._used_clients: set[tuple[str, int, str]] = set()

    def report(self, file: str, line: int, message: str, try_: str) -> None:
        self.unresolved.append(UnresolvedUse(file=file, line=line, what=message, try_=try_))

    def add_idle_clients(self) -> None:
        for (file, line), services in self._created_clients.items():
            for service in sorted(name for name in services if (file, line, name) not in self._used_clients):
                self.uses.append(CodeUse(service=service, operation=UNSEEN_CALLS, file=file, line=line))

    def look_at_attribute(self, node: ast.Attribute, scope: CodeScope) -> None:
        """Record clients whose address or exceptions the code reads, which does not require permissions."""
        self._used_clients |= {
            (*value.place, value.service)
            for value in self._evaluator.values(node.value, scope)
            if isinstance(value, AwsClient)
        }

    def look(self, call: ast.Call, scope: CodeScope) -> None:
        evaluator, file, line = self._evaluator, scope.module.file, call.lineno
        for value in evaluator.values(call, scope):
            if isinstance(value, AwsClient) and value.place == (file, line):
                if value.service:
                    self._created_clients.setdefault(value.place, set()).add(value.service)
                else:
                    problem = "The client's service is chosen at run time"
                    self.report(file, line, problem, f"name the service in the code, or {_WRITE_PERMISSION}")
        qualified = qualified_name(call.func, scope)
        if qualified.startswith("botocore.auth.SigV4") and qualified.endswith("Auth"):
            self._signed(call, scope)
        if (sdk := find_sdk_callable(qualified)) is not None:
            self._sdk_call(sdk, qualified, call, scope)
        elif qualified in ("strands.Agent", "strands.agent.Agent"):
            self._default_model(call, scope)
        if isinstance(call.func, ast.Attribute):
            name, values = call.func.attr, evaluator.values(call.func.value, scope)
            # If one function returns several clients, the method shows which one is used.
            for value in [value for value in values if _has_method(value, name)] or values:
                self._method(value, name, call, scope)
        for value in evaluator.values(call.func, scope) if not isinstance(call.func, ast.Attribute) else ():
            if isinstance(value, BoundOperation) and value.kind == "method":
                self._client_method(value.client, value.name, call, scope)

    def _method(self, value: Value, name: str, call: ast.Call, scope: CodeScope) -> None:
        if isinstance(value, AwsClient):
            if value.is_resource:
                self._resource_method(value, name, call, scope)
            else:
                self._client_method(value, name, call, scope)
        elif isinstance(value, BoundOperation) and name in ("paginate", "wait"):
            self._used_clients.add((*value.client.place, value.client.service))
            self._operation(value.client, value.name, call, scope, is_waiter=value.kind == "waiter")
        elif isinstance(value, BoundOperation) and value.client.is_resource:  # table.meta.client, bucket.objects.all()
            self._resource_method(value.client, f"{value.name}.{name}", call, scope)
        elif isinstance(value, SdkObject):
            self._sdk_method(value, name, call, scope)

    def _client_method(self, client: AwsClient, name: str, call: ast.Call, scope: CodeScope) -> None:
        if name in _NO_CALL or not client.service:
            return
        self._used_clients.add((*client.place, client.service))
        if client.service == "s3" and name in _TRANSFERS:
            operations, positions = _TRANSFERS[name]
            arguments = self._evaluator.arguments(call, scope)
            for index, values in enumerate(arguments.positional[: len(positions)]):
                arguments.named.setdefault(positions[index], values)
            for operation in operations:
                self._add(client.service, operation, arguments, call, scope)
        elif name == "generate_presigned_url":
            self._presigned(client, call, scope)
        else:
            self._operation(client, name, call, scope)

    def _presigned(self, client: AwsClient, call: ast.Call, scope: CodeScope) -> None:
        call_arguments = self._evaluator.arguments(call, scope)
        inner = next((value for value in call_arguments.get("Params", 1) if isinstance(value, Entries)), None)
        arguments = Arguments(named=dict(inner.items) if inner else {}, is_partial=inner is None)
        for value in call_arguments.get("ClientMethod", 0) or (COMPUTED,):
            text = value.resolved({}) if isinstance(value, CodeText) else None
            self._operation(client, text or "", call, scope, arguments=arguments)

    def _operation(
        self,
        client: AwsClient,
        name: str,
        call: ast.Call,
        scope: CodeScope,
        *,
        is_waiter: bool = False,
        arguments: Arguments | None = None,
    ) -> None:
        file, line = scope.module.file, call.lineno
        operations = service_operations(client.service)
        if operations is None:
            self.report(file, line, f"boto3 has no service {client.service!r}", "correct the service's name")
            return
        if not name:
            problem = f"The operation of {client.service} is chosen at run time"
            self.report(file, line, problem, f"call the operation by its name, or {_WRITE_PERMISSION}")
            return
        operation = (operations.waiters if is_waiter else operations.methods).get(name)
        if operation is None:
            problem = f"The client of {client.service} has no operation {name!r}"
            self.report(file, line, problem, "correct the operation's name")
            return
        self._add(client.service, operation, arguments or self._evaluator.arguments(call, scope), call, scope)

    def _resource_method(self, client: AwsClient, name: str, call: ast.Call, scope: CodeScope) -> None:
        if name[:1].isupper() or name in _NO_CALL:
            return
        self._used_clients.add((*client.place, client.service))
        kind = f"{client.service}.{client.path[-1] if client.path else ''}"
        operations = ACTIONS_OF_RESOURCES.get(f"{kind}.{name}")
        if operations is None:
            problem = f"Unknown operations of the method {name}() of a {client.service} resource"
            self.report(scope.module.file, call.lineno, problem, "use the client: boto3.client(…)")
            return
        arguments = self._evaluator.arguments(call, scope)
        for place, text in client.bound:
            if parameter := BOUND_PARAMETERS.get(f"{client.service}.{place}"):
                arguments.named[parameter] = (text,)
        if name in ("upload_file", "upload_fileobj", "download_file") and kind == "s3.Bucket":
            index = 0 if name == "download_file" else 1
            if values := arguments.get("Key", index):
                arguments.named["Key"] = values
        for operation in operations:
            self._add(client.service, operation, arguments, call, scope)

    def _signed(self, call: ast.Call, scope: CodeScope) -> None:
        arguments = self._evaluator.arguments(call, scope)
        for value in arguments.get("service_name", 1) or (COMPUTED,):
            service = value.resolved({}) if isinstance(value, CodeText) else None
            if not service:
                problem = "The service for which this request is signed is chosen at run time"
                self.report(scope.module.file, call.lineno, problem, _WRITE_PERMISSION)
            else:
                self._add(service, SIGNED_REQUEST, Arguments(), call, scope)

    def _default_model(self, call: ast.Call, scope: CodeScope) -> None:
        arguments = self._evaluator.arguments(call, scope)
        if "model" in arguments.named or arguments.positional or arguments.is_partial:
            for value in arguments.named.get("model", ()):
                if isinstance(value, CodeText) and value != COMPUTED:  # the id of a Bedrock model
                    for operation in ("Converse", "ConverseStream"):
                        model_arguments = Arguments(named={"modelId": (value,)})
                        self._add("bedrock-runtime", operation, model_arguments, call, scope, via="strands.Agent")
            return
        problem = "This Agent does not set a model: Strands' default depends on its release"
        self.report(scope.module.file, call.lineno, problem, 'Agent(model=BedrockModel(model_id="…"))')

    def _sdk_call(self, sdk: SdkCallable, qualified: str, call: ast.Call, scope: CodeScope) -> None:
        for value in self._evaluator.values(call, scope):
            if not isinstance(value, SdkObject):
                continue
            sdk_arguments = dict(value.arguments)
            name = qualified.rpartition(".")[2]
            required_name = sdk.parameters.get(sdk.required, "")
            partial = self._evaluator.arguments(call, scope).is_partial
            if sdk.required and required_name not in sdk_arguments and not partial:
                problem = f"{name} does not set {sdk.required}: the SDK's default depends on its release"
                self.report(scope.module.file, call.lineno, problem, f"set {sdk.required}")
                continue
            self._add_sdk(sdk, sdk.operations, sdk_arguments, call, scope, name)

    def _sdk_method(self, value: SdkObject, name: str, call: ast.Call, scope: CodeScope) -> None:
        sdk, arguments = value.sdk, self._evaluator.arguments(call, scope)
        operations = sdk.methods.get(name, ())
        if not operations:
            for service in sdk.forwards:
                client_operations = service_operations(service)
                if client_operations is not None and name in client_operations.methods:
                    operations = (f"{service}:{client_operations.methods[name]}",)
                    break
        sdk_arguments = dict(value.arguments)
        if sdk.first and arguments.positional:
            sdk_arguments[sdk.parameters[sdk.first]] = texts_of(arguments.positional[0])
        for parameter, values in arguments.named.items():
            sdk_arguments[sdk.parameters.get(parameter, parameter)] = texts_of(values)
        self._add_sdk(sdk, operations, sdk_arguments, call, scope, f"{sdk.names[0]}.{name}")

    def _add_sdk(
        self,
        sdk: SdkCallable,
        operations: tuple[str, ...],
        sdk_arguments: Mapping[str, tuple[CodeText, ...]],
        call: ast.Call,
        scope: CodeScope,
        via: str,
    ) -> None:
        arguments = Arguments()
        for name, texts in sdk_arguments.items():
            arguments.named[name] = texts
        for name, default in sdk.defaults.items():
            arguments.named.setdefault(name, (CodeText(parts=(default,)),))
        if "bedrock/" in arguments.named:  # LiteLLM's model names: "bedrock/converse/…"
            models = [_of_litellm(text) for text in texts_of(arguments.named.pop("bedrock/"))]
            chosen = [text for text in models if text is not None]
            if not chosen:
                return
            arguments.named["modelId"] = tuple(chosen)
        for operation in operations:
            service, _, name = operation.partition(":")
            self._add(service, name, arguments, call, scope, via=via)

    def _add(
        self, service: str, operation: str, arguments: Arguments, call: ast.Call, scope: CodeScope, *, via: str = ""
    ) -> None:
        use = CodeUse(
            service=service,
            operation=operation,
            arguments=_merged(_flat(arguments.named)),
            is_partial=arguments.is_partial,
            file=scope.module.file,
            line=call.lineno,
            via=via,
        )
        alike = self._by_place.setdefault((use.place, service, operation), [])
        if use not in alike:
            alike.append(use)
            self.uses.append(use)


def _has_method(value: Value, name: str) -> bool:
    """Return whether a value may have a method; always true for values other than clients."""
    if isinstance(value, BoundOperation) and value.kind in ("paginator", "waiter"):
        served = service_operations(value.client.service)
        return served is not None and value.name in (served.waiters if value.kind == "waiter" else served.methods)
    if not isinstance(value, AwsClient) or value.is_resource:
        return not isinstance(value, CodeText)
    operations = service_operations(value.service)
    is_own = name in _NO_CALL or name == "generate_presigned_url" or (value.service == "s3" and name in _TRANSFERS)
    return is_own or (operations is not None and name in operations.methods)


def _of_litellm(text: CodeText) -> CodeText | None:
    """Return the model id in a LiteLLM model name; None for another provider's model."""
    first = text.parts[0] if text.parts else None
    if not isinstance(first, str):
        return COMPUTED
    for start in ("bedrock/converse/", "bedrock/invoke/", "bedrock/"):
        if first.startswith(start):
            return CodeText(parts=(first.removeprefix(start), *text.parts[1:]))
    return None


def _flat(arguments: Mapping[str, tuple[Value, ...]], start: str = "") -> Iterator[tuple[str, tuple[CodeText, ...]]]:
    for name, values in arguments.items():
        entries = [value for value in values if isinstance(value, Entries)]
        if texts := texts_of([value for value in values if not isinstance(value, Entries)]):
            yield f"{start}{name}", texts
        listed = [item for value in values if isinstance(value, Items) for item in value.items]
        for value in (*entries, *(item for item in listed if isinstance(item, Entries))):
            yield from _flat(dict(value.items), f"{start}{name}.")


def _merged(pairs: Iterable[tuple[str, tuple[CodeText, ...]]]) -> dict[str, tuple[CodeText, ...]]:
    texts_by_name: dict[str, tuple[CodeText, ...]] = {}
    for name, texts in pairs:
        texts_by_name[name] = tuple(dict.fromkeys((*texts_by_name.get(name, ()), *texts)))
    return texts_by_name
