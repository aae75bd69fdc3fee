"""Secrets in the local Secrets Manager: those that the service stores for providers, and those of users.

moto stores secrets in memory. The service stores its managed secrets encrypted in the home, and restores them after a
restart.
"""

from __future__ import annotations

import json
from typing import Any, Final

from ...wire import invalid

OWNER: Final = "bedrock-agentcore-identity"


def put_managed(name: str, value: str, *, json_key: str, region: str, account_id: str, arn: str = "") -> str:
    """Store a secret that the service manages, and return its ARN.

    Args:
        name: The secret's name, such as `bedrock-agentcore-identity!default/apikey/search`.
        value: The secret.
        json_key: The key of the secret in the stored JSON object.
        region: The region.
        account_id: The account.
        arn: The previous ARN of the secret.
    """
    backend = _backend(account_id, region)
    if name in backend.secrets:
        secret = backend.secrets[name]
        backend.put_secret_value(name, json.dumps({json_key: value}), None, "", ["AWSCURRENT"])
    else:
        secret = backend.create_managed_secret(OWNER, name, secret_string=json.dumps({json_key: value}))
    if arn:
        secret.arn = arn
    return str(secret.arn)


def remove_managed(name: str, *, region: str, account_id: str) -> None:
    """Delete a secret that the service manages."""
    _backend(account_id, region).secrets.pop(name)


def find_external(secret_id: str, *, region: str, account_id: str) -> str:
    """Return the ARN of a user's secret.

    Args:
        secret_id: The secret's name or ARN.
        region: The region of the caller.
        account_id: The account of the caller.

    Raises:
        RefusedError: There is no such secret.
    """
    backend = _backend(account_id, region)
    if secret_id not in backend.secrets:
        raise invalid(f"Secrets Manager can't find the specified secret: {secret_id}")
    return str(backend.secrets[secret_id].arn)


def read_external(secret_id: str, json_key: str, *, region: str, account_id: str) -> str:
    """Return one value of a user's secret, which is a JSON object.

    Args:
        secret_id: The secret's name or ARN.
        json_key: The member of the secret's JSON object.
        region: The region of the caller.
        account_id: The account of the caller.

    Raises:
        RefusedError: There is no such secret, or it does not have the key.
    """
    find_external(secret_id, region=region, account_id=account_id)
    value = _backend(account_id, region).get_secret_value(secret_id, "", "AWSCURRENT")
    try:
        content: Any = json.loads(value.get("SecretString") or "")
    except ValueError:
        content = None
    if not isinstance(content, dict) or not isinstance(content.get(json_key), str):  # pyright: ignore[reportUnknownMemberType]
        raise invalid(f"The secret {secret_id} is not a JSON object with a string under the key {json_key}")
    return str(content[json_key])  # pyright: ignore[reportUnknownArgumentType]


def _backend(account_id: str, region: str) -> Any:
    from moto.secretsmanager.models import (
        secretsmanager_backends,
    )  # saves half of the start time of moto's Secrets Manager

    return secretsmanager_backends[account_id][region]
