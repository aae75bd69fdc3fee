"""Callers with the keys of roles that name a tenant, or none."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

_numbers = itertools.count(1)
ROLE_POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


class Tenant:
    """boto3 clients with the key of a role that has a tenant's tag, or none."""

    def __init__(self, aws: Any, name: str) -> None:
        role = f"role-{name or 'nobody'}-{next(_numbers)}"
        iam, tags = aws.client("iam"), [{"Key": "tenant_id", "Value": name}] if name else []
        arn = iam.create_role(RoleName=role, AssumeRolePolicyDocument="{}", Tags=tags)["Role"]["Arn"]
        iam.put_role_policy(RoleName=role, PolicyName="all", PolicyDocument=json.dumps(ROLE_POLICY))
        self.name, self.arn, self._aws = name, arn, aws
        self._keys = aws.client("sts").assume_role(RoleArn=arn, RoleSessionName="tests")["Credentials"]
        self.control, self.data = self.client("bedrock-agentcore-control"), self.client("bedrock-agentcore")

    @property
    def credentials(self) -> Credentials:
        """The credentials of the assumed role, to sign a request."""
        keys = self._keys
        return Credentials(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])

    def client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self._aws.state.url,
            region_name=self._aws.state.region,
            aws_access_key_id=self._keys["AccessKeyId"],
            aws_secret_access_key=self._keys["SecretAccessKey"],
            aws_session_token=self._keys["SessionToken"],
            config=Config(retries={"total_max_attempts": 1}),
        )

    def close(self) -> None:
        self.control.close()
        self.data.close()


def refusal(call: Callable[..., Any], *given: Any, **named: Any) -> str:
    """The error code of a refused call."""
    with pytest.raises(ClientError) as caught:
        call(*given, **named)
    return caught.value.response["Error"]["Code"]
