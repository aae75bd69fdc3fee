"""Bedrock agents of every shape are created, asked, and left alone when they are created again."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.eventstream import EventStreamBuffer
from botocore.exceptions import ClientError
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape

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
    with contextlib.closing(clients_of(service)) as clients:
        yield clients


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


def unknown_members(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """What of a value a shape of the service model does not have; botocore's parser leaves it out silently."""
    if getattr(shape, "is_document_type", False):
        return
    match shape:
        case StructureShape():
            for name, item in value.items():
                if name in shape.members:
                    yield from unknown_members(shape.members[name], item, f"{path}.{name}")
                else:
                    yield f"{path}.{name}"
        case ListShape():
            for item in value:
                yield from unknown_members(shape.member, item, f"{path}[]")
        case MapShape():
            for item in value.values():
                yield from unknown_members(shape.value, item, path)
        case StringShape() if shape.enum and value not in shape.enum:
            yield f"{path} is {value}"
        case _:
            return


@pytest.mark.parametrize("name", ["guardrail", "code-interpreter", "prompt-overrides", "router", "supervisor"])
def test_every_member_of_the_events_is_in_the_service_model(clients: Clients, name: str) -> None:
    shape = SHAPES_BY_NAME[name]
    created = create_shape(clients, shape)
    model = botocore.session.get_session().get_service_model("bedrock-agent-runtime")
    events = model.shape_for("ResponseStream")
    assert isinstance(events, StructureShape)
    answer = clients.client("bedrock-agent-runtime").invoke_agent(
        agentId=created.root.id,
        agentAliasId=created.aliases[created.root.name],
        sessionId=uuid.uuid4().hex,
        inputText=shape.prompts[0].text,
        enableTrace=True,
    )
    frames = EventStreamBuffer()
    frames.add_data(b"".join(answer["completion"]._raw_stream.stream()))
    messages = [(frame.headers[":event-type"], json.loads(frame.payload)) for frame in frames]
    assert [kind for kind, _ in messages][-1] == "chunk"
    assert [
        unknown for kind, content in messages for unknown in unknown_members(events.members[kind], content, kind)
    ] == []


def test_creating_a_shape_again_changes_nothing(clients: Clients) -> None:
    shape = SHAPES_BY_NAME["supervisor"]
    assert create_shape(clients, shape) == create_shape(clients, shape)
