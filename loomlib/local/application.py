"""The ASGI application: each request passes the guard and goes to the component that handles it."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import unquote

from .access.actions import Action, agentcore_action, is_signed_for, model_action, other_actions
from .access.bodies import Body
from .access.errors import AccessRefusedError
from .access.named_resources import model_resources, s3_condition_keys
from .access.permissions import require, require_owner
from .access.resource_policies import POLICY_OPERATIONS
from .admin import AdminRoutes
from .browsers import BrowserStreams, StreamPath
from .contract import AgentProcessError, SessionEndedError
from .error_forms import has_form, protocol_of
from .gateway_paths import gateway_path
from .gateways import Gateways
from .guard import Caller, Guard
from .guardrails import GuardedModel, GuardrailPlane
from .guardrails.assessing import GuardrailVersion
from .identity.capability import ServiceIdentity
from .identity.inbound import RESOURCE_METADATA
from .identity.outbound import PATHS as IDENTITY_PATHS
from .identity.outbound_log import OutboundCredentialLog
from .identity.user_pools import answer_token_request, has_token_request
from .models import ConverseModel, ModelRefusedError
from .models.native import invoke_model, invoke_model_stream
from .models.tokens import count_request
from .moto_fallback import MotoFallback
from .otlp.intake import PREFIX as OTLP_PATHS
from .otlp.intake import OtlpIntake
from .resources import Place
from .router import Router, best_match
from .runtimes.capability import Runtimes
from .runtimes.endpoints import OPERATION as PROXY_OPERATION
from .runtimes.invoke import CARD_PATH
from .runtimes.ports import read_port_address
from .tenancy import acting_for
from .websocket import WebSockets
from .wire import (
    AsgiScope,
    Receive,
    RefusedError,
    Send,
    not_found,
    not_implemented,
    read_body,
    send_body,
    send_frames,
    send_json,
    send_refusal,
)

_log = logging.getLogger(__name__)
_MODEL_REQUEST_LIMIT_BYTES = 25_000_000
_CARD_PARTS = f"invocations{CARD_PATH}".split("/")
_MODEL_CONTENT = (b"x-amzn-bedrock-content-type", b"application/json")


class Application:
    """Routes by the service of the credential scope and the raw path (an ARN in a path is percent-encoded).

    Args:
        guard: Admits or refuses requests.
        runtimes: Answers requests to runtimes.
        sockets: Answers WebSockets.
        browsers: Answers the live view of browsers.
        gateways: Answers calls of gateways.
        models: Answers Converse and ConverseStream, and InvokeModel in the supported formats.
        guardrails: The guardrails that model requests refer to.
        routers: Routers by the service name that clients sign for, in the order in which they are tried.
        moto: Answers the requests that no router handles.
        admin: Answers Loom's own requests.
        otlp: Takes telemetry.
        check_place: Refuses resources in a region or account other than the caller's, by their ARN or id.
        identity: The issuers of tokens, the resource-based policies, and the credentials with which agents call others.
        explain: Logs an error with the failed operation, and returns the message for the caller.
        account_id: The account.
        region: The region of requests that do not specify one.
        outbound: Records which credentials sessions fetch.
    """

    def __init__(
        self,
        *,
        guard: Guard,
        runtimes: Runtimes,
        sockets: WebSockets,
        browsers: BrowserStreams,
        gateways: Gateways,
        models: ConverseModel,
        guardrails: GuardrailPlane,
        routers: Mapping[str, Sequence[Router]],
        moto: MotoFallback,
        admin: AdminRoutes,
        otlp: OtlpIntake,
        check_place: Callable[..., None],
        identity: ServiceIdentity,
        explain: Callable[[BaseException, str], str],
        account_id: str,
        region: str,
        outbound: OutboundCredentialLog,
    ) -> None:
        self._account_id, self._region, self._outbound = account_id, region, outbound
        self._invoke, self._commands, self._endpoints = runtimes.invoke, runtimes.commands, runtimes.endpoints
        self._guard, self._models, self._guardrails = guard, models, guardrails
        self._sockets, self._gateways = sockets, gateways
        self._check_place, self._explain = check_place, explain
        self._routers, self._moto, self._admin, self._otlp = routers, moto, admin, otlp
        self._identity, self._issuers, self._policies = identity.outbound, identity.issuers, identity.policies
        self._inbound = identity.inbound
        self._browsers = browsers

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer one request; every failure becomes an AWS error."""
        if scope["type"] == "websocket":
            await self._sockets.answer(scope, receive, send)
            return
        request_id = str(uuid.uuid4())
        begun, service, body = False, "", None

        async def sending(message: Any) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            headers: dict[bytes, bytes] = dict(scope["headers"])
            if self._identity.pages.has(scope):
                self._guard.admit_page(scope)
                await self._identity.pages.answer(scope, sending)
                return
            if self._identity.local_server.has(scope):
                self._guard.admit_page(scope)
                await self._identity.local_server.answer(scope, receive, sending)
                return
            if has_token_request(scope):
                await answer_token_request(scope, receive, sending)
                return
            caller = self._guard.admit(scope)
            service = caller.service
            if caller.signature is not None or caller.unsigned is not None:
                body = scope["loom.body"] = await caller.read(scope, receive)
                receive = body.replayed(receive)
            await self._route(caller, scope, headers, receive, sending, request_id)
        except RefusedError as refused:
            if not begun:
                service = refused.service if isinstance(refused, AccessRefusedError) else service
                await send_refusal(send, refused, request_id, protocol=_protocol(service, scope))
        except ConnectionAbortedError:
            return  # the client disconnected while sending
        except (AgentProcessError, SessionEndedError) as broke:
            # The headers are already sent, so the response ends without its last chunk: uvicorn closes the connection
            # when an application returns before the body is complete.
            _log.warning("A response was interrupted: %s", broke)
        except Exception as error:  # noqa: BLE001 - the client gets AWS's error form, the log the traceback
            message = await asyncio.to_thread(self._explain, error, scope["method"])
            if not begun:
                refused = RefusedError("InternalServerException", 500, message)
                await send_refusal(send, refused, request_id, protocol=_protocol(service, scope))
        finally:
            if body is not None:
                body.close()

    async def _route(
        self,
        caller: Caller,
        scope: AsgiScope,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        send: Send,
        request_id: str,
    ) -> None:
        if caller.service == "bedrock-agentcore" and scope["raw_path"].startswith(b"//"):
            # As on AWS: a client may join a path to an address that ends with a slash.
            scope["raw_path"] = b"/" + scope["raw_path"].lstrip(b"/")
        path, service = scope["raw_path"].decode("latin-1"), caller.service
        if caller.unsigned is not None:
            content = cast("Body", scope["loom.body"])
            unsigned = await asyncio.to_thread(caller.unsigned.confirmed, content.opened().read())
            scope["loom.service"], scope["loom.unsigned_region"] = service, unsigned.region or self._region
            scope["loom.place"] = Place(unsigned.region or self._region, self._account_id)
            await self._moto(scope, receive, send)
            return
        if service == "public":
            documents = (issuer.document(path) for issuer in self._issuers)
            document = next((item for item in documents if item is not None), None)
            if document is None or scope["method"] != "GET":
                raise not_found(f"No {scope['method']} {path}")
            await send_json(send, document)
            return
        if service == "loom":
            if path.startswith(OTLP_PATHS):
                await self._otlp.answer(path, scope["method"], headers, receive, send, principal=caller.principal)
            else:
                require_owner(caller.principal, "loom:" + scope["method"] + path)
                await self._admin.answer(path, scope["method"], receive, send)
            return
        if service == "bedrock" and path.startswith("/model/"):
            model_id, _, operation = path.removeprefix("/model/").rpartition("/")
            account_id = caller.account_id or self._account_id
            model = unquote(model_id)
            action = model_action(operation, model, caller.region, account_id)
            keys = model_resources(model, caller.region, account_id)[1]
            require(caller.principal, *action, service, keys)
            with acting_for(self._inbound.tenant_for(caller.principal)):
                await self._converse(path, caller, headers, receive, send, request_id)
            return
        account_id = caller.account_id or self._account_id
        if service == "bedrock-agentcore" and gateway_path(scope) is not None:
            await self._gateways.answer(caller, scope, receive, send, request_id)
            return
        if service == "bedrock-agentcore":
            parts = path.removesuffix("/").split("/")  # an agent card's URL ends with a slash
            if len(parts) > 3 and parts[1] in ("runtimes", "memories") and caller.region:
                with acting_for(self._inbound.tenant_for(caller.principal)):
                    self._check_place(unquote(parts[2]), region=caller.region, account_id=account_id)
            if parts[1:2] == ["runtimes"] and (to := read_port_address(path)) is not None:
                self._permit(caller, PROXY_OPERATION, parts[2])
                await self._endpoints.answer(to, caller, scope, headers, receive, send, request_id)
                return
            if parts[3:] == _CARD_PARTS and parts[1] == "runtimes" and scope["method"] == "GET":
                self._permit(caller, "GetAgentCard", parts[2])
                await self._invoke.agent_card(unquote(parts[2]), caller, scope, headers, receive, send, request_id)
                return
            if len(parts) == 4 and parts[1] == "runtimes" and scope["method"] != "POST" and parts[3] == "invocations":
                # As on AWS, which supports neither MCP's GET stream nor its DELETE of a session.
                raise RefusedError("UnknownOperationException", 404, f"No operation matches {scope['method']} {path}")
            if len(parts) == 4 and parts[1] == "runtimes" and scope["method"] == "POST":
                if parts[3] == "invocations":
                    self._permit(caller, "InvokeAgentRuntime", parts[2])
                    await self._invoke.invoke(unquote(parts[2]), caller, scope, headers, receive, send, request_id)
                    return
                if parts[3] == "commands":
                    self._permit(caller, "InvokeAgentRuntimeCommand", parts[2])
                    await self._commands.run(unquote(parts[2]), caller, scope, headers, receive, send, request_id)
                    return
                if parts[3] == "stopruntimesession":
                    self._permit(caller, "StopRuntimeSession", parts[2])
                    await self._invoke.stop_session(
                        unquote(parts[2]), caller, scope, headers, receive, send, request_id
                    )
                    return
            if (stream := StreamPath.of(path)) is not None:
                place = Place(caller.region, account_id)
                with acting_for(self._inbound.tenant_for(caller.principal)):
                    require(caller.principal, stream.action, [self._browsers.arn(stream, place)], service)
                    await self._browsers.show(stream, place, scope["method"], send)
                return
            if path.endswith(RESOURCE_METADATA) and len(parts) == 6 and scope["method"] == "GET":
                await self._invoke.resource_metadata(unquote(parts[2]), caller, scope, send)
                return
        if service != "bedrock-agentcore" and caller.principal is not None:
            if not is_signed_for(service, caller.region):
                raise not_implemented(f"the service {service} in {caller.region}")
            keys: dict[str, str] = {}
            if service == "s3":
                path_and_query = (scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1"))
                keys = s3_condition_keys(scope["method"], *path_and_query)
            for action in self._other_actions(caller, scope):
                require(caller.principal, *action, service, keys)
        if service in ("sts", "iam"):
            is_form = has_form({name: values[0] for name, values in caller.fields.items()})
            form = cast("Body", scope["loom.body"]).opened().read() if is_form else b""
            form = form or scope["query_string"]
            caller_place = Place(caller.region, account_id)
            answer = await asyncio.to_thread(
                self._identity.web_identity.answer, service, form, caller.principal, caller_place
            )
            if answer is not None:
                await send_body(send, answer[0], 200, [*answer[1], *_request_id_header(request_id)])
                return
        if matched := best_match(self._routers.get(service, ()), scope):
            router, match = matched
            request_body = b""
            if service == "bedrock-agentcore":
                if path.startswith(IDENTITY_PATHS):
                    request_body = cast("Body", scope["loom.body"]).opened().read()
                    action = self._identity.action(match.name, request_body, caller.region, account_id)
                else:
                    action = agentcore_action(match.name, match.path_parameters, caller.region, account_id)
                if match.name in POLICY_OPERATIONS:  # a policy that denies everything can be removed
                    require(caller.principal, *action, service)
                else:
                    self._policies.require(caller.principal, *action, account_id, service)
            place = {"region": caller.region, "account_id": account_id}
            acting = acting_for(self._inbound.tenant_for(caller.principal))
            with acting, self._outbound.recording(caller.key, match.name, request_body, request_id):
                body = await router.answer(match, receive, send, **place, request_id=request_id)
            if body is None:
                return
            receive = body
        elif service == "bedrock-agentcore":
            raise not_implemented(f"{scope['method']} {path}")
        scope["loom.service"], scope["loom.place"] = service, Place(caller.region, account_id)
        scope["loom.principal"] = caller.principal
        if service == "secretsmanager":
            await asyncio.to_thread(self._identity.restore_secrets)
        with acting_for(self._inbound.tenant_for(caller.principal)):
            await self._moto(scope, receive, send)

    def _permit(self, caller: Caller, operation: str, arn: str) -> None:
        """Refuse a signed call that its key does not permit; for calls without a key the runtime's authorizer decides.

        With a policy on the runtime, the authorizer decides too: the policy may allow what the key does not.
        """
        if caller.key is not None and not self._policies.has(unquote(arn)):
            require(caller.principal, f"bedrock-agentcore:{operation}", [unquote(arn)], caller.service)

    def _other_actions(self, caller: Caller, scope: AsgiScope) -> Sequence[Action]:
        body: Body = scope["loom.body"]
        return other_actions(
            caller.service,
            scope["method"],
            scope["raw_path"].decode("latin-1"),
            scope["query_string"].decode("latin-1"),
            {name: values[0] for name, values in caller.fields.items()},
            lambda: body.opened().read(),
            region=caller.region,
            account_id=caller.account_id or self._account_id,
        )

    async def _converse(
        self,
        path: str,
        caller: Caller,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        send: Send,
        request_id: str,
    ) -> None:
        def find(key: str, version: str) -> GuardrailVersion:
            guardrail = self._guardrails.version(
                key, version, Place(caller.region, caller.account_id or self._account_id)
            )
            require(caller.principal, "bedrock:ApplyGuardrail", [guardrail.arn], caller.service)
            return guardrail

        models, response_headers = GuardedModel(self._models, find), _request_id_header(request_id)
        model_id, _, operation = path.removeprefix("/model/").rpartition("/")
        body = await read_body(receive, _MODEL_REQUEST_LIMIT_BYTES, headers.get(b"content-length", b"").decode())
        try:
            content: object = json.loads(body or b"{}")
        except RecursionError as error:
            raise RefusedError("ValidationException", 400, "The request is too deeply nested") from error
        except ValueError as error:
            raise RefusedError("ValidationException", 400, f"The request is not JSON: {error}") from error
        if not isinstance(content, dict):
            raise RefusedError("ValidationException", 400, "The request is not a JSON object")
        request = cast("dict[str, object]", content)
        try:
            if operation == "converse":
                await send_json(send, await models.converse(unquote(model_id), request), headers=response_headers)
            elif operation == "converse-stream":
                await send_frames(send, models.converse_stream(unquote(model_id), request), response_headers)
            elif operation == "invoke":
                answer = await invoke_model(models, unquote(model_id), request, request_id, headers)
                await send_json(send, answer, headers=response_headers)
            elif operation == "invoke-with-response-stream":
                frames = invoke_model_stream(models, unquote(model_id), request, request_id, headers)
                await send_frames(send, frames, (*response_headers, _MODEL_CONTENT))
            elif operation == "count-tokens":
                await send_json(send, count_request(request), headers=response_headers)
            else:
                raise not_implemented(f"{operation} of models")
        except ModelRefusedError as refused:
            raise RefusedError(refused.code, refused.status, refused.message) from refused
        except RecursionError as error:
            raise RefusedError("ValidationException", 400, "The request is too deeply nested") from error


def _protocol(service: str, scope: AsgiScope) -> str:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return protocol_of(service, headers, scope["query_string"].decode("latin-1"))


def _request_id_header(request_id: str) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"x-amzn-requestid", request_id.encode()),)
