"""Facts about an account that decide whether Loom works on it: caller, permissions, quotas, models, telemetry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from loomlib.errors import AwsError

from .connection import Clients
from .errors import translated

_MOST_ACTIONS: Final = 50
"""Number of actions per SimulatePrincipalPolicy request; the response is paged in any case."""

SERVICE_CODE: Final = "bedrock-agentcore"
"""AgentCore's code in Service Quotas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountCaller:
    """The owner of the credentials in use.

    Attributes:
        account: The account's id.
        arn: The caller's ARN as STS names it.
        principal_arn: The ARN of the user or role that has the permissions; "" for the root user and federated users.
    """

    account: str
    arn: str
    principal_arn: str

    @property
    def is_root(self) -> bool:
        """Whether the caller is the account's root user."""
        return self.arn.endswith(":root")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountQuota:
    """A quota of an account in a region.

    Attributes:
        name: Its name in Service Quotas.
        value: Its value.
        adjustable: Whether AWS increases it on request.
    """

    name: str
    value: float
    adjustable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAccess:
    """Whether an account may use a foundation model in a region.

    Attributes:
        model_id: The model.
        authorized: Whether the account is authorized.
        entitled: Whether the account has an entitlement to it.
        agreed: Whether the required agreement for the model exists.
        in_region: Whether the model is available in the region.
    """

    model_id: str
    authorized: bool
    entitled: bool
    agreed: bool
    in_region: bool


def read_caller(clients: Clients) -> AccountCaller:
    """Return the owner of the credentials in use (GetCallerIdentity, and GetRole for a role's path).

    Raises:
        MissingCredentialsError: There are no credentials, or they have expired.
    """
    with translated("Reading the caller from STS", on=clients.region):
        answer: dict[str, Any] = clients.client("sts").get_caller_identity()
    arn = str(answer["Arn"])
    principal = arn if ":user/" in arn else ""
    if ":assumed-role/" in arn:
        name = arn.split(":assumed-role/", 1)[1].split("/", 1)[0]
        principal = f"{arn.split(':sts:', 1)[0]}:iam::{answer['Account']}:role/{name}"
        try:
            with translated("Reading the caller's role", on=name):
                principal = str(clients.client("iam").get_role(RoleName=name)["Role"]["Arn"])
        except AwsError:
            pass  # only simulation needs a role's path, and reports a wrong one itself
    return AccountCaller(account=str(answer["Account"]), arn=arn, principal_arn=principal)


def simulate_permissions(clients: Clients, principal_arn: str, actions: Sequence[str]) -> Mapping[str, bool]:
    """Return for each action whether IAM would allow it on any resource (SimulatePrincipalPolicy).

    Args:
        clients: The AWS clients of a connection.
        principal_arn: The user or role.
        actions: The actions, as named by IAM.

    Raises:
        AwsError: The caller is not allowed to simulate policies, or the user or role does not exist.
    """
    iam, decisions = clients.client("iam"), dict[str, bool]()
    for start in range(0, len(actions), _MOST_ACTIONS):
        request: dict[str, Any] = {
            "PolicySourceArn": principal_arn,
            "ActionNames": list(actions[start : start + _MOST_ACTIONS]),
        }
        while True:
            with translated("Simulating the caller's policies", on=principal_arn):
                answer: dict[str, Any] = iam.simulate_principal_policy(**request)
            for result in answer.get("EvaluationResults", ()):
                decisions[str(result["EvalActionName"])] = result.get("EvalDecision") == "allowed"
            marker = answer.get("Marker") if answer.get("IsTruncated") else None
            if not marker or marker == request.get("Marker"):
                break
            request["Marker"] = marker
    return decisions


DRY_CALLS: Final[Mapping[str, Callable[[Clients], Any]]] = {
    "bedrock-agentcore:ListAgentRuntimes": lambda clients: clients.control().list_agent_runtimes(maxResults=1),
    "bedrock-agentcore:ListMemories": lambda clients: clients.control().list_memories(maxResults=1),
    "logs:DescribeLogGroups": lambda clients: clients.logs().describe_log_groups(limit=1),
    "s3:ListAllMyBuckets": lambda clients: clients.s3().list_buckets(),
    "iam:ListRoles": lambda clients: clients.client("iam").list_roles(MaxItems=1),
    "bedrock:ListAgents": lambda clients: clients.client("bedrock-agent").list_agents(maxResults=1),
    "ecr:DescribeRepositories": lambda clients: clients.client("ecr").describe_repositories(maxResults=1),
    "codebuild:ListProjects": lambda clients: clients.client("codebuild").list_projects(),
}
"""Requests that change nothing, by the action that each requires."""


def try_call(clients: Clients, action: str) -> AwsError | None:
    """Send the request of `DRY_CALLS` that requires an action; return its error, or None if it succeeds.

    Args:
        clients: The AWS clients of a connection.
        action: A key of `DRY_CALLS`.
    """
    try:
        with translated("Trying a request", on=action):
            DRY_CALLS[action](clients)
    except AwsError as error:
        return error
    return None


def list_quotas(clients: Clients) -> tuple[AccountQuota, ...]:
    """Return AgentCore's quotas in the account and region (ListServiceQuotas)."""
    request: dict[str, Any] = {"ServiceCode": SERVICE_CODE, "MaxResults": 100}
    quotas: list[AccountQuota] = []
    while True:
        with translated("Reading AgentCore's quotas", on=clients.region):
            page: dict[str, Any] = clients.client("service-quotas").list_service_quotas(**request)
        for item in page.get("Quotas", ()):
            quotas.append(
                AccountQuota(
                    name=str(item.get("QuotaName", "")),
                    value=float(item.get("Value", 0.0)),
                    adjustable=bool(item.get("Adjustable")),
                )
            )
        token = page.get("NextToken")
        if not token or token == request.get("NextToken"):
            return tuple(quotas)
        request["NextToken"] = token


def read_model_access(clients: Clients, model_id: str) -> ModelAccess:
    """Return whether the account may use a foundation model (GetFoundationModelAvailability).

    Args:
        clients: The AWS clients of a connection.
        model_id: The model; the geography of an inference profile, such as `us.`, is left out.
    """
    base = foundation_model_id(model_id)
    with translated("Reading access to a model", on=base):
        answer: dict[str, Any] = clients.client("bedrock").get_foundation_model_availability(modelId=base)
    agreement: Mapping[str, Any] = answer.get("agreementAvailability") or {}
    return ModelAccess(
        model_id=base,
        authorized=answer.get("authorizationStatus") == "AUTHORIZED",
        entitled=answer.get("entitlementAvailability") == "AVAILABLE",
        agreed=agreement.get("status", "AVAILABLE") in ("AVAILABLE", "NOT_APPLICABLE"),
        in_region=answer.get("regionAvailability") == "AVAILABLE",
    )


def foundation_model_id(model_id: str) -> str:
    """Return the foundation model behind a model id, an inference profile's id, or the ARN of either."""
    name = model_id.rsplit("/", 1)[-1]
    first, _, rest = name.partition(".")
    return rest if first in ("us", "eu", "apac", "jp", "au", "ca", "us-gov", "global") and rest else name


def span_destination(clients: Clients) -> tuple[str, str]:
    """Return the destination of X-Ray's spans and its status (GetTraceSegmentDestination).

    Returns:
        "XRay" or "CloudWatchLogs" (which is Transaction Search), and "PENDING" or "ACTIVE".
    """
    with translated("Reading where X-Ray puts spans", on=clients.region):
        answer: dict[str, Any] = clients.client("xray").get_trace_segment_destination()
    return str(answer.get("Destination", "")), str(answer.get("Status", ""))


def log_group_names(clients: Clients, prefix: str, *, most: int = 50) -> tuple[str, ...]:
    """Return the names of log groups with a prefix, at most `most` (DescribeLogGroups).

    Args:
        clients: The AWS clients of a connection.
        prefix: The prefix of their names.
        most: The maximum number of names.
    """
    with translated("Listing log groups", on=prefix):
        page: dict[str, Any] = clients.logs().describe_log_groups(logGroupNamePrefix=prefix, limit=min(most, 50))
    return tuple(str(group["logGroupName"]) for group in page.get("logGroups", ()))


def may_receive_spans(clients: Clients) -> bool:
    """Return whether a resource policy of CloudWatch Logs lets X-Ray write spans (DescribeResourcePolicies)."""
    with translated("Reading the resource policies of CloudWatch Logs", on=clients.region):
        page: dict[str, Any] = clients.logs().describe_resource_policies()
    documents = [str(policy.get("policyDocument", "")) for policy in page.get("resourcePolicies", ())]
    return any("xray.amazonaws.com" in document and "aws/spans" in document for document in documents)
