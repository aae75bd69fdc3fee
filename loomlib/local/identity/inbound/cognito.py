"""moto's Cognito user pools as issuers: the address is AWS's, and nothing is asked of AWS."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any, Final

from ..addresses import IssuerError

_ADDRESS: Final = re.compile(
    r"(https://cognito-idp\.([a-z0-9-]+)\.amazonaws\.com/(\2_[0-9A-Za-z]+))/\.well-known/openid-configuration"
)


class CognitoPools:
    """The user pools of the local Cognito."""

    def documents(self, discovery_url: str) -> tuple[str, Mapping[str, Any]] | None:
        """Return a pool's name as an issuer and its keys; None for any other address.

        Raises:
            IssuerError: The local Cognito has no such pool.
        """
        address = _ADDRESS.fullmatch(discovery_url)
        if address is None:
            return None
        issuer, region, pool_id = address.groups()
        # moto's Cognito takes a while to import: if nobody has used it, it has no pools.
        models: Any = sys.modules.get("moto.cognitoidp.models")
        accounts: Any = models.cognitoidp_backends if models else {}
        for account in list(accounts.values()):
            backend = account.get(region)
            if backend is not None and pool_id in backend.user_pools:
                from moto.cognitoidp.responses import CognitoIdpJsonWebKeyResponse

                return issuer, json.loads(CognitoIdpJsonWebKeyResponse.json_web_key)
        raise IssuerError(f"the local Cognito has no user pool {pool_id} in {region}")
