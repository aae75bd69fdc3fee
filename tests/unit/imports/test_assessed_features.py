"""What becomes of an imported agent's features."""

from __future__ import annotations

from dataclasses import replace

from loomlib.imports.bedrock_agents import AgentKnowledgeBase, assess_all_features, assess_features
from tests.imported_agents import billing_agent, orders_agent, support_supervisor


def test_each_of_the_eleven_features_has_a_state_and_a_reason() -> None:
    features = assess_features(support_supervisor())
    assert {feature.name: feature.state for feature in features} == {
        "action_groups": "unused",
        "orchestration": "approximated",
        "guardrails": "kept",
        "knowledge_bases": "unused",
        "code_interpreter": "kept",
        "short_term_memory": "kept",
        "long_term_memory": "approximated",
        "pre_post_processing": "approximated",
        "user_input": "approximated",
        "traces": "approximated",
        "multi_agent": "kept",
    }
    for feature in features:
        assert bool(feature.reason) == (feature.state != "unused")


def test_a_problem_needs_a_person_and_is_named() -> None:
    agent = orders_agent()
    group = replace(agent.action_groups[0], schema="missing", tools=(), problem="its schema is missing from S3")
    base = AgentKnowledgeBase(id="KB00000001", problem="it was deleted")
    broken = replace(agent, action_groups=(group,), knowledge_bases=(base,), redactions={"aws key": 1})
    features = {str(feature.name): feature for feature in assess_features(broken)}
    for name, part in (
        ("action_groups", "orders: its schema is missing from S3."),
        ("knowledge_bases", "KB00000001: it was deleted."),
        ("orchestration", "Secrets were removed"),
    ):
        assert features[name].state == "needs you"
        assert part in features[name].reason


def test_calls_that_return_to_the_caller_are_approximated() -> None:
    features = {feature.name: feature for feature in assess_features(billing_agent())}
    assert features["action_groups"].state == "approximated"
    assert (
        features["action_groups"].reason == "refunds: return of control becomes an interrupt that the caller answers."
    )
    assert features["user_input"].state == "approximated"


def test_a_tool_has_one_schema_of_its_arguments() -> None:
    note = orders_agent().action_groups[0].tools[1]
    assert note.input_schema == {
        "type": "object",
        "properties": {
            "orderId": {"type": "integer"},
            "notify": {"type": "boolean"},
            "text": {"type": "string", "description": "The note"},
        },
        "required": ["orderId", "text"],
    }
    assert [agent.name for agent in support_supervisor().walk()] == [
        "support-supervisor", "order-desk", "billing-desk", "shop-rules",
    ]  # fmt: skip


def test_the_features_of_an_agent_and_its_collaborators_are_taken_together() -> None:
    agent = support_supervisor()
    together = {feature.name: feature for feature in assess_all_features(agent)}
    own = {feature.name: feature for feature in assess_features(agent)}
    features = [feature for member in agent.walk() for feature in assess_features(member)]
    assert list(together) == list(own)
    assert all(
        feature.reason in together[feature.name].reason
        for feature in features
        if feature.state == together[feature.name].state
    )
    assert together["action_groups"].state != "unused", "a collaborator has some"
