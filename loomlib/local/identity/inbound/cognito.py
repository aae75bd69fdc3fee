"""moto's Cognito user pools as issuers: the URL is AWS's, but no request is sent to AWS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..addresses import IssuerError
from ..user_pools import pool_address, pool_backends


class CognitoPools:
    """The user pools of the local Cognito."""

    def documents(self, discovery_url: str) -> tuple[str, Mapping[str, Any]] | None:
        """Return a pool's issuer name (`iss`) and its keys; None for any other URL.

        Raises:
            IssuerError: The local Cognito has no such pool.
        """
        address = pool_address(discovery_url)
        if address is None:
            return None
        issuer, region, pool_id = address
        for backend in pool_backends(region):
            if pool_id in backend.user_pools:
                from moto.cognitoidp.responses import CognitoIdpJsonWebKeyResponse

                return issuer, json.loads(CognitoIdpJsonWebKeyResponse.json_web_key)
        raise IssuerError(f"the local Cognito has no user pool {pool_id} in {region}")
