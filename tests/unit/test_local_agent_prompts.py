"""Templates of the prompts of local Bedrock agents, and what the models of their steps answer."""

from __future__ import annotations

import json

import pytest

from loomlib.local.bedrock_agents.parsing import answer_of, check_of, routing_of
from loomlib.local.bedrock_agents.templates import OWN_TEMPLATES, filled

VALUES = {"question": 'Who is "Ann"?', "instruction": "Help."}


def test_a_template_of_messages_is_filled_in() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Q: $question$"}]},
        {"role": "assistant", "content": "$agent_scratchpad$"},
    ]
    template = json.dumps(
        {"anthropic_version": "bedrock-2023-05-31", "system": "$instruction$ $tools$", "messages": messages}
    )
    system, filled_in = filled(template, VALUES)
    assert system == "Help."
    assert filled_in == [{"role": "user", "content": [{"text": 'Q: Who is "Ann"?'}]}]


def test_a_template_may_have_line_breaks_in_its_texts_as_the_console_writes_them() -> None:
    system, messages = filled('{"system": "\n  $instruction$\n  Be brief.\n", "messages": []}', VALUES)
    assert (system, messages) == ("Help.\n  Be brief.", [])


@pytest.mark.parametrize("template", ["$instruction$ $question$", "[1, 2] $instruction$ $question$"])
def test_a_template_that_is_a_text_becomes_one_message(template: str) -> None:
    system, messages = filled(template, VALUES)
    assert system == ""
    assert [message["role"] for message in messages] == ["user"]
    assert messages[0]["content"][0]["text"].endswith('Help. Who is "Ann"?')


@pytest.mark.parametrize("kind", sorted(OWN_TEMPLATES))
def test_every_step_has_a_template_that_can_be_read(kind: str) -> None:
    system, _ = filled(OWN_TEMPLATES[kind], {"instruction": "Help."})
    assert "$" not in system
    assert system


@pytest.mark.parametrize(
    ("raw", "is_valid"),
    [
        ("<thinking>fine</thinking><category>D</category>", True),
        ("<category>\nE\n</category>", True),
        ("<category>A</category>", False),
        ("no tag at all", False),
    ],
)
def test_a_request_is_valid_by_its_category(raw: str, is_valid: bool) -> None:
    assert check_of(raw).is_valid is is_valid


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        ("<final_response>Hello.</final_response>", "Hello."),
        ("Thoughts. <answer>Hello.</answer>", "Hello."),
        ("<answer><answer_part><text>One.</text><sources><source>1</source></sources></answer_part></answer>", "One."),
        ("Hello.", "Hello."),
    ],
)
def test_an_answer_is_what_its_tag_has_or_all_of_it(raw: str, answer: str) -> None:
    assert answer_of(raw) == answer


def test_a_routing_names_a_collaborator_the_same_as_before_or_none() -> None:
    names = frozenset({"desk"})
    assert (routing_of("<a>desk</a>", names).kind, routing_of("<a>desk</a>", names).collaborator) == ("agent", "desk")
    assert routing_of("<a>keep_previous_agent</a>", names).kind == "last agent"
    assert routing_of("<a>undecidable</a>", names).kind == "undecided"
    assert routing_of("<a>somebody</a>", names).kind == "undecided"


@pytest.mark.parametrize("text", ["<a>" * 200_000, "<a" * 200_000, "<answer_part>" + "<text>" * 200_000])
def test_a_model_that_writes_tags_without_end_holds_nothing_up(text: str) -> None:
    assert routing_of(text, frozenset()).kind == "undecided"
    assert answer_of(text) == text
