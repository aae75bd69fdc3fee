"""The data plane of outbound identity: workload access tokens, API keys, OAuth2 tokens and users' consent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ...resources import Place, ResourceRecord
from ...resources.store import ResourceStore
from ...tenancy import new_tenant, owns_row, sees_resource
from ...wire import RefusedError, invalid, not_found
from .clients import Client, GrantRefusedError, TokenClient, TokenRequest
from .consent import ConsentSession, ConsentSessions
from .providers import (
    API_KEY_PROVIDER,
    OAUTH2_PROVIDER,
    WORKLOAD_IDENTITY,
    ApiKeyProviderBehaviour,
    Oauth2ProviderBehaviour,
)
from .tokens import OTHER_TENANT, Workload, WorkloadTokens
from .vault import StoredToken, TokenKey, TokenVault

Parameters = Mapping[str, Any]
Result = dict[str, Any]
_MACHINE: Final = "M2M"
_USER: Final = "USER_FEDERATION"
_NO_RETURN_URL: Final = (  # AWS's message, also if the identity has URLs and the request does not name one
    "You must register and use at least one ResourceOauth2ReturnUrl on your workload identity to use this flow"
)


class IdentityPlane:
    """Answers the data plane's identity operations.

    Args:
        store: The home's resources.
        tokens: Creates and reads workload access tokens.
        api_keys: Provides the API keys.
        oauth2: Provides the OAuth2 clients.
        vault: Stores tokens.
        clients: Requests tokens from authorization servers.
        sessions: Users' consent.
        verify: Refuses a user's JWT that is not valid.
    """

    def __init__(
        self,
        store: ResourceStore,
        tokens: WorkloadTokens,
        *,
        api_keys: ApiKeyProviderBehaviour,
        oauth2: Oauth2ProviderBehaviour,
        vault: TokenVault,
        clients: TokenClient,
        sessions: ConsentSessions,
        verify: Callable[[str], Awaitable[None]],
    ) -> None:
        self._store, self._tokens, self._api_keys, self._oauth2 = store, tokens, api_keys, oauth2
        self._vault, self._clients, self._sessions, self._verify = vault, clients, sessions, verify
        self._asking: dict[str, asyncio.Lock] = {}
        self.handlers: Mapping[str, Callable[[Parameters, Place], Awaitable[Result]]] = {
            "GetWorkloadAccessToken": self._workload_token,
            "GetWorkloadAccessTokenForUserId": self._workload_token,
            "GetWorkloadAccessTokenForJWT": self._workload_token,
            "GetResourceApiKey": self._api_key,
            "GetResourceOauth2Token": self._oauth2_token,
            "CompleteResourceTokenAuth": self._complete,
        }

    async def _workload_token(self, parameters: Parameters, place: Place) -> Result:
        name: str = parameters["workloadName"]
        identity = self._workload(name, place)
        if not sees_resource(identity.tenant):
            raise _no_workload(name)
        if identity.internal.get("linked"):
            # AWS: an agent receives its runtime's token with each invocation, and cannot request it at any other time.
            raise invalid("WorkloadIdentity is linked to a service and cannot retrieve an access token by the caller")
        user_id, user_token = parameters.get("userId") or "", parameters.get("userToken") or ""
        if user_token:
            await self._verify(user_token)
        token = self._tokens.issue(
            name, place, user_id=user_id, user_token=user_token, tenant=new_tenant(identity.tenant)
        )
        _require_own(self._tokens.read(token).tenant, "The user token belongs to another tenant")
        return {"workloadAccessToken": token}

    async def _api_key(self, parameters: Parameters, place: Place) -> Result:
        self._caller(parameters, place)
        provider = self._provider(API_KEY_PROVIDER.noun, parameters, place)
        return {"apiKey": await asyncio.to_thread(self._api_keys.secret, provider)}

    async def _oauth2_token(self, parameters: Parameters, place: Place) -> Result:
        workload = self._caller(parameters, place)
        provider = self._provider(OAUTH2_PROVIDER.noun, parameters, place)
        flow: str = parameters["oauth2Flow"]
        if flow != _MACHINE and not workload.user:
            raise invalid(
                f"{flow} requires a workload access token for a user: one that was created for a user id or for a JWT"
            )
        target = TokenRequest(
            scopes=parameters["scopes"],
            resources=parameters.get("resources") or (),
            audiences=parameters.get("audiences") or (),
            custom=parameters.get("customParameters") or {},
        )
        key = TokenKey(
            workload=workload.name,
            user="" if flow == _MACHINE else workload.user,
            flow=flow,
            scopes=tuple(target.scopes),
            resources=tuple(target.resources),
            audiences=tuple(target.audiences),
            tenant=workload.tenant,
            # A user's are parameters of the consent page, such as `prompt`, and not of the token.
            custom=() if flow == _USER else tuple(sorted(target.custom.items())),
        )
        if flow == _USER:
            return await self._federated(parameters, provider, key, target)
        # Calls that need the same token wait for one request.
        async with self._lock(provider, key):
            token = None if parameters.get("forceAuthentication") else self._vault.find(provider, key)
            if token is None or not self._vault.is_valid(token):
                client = await self._client(provider)
                if flow == _MACHINE:
                    token = await self._clients.client_credentials(client, target)
                elif workload.user_token:
                    token = await self._clients.on_behalf_of(client, target, workload.user_token)
                else:
                    raise invalid(f"{flow} requires a workload access token that was created for a JWT")
                await self._vault.keep(provider, key, token)
        return {"accessToken": token.access_token}

    async def _federated(
        self, parameters: Parameters, provider: ResourceRecord, key: TokenKey, target: TokenRequest
    ) -> Result:
        """Return the user's token, or the URL where the user gives consent."""
        if not parameters.get("forceAuthentication") and (token := await self._current(provider, key)):
            return {"accessToken": token.access_token}
        if uri := parameters.get("sessionUri"):
            session = self._sessions.find(uri)
            if session is None or session.key != key or session.provider.arn != provider.arn:
                raise invalid("sessionUri is not a session of this user and provider, or has expired")
            status = "FAILED" if session.failure else "IN_PROGRESS"
            return {"authorizationUrl": self._sessions.page(session), "sessionUri": uri, "sessionStatus": status}
        return_url = parameters.get("resourceOauth2ReturnUrl")
        if not return_url:
            raise invalid(_NO_RETURN_URL)
        identity = self._workload(key.workload, provider.place)
        if return_url not in (identity.document.get("allowedResourceOauth2ReturnUrls") or ()):
            raise invalid(
                f"resourceOauth2ReturnUrl {return_url} is not one of the allowedResourceOauth2ReturnUrls of "
                f"{identity.name}"
            )
        session = self._sessions.begin(
            provider, key, target, return_url=return_url, custom_state=parameters.get("customState") or ""
        )
        return {
            "authorizationUrl": self._sessions.page(session),
            "sessionUri": session.uri,
            "sessionStatus": "IN_PROGRESS",
        }

    async def _current(self, provider: ResourceRecord, key: TokenKey) -> StoredToken | None:
        """Return the user's stored token, renewed if it has expired; None when the user must consent again."""
        async with self._lock(provider, key):
            token = self._vault.find(provider, key)
            if token is None or self._vault.is_valid(token):
                return token
            if not token.refresh_token:
                return None
            try:
                token = await self._clients.refresh(await self._client(provider), token)
            except GrantRefusedError:
                await self._vault.drop(provider, key)
                return None
            await self._vault.keep(provider, key, token)
            return token

    async def _complete(self, parameters: Parameters, place: Place) -> Result:
        session = self._sessions.find(parameters["sessionUri"])
        if session is None or session.provider.place != place or not owns_row(session.key.tenant):
            raise not_found("The authorization session does not exist or has expired")
        identifier: Mapping[str, str] = parameters["userIdentifier"]
        if "userId" in identifier:
            user = f"id:{identifier['userId']}"
        else:
            await self._verify(identifier["userToken"])
            user = self._tokens.user_of(identifier["userToken"])[0]
        if user != session.key.user:
            raise RefusedError("AccessDeniedException", 403, "The user is not the one who started the authorization")
        if session.failure:
            raise invalid(f"The authorization failed: {session.failure}")
        if not session.code:
            raise invalid("The user has not given consent yet")
        await self._redeem(session)
        return {}

    async def _redeem(self, session: ConsentSession) -> None:
        """Exchange a session's authorization code, which is valid for one request, and store the token."""
        code, session.code = session.code, ""
        try:
            token = await self._clients.code(
                await self._client(session.provider),
                code=code,
                verifier=session.verifier,
                redirect_uri=self.redirect_uri(session.provider),
            )
        except RefusedError as refused:
            session.failure = refused.message
            raise
        await self._vault.keep(session.provider, session.key, token)
        self._sessions.end(session)

    def redirect_uri(self, provider: ResourceRecord) -> str:
        """Return the URL to which the authorization server redirects users."""
        return str(self._oauth2.members(provider)["callbackUrl"])

    async def _client(self, provider: ResourceRecord) -> Client:
        config = self._oauth2.config(provider)
        return Client(
            client_id=config.get("clientId") or "",
            secret=await asyncio.to_thread(self._oauth2.secret, provider),
            config=config,
            basic=self._oauth2.sends_basic(provider),
        )

    async def authorization_server(self, provider: ResourceRecord) -> tuple[str, dict[str, Any]]:
        """Return a provider's client id and its authorization server's metadata."""
        client = await self._client(provider)
        return client.client_id, await self._clients.metadata(client)

    def _caller(self, parameters: Parameters, place: Place) -> Workload:
        """Return the workload of the token in a request."""
        workload = self._tokens.read(parameters["workloadIdentityToken"])
        if workload.place != place:
            raise invalid("The workload access token belongs to another region or account")
        _require_own(workload.tenant, OTHER_TENANT)
        self._workload(workload.name, place)
        return workload

    def _workload(self, name: str, place: Place) -> ResourceRecord:
        record = self._store.find(WORKLOAD_IDENTITY.noun, place, name, by_name=True)
        if record is None:
            raise _no_workload(name)
        return record

    def _provider(self, kind: str, parameters: Parameters, place: Place) -> ResourceRecord:
        name: str = parameters["resourceCredentialProviderName"]
        record = self._store.find(kind, place, name, by_name=True)
        if record is None or not sees_resource(record.tenant):
            raise not_found(f"Credential provider with name: {name} does not exist")
        return record

    def _lock(self, provider: ResourceRecord, key: TokenKey) -> asyncio.Lock:
        if len(self._asking) > 1_000:
            self._asking = {name: lock for name, lock in self._asking.items() if lock.locked()}
        return self._asking.setdefault(f"{provider.arn}/{key.digest}", asyncio.Lock())


def _no_workload(name: str) -> RefusedError:
    return not_found(f"WorkloadIdentity with name: {name} does not exist")


def _require_own(tenant: str, message: str) -> None:
    if not owns_row(tenant):
        raise RefusedError("AccessDeniedException", 403, message)
