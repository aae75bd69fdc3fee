"""Amazon Bedrock around agents as a capability of the service: guardrails, knowledge bases and Bedrock Agents."""

from __future__ import annotations

from .bedrock_agents import (
    AGENT,
    AGENT_ALIAS,
    AgentAliasBehaviour,
    AgentBehaviour,
    AgentInvocations,
    AgentParts,
    AgentPlane,
    AgentSandboxes,
    AgentServices,
)
from .capabilities import Capabilities, ServiceContext
from .functions import FunctionPool
from .guardrails import GuardrailPlane
from .knowledge.ingestion import IngestionPlane
from .knowledge.resources import DATA_SOURCE, KNOWLEDGE_BASE, MODEL, DataSourceBehaviour, KnowledgeBaseBehaviour
from .knowledge.retrieval import RetrievalPlane
from .knowledge.store import KnowledgeStore
from .models import ConverseModel
from .models.catalog import ModelCatalog
from .resources.engine import ResourceEngine
from .router import Router


def add_bedrock(
    context: ServiceContext,
    capabilities: Capabilities,
    models: ConverseModel,
    functions: FunctionPool,
    sandboxes: AgentSandboxes,
) -> GuardrailPlane:
    """Add guardrails, knowledge bases and Bedrock Agents; return the guardrails that model requests refer to.

    Args:
        context: The common parts of the service.
        capabilities: The registry to which they are added.
        models: Answers the requests of knowledge bases and agents.
        functions: Runs action groups that are Lambda functions.
        sandboxes: Executes the code of agents.
    """
    resources = context.resources
    guardrails, knowledge = GuardrailPlane(resources), KnowledgeStore(context.home)
    engine = ResourceEngine(
        resources,
        [
            (KNOWLEDGE_BASE, KnowledgeBaseBehaviour(knowledge)),
            (DATA_SOURCE, DataSourceBehaviour(knowledge)),
            (AGENT, AgentBehaviour(resources)),
            (AGENT_ALIAS, AgentAliasBehaviour(resources)),
        ],
        account_id=context.state.account_id,
        model=MODEL,
    )
    ingestion, retrieval = (
        IngestionPlane(resources, knowledge),
        RetrievalPlane(resources, knowledge, models, guardrails),
    )
    agents, parts = AgentPlane(engine), AgentParts(engine)
    services = AgentServices(
        store=resources,
        models=models,
        guardrails=guardrails,
        retrieval=retrieval,
        functions=functions,
        sandboxes=sandboxes,
    )
    capabilities.routers["bedrock"] = (
        Router("bedrock", guardrails, ModelCatalog(), rest_to_moto=True),
        Router("bedrock-runtime", guardrails),
        Router(
            "bedrock-agent",
            ingestion,
            agents,
            resources=engine,
            regional={**parts.handlers, **agents.handlers},
            rest_to_moto=True,
        ),
        Router("bedrock-agent-runtime", retrieval, AgentInvocations(services)),
    )
    capabilities.stopping.push_async_callback(ingestion.close)
    capabilities.closing.callback(knowledge.close)
    return guardrails
