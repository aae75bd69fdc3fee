"""Bedrock agents of every shape are created, asked, and left alone when they are created again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from loomlib.aws import Clients
from loomlib.local import ServiceState
from tests.bedrock_agent_shapes import (
    SHAPES,
    SHAPES_BY_NAME,
    AgentShape,
    ShapePrompt,
    ask_shape,
    clients_of,
    create_shape,
)


@pytest.fixture(scope="module")
def clients(service: ServiceState) -> Iterator[Clients]:
    with contextlib.closing(clients_of(service)) as opened:
        yield opened


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.runs_here], ids=lambda shape: shape.name)
def test_an_agent_of_every_shape_answers_its_prompts(clients: Clients, shape: AgentShape) -> None:
    created = create_shape(clients, shape)
    sessions: dict[str, str] = {}
    for prompt in shape.prompts:
        answer = ask_shape(clients, created, prompt, sessions=sessions)
        assert answer.tools == prompt.tools, (prompt.text, answer.text)
        for part in prompt.contains:
            assert part in answer.text, (prompt.text, answer.text)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if not shape.runs_here], ids=lambda shape: shape.name)
def test_an_agent_that_does_not_run_here_is_made_and_refused_by_name(clients: Clients, shape: AgentShape) -> None:
    created = create_shape(clients, shape)
    with pytest.raises(ClientError, match="NotImplementedException"):
        ask_shape(clients, created, ShapePrompt(text="What is the status of order 4711?"))


def test_creating_a_shape_again_changes_nothing(clients: Clients) -> None:
    shape = SHAPES_BY_NAME["supervisor"]
    assert create_shape(clients, shape) == create_shape(clients, shape)
