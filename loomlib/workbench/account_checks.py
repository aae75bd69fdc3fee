"""Checks of an AWS account: what Loom needs there, what is missing, and the fix of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ..aws import Clients, account_facts
from ..aws.account_facts import AccountCaller
from ..errors import AccessDeniedError, AwsError, LoomError, MissingCredentialsError
from ..presentation.formats import number
from .sampling import DEFAULT_MODEL

CheckState = Literal["passed", "failed", "unknown"]
"""The result of a check; "unknown" if the account does not permit the check."""

PERMISSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "invoke and measure agents": (
        "bedrock-agentcore:GetAgentRuntime",
        "bedrock-agentcore:ListAgentRuntimeEndpoints",
        "bedrock-agentcore:InvokeAgentRuntime",
        "bedrock-agentcore:StopRuntimeSession",
        "logs:FilterLogEvents",
        "logs:DescribeLogStreams",
    ),
    "read traces": ("logs:StartQuery", "logs:GetQueryResults", "logs:DescribeLogGroups"),
    "deploy agents": (
        "bedrock-agentcore:ListAgentRuntimes",
        "bedrock-agentcore:CreateAgentRuntime",
        "bedrock-agentcore:UpdateAgentRuntime",
        "bedrock-agentcore:DeleteAgentRuntime",
        "bedrock-agentcore:TagResource",
        "bedrock-agentcore:ListTagsForResource",
        "iam:GetRole",
        "iam:CreateRole",
        "iam:GetRolePolicy",
        "iam:PutRolePolicy",
        "iam:TagRole",
        "iam:PassRole",
        "s3:CreateBucket",
        "s3:PutBucketPublicAccessBlock",
        "s3:GetObject",
        "s3:PutObject",
    ),
    "manage versions and endpoints": (
        "bedrock-agentcore:ListAgentRuntimeVersions",
        "bedrock-agentcore:GetAgentRuntimeEndpoint",
        "bedrock-agentcore:CreateAgentRuntimeEndpoint",
        "bedrock-agentcore:UpdateAgentRuntimeEndpoint",
        "bedrock-agentcore:DeleteAgentRuntimeEndpoint",
    ),
    "build containers": (
        "ecr:CreateRepository",
        "ecr:DescribeRepositories",
        "ecr:DescribeImages",
        "codebuild:CreateProject",
        "codebuild:StartBuild",
        "codebuild:BatchGetBuilds",
    ),
    "import Bedrock agents": (
        "bedrock:ListAgents",
        "bedrock:GetAgentVersion",
        "bedrock:ListAgentAliases",
        "bedrock:ListAgentActionGroups",
        "bedrock:GetAgentActionGroup",
        "bedrock:ListAgentKnowledgeBases",
        "bedrock:ListAgentCollaborators",
        "bedrock:InvokeAgent",
    ),
    "read memories": (
        "bedrock-agentcore:ListMemories",
        "bedrock-agentcore:GetMemory",
        "bedrock-agentcore:ListEvents",
        "bedrock-agentcore:RetrieveMemoryRecords",
    ),
}
"""IAM actions by the task that requires them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountCheck:
    """The result of one check.

    Attributes:
        name: What was checked.
        state: `passed`, `failed`, or `unknown` if the account does not permit the check.
        seen: What was found.
        fix: What to do if it did not pass, "" if it did.
    """

    name: str
    state: CheckState
    seen: str
    fix: str = ""


def check_account(clients: Clients, *, models: Sequence[str] = (DEFAULT_MODEL,)) -> Iterator[AccountCheck]:
    """Yield the checks of an account, each as soon as it is done. Nothing is changed.

    Args:
        clients: The AWS clients of a connection.
        models: Models whose access is checked: ids, inference profiles or ARNs.
    """
    yield _region(clients)
    try:
        caller = account_facts.read_caller(clients)
    except LoomError as error:
        yield AccountCheck(name="credentials", state="failed", seen=_explained(error), fix=error.try_)
        return
    yield AccountCheck(name="credentials", state="passed", seen=f"account {caller.account}, {caller.arn}")
    yield from _permissions(clients, caller)
    yield _guarded("quotas", lambda: _quotas(clients))
    for model in models:
        yield _guarded(f"model {account_facts.foundation_model_id(model)}", lambda model=model: _model(clients, model))
    yield _guarded("log groups", lambda: _log_groups(clients))
    yield _guarded("Transaction Search", lambda: _spans(clients))


def _region(clients: Clients) -> AccountCheck:
    try:
        region = clients.region
    except MissingCredentialsError as error:
        return AccountCheck(name="region", state="failed", seen=error.what, fix=error.try_)
    error = account_facts.try_call(clients, "bedrock-agentcore:ListAgentRuntimes")
    if error is not None and not isinstance(error, AccessDeniedError | MissingCredentialsError):
        return AccountCheck(
            name="region",
            state="failed",
            seen=f"AgentCore does not respond in {region}: {_explained(error)}",
            fix="a region that has AgentCore, such as us-east-1, us-west-2 or eu-central-1",
        )
    return AccountCheck(name="region", state="passed", seen=f"AgentCore responds in {region}")


def _permissions(clients: Clients, caller: AccountCaller) -> Iterator[AccountCheck]:
    if caller.is_root:
        yield AccountCheck(
            name="permissions",
            state="unknown",
            seen="the root user has all permissions",
            fix="a separate role or user: AWS advises against working as the root user",
        )
        return
    actions = sorted({action for group in PERMISSIONS.values() for action in group})
    try:
        decisions = account_facts.simulate_permissions(clients, caller.principal_arn, actions)
    except LoomError as error:
        yield from _dry_calls(clients, error)
        return
    for purpose, needed in PERMISSIONS.items():
        missing = [action for action in needed if not decisions.get(action, False)]
        allowed = len(needed) - len(missing)
        yield AccountCheck(
            name=f"permissions to {purpose}",
            state="failed" if missing else "passed",
            seen=f"{allowed} of {len(needed)} actions are allowed, as simulated for any resource"
            + (f"; missing: {', '.join(missing)}" if missing else ""),
            fix=f"allow {', '.join(missing)} in a policy of {caller.principal_arn}" if missing else "",
        )


def _dry_calls(clients: Clients, reason: LoomError) -> Iterator[AccountCheck]:
    """Yield the results of requests that change nothing, where permissions cannot be simulated."""
    refused: list[str] = []
    unclear: list[str] = []
    for action in account_facts.DRY_CALLS:
        error = account_facts.try_call(clients, action)
        if isinstance(error, AccessDeniedError):
            refused.append(action)
        elif error is not None:
            unclear.append(action)
    finding = (
        f"the permissions cannot be simulated ({_explained(reason)}), so requests that change nothing were tried; "
    )
    tried = len(account_facts.DRY_CALLS)
    finding += f"refused: {', '.join(refused)}" if refused else f"{tried - len(unclear)} of {tried} are allowed"
    finding += f"; inconclusive: {', '.join(unclear)}" if unclear else ""
    yield AccountCheck(
        name="permissions",
        state="failed" if refused else "unknown",
        seen=f"{finding}. Whether the caller may create or change resources is unknown",
        fix=f"allow {', '.join(refused)}" if refused else "allow iam:SimulatePrincipalPolicy, and check again",
    )


def _quotas(clients: Clients) -> AccountCheck:
    quotas = account_facts.list_quotas(clients)
    if not quotas:
        return AccountCheck(name="quotas", state="unknown", seen="Service Quotas lists no AgentCore quotas here")
    sessions = [quota for quota in quotas if "session" in quota.name.lower()] or list(quotas[:3])
    limits = ", ".join(f"{quota.name}: {number(quota.value)}" for quota in sessions[:4])
    none = [quota.name for quota in quotas if quota.value <= 0]
    return AccountCheck(
        name="quotas",
        state="failed" if none else "passed",
        seen=limits + (f"; 0 for {', '.join(none)}" if none else ""),
        fix="request an increase in the Service Quotas console" if none else "",
    )


def _model(clients: Clients, model: str) -> AccountCheck:
    access = account_facts.read_model_access(clients, model)
    problems = {
        f"not available in {clients.region}": access.in_region,
        "its agreement is not accepted": access.agreed,
        "the account is not authorized": access.authorized,
        "the account has no entitlement": access.entitled,
    }
    missing = [problem for problem, is_fine in problems.items() if not is_fine]
    return AccountCheck(
        name=f"model {access.model_id}",
        state="failed" if missing else "passed",
        seen=", ".join(missing) if missing else f"available in {clients.region}",
        fix="choose another model, or request access in the Bedrock console, Model access" if missing else "",
    )


def _log_groups(clients: Clients) -> AccountCheck:
    names = account_facts.log_group_names(clients, "/aws/bedrock-agentcore/runtimes/")
    count = "50 or more" if len(names) >= 50 else str(len(names))
    none = "no log group of a runtime yet; the first call of an endpoint creates its log group"
    finding = f"log groups of runtimes: {count}" if names else none
    return AccountCheck(name="log groups", state="passed", seen=finding)


def _spans(clients: Clients) -> AccountCheck:
    destination, status = account_facts.span_destination(clients)
    if destination != "CloudWatchLogs":
        return AccountCheck(
            name="Transaction Search",
            state="failed",
            seen=f"it is off: X-Ray sends spans to {destination or 'an unknown place'}, where Loom cannot read them",
            fix="aws xray update-trace-segment-destination --destination CloudWatchLogs, after adding a CloudWatch "
            "Logs resource policy that allows xray.amazonaws.com to put log events into aws/spans",
        )
    if status != "ACTIVE":
        return AccountCheck(
            name="Transaction Search",
            state="failed",
            seen=f"it is {status.lower() or 'not active'}",
            fix="wait a few minutes until it is active, then check again",
        )
    if not account_facts.may_receive_spans(clients):
        return AccountCheck(
            name="Transaction Search",
            state="failed",
            seen="it is on, but no CloudWatch Logs resource policy allows X-Ray to write to aws/spans",
            fix="aws logs put-resource-policy with logs:PutLogEvents on aws/spans for xray.amazonaws.com",
        )
    return AccountCheck(name="Transaction Search", state="passed", seen="on: spans go to the log group aws/spans")


def _guarded(name: str, check: Callable[[], AccountCheck]) -> AccountCheck:
    try:
        return check()
    except AccessDeniedError as error:
        return AccountCheck(name=name, state="unknown", seen=_explained(error), fix="allow the request that was denied")
    except AwsError as error:
        return AccountCheck(name=name, state="unknown", seen=_explained(error), fix=error.try_)


def _explained(error: LoomError) -> str:
    return error.what + (f" ({error.on})" if error.on else "")
