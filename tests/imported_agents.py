"""Imported agents as values, for tests of what is generated from them."""

from __future__ import annotations

from loomlib.imports.bedrock_agents import (
    ActionGroup,
    AgentGuardrail,
    AgentKnowledgeBase,
    Collaborator,
    ImportedAgent,
    ImportedTool,
    InferenceParameters,
    MemorySettings,
    ModelChoice,
    PromptStep,
    ToolParameter,
)

MODEL = ModelChoice(identifier="amazon.nova-pro-v1:0", model_ids=("amazon.nova-pro-v1:0",))
ORDERS_API = {
    "openapi": "3.0.0",
    "info": {"title": "Orders", "version": "1"},
    "paths": {
        "/orders/{orderId}": {
            "get": {
                "operationId": "getOrder",
                "description": "Returns the status of an order",
                "parameters": [
                    {
                        "name": "orderId",
                        "in": "path",
                        "required": True,
                        "description": "Number of the order",
                        "schema": {"type": "integer"},
                    }
                ],
                "responses": {"200": {"description": "The order"}},
            }
        },
        "/orders/{orderId}/notes": {
            "post": {
                "operationId": "addNote",
                "description": "Adds a note to an order",
                "x-requireConfirmation": "ENABLED",
                "parameters": [
                    {"name": "orderId", "in": "path", "required": True, "schema": {"type": "integer"}},
                    {"name": "notify", "in": "query", "schema": {"type": "boolean"}},
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "properties": {"text": {"type": "string", "description": "The note"}},
                                "required": ["text"],
                            }
                        }
                    },
                },
                "responses": {"200": {"description": "The note"}},
            }
        },
    },
}


def lambda_arn(name: str) -> str:
    return f"arn:aws:lambda:us-east-1:123456789012:function:{name}"


def support_supervisor() -> ImportedAgent:
    """A supervisor with three collaborators, a guardrail, a memory, user input and a code interpreter.

    `orders` has an OpenAPI schema and a Lambda function, `billing` functions of which one returns control, and `rules`
    a knowledge base.
    """
    return ImportedAgent(
        id="SUPPORT001",
        name="support-supervisor",
        arn="arn:aws:bedrock:us-east-1:123456789012:agent/SUPPORT001",
        version="3",
        alias_id="ALIASPROD1",
        alias_name="prod",
        description="Answers the customers of a shop",
        instruction="You help the customers of a shop. Delegate questions about orders, invoices and the shop's rules.",
        model=ModelChoice(
            identifier="us.anthropic.claude-sonnet-4-20250514-v1:0",
            kind="inference profile",
            model_ids=("anthropic.claude-sonnet-4-20250514-v1:0",),
        ),
        prompts=(
            PromptStep(
                name="pre_processing",
                is_enabled=True,
                is_overridden=True,
                template="Say whether the following input is a question for a shop:\n$question$",
                inference=InferenceParameters(temperature=0.0, max_tokens=200),
            ),
            PromptStep(
                name="orchestration",
                is_enabled=True,
                is_overridden=True,
                template='{"system": "$instruction$\\nBe brief.\\n$prompt_session_attributes$", "messages": []}',
                inference=InferenceParameters(temperature=0.2, top_p=0.9, max_tokens=2_048, stop_sequences=("</end>",)),
            ),
            PromptStep(name="post_processing", is_enabled=False),
        ),
        action_groups=(
            ActionGroup(
                id="ASKUSER001", name="UserInputAction", executor="built_in", schema="built_in", built_in="user_input"
            ),
            ActionGroup(
                id="RUNCODE001",
                name="CodeInterpreterAction",
                executor="built_in",
                schema="built_in",
                built_in="code_interpreter",
            ),
        ),
        guardrail=AgentGuardrail(id="guard0000001", version="2", name="polite"),
        memory=MemorySettings(storage_days=30, max_recent_sessions=5),
        idle_timeout_s=1_800,
        collaboration="supervisor",
        collaborators=(
            Collaborator(
                id="COLLAB0001",
                name="orders",
                instruction="Answers questions about the status of orders",
                shares_history=True,
                alias_arn="arn:aws:bedrock:us-east-1:123456789012:agent-alias/ORDERS0001/ALIASLIVE1",
                agent=orders_agent(),
            ),
            Collaborator(
                id="COLLAB0002",
                name="billing",
                instruction="Answers questions about invoices and makes refunds",
                alias_arn="arn:aws:bedrock:us-east-1:123456789012:agent-alias/BILLING001/ALIASLIVE2",
                agent=billing_agent(),
            ),
            Collaborator(
                id="COLLAB0003",
                name="rules",
                instruction="Answers questions about the shop's rules",
                alias_arn="arn:aws:bedrock:us-east-1:123456789012:agent-alias/RULES00001/ALIASLIVE3",
                agent=ImportedAgent(
                    id="RULES00001",
                    name="shop-rules",
                    version="1",
                    instruction="You answer questions about the rules of the shop from the knowledge base.",
                    model=MODEL,
                    knowledge_bases=(
                        AgentKnowledgeBase(
                            id="KBRULES001", name="shop-rules", description="Rules for returns and refunds"
                        ),
                    ),
                ),
            ),
        ),
        role_arn="arn:aws:iam::123456789012:role/support",
        tags={"team": "support"},
    )


def orders_agent() -> ImportedAgent:
    """An agent with an OpenAPI schema and a Lambda function."""
    return ImportedAgent(
        id="ORDERS0001",
        name="order-desk",
        version="4",
        instruction="You answer questions of customers about the status of their orders.",
        model=MODEL,
        action_groups=(
            ActionGroup(
                id="ORDERAPI01",
                name="orders",
                executor="lambda",
                lambda_arn=lambda_arn("orders"),
                schema="openapi",
                tools=(
                    ImportedTool(
                        name="orders__getOrder",
                        description="Returns the status of an order",
                        path="/orders/{orderId}",
                        method="GET",
                        parameters=(
                            ToolParameter(
                                name="orderId",
                                type="integer",
                                description="Number of the order",
                                is_required=True,
                                place="path",
                                schema={"type": "integer"},
                            ),
                        ),
                    ),
                    ImportedTool(
                        name="orders__addNote",
                        description="Adds a note to an order",
                        path="/orders/{orderId}/notes",
                        method="POST",
                        content_type="application/json",
                        requires_confirmation=True,
                        parameters=(
                            ToolParameter(
                                name="orderId",
                                type="integer",
                                is_required=True,
                                place="path",
                                schema={"type": "integer"},
                            ),
                            ToolParameter(name="notify", type="boolean", place="query", schema={"type": "boolean"}),
                            ToolParameter(
                                name="text",
                                description="The note",
                                is_required=True,
                                place="body",
                                schema={"type": "string", "description": "The note"},
                            ),
                        ),
                    ),
                ),
                api_document=ORDERS_API,
                api_source="inline",
            ),
        ),
    )


def billing_agent() -> ImportedAgent:
    """An agent with functions: one group calls a Lambda function, one returns control."""
    invoice = ToolParameter(
        name="invoice", description="Number of the invoice", is_required=True, schema={"type": "string"}
    )
    lines = ToolParameter(
        name="lines", type="array", description="Lines of the invoice",
        schema={"type": "array", "items": {"type": "string"}},
    )  # fmt: skip
    return ImportedAgent(
        id="BILLING001",
        name="billing-desk",
        version="2",
        instruction="You answer questions about invoices, and make refunds that the customer confirms.",
        model=MODEL,
        action_groups=(
            ActionGroup(
                id="INVOICES01",
                name="invoices",
                executor="lambda",
                lambda_arn=lambda_arn("invoices"),
                schema="functions",
                tools=(
                    ImportedTool(
                        name="invoices__get_invoice",
                        description="Returns an invoice",
                        function="get_invoice",
                        parameters=(invoice, lines),
                    ),
                ),
            ),
            ActionGroup(
                id="REFUNDS001",
                name="refunds",
                executor="return_control",
                schema="functions",
                tools=(
                    ImportedTool(
                        name="refunds__refund",
                        description="Refunds an invoice",
                        function="refund",
                        requires_confirmation=True,
                        parameters=(
                            invoice,
                            ToolParameter(
                                name="amount", type="number", description="In euros", is_required=True,
                                schema={"type": "number"},
                            ),
                        ),
                    ),
                ),
            ),
        ),
    )  # fmt: skip
