"""The host names of AWS that this service answers for."""

from __future__ import annotations

import re
from typing import Final

DOMAINS: Final = ("amazonaws.com", "amazonaws.com.cn", "api.aws", "amazoncognito.com")
"""The only domains for which the local certificate authority may issue certificates."""

_REGION = r"[a-z]{2}(-[a-z]{2,15}){1,3}-\d{1,2}"
_SERVED: Final = re.compile(
    rf"((bedrock-agentcore|bedrock-agentcore-control|bedrock-runtime|cognito-idp|sts)\.{_REGION}"
    r"\.(amazonaws\.com(\.cn)?|api\.aws)"
    rf"|[a-z0-9-]{{1,63}}\.gateway\.bedrock-agentcore\.{_REGION}\.amazonaws\.com"
    rf"|[a-z0-9-]{{1,63}}\.auth\.{_REGION}\.amazoncognito\.com)\Z"
)


def is_aws_host(host: str) -> bool:
    """Return whether a host name, without a port, belongs to AWS.

    Examples:
        >>> is_aws_host("data.s3.us-east-1.amazonaws.com")
        True
        >>> is_aws_host("amazonaws.com.example.org")
        False
    """
    return f".{host.lower().rstrip('.')}".endswith(tuple(f".{domain}" for domain in DOMAINS))


def is_served(host: str) -> bool:
    """Return whether a host name, with or without the port 443, is one that this service answers for.

    Examples:
        >>> is_served("bedrock-agentcore.us-east-1.amazonaws.com")
        True
        >>> is_served("data.s3.us-east-1.amazonaws.com")
        False
    """
    return _SERVED.match(host.lower().removesuffix(":443")) is not None


def address_of(host: str) -> str:
    """Return the address at which a client reached this service: AWS's names are https, through the proxy.

    Examples:
        >>> address_of("127.0.0.1:4321")
        'http://127.0.0.1:4321'
        >>> address_of("bedrock-agentcore.us-east-1.amazonaws.com")
        'https://bedrock-agentcore.us-east-1.amazonaws.com'
    """
    return f"{'https' if is_served(host) else 'http'}://{host}"
