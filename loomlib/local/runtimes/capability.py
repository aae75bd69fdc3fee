"""AgentCore Runtime as a capability of the service."""

from __future__ import annotations

from dataclasses import dataclass

from ..capabilities import Capabilities, ServiceContext
from ..identity.capability import ServiceIdentity
from ..images import CodeBuild, ImageStore
from ..router import Router
from .application_logs import ApplicationLogs
from .commands import Commands
from .deployments import Deployments
from .endpoints import SessionEndpoints
from .invoke import Invoke
from .resource import AGENT_RUNTIME, AGENT_RUNTIME_ENDPOINT, EndpointBehaviour, RuntimeBehaviour


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtimes:
    """The handlers of requests to runtimes.

    Attributes:
        invoke: Answers invocations of agents and StopRuntimeSession.
        commands: Answers InvokeAgentRuntimeCommand.
        endpoints: Passes requests on to servers inside sessions.
    """

    invoke: Invoke
    commands: Commands
    endpoints: SessionEndpoints


def add_runtimes(context: ServiceContext, capabilities: Capabilities, identity: ServiceIdentity) -> Runtimes:
    """Add runtimes with their endpoints, and the builds of their images; return the handlers of their requests.

    Args:
        context: The common parts of the service.
        capabilities: The registry to which the runtimes are added.
        identity: Authorizes calls, and issues the tokens of workloads.
    """
    resources, sessions, telemetry = context.resources, context.sessions, context.telemetry
    images = ImageStore(context.home)
    deployments = Deployments(
        context.home,
        images,
        isolation=context.isolation,
        limits=context.limits,
        exact_python=context.options.python == "machine",
    )
    platform = context.options.platform_default
    capabilities.resources += [
        (AGENT_RUNTIME, RuntimeBehaviour(resources, deployments, sessions, platform=platform)),
        (AGENT_RUNTIME_ENDPOINT, EndpointBehaviour(resources)),
    ]
    builds = CodeBuild(images, deployments.install, sink=telemetry.logs)
    capabilities.routers["codebuild"] = (Router("codebuild", builds),)
    invoke = Invoke(
        resources,
        deployments,
        sessions,
        context.quotas,
        identity.inbound,
        identity.outbound.tokens,
        context.state.url,
        ApplicationLogs(telemetry.logs, telemetry.deliveries.groups),
    )
    return Runtimes(
        invoke=invoke,
        commands=Commands(invoke, sessions, context.quotas),
        endpoints=SessionEndpoints(invoke, sessions, context.quotas),
    )
