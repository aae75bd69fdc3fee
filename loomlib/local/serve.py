"""The service itself: its components put together, one uvicorn server, and an orderly end.

The parts of moto that most services need are imported here, before any thread runs: its modules import one another in
circles, and a second thread would see them half-initialised. Its web application is loaded by the first request to it,
under a lock.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import cast

from uvicorn.config import Config

from .access.assumed_roles import AssumedRoles
from .access.keys import Key, Keyring
from .access.protocol import BoundedProtocol, most_connections
from .access.session_keys import SessionKeys
from .admin import AdminRoutes
from .agentcore import agentcore_routers
from .application import Application
from .aws_names.proxy import AwsProxy
from .aws_names.variables import NODE_HOOK, session_certificates, session_variables
from .bedrock import add_bedrock
from .bedrock_agents import AgentSandboxes
from .browsers.capability import add_browsers
from .capabilities import Capabilities, ServiceContext
from .cloudformation import Stacks
from .contract import Dial
from .evaluations.capability import add_evaluations
from .functions.capability import add_functions
from .gateways.capability import add_gateways
from .guard import Guard, listening_socket
from .identity.capability import add_identity
from .identity.outbound_log import OutboundCredentialLog
from .interpreters.capability import add_interpreters
from .leases import ServiceLeases
from .memory.capability import add_memory
from .models.starting import model_of
from .moto_fallback import MotoFallback
from .quotas import QuotaKeeper, Quotas
from .recovering import explain_failure, recover_home
from .resources.engine import ResourceEngine
from .resources.migration import import_older_databases
from .resources.store import ResourceStore
from .router import Router
from .runtimes.capability import add_runtimes
from .sandbox.isolation import choose
from .sandbox.limits import Limits
from .server import ServiceServer, until_started
from .sessions import OtlpTarget, SessionPool
from .sessions.pool_settings import ServeEndpoint
from .state import ACCOUNT_ID, ServiceLock, ServiceOptions, ServiceState, make_home, read_state, write_state
from .telemetry import ServiceTelemetry
from .trace_settings import TraceSettings
from .web_search.capability import add_web_search
from .websocket import WebSockets
from .websocket.protocol import ServedWebSocket, largest

_log = logging.getLogger(__name__)
_DEFAULT_REGION = "us-east-1"
_KEEP_ALIVE_S = 3_600  # a client's pooled connection must not close between two measured invocations
# A thread of moto's that is busy for 200 ms must not hold the event loop for the default 5 ms at a time.
_SWITCH_INTERVAL_S = 0.0005


def serve(
    home: Path,
    options: ServiceOptions,
    *,
    persistent: bool,
    host: str = "127.0.0.1",
    on_ready: Callable[[ServiceState], None] | None = None,
    model_settings: Mapping[str, str] | None = None,
) -> ServiceState:
    """Serve requests in this process until stopped.

    Args:
        home: The home folder.
        options: How the service behaves.
        persistent: Whether it runs until it is stopped, rather than until the last lease on it ends.
        host: Address to listen on; only loopback is accepted.
        on_ready: Called as soon as requests are answered.
        model_settings: Variables for the model only, such as its key; they are not in the environment.

    Returns:
        The service as it was, once it has stopped.
    """
    ServiceLock(make_home(home)).take()
    os.umask(0o077)  # the service writes files with code, keys or conversations
    recover_home(home)
    former = read_state(home)
    listener = listening_socket(host, former.port if former else 0)
    state = ServiceState(
        home=home,
        pid=os.getpid(),
        port=listener.getsockname()[1],
        access_key=former.access_key if former else "LOOM" + secrets.token_hex(14).upper(),
        secret_key=former.secret_key if former else secrets.token_urlsafe(32),
        region=former.region if former else _region(),
        account_id=ACCOUNT_ID,
        persistent=persistent,
        options=options,
        started_at=datetime.now(UTC),
    )
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    os.environ.setdefault("MOTO_ALLOW_NONEXISTENT_REGION", "true")  # AWS has more regions than moto knows
    os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")  # roles are given AWS's own policies
    asyncio.run(_serve(state, listener, on_ready, model_settings or {}))
    return state


async def _serve(
    state: ServiceState,
    listener: socket.socket,
    on_ready: Callable[[ServiceState], None] | None,
    model_settings: Mapping[str, str],
) -> None:
    options, loop = state.options, asyncio.get_running_loop()
    leases = ServiceLeases(persistent=state.persistent, linger_s=options.linger_s)
    capabilities = Capabilities()
    aws_names = AwsProxy(state.home, state.port)
    state = replace(state, aws_names_port=await aws_names.start())

    async def serve_endpoint(endpoint: socket.socket, dial: Dial) -> Callable[[], None]:
        return await server.serve_also(endpoint, AwsProxy(state.home, state.port, dial))

    context = _context(state, serve_endpoint, capabilities)
    # Each capability adds its part, and returns the objects that others need.
    identity = add_identity(context, capabilities)
    functions = add_functions(context, capabilities)
    corpus = add_web_search(context, capabilities)
    gateways = add_gateways(context, capabilities, identity, functions, corpus)
    runtimes = add_runtimes(context, capabilities, identity)
    browsers = add_browsers(context, capabilities)
    sandboxes = AgentSandboxes(*add_interpreters(context, capabilities))
    start_memory = add_memory(context, capabilities)
    models = model_of(options, model_settings)
    add_evaluations(capabilities, models)
    guardrails = add_bedrock(context, capabilities, models, functions, sandboxes)
    capabilities.routers["xray"] = (Router("xray", TraceSettings(), rest_to_moto=True),)
    capabilities.routers["logs"] = (context.telemetry.router(),)
    engine = ResourceEngine(context.resources, capabilities.resources, account_id=state.account_id)
    capabilities.stopping.push_async_callback(engine.close)
    capabilities.routers["bedrock-agentcore"] = agentcore_routers(engine, identity.policies, capabilities)
    moto = MotoFallback(context.telemetry.logs, AssumedRoles(context.keys))
    moto.serve_stacks = Stacks(engine, state).serve
    capabilities.closing.callback(moto.close)
    guard, explain = Guard(context.keys), partial(explain_failure, state.home)
    BoundedProtocol.most_connections = most_connections()
    application = Application(
        guard=guard,
        account_id=state.account_id,
        region=state.region,
        runtimes=runtimes,
        browsers=browsers,
        sockets=WebSockets(
            guard=guard,
            account_id=state.account_id,
            check_place=engine.check_place,
            invoke=runtimes.invoke,
            endpoints=runtimes.endpoints,
            sessions=context.sessions,
            browsers=browsers,
            quotas=context.quotas,
            frame_bytes=context.limits.frame,
            most_open=BoundedProtocol.most_connections // 2,
            explain=explain,
        ),
        gateways=gateways,
        identity=identity,
        outbound=OutboundCredentialLog(context.telemetry.logs),
        models=models,
        guardrails=guardrails,
        routers=capabilities.routers,
        moto=moto,
        admin=AdminRoutes(
            options=options,
            resources=context.resources,
            sessions=context.sessions,
            leases=leases,
            label=models.label,
            simulated=models.simulated,
            isolation=context.isolation,
            issuer=identity.issuers[0],
            on_persist=lambda: write_state(replace(state, persistent=True)),
        ),
        otlp=context.telemetry.intake(context.sessions),
        check_place=engine.check_place,
        explain=explain,
    )
    server = ServiceServer(
        Config(
            application,
            http=BoundedProtocol,
            ws=ServedWebSocket,
            ws_max_size=cast(int, largest(context.limits.frame)),  # passed on to `websockets`, which takes a pair
            ws_per_message_deflate=False,  # would take longer than loopback
            loop="asyncio",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=2,
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leases.ended.set)
    engine.resume()
    start_memory()
    serving = loop.create_task(server.serve(sockets=[listener]))
    try:
        await until_started(server, serving)
        write_state(state)
        if on_ready:
            on_ready(state)
        _log.info("Serving %s from process %d, model %s", state.home, state.pid, models.label)
        await asyncio.wait((serving, loop.create_task(leases.ended.wait())), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leases.ended.set()  # ends the leases that are still open
        await aws_names.close()
        await capabilities.stopping.aclose()
        server.should_exit = True
        await serving
        await capabilities.closing.aclose()
        _log.info("Ended")


def _context(state: ServiceState, serve_endpoint: ServeEndpoint, capabilities: Capabilities) -> ServiceContext:
    """Return the common parts of the service; they are closed after the capabilities."""
    home, options = state.home, state.options
    resources = ResourceStore(home)
    capabilities.closing.callback(resources.close)
    import_older_databases(resources)
    telemetry = ServiceTelemetry(
        home, resources, delay_s=options.log_delay_s, account_id=state.account_id, region=state.region
    )
    telemetry.close_in(capabilities.closing)
    isolation = choose(options.sandbox, options.sandbox_network, home=home)
    if isolation.level != "user":
        home.chmod(0o700)  # an earlier service may have let agents with another user id pass
    _log.info("Sessions are isolated by %s", isolation.sentence)
    keys = Keyring(Key(access_key=state.access_key, secret_key=state.secret_key))
    quotas, limits = QuotaKeeper(Quotas.of(options.quotas, state.region)), Limits.of(options.limits)
    # A session with its own network reaches both the service and the proxy at the service's port.
    proxy = state.url if isolation.has_own_network else f"http://127.0.0.1:{state.aws_names_port}"
    sessions = SessionPool(
        home=home,
        sink=telemetry.logs,
        environment=state.environment(),
        admit=quotas.admit_session,
        start_timeout_s=options.start_timeout_s,
        answer_timeout_s=options.invoke_timeout_s,
        announces_starts=True,
        logs_usage=True,
        otlp=OtlpTarget(url=f"{state.url}/otlp", access_key=state.token),
        keys=SessionKeys(keys, account_id=state.account_id),
        isolation=isolation,
        limits=limits,
        readable=[*map(Path, options.sandbox_read), session_certificates(home), NODE_HOOK],
        writable=[Path(path) for path in options.sandbox_write],
        port=state.port,
        serve_endpoint=serve_endpoint,
        aws_names=lambda: session_variables(home, state.region, proxy, os.environ),
    )
    capabilities.stopping.push_async_callback(sessions.close)
    return ServiceContext(
        state=state,
        keys=keys,
        quotas=quotas,
        limits=limits,
        isolation=isolation,
        telemetry=telemetry,
        resources=resources,
        sessions=sessions,
    )


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or _DEFAULT_REGION
