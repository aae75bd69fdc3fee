"""The service itself: its components put together, one uvicorn server, and an orderly end.

moto is imported here, before any thread runs: its modules import one another in circles, and a second thread would see
them half-initialised.
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

import uvicorn

from .access.assumed_roles import AssumedRoles
from .access.keys import Key, Keyring
from .access.protocol import BoundedProtocol, most_connections
from .access.resource_policies import ResourcePolicies
from .access.session_keys import SessionKeys
from .admin import AdminRoutes
from .application import Application
from .aws_names.proxy import AwsNames
from .aws_names.variables import NODE_HOOK, session_certificates, session_variables
from .bedrock_agents import (
    AGENT,
    AGENT_ALIAS,
    AgentAliasBehaviour,
    AgentBehaviour,
    AgentInvocations,
    AgentParts,
    AgentPlane,
    AgentServices,
)
from .browsers import (
    BROWSER,
    BROWSER_PROFILE,
    BrowserActions,
    BrowserBehaviour,
    BrowserPlane,
    BrowserStreams,
    ProfileBehaviour,
)
from .cloudformation import Stacks
from .contract import Dial
from .evaluations import EVALUATOR, EvaluationPlane
from .expiry import ExpiryClock
from .functions import FunctionPlane, FunctionPool
from .gateways import (
    GATEWAY,
    GATEWAY_RATE_LIMIT,
    GATEWAY_RULE,
    GATEWAY_TARGET,
    GatewayBehaviour,
    GatewayOperations,
    Gateways,
    GatewayTargetBehaviour,
    RateLimitBehaviour,
    RuleBehaviour,
)
from .gateways.credentials import TargetCredentials
from .gateways.targets import Targets
from .guard import Guard, listening_socket
from .guardrails import GuardrailPlane
from .identity.inbound import CognitoPools, InboundAuthorizer, UserTokens
from .identity.local_issuer import LocalIssuer
from .identity.outbound import OutboundIdentity, discovery_urls
from .identity.outward_uses import OutwardUses
from .images import CodeBuild, ImageStore
from .interpreters import CODE_INTERPRETER, CodeInterpreterBehaviour, CodeInvocations, InterpreterPool, InvocationSpans
from .knowledge.ingestion import IngestionPlane
from .knowledge.resources import DATA_SOURCE, KNOWLEDGE_BASE, DataSourceBehaviour, KnowledgeBaseBehaviour
from .knowledge.resources import MODEL as KNOWLEDGE_MODEL
from .knowledge.retrieval import RetrievalPlane
from .knowledge.store import KnowledgeStore
from .leases import ServiceLeases
from .logs.deliveries import LogDeliveries
from .logs.events import LogEvents
from .logs.filter import LogFilter
from .logs.queries import Insights
from .logs.store import Logs
from .logs.streams import LogStreams
from .memory import (
    MEMORY,
    EventPlane,
    LongTermMemory,
    MemoryBehaviour,
    MemoryDirectory,
    MemoryLogs,
    MemoryStore,
    MemorySweeper,
    extraction_settings,
)
from .models.catalog import ModelCatalog
from .models.starting import model_of
from .moto_fallback import MotoFallback
from .otlp import Collector, TelemetryReader
from .otlp.caller_spans import CallerSpans
from .otlp.intake import OtlpIntake
from .otlp.origins import SessionOrigins
from .quotas import QuotaKeeper, Quotas
from .recovering import explain_failure, recover_home
from .resources import Behaviour
from .resources.engine import ResourceEngine
from .resources.migration import import_older_databases
from .resources.store import ResourceStore
from .router import Router
from .runtimes.application_logs import ApplicationLogs
from .runtimes.commands import Commands
from .runtimes.deployments import Deployments
from .runtimes.endpoints import SessionEndpoints
from .runtimes.invoke import Invoke
from .runtimes.resource import AGENT_RUNTIME, AGENT_RUNTIME_ENDPOINT, EndpointBehaviour, RuntimeBehaviour
from .sandbox.isolation import choose
from .sandbox.limits import Limits
from .server import ServiceServer, until_started
from .sessions import OtlpTarget, SessionPool
from .state import ServiceLock, ServiceOptions, ServiceState, make_home, read_state, write_state
from .trace_settings import TraceSettings
from .web_search import WebCorpus, WebSearchPlane
from .websocket import WebSockets
from .websocket.protocol import ServedWebSocket, largest

_log = logging.getLogger(__name__)
_ACCOUNT_ID = "123456789012"  # the account that moto gives to keys it does not know
_LOGS_LIMIT_BYTES = 1_000_000
_CODE_BYTES = 100_000_000  # AWS's developer guide: inline files of a code interpreter up to 100 MB
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
    """Serve in this process until stopped.

    Args:
        home: The home folder.
        options: How the service behaves.
        persistent: Whether it runs until it is stopped, rather than until the last lease on it ends.
        host: Address to listen on; no other than loopback is accepted.
        on_ready: Called as soon as requests are answered.
        model_settings: Variables for the model only, such as its key; they are not in the environment.

    Returns:
        The service as it was, once it has stopped.
    """
    ServiceLock(make_home(home)).take()
    os.umask(0o077)  # whatever the service writes holds code, keys or conversations
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
        account_id=_ACCOUNT_ID,
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
    home, options = state.home, state.options
    place = {"account_id": state.account_id, "region": state.region}
    leases = ServiceLeases(persistent=state.persistent, linger_s=options.linger_s)
    telemetry = TelemetryReader(home, delay_s=options.log_delay_s)
    logs = Logs(home, delay_s=options.log_delay_s, **place)
    logs.make_places(telemetry.places())
    insights = Insights(home, logs, delay_s=options.log_delay_s)
    collector = Collector(home, on_stored=logs.make_places)
    loop = asyncio.get_running_loop()

    def forget(places: list[tuple[str, str]]) -> None:
        # Deleting a group of plain lines need not start the collecting process.
        if affected := set(telemetry.places()).intersection(places):
            asyncio.run_coroutine_threadsafe(collector.forget(sorted(affected)), loop)

    logs.on_forgotten = forget
    resources = ResourceStore(home)
    import_older_databases(resources)
    isolation = choose(options.sandbox, options.sandbox_network, home=home)
    if isolation.level != "user":
        home.chmod(0o700)  # an earlier service may have let agents with another user id pass
    _log.info("Sessions are isolated by %s", isolation.sentence)
    keys = Keyring(Key(access_key=state.access_key, secret_key=state.secret_key))
    quotas = QuotaKeeper(Quotas.of(options.quotas, state.region))
    limits = Limits.of(options.limits)
    aws_names = AwsNames(home, state.port)
    state = replace(state, aws_names_port=await aws_names.start())
    # A session with a network of its own reaches the service at the service's port, and the proxy as well.
    proxy = state.url if isolation.has_own_network else f"http://127.0.0.1:{state.aws_names_port}"

    async def serve_endpoint(endpoint: socket.socket, dial: Dial) -> Callable[[], None]:
        return await server.serve_also(endpoint, AwsNames(home, state.port, dial))

    sessions = SessionPool(
        home=home,
        sink=logs,
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
    interpreters = InterpreterPool(resources, sessions)
    models, guardrails = model_of(options, model_settings), GuardrailPlane(resources)
    images = ImageStore(home)
    deployments = Deployments(
        home, images, isolation=isolation, limits=limits, exact_python=options.python == "machine"
    )
    issuer, web_issuer = LocalIssuer(home, state.url), LocalIssuer(home, state.url, "sts")
    issuers = (issuer, web_issuer, CognitoPools())
    policies = ResourcePolicies(resources)
    inbound = InboundAuthorizer(issuers, logs, policies)
    users = UserTokens(issuers, lambda: discovery_urls(resources), inbound.tokens)
    identity = OutboundIdentity(
        home, resources, url=state.url, issuer=web_issuer, local_issuer=issuer, verify=users.verify
    )
    functions = FunctionPool(home, sessions, logs)
    corpus = WebCorpus(Path(options.web_search_folder) if options.web_search_folder else None)
    targets = Targets(TargetCredentials(identity, keys, state.url), functions, state.url, corpus)
    moto = MotoFallback(logs, AssumedRoles(keys))
    memory = MemoryStore(home)
    sweeper = MemorySweeper(memory, clock=ExpiryClock("memory event"))

    def on_deleted(memory_id: str) -> None:
        sweeper.wake(memory_id)
        long_term.forget(memory_id)

    deliveries = LogDeliveries(logs, resources)
    memory_logs = MemoryLogs(logs, resources, deliveries.groups)
    settings = extraction_settings(state)
    long_term = LongTermMemory(home, memory, MemoryDirectory(resources), settings, memory_logs.extracted)
    events = EventPlane(memory, on_event=long_term.wake)
    spans = CallerSpans(collector, delay_s=options.log_delay_s)
    browsers = BrowserPlane(resources, sessions.place, spans, home=home, url=state.url)
    engine = ResourceEngine(
        resources,
        [
            (AGENT_RUNTIME, RuntimeBehaviour(resources, deployments, sessions, platform=options.platform_default)),
            (AGENT_RUNTIME_ENDPOINT, EndpointBehaviour(resources)),
            (MEMORY, MemoryBehaviour(on_deleted=on_deleted)),
            (EVALUATOR, Behaviour()),
            (BROWSER, BrowserBehaviour(browsers.end_browser)),
            (BROWSER_PROFILE, ProfileBehaviour(home)),
            (GATEWAY, GatewayBehaviour(resources, url=state.url)),
            (CODE_INTERPRETER, CodeInterpreterBehaviour(on_deleted=interpreters.end_of)),
            (GATEWAY_TARGET, GatewayTargetBehaviour(resources, targets.read_tools)),
            (GATEWAY_RATE_LIMIT, RateLimitBehaviour(resources)),
            (GATEWAY_RULE, RuleBehaviour(resources)),
            *identity.resources,
        ],
        account_id=state.account_id,
    )
    knowledge = KnowledgeStore(home)
    ingestion = IngestionPlane(resources, knowledge)
    bedrock_engine = ResourceEngine(
        resources,
        [
            (KNOWLEDGE_BASE, KnowledgeBaseBehaviour(knowledge)),
            (DATA_SOURCE, DataSourceBehaviour(knowledge)),
            (AGENT, AgentBehaviour(resources)),
            (AGENT_ALIAS, AgentAliasBehaviour(resources)),
        ],
        account_id=state.account_id,
        model=KNOWLEDGE_MODEL,
    )
    retrieval = RetrievalPlane(resources, knowledge, models, guardrails)
    agents, agent_parts = AgentPlane(bedrock_engine), AgentParts(bedrock_engine)
    agent_services = AgentServices(
        store=resources, models=models, guardrails=guardrails, retrieval=retrieval, functions=functions
    )
    moto.serve_stacks = Stacks(engine, state).serve
    guard, invoke = (
        Guard(keys),
        Invoke(
            resources,
            deployments,
            sessions,
            quotas,
            inbound,
            identity.tokens,
            state.url,
            ApplicationLogs(logs, deliveries.groups),
        ),
    )
    explain, streams = partial(explain_failure, home), BrowserStreams(browsers)
    endpoints = SessionEndpoints(invoke, sessions, quotas)
    BoundedProtocol.most_connections = most_connections()
    application = Application(
        guard=guard,
        **place,
        invoke=invoke,
        endpoints=endpoints,
        commands=Commands(invoke, sessions, quotas),
        browsers=streams,
        sockets=WebSockets(
            guard=guard,
            account_id=state.account_id,
            check_place=engine.check_place,
            invoke=invoke,
            endpoints=endpoints,
            sessions=sessions,
            browsers=streams,
            quotas=quotas,
            frame_bytes=limits.frame,
            most_open=BoundedProtocol.most_connections // 2,
            explain=explain,
        ),
        gateways=Gateways(resources, targets, inbound, policies, functions, spans),
        policies=policies,
        issuers=(issuer, web_issuer),
        outward=OutwardUses(logs),
        identity=identity,
        models=models,
        guardrails=guardrails,
        routers={
            "bedrock-agentcore": (
                Router(
                    "bedrock-agentcore-control",
                    policies,
                    resources=engine,
                    regional={
                        **identity.control_handlers,
                        **GatewayOperations(engine).handlers,
                    },
                ),
                Router(
                    "bedrock-agentcore",
                    EvaluationPlane(models),
                    events,
                    browsers,
                    BrowserActions(browsers),
                    *long_term.planes,
                    interpreters,
                    CodeInvocations(interpreters, InvocationSpans(spans)),
                    WebSearchPlane(corpus),
                    regional=identity.data_handlers,
                    large={"InvokeCodeInterpreter": _CODE_BYTES},
                ),
            ),
            "bedrock": (
                Router("bedrock", guardrails, ModelCatalog(), rest_to_moto=True),
                Router("bedrock-runtime", guardrails),
                Router(
                    "bedrock-agent",
                    ingestion,
                    agents,
                    resources=bedrock_engine,
                    regional={**agent_parts.handlers, **agents.handlers},
                    rest_to_moto=True,
                ),
                Router("bedrock-agent-runtime", retrieval, AgentInvocations(agent_services)),
            ),
            "xray": (Router("xray", TraceSettings(), rest_to_moto=True),),
            "lambda": (Router("lambda", FunctionPlane(functions), rest_to_moto=True),),
            "codebuild": (Router("codebuild", CodeBuild(images, deployments.install, sink=logs)),),
            "logs": (
                Router(
                    "logs",
                    LogFilter(logs, telemetry),
                    LogEvents(logs, telemetry),
                    LogStreams(logs, telemetry),
                    deliveries,
                    insights,
                    limit_bytes=_LOGS_LIMIT_BYTES,
                ),
            ),
        },
        moto=moto,
        admin=AdminRoutes(
            options=options,
            resources=resources,
            sessions=sessions,
            leases=leases,
            label=models.label,
            simulated=models.simulated,
            isolation=isolation,
            issuer=issuer,
            on_persist=lambda: write_state(replace(state, persistent=True)),
        ),
        otlp=OtlpIntake(
            collector,
            telemetry,
            delay_s=options.log_delay_s,
            find_origin=SessionOrigins(sessions).find,
            stored_group=logs.keys.stored,
        ),
        check_place=engine.check_place,
        explain=explain,
    )
    server = ServiceServer(
        uvicorn.Config(
            application,
            http=BoundedProtocol,
            ws=ServedWebSocket,
            ws_max_size=cast(int, largest(limits.frame)),  # passed on to `websockets`, which takes a pair
            ws_per_message_deflate=False,  # would cost more time than loopback
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
    sweeper.start()
    long_term.resume()
    serving = loop.create_task(server.serve(sockets=[listener]))
    try:
        await until_started(server, serving)
        write_state(state)
        if on_ready:
            on_ready(state)
        _log.info("Serving %s from process %d, model %s", home, state.pid, models.label)
        await asyncio.wait((serving, loop.create_task(leases.ended.wait())), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leases.ended.set()  # releases the leases that are still held
        await aws_names.close()
        await interpreters.close()
        await functions.close()
        await browsers.close()
        await sessions.close()
        await engine.close()
        await ingestion.close()
        await targets.close()
        server.should_exit = True
        await serving
        await insights.close()
        await collector.close()
        moto.close()
        logs.close()
        resources.close()
        knowledge.close()
        sweeper.close()
        await long_term.close()
        memory.close()
        _log.info("Ended")


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or _DEFAULT_REGION
