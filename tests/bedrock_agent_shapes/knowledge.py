"""Shapes with knowledge bases, guardrails and models that are named in another way."""

from __future__ import annotations

from .parts import ORDER_STATUS, RULES, agent, declaration, functions
from .shape import AgentShape, ShapePrompt

BASE = "loom-shapes-rules"
GUARDRAIL = "loom-shapes-words"
SEARCHED = {
    "knowledgeBaseId": f"@knowledge_base:{BASE}",
    "description": "Search here for the rules of the shop about returns, parcels and warranty",
}
GUARDED = {"guardrailIdentifier": f"@guardrail:{GUARDRAIL}", "guardrailVersion": "1"}
WORDS = {
    "wordPolicyConfig": {"wordsConfig": [{"text": "password"}]},
    "blockedInputMessaging": "I cannot help with that.",
    "blockedOutputsMessaging": "I cannot say that.",
}

KNOWLEDGE_BASE = AgentShape(
    name="knowledge-base",
    declaration=declaration(
        "knowledge-base",
        agent("shape-knowledge-base", knowledge_bases=[SEARCHED]),
        knowledge_bases={BASE: RULES},
    ),
    prompts=(
        ShapePrompt(
            text="What are the rules of the shop about returns of parcels?",
            contains=("30 days",),
            tools=("knowledge base",),
        ),
        ShapePrompt(
            text="What are the rules of the shop about the warranty?",
            contains=("24 months",),
            tools=("knowledge base",),
        ),
    ),
)
GUARDRAIL_WORDS = AgentShape(
    name="guardrail",
    declaration=declaration(
        "guardrail",
        agent("shape-guardrail", functions("orders", ORDER_STATUS), guardrailConfiguration=GUARDED),
        guardrails={GUARDRAIL: WORDS},
    ),
    prompts=(
        ShapePrompt(text="Tell me the password of the manager", contains=("I cannot help with that.",)),
        ShapePrompt(text="What is the status of order 4711?", contains=("shipped",), tools=("order_status",)),
    ),
    complaint="the code of guardrails is commented out",
)
INFERENCE_PROFILE = AgentShape(
    name="inference-profile",
    declaration=declaration(
        "inference-profile",
        agent(
            "shape-inference-profile",
            functions("orders", ORDER_STATUS),
            foundationModel="arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-pro-v1:0",
        ),
    ),
    prompts=(ShapePrompt(text="What is the status of order 4711?", contains=("shipped",), tools=("order_status",)),),
)

SHAPES = (KNOWLEDGE_BASE, GUARDRAIL_WORDS, INFERENCE_PROFILE)
