"""Outbound identity of the service, assembled from its parts."""

from __future__ import annotations

import hmac
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ...resources import Behaviour, Place, Resource
from ...resources.store import ResourceStore
from ...wire import RefusedError
from ..local_issuer import DEFAULT_CLIENT
from .clients import TokenClient
from .consent import ConsentSessions
from .local_server import LocalAuthorizationServer, LocalTokenIssuer
from .pages import ConsentPages
from .plane import IdentityPlane
from .providers import (
    API_KEY_PROVIDER,
    DIRECTORY,
    OAUTH2_PROVIDER,
    VAULT,
    WORKLOAD_IDENTITY,
    ApiKeyProviderBehaviour,
    Oauth2ProviderBehaviour,
    WorkloadIdentityBehaviour,
    give_identities,
)
from .sealing import Sealer
from .tokens import WorkloadTokens
from .vault import TokenVault, VaultSettings
from .web_identity import TokenSigner, WebIdentity

_log = logging.getLogger(__name__)
OutboundHandler = Callable[[Mapping[str, Any], Place], Awaitable[dict[str, Any]]]
PATHS = "/identities/"


class OutboundIdentity:
    """Workload identities, credential providers, the token vault and users' consent of one home.

    Args:
        home: The home folder.
        store: Its resources.
        url: The service's address.
        issuer: Signs tokens for services outside AWS.
        local_issuer: The issuer for experiments.
        verify: Refuses a user's JWT that is not valid.
    """

    def __init__(
        self,
        home: Path,
        store: ResourceStore,
        *,
        url: str,
        issuer: TokenSigner,
        local_issuer: LocalTokenIssuer,
        verify: Callable[[str], Awaitable[None]],
    ) -> None:
        sealer = Sealer(home)
        self.tokens = WorkloadTokens(sealer)
        self._store = store
        self._api_keys, self._oauth2 = ApiKeyProviderBehaviour(sealer), Oauth2ProviderBehaviour(sealer, url=url)
        sessions = ConsentSessions(url)
        plane = IdentityPlane(
            store,
            self.tokens,
            api_keys=self._api_keys,
            oauth2=self._oauth2,
            vault=TokenVault(store, sealer),
            clients=TokenClient(),
            sessions=sessions,
            verify=verify,
        )
        settings = VaultSettings(store)
        self.pages = ConsentPages(plane, sessions)
        self.data_handlers: Mapping[str, OutboundHandler] = plane.handlers
        self.control_handlers: Mapping[str, OutboundHandler] = {
            "GetTokenVault": settings.get,
            "SetTokenVaultCMK": settings.set_key,
            "ResetTokenVaultKeyMaterial": settings.reset,
        }
        self._local_discovery = local_issuer.discovery_url
        self.local_server = LocalAuthorizationServer(local_issuer, url=url, is_client=self._is_client)
        self.web_identity = WebIdentity(issuer)
        self._restored = False
        self._restoring = threading.Lock()
        give_identities(store)

    @property
    def resources(self) -> Sequence[tuple[Resource, Behaviour]]:
        """The control plane's resources with their hooks."""
        return (
            (WORKLOAD_IDENTITY, WorkloadIdentityBehaviour()),
            (API_KEY_PROVIDER, self._api_keys),
            (OAUTH2_PROVIDER, self._oauth2),
        )

    def _is_client(self, client_id: str, secret: str | None) -> bool:
        """Return whether a provider with the local issuer has a client id and a secret; the secret None matches any."""
        if client_id == DEFAULT_CLIENT:
            return (
                False  # the client of the owner's tokens for users, which runtimes accept: an agent must not obtain one
            )
        for record in self._store.records(OAUTH2_PROVIDER.noun):
            config = self._oauth2.config(record)
            is_local = config["oauthDiscovery"].get("discoveryUrl") == self._local_discovery
            if not is_local or not client_id or config.get("clientId") != client_id:
                continue
            try:
                if secret is None or hmac.compare_digest(self._oauth2.secret(record).encode(), secret.encode()):
                    return True
            except RefusedError:
                continue  # its secret cannot be read
        return False

    def restore_secrets(self) -> None:
        """Put the managed secrets back into the local Secrets Manager, once: moto loses them when its process ends."""
        with self._restoring:
            if self._restored:
                return
            for resource, keeper in ((API_KEY_PROVIDER, self._api_keys), (OAUTH2_PROVIDER, self._oauth2)):
                for record in self._store.records(resource.noun):
                    try:
                        keeper.restore(record)
                    except RefusedError:
                        _log.warning(
                            "The secret of %s was not restored: its encryption key no longer exists", record.name
                        )
            self._restored = True

    def action(self, operation: str, body: bytes, region: str, account_id: str) -> tuple[str, Sequence[str]]:
        """Return the IAM action of an identity operation, and the ARNs of every resource it touches.

        AWS requires permission on the directory and the vault themselves as well as on the resources in them.

        Args:
            operation: The operation's name.
            body: The request's body.
            region: The region of the caller.
            account_id: The account of the caller.
        """
        start = f"arn:aws:bedrock-agentcore:{region}:{account_id}"
        try:
            content: Any = json.loads(body or b"{}")
        except ValueError:
            content = None
        parameters = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
        resources: list[str] = []
        if operation.startswith("GetResource"):
            kind = "apikeycredentialprovider" if operation == "GetResourceApiKey" else "oauth2credentialprovider"
            workload = self._workload_of(parameters.get("workloadIdentityToken"))
            resources = [f"{VAULT}/{kind}/{parameters.get('resourceCredentialProviderName')}", VAULT]
            resources += [f"{DIRECTORY}/workload-identity/{workload}", DIRECTORY]
        elif "WorkloadIdentit" in operation or "WorkloadAccessToken" in operation:
            name = parameters.get("workloadName") or parameters.get("name")
            resources = [f"{DIRECTORY}/workload-identity/{name}"] * bool(name) + [DIRECTORY]
        elif "CredentialProvider" in operation:
            kind = "apikeycredentialprovider" if "ApiKey" in operation else "oauth2credentialprovider"
            name = parameters.get("name")
            resources = [f"{VAULT}/{kind}/{name}"] * bool(name) + [VAULT]
        else:
            resources = [VAULT]
        return f"bedrock-agentcore:{operation}", [f"{start}:{end}" for end in resources]

    def _workload_of(self, token: object) -> str:
        try:
            return self.tokens.read(str(token)).name
        except RefusedError:
            return "*"  # the operation itself refuses the token
