"""The scripted model: it calls what a prompt asks for, and never with arguments that the schema forbids."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from loomlib.local.models import ModelRefusedError
from loomlib.local.models.request import read_request
from loomlib.local.models.scripted import scripted_reply
from loomlib.local.models.scripted.schemas import is_valid

CALCULATOR = {"expression": {"type": "string"}}
TOOLS = {
    "calculator": ("Evaluate an arithmetic expression.", CALCULATOR, ["expression"]),
    "get_weather": ("Tell the weather of a city.", {"city": {"type": "string"}}, ["city"]),
    "current_time": ("Tell the current time in a time zone.", {"timezone": {"type": "string"}}, []),
    "convert_units": (
        "Convert a value from one unit to another.",
        {
            "value": {"type": "number"},
            "from_unit": {"type": "string", "enum": ["mile", "km", "kg", "pound"]},
            "to_unit": {"type": "string", "enum": ["mile", "km", "kg", "pound"]},
        },
        ["value", "from_unit", "to_unit"],
    ),
    "find_order": ("Look up an order.", {"order_id": {"type": "string"}}, ["order_id"]),
    "send_email": (
        "Send an email.",
        {"to": {"type": "string", "format": "email"}, "subject": {"type": "string"}, "body": {"type": "string"}},
        ["to", "subject"],
    ),
}


def tool(name: str, description: str, schema: object) -> dict:
    return {"toolSpec": {"name": name, "description": description, "inputSchema": {"json": schema}}}


def declared() -> list[dict]:
    return [
        tool(name, text, {"type": "object", "properties": properties, "required": required})
        for name, (text, properties, required) in TOOLS.items()
    ]


def said(text: str, role: str = "user") -> dict:
    return {"role": role, "content": [{"text": text}]}


def reply_to(*prompts: str, **body: object):
    messages = []
    for prompt in prompts[:-1]:
        messages += [said(prompt), said("All right.", "assistant")]
    request = {"messages": [*messages, said(prompts[-1])], "toolConfig": {"tools": declared()}, **body}
    return scripted_reply(read_request("any", {key: value for key, value in request.items() if value is not None}))


def calls(*prompts: str, **body: object) -> list[tuple[str, dict]]:
    return [(call.name, dict(call.arguments)) for call in reply_to(*prompts, **body).calls]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("What is 2+2?", [("calculator", {"expression": "2 + 2"})]),
        ("15*37, add 42, tell me the time", [("calculator", {"expression": "15 * 37 + 42"}), ("current_time", {})]),
        (
            "Weather in Paris and London, and 3*7?",
            [
                ("get_weather", {"city": "Paris"}),
                ("get_weather", {"city": "London"}),
                ("calculator", {"expression": "3 * 7"}),
            ],
        ),
        ("is it raining in oslo", [("get_weather", {"city": "Oslo"})]),
        ("What time is it in Tokyo?", [("current_time", {"timezone": "Asia/Tokyo"})]),
        ("how many km are 26.2 miles?", [("convert_units", {"value": 26.2, "from_unit": "mile", "to_unit": "km"})]),
        ("convert 10 pounds to kg", [("convert_units", {"value": 10, "from_unit": "pound", "to_unit": "kg"})]),
        ("Where is order A-1042?", [("find_order", {"order_id": "A-1042"})]),
        ("Hello there", []),
        ("What's my name?", []),
        ("Who wrote Hamlet?", []),
    ],
)
def test_a_prompt_leads_to_the_calls_that_it_asks_for(prompt: str, expected: list) -> None:
    assert calls(prompt) == expected


def test_a_quoted_text_is_translated_once() -> None:
    properties = {"text": {"type": "string"}, "target_language": {"type": "string"}}
    translate = tool(
        "translate", "Translate a text.", {"type": "object", "properties": properties, "required": [*properties]}
    )
    tool_calls = calls('Translate "good morning" into French', toolConfig={"tools": [translate]})
    assert tool_calls == [("translate", {"text": "good morning", "target_language": "French"})]


def test_tools_that_a_prompt_calls_by_name_are_all_called() -> None:
    nothing = {"type": "object", "properties": {}}
    twins = {"tools": [tool(f"sensor_{number:03d}", "Read one sensor.", nothing) for number in range(100)]}
    assert calls("Call sensor_007, sensor_042 and sensor_099.", toolConfig=twins) == [
        ("sensor_007", {}),
        ("sensor_042", {}),
        ("sensor_099", {}),
    ]


def test_an_email_takes_its_address_and_subject_from_the_prompt() -> None:
    tool_calls = calls('Send an email to bob@example.com with the subject "Lunch on Friday"')
    assert tool_calls == [("send_email", {"to": "bob@example.com", "subject": "Lunch on Friday"})]


@pytest.mark.parametrize(
    "statement",
    ["subject is" + " " * 400 + ";x", "subject is " * 150 + "x" + " " * 1_800 + ";x"],
    ids=["before a value", "after values"],
)
def test_a_run_of_spaces_beside_a_name_is_read_in_a_moment(statement: str) -> None:
    began_s = time.thread_time()
    assert reply_to(f"Send an email to bob@example.com, {statement}")
    assert time.thread_time() - began_s < 0.5


def test_a_tool_that_lacks_an_argument_is_asked_for_and_not_called() -> None:
    reply = reply_to("What's the weather?")
    assert not reply.calls
    assert "city" in reply.text


def test_earlier_statements_are_remembered() -> None:
    assert reply_to("My name is Anuja.", "What's my name?").text == "Your name is Anuja."
    assert reply_to("I live in Pune and my favourite colour is blue", "what is my favorite color?").text == (
        "Your favourite colour is blue."
    )
    assert "not told me" in reply_to("Hello", "What's my name?").text


@pytest.mark.parametrize("labels", [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [False, True], ["Bad", "Good"]])
def test_a_judge_answers_with_a_label_whatever_the_labels_are(labels: list) -> None:
    properties = {"score": {"enum": labels}, "reason": {"type": "string"}}
    form = tool("Verdict", "Judge the answer.", {"type": "object", "properties": properties, "required": [*properties]})
    question = "USER QUERY:\nWhat is the capital of France?"
    answers = ("Paris is the capital of France.", "No idea.")
    scores = [
        calls(
            f"# Assistant's Response:\n{answer}\n\n{question}",
            system=[{"text": "You are a judge"}],
            toolConfig={"tools": [form]},
        )[0][1]["score"]
        for answer in answers
    ]
    assert set(scores) <= set(labels)
    assert scores[0] == (labels[-1] if isinstance(labels[0], str) else max(labels))


def test_a_system_prompt_is_read_for_an_answer() -> None:
    reply = reply_to("When does the shop open?", system=[{"text": "You are kind. The shop opens at nine on weekdays."}])
    assert reply.text == "The shop opens at nine on weekdays."


@pytest.mark.parametrize("count", [1, 12, 250])
def test_a_text_has_the_number_of_words_asked_for(count: int) -> None:
    assert len(reply_to(f"Write {count} words about autumn").text.split()) == count


def with_results(prompt: str, *results: dict) -> dict:
    first = reply_to(prompt)
    uses = [{"toolUse": {"toolUseId": c.id, "name": c.name, "input": dict(c.arguments)}} for c in first.calls]
    answers = [
        {"toolResult": {"toolUseId": call.id, "status": "success", **result}}
        for call, result in zip(first.calls, results, strict=True)
    ]
    messages = [said(prompt), {"role": "assistant", "content": uses}, {"role": "user", "content": answers}]
    return {"messages": messages, "toolConfig": {"tools": declared()}}


def test_results_are_answered_and_no_call_is_repeated() -> None:
    body = with_results(
        "15*37 and the weather in Rome", {"content": [{"text": "555"}]}, {"content": [{"json": {"sky": "sunny"}}]}
    )
    reply = scripted_reply(read_request("any", body))
    assert reply.text == "15 * 37 = 555. Weather (Rome): sky: sunny."
    assert not reply.calls


def test_text_beside_a_result_does_not_hide_the_result() -> None:
    body = with_results("weather in Rome", {"content": [{"text": "mild"}]})
    body["messages"][-1]["content"].append({"text": "Be brief."})
    assert scripted_reply(read_request("any", body)).text == "Weather (Rome): mild."


def test_a_failed_tool_is_reported_as_failed() -> None:
    body = with_results("weather in Rome", {"content": [{"text": "no connection"}], "status": "error"})
    assert scripted_reply(read_request("any", body)).text == "The tool get_weather failed (Rome): no connection."


def test_the_input_grows_with_the_conversation() -> None:
    short = read_request("any", {"messages": [said("Hello")]})
    long = read_request("any", {"messages": [said("Hello"), said("Hi. " * 50, "assistant"), said("More")]})
    assert long.input_tokens > short.input_tokens > 0


def test_token_limits_and_stop_sequences_hold() -> None:
    cut = reply_to("Write 200 words about autumn", inferenceConfig={"maxTokens": 20})
    assert (cut.stop_reason, cut.output_tokens <= 20) == ("max_tokens", True)
    stopped = reply_to("Write 200 words about autumn", inferenceConfig={"stopSequences": ["written"]})
    assert stopped.stop_reason == "stop_sequence"
    assert "written" not in stopped.text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"messages": []}, "empty"),
        ({"messages": [said("Hi", "assistant")]}, "start with a user message"),
        ({"messages": [said("  ")]}, "blank"),
        (
            {"messages": [{"role": "user", "content": [{"toolResult": {"toolUseId": "x", "content": []}}]}]},
            "toolConfig",
        ),
        ({"messages": [said("Hi")], "toolConfig": {"tools": declared(), "toolChoice": {"tool": {"name": "no"}}}}, "no"),
    ],
)
def test_a_request_that_bedrock_would_refuse_is_refused(body: dict, message: str) -> None:
    with pytest.raises(ModelRefusedError, match=message) as refused:
        read_request("any", body)
    assert (refused.value.code, refused.value.status) == ("ValidationException", 400)


PROPERTY_NAMES = st.sampled_from(
    ["city", "expression", "count", "name", "tags", "when", "date", "verbose", "q", "to", "unit"]
)
TEXT = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={
        "minLength": st.integers(0, 8),
        "maxLength": st.integers(8, 30),
        "format": st.sampled_from(["date", "email", "uri"]),
        "pattern": st.sampled_from([r"^\d+$", r"^[A-Z]{2}-\d+$", "("]),
    },
)
NUMBER = st.fixed_dictionaries(
    {"type": st.sampled_from(["number", "integer"])},
    optional={
        "minimum": st.integers(-50, 50),
        "exclusiveMaximum": st.integers(51, 99),
        "multipleOf": st.sampled_from([1, 2, 0.5, 7]),
    },
)
ENTRIES = st.lists(st.sampled_from(["red", "blue", 3, True, None, "New York"]), min_size=1, unique_by=repr)
SCALARS = st.one_of(
    TEXT,
    NUMBER,
    st.just({"type": "boolean"}),
    st.just({"type": ["string", "null"]}),
    st.fixed_dictionaries({"enum": ENTRIES}),
    st.fixed_dictionaries({"const": st.sampled_from(["x", 1, None])}),
    st.sampled_from([{}, {"$ref": "#/$defs/Place"}, {"not": {"type": "string"}}]),
    st.just({"if": {"type": "string"}, "then": {"minLength": 99}}),
)


def nested(inner: st.SearchStrategy) -> st.SearchStrategy:
    sizes = {"minItems": st.integers(0, 3), "maxItems": st.integers(3, 5), "uniqueItems": st.booleans()}
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional=sizes),
        objects(inner),
        *(st.fixed_dictionaries({key: st.lists(inner, min_size=1, max_size=2)}) for key in ("anyOf", "oneOf", "allOf")),
    )


def objects(inner: st.SearchStrategy) -> st.SearchStrategy:
    def with_required(properties: dict) -> st.SearchStrategy:
        names = st.lists(st.sampled_from(sorted(properties)), unique=True) if properties else st.just([])
        return st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.just(properties), "required": names},
            optional={"additionalProperties": st.booleans()},
        )

    return st.dictionaries(PROPERTY_NAMES, inner, max_size=4).flatmap(with_required)


PLACE = {"$defs": {"Place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
SCHEMAS = objects(st.recursive(SCALARS, nested, max_leaves=5)).map(lambda schema: {**schema, **PLACE})
FRAGMENTS = [
    "weather in Paris",
    "2+2",
    "and",
    "15*37",
    "call",
    "search",
    "tomorrow",
    "“quoted”",
    '"',
    "((",
    "- -",
    "my name is",
    "?",
    "red",
    "3 red tags",
    "city: Oslo",
    "https://x.org/a",
    "a@b.org",
    "AB-12",
    "write 10 words",
    "summarize:",
    "what's my",
    "\n",
    "%",
    "x",
    "half of",
]
PIECES = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=8).map(" ".join)
PROMPTS = st.one_of(
    st.text(min_size=1, max_size=200),
    PIECES,
    PIECES.map("search the weather by city, call red tags, calculate {}".format),
).filter(str.strip)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    schema=SCHEMAS,
    prompt=PROMPTS,
    name=st.sampled_from(["search", "get_weather", "calculator", "red_tags"]),
    choice=st.sampled_from(["auto", "any", "tool"]),
)
def test_arguments_are_always_valid_against_the_schema(schema: dict, prompt: str, name: str, choice: str) -> None:
    choices = {"auto": {"auto": {}}, "any": {"any": {}}, "tool": {"tool": {"name": name}}}
    tools = [tool(name, "Search the weather by city and call red tags.", schema)]
    body = {"messages": [said(prompt)], "toolConfig": {"tools": tools, "toolChoice": choices[choice]}}
    reply = forced_or_refused(body) if choice != "auto" else scripted_reply(read_request("any", body))
    if reply is None:
        return
    event(f"{choice}: {'calls' if reply.calls else 'answers'}")
    assert reply.text or reply.calls
    json.dumps([dict(call.arguments) for call in reply.calls], allow_nan=False)
    for call in reply.calls:
        REFERENCE(schema).validate(dict(call.arguments))


def matches_pattern(validator: object, pattern: str, instance: object, schema: object):
    """`pattern` as jsonschema has it, but what is not a regular expression is matched by nothing instead of raising."""
    try:
        fits = not isinstance(instance, str) or re.search(pattern, instance)
    except re.error:
        fits = False
    if not fits:
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


REFERENCE = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": matches_pattern})


def forced_or_refused(body: dict):
    """A forced call, or None for a schema that no arguments of the model's could satisfy."""
    try:
        return scripted_reply(read_request("any", body))
    except ModelRefusedError as refused:
        event("refused")
        if refused.code != "ModelErrorException":
            raise
        return None


VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-60, 60), st.floats(-60, 60), st.text(max_size=8), st.just("2000-01-01")
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(PROPERTY_NAMES, inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=SCHEMAS, value=VALUES)
def test_what_the_schema_check_accepts_is_valid(schema: dict, value: object) -> None:
    for part in [schema, *schema["properties"].values()]:
        if is_valid(value, part, schema):
            REFERENCE({**part, **PLACE}).validate(value)


_REPLIES = """
import json, sys
from test_models_scripted import FRAGMENTS, reply_to

prompts = [" ".join(FRAGMENTS[i:i + 4]) for i in range(len(FRAGMENTS))]
replies = [reply_to(*prompts[i:i + 1 + i % 3]) for i in range(len(prompts))]
calls = [[[call.id, call.name, dict(call.arguments)] for call in reply.calls] for reply in replies]
json.dump([[reply.text, made] for reply, made in zip(replies, calls)], sys.stdout)
"""


def test_replies_do_not_depend_on_the_process_or_its_hash_seed() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", _REPLIES],
            cwd=Path(__file__).parent,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert len(json.loads(outputs[0])) == len(FRAGMENTS)


@given(prompts=st.lists(PROMPTS, min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_any_conversation_gets_a_reply(prompts: list[str]) -> None:
    reply = reply_to(*prompts)
    assert reply.text or reply.calls
