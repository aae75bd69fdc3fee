"""The actions and ARNs of policies against AWS's own list, which cfn-lint ships (Service Authorization Reference)."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import cfnlint
import pytest

from loomlib.aws.service_models import service_operations
from loomlib.deploy.code_uses.sdk_classes import SDK_CALLABLES
from loomlib.deploy.policies import AwsPlace, KnownResources
from loomlib.deploy.policies.arns import targets
from loomlib.deploy.policies.configured import CONFIGURED_ACTIONS, SIGNED_ACTIONS
from loomlib.deploy.policies.operations import IAM_PREFIXES, OPERATIONS, PARAMETERS, WITHOUT_RESOURCES

PLACE = AwsPlace(account="123456789012", region="us-east-1")
SAMPLES = {
    "models": ("amazon.nova-lite-v1:0", "us.amazon.nova-lite-v1:0"),
    "objects": ("bucket/key",),
    "copied_objects": ("bucket/key",),
    "listed_buckets": ("bucket/prefix",),
    "functions": ("orders", "orders:live"),
    "knowledge_bases": ("KB12345678",),
    "guardrails": ("abcdefghij",),
    "memories": ("notes-0123456789",),
    "gateways": ("tools-0123456789",),
    "agents": ("shop-0123456789",),
    "code_interpreters": ("aws.codeinterpreter.v1", "mine-0123456789"),
    "browsers": ("aws.browser.v1", "mine-0123456789"),
    "web_searches": ("web-search.v1",),
    "agent_aliases": ("AGENT12345/ALIAS12345",),
    "flow_aliases": ("FLOW123456/alias/ALIAS12345",),
    "secrets": ("key",),
    "parameters": ("/shop/limit",),
    "tables": ("orders",),
    "queried_tables": ("orders",),
    "queues": ("https://sqs.us-east-1.amazonaws.com/123456789012/orders",),
    "topics": ("news",),
    "state_machines": ("machine",),
    "keys": ("0123abcd-12ab-34cd-56ef-1234567890ab",),
    "event_buses": ("bus",),
    "log_groups": ("/shop",),
    "streams": ("stream",),
    "delivery_streams": ("stream",),
    "vector_buckets": ("vectors",),
    "identities": ("Shop <shop@example.org>",),
    "api_keys": ("weather",),
    "oauth2_tokens": ("weather",),
    "api_key_secrets": ("weather",),
    "oauth2_secrets": ("weather",),
    "workload_identities": ("shop",),
}
NOT_LISTED = {"bedrock-agentcore:InvokeBrowser"}
"""In botocore's model, and not yet in cfn-lint's list."""


@cache
def _services() -> dict[str, Any]:
    file = Path(cfnlint.__file__).parent / "data" / "AdditionalSpecs" / "Policies.json"
    return json.loads(file.read_text("utf-8"))


NO_RESOURCE_NEEDED = {
    *("cloudwatch:PutMetricData", "cloudwatch:GetMetricData", "cloudwatch:ListMetrics", "translate:TranslateText"),
    *("comprehend:DetectEntities", "rekognition:DetectModerationLabels"),
}
"""They may name a resource, such as a terminology, and work without one."""


@cache
def _resources(action: str) -> list[str]:
    """The patterns of the ARNs that an action takes; none for one without resources."""
    service, _, name = action.partition(":")
    kinds = _services()[service]["Actions"][name.lower()].get("Resources", [])
    listed = {kind.lower(): value for kind, value in _services()[service]["Resources"].items()}
    formats = [text for kind in kinds for text in listed[kind.lower()]["ARNFormats"]]
    for variable, pattern in (("Partition", "aws"), ("Region", "[a-z0-9*-]*"), ("Account", r"\d*")):
        formats = [text.replace(f"${{{variable}}}", pattern) for text in formats]
    return [re.sub(r"\$\{\w+\}", "[^:]*", text) for text in formats]


def _rules() -> set[tuple[str, str]]:
    action_kinds = {(rule.action, rule.kind) for rules in OPERATIONS.values() for rule in rules}
    action_kinds |= {pair for pairs in (*CONFIGURED_ACTIONS.values(), *SIGNED_ACTIONS.values()) for pair in pairs}
    action_kinds |= {(action, "") for action in WITHOUT_RESOURCES}
    return action_kinds


def _operations_of_sdks() -> set[str]:
    operations: set[str] = set()
    for sdk in SDK_CALLABLES:
        operations |= {*sdk.operations, *(name for names in sdk.methods.values() for name in names)}
    return operations


def test_every_action_is_one_of_aws_s() -> None:
    actions = {action for action, _ in _rules()}
    for operation in _operations_of_sdks() - set(OPERATIONS):
        service, _, name = operation.partition(":")
        service_model = service_operations(service)
        assert service_model is not None, operation
        actions.add(f"{IAM_PREFIXES.get(service_model.signing_name, service_model.signing_name)}:{name}")
    missing = {
        action
        for action in actions
        if action.partition(":")[2].lower() not in _services()[action.partition(":")[0]]["Actions"]
    }
    assert missing == NOT_LISTED


@pytest.mark.parametrize(("action", "kind"), sorted(_rules()))
def test_an_action_names_resources_of_the_kinds_that_it_takes(action: str, kind: str) -> None:
    formats = _resources(action)
    if kind in ("", "metric_namespaces"):
        assert not formats or action in NO_RESOURCE_NEEDED, f"{action} takes {formats}"
        return
    assert formats, f"{action} takes no resources"
    for name in SAMPLES[kind]:
        arns = [arn for target in targets(kind, name, PLACE, KnownResources()) or () for arn in target.resources]
        assert any(re.fullmatch(text, arn) for text in formats for arn in arns), (action, arns, formats)


def test_parameters_name_resources_that_some_operation_of_their_service_takes() -> None:
    for key, kind in PARAMETERS.items():
        service, _, parameter = key.partition(".")
        service_model = service_operations(service)
        assert service_model is not None
        prefix = IAM_PREFIXES.get(service_model.signing_name, service_model.signing_name)
        if kind == "roles":
            continue
        arns = [
            arn
            for name in SAMPLES[kind]
            for target in targets(kind, name, PLACE, KnownResources()) or ()
            for arn in target.resources
        ]
        actions = [name for name, names in service_model.parameters.items() if parameter in names]
        listed = [name for name in actions if name.lower() in _services()[prefix]["Actions"]]
        assert any(
            re.fullmatch(text, arn) for name in listed for text in _resources(f"{prefix}:{name}") for arn in arns
        ), (key, arns)
