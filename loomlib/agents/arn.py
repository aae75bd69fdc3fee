"""ARNs of AgentCore runtimes, in every AWS partition."""

from __future__ import annotations

import re
from dataclasses import dataclass

from loomlib.errors import InvalidArnError

# botocore's service model requires a ten-character suffix; hand-made and older ids differ, so any suffix is accepted.
_FORM = re.compile(
    r"arn:(?P<partition>aws(?:-[a-z0-9-]+)?):bedrock-agentcore:(?P<region>[a-z0-9-]+):(?P<account_id>[0-9]{12}):"
    r"runtime/(?P<runtime_id>[a-zA-Z][a-zA-Z0-9_]{0,99}-[a-zA-Z0-9]{1,48})"
)
_EXAMPLE = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/name-AbC123dEf4"
_LOG_GROUPS = "/aws/bedrock-agentcore/runtimes/"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeArn:
    """The parts of a runtime's ARN.

    Attributes:
        partition: The AWS partition, such as `aws`.
        region: The AWS region.
        account_id: The AWS account.
        runtime_id: The runtime's id.

    Examples:
        >>> RuntimeArn.parse("arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/name-AbC123dEf4").region
        'us-east-1'
    """

    partition: str
    region: str
    account_id: str
    runtime_id: str

    def __post_init__(self) -> None:
        if not _FORM.fullmatch(str(self)):
            raise InvalidArnError(
                "These are not the parts of an AgentCore runtime ARN", on=repr(str(self)), try_=_EXAMPLE
            )

    @classmethod
    def parse(cls, text: str) -> RuntimeArn:
        """Parse an ARN; surrounding white space is ignored.

        Raises:
            InvalidArnError: `text` is not the ARN of a runtime; the message names the wrong part.
        """
        cleaned = text.strip()
        if match := _FORM.fullmatch(cleaned):
            return cls(**match.groupdict())
        raise InvalidArnError(f"Not an AgentCore runtime ARN: {_fault(cleaned)}", on=repr(cleaned[:200]), try_=_EXAMPLE)

    @property
    def name(self) -> str:
        """The runtime's name: its id without the random suffix."""
        return self.runtime_id.rpartition("-")[0]

    def log_group(self, qualifier: str = "DEFAULT") -> str:
        """Return the CloudWatch log group of one endpoint (each endpoint of a runtime has its own)."""
        return f"{_LOG_GROUPS}{self.runtime_id}-{qualifier}"

    def __str__(self) -> str:
        return f"arn:{self.partition}:bedrock-agentcore:{self.region}:{self.account_id}:runtime/{self.runtime_id}"


def _fault(text: str) -> str:
    parts = text.split(":", 5)
    if len(parts) < 6 or parts[0] != "arn":
        return "an ARN has six parts separated by colons"
    _, partition, service, region, account, resource = parts
    if not re.fullmatch(r"aws(-[a-z0-9-]+)?", partition):
        return f"{partition!r} is not an AWS partition"
    if service != "bedrock-agentcore":
        return f"it belongs to the service {service!r}"
    if not re.fullmatch(r"[a-z0-9-]+", region):
        return f"{region!r} is not a region"
    if not re.fullmatch(r"[0-9]{12}", account):
        return f"{account!r} is not an account id (twelve digits)"
    if "/runtime-endpoint/" in resource:
        return "it names an endpoint; give the runtime's ARN and the endpoint's name as qualifier"
    if not resource.startswith("runtime/"):
        return f"{resource.partition('/')[0]!r} is not a runtime"
    return f"{resource.removeprefix('runtime/')!r} is not a runtime id (a name, a hyphen and a suffix)"
