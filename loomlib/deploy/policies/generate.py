"""Generates the policy of an agent's role: exactly the permissions that its code and configuration require."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...aws.service_models import service_operations
from ...errors import LoomError
from ...presentation.formats import number
from ..code_uses import COMPUTED, SIGNED_REQUEST, UNSEEN_CALLS, CodeText, CodeUse, CodeUses, VariableRead
from ..spec import RESOURCE_KINDS, AgentSpec
from .arns import StatementTarget, namespace_target, targets
from .configured import CONFIGURED_ACTIONS, CONFIGURED_KINDS, LABELS, SIGNED_ACTIONS, SIGNED_KINDS, UNSEEN_KINDS
from .operations import IAM_PREFIXES, OPERATIONS, PARAMETERS, WITHOUT_RESOURCES, ActionRule
from .statements import StatementList
from .values import (
    LONGEST_INLINE_POLICY,
    AwsPlace,
    KnownResources,
    RolePolicy,
    RoleStatement,
    UnresolvedPermission,
)

LOG_GROUPS: Final = "/aws/bedrock-agentcore/runtimes/"
_OWN_POLICY: Final = "add the permission to your own policy and deploy with role='arn:…'"
_TELEMETRY: Final = ("PutTraceSegments", "PutTelemetryRecords", "GetSamplingRules", "GetSamplingTargets")


def role_policy(
    spec: AgentSpec,
    uses: CodeUses,
    place: AwsPlace,
    *,
    known: KnownResources | None = None,
    repository_arn: str = "",
) -> RolePolicy:
    """Return the policy of an agent's role.

    It contains the permissions that AgentCore requires of every role (the agent's own log group, traces, metrics),
    those for the calls in the code, and those for the resources in the configuration. Permissions for unknown resources
    are not granted but listed in `open`.

    Args:
        spec: The agent's configuration.
        uses: The AWS calls of its code (`find_uses`).
        place: The account and region.
        known: Data that was read from the account: ids of named resources, models of inference profiles.
        repository_arn: The ECR repository of the agent's image, for a container.

    Raises:
        LoomError: The policy is longer than IAM allows.
    """
    maker = _Maker(spec, place, known or KnownResources())
    maker.add_code(uses)
    maker.add_configuration(uses)
    statements = (*_platform_statements(spec, place, repository_arn), *maker.statements.all())
    policy = RolePolicy(
        statements=statements,
        trust=trust_document(place),
        unresolved=tuple(dict.fromkeys(maker.unresolved)),
        notes=tuple(dict.fromkeys(maker.notes)),
    )
    if (length := len(json.dumps(policy.document(), separators=(",", ":")))) > LONGEST_INLINE_POLICY:
        raise LoomError(
            f"The role's policy has {number(length)} characters, above IAM's {number(LONGEST_INLINE_POLICY)}",
            on=spec.name,
            try_="use fewer resources in one agent, or your own role with managed policies: role='arn:…'",
        )
    return policy


def model_identifiers(spec: AgentSpec, uses: CodeUses) -> tuple[str, ...]:
    """Return the ids and ARNs of the models that an agent calls, as far as they are known.

    Args:
        spec: The agent's configuration.
        uses: The AWS calls of its code.
    """
    variables = _variables(spec, KnownResources())
    identifiers = [binding.resource for binding in spec.resources.models]
    for use in uses.uses:
        for rule in _rules(use):
            if rule.kind == "models":
                identifiers += [text.resolved(variables) or "" for text in _texts(use, rule)]
    return tuple(dict.fromkeys(filter(None, identifiers)))


def trust_document(place: AwsPlace, *, service: str = "bedrock-agentcore.amazonaws.com") -> dict[str, Any]:
    """Return the trust policy of a role that AgentCore assumes for runtimes of this account and region only.

    Args:
        place: The account and region.
        service: The service that assumes it, if it is not AgentCore.
    """
    condition: dict[str, Any] = {"StringEquals": {"aws:SourceAccount": place.account}}
    if service.startswith("bedrock-agentcore."):
        condition["ArnLike"] = {"aws:SourceArn": place.arn("bedrock-agentcore", "*")}
    statement = {
        "Sid": "AssumedByAgentCore" if "ArnLike" in condition else "AssumedByService",
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": "sts:AssumeRole",
        "Condition": condition,
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


def _platform_statements(spec: AgentSpec, place: AwsPlace, repository_arn: str) -> Iterable[RoleStatement]:
    group = place.arn("logs", f"log-group:{LOG_GROUPS}{spec.name}-*")
    yield RoleStatement(
        sid="OwnLogs",
        actions=("logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
        resources=(group, f"{group}:log-stream:*"),
        reason="the agent's log; AgentCore adds the runtime's id and the endpoint to the group's name",
    )
    yield RoleStatement(
        sid="FindLogGroups",
        actions=("logs:DescribeLogGroups",),
        resources=(place.arn("logs", "log-group:*"),),
        reason="AgentCore finds the agent's log group in the list of groups, which cannot be restricted further",
    )
    yield RoleStatement(
        sid="Traces",
        actions=tuple(f"xray:{name}" for name in _TELEMETRY),
        resources=("*",),
        reason="the agent's traces; the actions do not require a resource",
    )
    metrics = namespace_target("bedrock-agentcore")
    yield RoleStatement(
        sid="Metrics",
        actions=("cloudwatch:PutMetricData",),
        resources=metrics.resources,
        condition=metrics.condition,
        reason="the agent's metrics, in AgentCore's namespace only; the action does not require a resource",
    )
    if repository_arn:
        yield RoleStatement(
            sid="Image",
            actions=("ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"),
            resources=(repository_arn,),
            reason="AgentCore starts the agent from its image",
        )
        yield RoleStatement(
            sid="ImageLogin",
            actions=("ecr:GetAuthorizationToken",),
            resources=("*",),
            reason="AgentCore signs in to ECR; the action does not require a resource",
        )


class _Maker:
    """Collects the statements of one agent."""

    def __init__(self, spec: AgentSpec, place: AwsPlace, known: KnownResources) -> None:
        self._spec, self._place, self._account = spec, place, known
        self._variables = _variables(spec, known)
        self._used: set[tuple[str, str]] = set()
        self.statements = StatementList()
        self.unresolved: list[UnresolvedPermission] = []
        self.notes: list[str] = []

    def add_code(self, uses: CodeUses) -> None:
        self.unresolved += [
            UnresolvedPermission(place=item.place, what=item.what, try_=item.try_) for item in uses.unresolved
        ]
        for use in uses.uses:
            if use.operation in (SIGNED_REQUEST, UNSEEN_CALLS):
                self._unseen(use)
                continue
            for rule in _rules(use):
                self._rule(use, rule)

    def add_configuration(self, uses: CodeUses) -> None:
        signs = any(use.operation == SIGNED_REQUEST for use in uses.uses)
        unseen = {
            kind
            for use in uses.uses
            if use.operation in (SIGNED_REQUEST, UNSEEN_CALLS)
            for kind in (SIGNED_KINDS if use.operation == SIGNED_REQUEST else UNSEEN_KINDS).get(use.service, ())
        }
        for kind in RESOURCE_KINDS:
            for binding in self._spec.resources.of(kind):
                where = f"[resources] {kind}"
                if kind not in unseen and (kind, self._identity(kind, binding.resource)) in self._used:
                    continue  # the calls on it are visible in the code
                actions = CONFIGURED_ACTIONS[kind] + (SIGNED_ACTIONS.get(kind, ()) if signs else ())
                for action, arn_kind in actions:
                    if not self._add(action, arn_kind, self._identity(kind, binding.resource), where):
                        self.unresolved.append(_unknown(kind, binding.resource, where))
                        break
        for variable, secret in self._spec.secrets.items():
            where = f"[secrets] {variable}"
            if secret.startswith("ssm:"):
                self._add("ssm:GetParameter", "parameters", secret.removeprefix("ssm:"), where)
            else:
                self._add("secretsmanager:GetSecretValue", "secrets", secret, where)

    def _identity(self, kind: str, resource: str) -> str:
        resource = _prefix_pattern(resource) if kind == "buckets" else resource
        return self._account.ids.get((kind, resource), resource)

    def _add(self, action: str, kind: str, name: str, place: str) -> bool:
        if not kind:
            self._add_without_resource(action, "the configuration lists the resource", place)
            return True
        statement_targets = targets(kind, name, self._place, self._account)
        for target in statement_targets or ():
            label, reason = LABELS[kind]
            self.statements.add(label, action, target, reason, place)
        if statement_targets:
            self._used.add((CONFIGURED_KINDS.get(kind, kind), name if kind != "objects" else name.partition("/")[0]))
            if kind == "functions":
                self._used.add((kind, name.rpartition(":")[0]))  # the function, if the call names a qualifier
        return bool(statement_targets)

    def _add_without_resource(self, action: str, reason: str, place: str) -> None:
        target = StatementTarget(resources=("*",), reason="the action does not require a resource")
        self.statements.add("NoResources", action, target, reason, place)

    def _unseen(self, use: CodeUse) -> None:
        """Record a request that the code signs itself, or a client whose calls are not visible."""
        is_signed = use.operation == SIGNED_REQUEST
        kinds = (SIGNED_KINDS if is_signed else UNSEEN_KINDS).get(use.service, ())
        if any(self._spec.resources.of(kind) for kind in kinds):
            return
        if self._spec.secrets and use.service in ("secretsmanager", "ssm"):
            return
        problem = f"The calls of this {use.service} client are not visible: other code makes them"
        if is_signed:
            problem = (
                f"The code signs requests for {use.service} itself, so the resources that they access are not visible"
            )
        try_ = f"list the resource under [resources] {' or '.join(kinds)} in loom-agent.toml" if kinds else _OWN_POLICY
        self.unresolved.append(UnresolvedPermission(place=use.place, what=problem, try_=try_))

    def _rule(self, use: CodeUse, rule: ActionRule) -> None:
        if not rule.kind:
            if rule.action in WITHOUT_RESOURCES:
                self._add_without_resource(rule.action, f"the agent calls {use.operation}", use.place)
            else:
                problem = f"Unknown resource of the operation {use.operation} of {use.service}"
                self.unresolved.append(UnresolvedPermission(place=use.place, what=problem, try_=_OWN_POLICY))
            return
        texts = _texts(use, rule)
        if not texts and rule.is_optional:
            return
        is_allowed, empty_texts = False, list[CodeText]()
        for text in texts or (COMPUTED,):
            if text.resolved(self._variables) == "":
                empty_texts.append(text)
            elif self._text(use, rule, text) or self._from_configuration(use, rule, text):
                is_allowed = True
            else:
                self.unresolved.append(self._unresolved(use, rule, text))
        for text in empty_texts if not is_allowed else ():
            names = ", ".join(part.name for part in text.parts if isinstance(part, VariableRead))
            self.notes.append(f"{use.place}: {names or 'the name'} is empty, so {rule.action} is not allowed")

    def _text(self, use: CodeUse, rule: ActionRule, text: CodeText) -> bool:
        name = text.resolved(self._variables)
        if name is None and not text.unset(self._variables):
            name = text.pattern(self._variables)
        if name is None or text.has_wildcard():
            return False
        if rule.kind in ("objects", "listed_buckets") and name.count("/") == 1 and name.endswith("/*"):
            narrowed = [
                self._identity("buckets", binding.resource).removeprefix(f"arn:{self._place.partition}:s3:::")
                for binding in self._spec.resources.buckets
            ]
            inside = [prefix for prefix in narrowed if prefix.startswith(name[:-1])]
            if inside:  # the configuration specifies the part of the bucket
                return all([self._add(rule.action, rule.kind, prefix, use.place) for prefix in inside])
        return self._add(rule.action, rule.kind, name, use.place)

    def _from_configuration(self, use: CodeUse, rule: ActionRule, text: CodeText) -> bool:
        """Allow the action on the configured resources of its kind, for a resource that is known only at run time."""
        if text.unset(self._variables) or text.resolved(self._variables) is not None:
            return False
        kind = CONFIGURED_KINDS.get(rule.kind)
        bindings = self._spec.resources.of(kind) if kind else ()
        names = [self._identity(kind or "", binding.resource) for binding in bindings]
        return bool(names) and all([self._add(rule.action, rule.kind, name, use.place) for name in names])

    def _unresolved(self, use: CodeUse, rule: ActionRule, text: CodeText) -> UnresolvedPermission:
        kind = CONFIGURED_KINDS.get(rule.kind)
        operation = f"{use.service}'s {use.operation}"
        if unset := text.unset(self._variables):
            names = ", ".join(unset)
            problem = f"{operation} uses {names}, which has no value"
            table = f"[resources] {kind} = {{{unset[0]} = …}}" if kind else f"[environment] {unset[0]} = …"
            return UnresolvedPermission(place=use.place, what=problem, try_=f"{table} in loom-agent.toml")
        resolved = text.resolved(self._variables)
        if resolved is None:
            problem = f"{operation}: {', '.join(rule.parameters)} is computed at run time"
        else:
            problem = f"{operation}: {resolved!r} does not identify a resource"
        where = f"list the resource under [resources] {kind} in loom-agent.toml" if kind else _OWN_POLICY
        return UnresolvedPermission(place=use.place, what=problem, try_=where)


def _prefix_pattern(resource: str) -> str:
    """Return a configured bucket unchanged, and a prefix in a bucket with a final `*`."""
    _, _, prefix = resource.rpartition(":::")[2].partition("/")
    return f"{resource}*" if prefix and not prefix.endswith(("/", "*")) else resource


def _unknown(kind: str, resource: str, where: str) -> UnresolvedPermission:
    return UnresolvedPermission(
        place=where,
        what=f"{resource!r} is neither an id nor an ARN, and no resource in the account has this name",
        try_=f"list the {kind.replace('_', ' ')} by id or ARN, or create a resource with this name first",
    )


def _variables(spec: AgentSpec, known_resources: KnownResources) -> dict[str, str]:
    bound = {
        binding.variable: known_resources.ids.get((kind, binding.resource), binding.resource)
        for kind, binding in spec.bindings()
        if binding.variable
    }
    secrets = {name: secret.removeprefix("ssm:") for name, secret in spec.secrets.items()}
    return {**spec.environment, **secrets, **bound}


def _rules(use: CodeUse) -> tuple[ActionRule, ...]:
    if use.operation in (SIGNED_REQUEST, UNSEEN_CALLS):
        return ()
    key = f"{use.service}:{use.operation}"
    if key in OPERATIONS:
        return OPERATIONS[key]
    operations = service_operations(use.service)
    signing = operations.signing_name if operations is not None else use.service
    action = f"{IAM_PREFIXES.get(signing, signing)}:{use.operation}"
    if action in WITHOUT_RESOURCES:
        return (ActionRule(action),)
    resource_parameters = [name for name in use.arguments if f"{use.service}.{name}" in PARAMETERS]
    if not resource_parameters and operations is not None:  # passed by position or by `**`, or left to a default
        members = operations.parameters.get(use.operation, ())
        resource_parameters = [name for name in members if f"{use.service}.{name}" in PARAMETERS]
    if not resource_parameters:
        return (ActionRule(action),)
    return (ActionRule(action, PARAMETERS[f"{use.service}.{resource_parameters[0]}"], (resource_parameters[0],)),)


def _texts(use: CodeUse, rule: ActionRule) -> tuple[CodeText, ...]:
    if rule.kind == "objects":
        return _joined(use.arguments, "Bucket", "Key", "/")
    if rule.kind == "listed_buckets":
        return _joined(use.arguments, "Bucket", "Prefix", "/") if "Prefix" in use.arguments else _first(use, rule)
    if rule.kind == "agent_aliases":
        return _joined(use.arguments, "agentId", "agentAliasId", "/")
    if rule.kind == "flow_aliases":
        return _joined(use.arguments, "flowIdentifier", "flowAliasIdentifier", "/alias/")
    if rule.kind == "functions" and "Qualifier" in use.arguments:
        return _joined(use.arguments, "FunctionName", "Qualifier", ":")
    if rule.kind == "copied_objects" and "CopySource.Bucket" in use.arguments:
        return _joined(use.arguments, "CopySource.Bucket", "CopySource.Key", "/")
    if rule.parameters == ("RequestItems",):  # a DynamoDB parameter whose keys are the tables
        keys = [name.split(".")[1] for name in use.arguments if name.startswith("RequestItems.")]
        return tuple(CodeText(parts=(key,)) for key in dict.fromkeys(keys))
    texts = _first(use, rule)
    if not texts and use.operation == "PutEvents" and any(name.startswith("Entries.") for name in use.arguments):
        return (CodeText(parts=("default",)),)  # the bus of events that do not set one
    return texts


def _first(use: CodeUse, rule: ActionRule) -> tuple[CodeText, ...]:
    return next((use.arguments[name] for name in rule.parameters if name in use.arguments), ())


def _joined(
    arguments: Mapping[str, tuple[CodeText, ...]], first: str, second: str, between: str
) -> tuple[CodeText, ...]:
    """Return two parameters as one text, in all combinations."""
    starts, ends = arguments.get(first, ()), arguments.get(second, (COMPUTED,))
    return tuple(CodeText(parts=(*start.parts, between, *end.parts)) for start in starts for end in ends)
