"""Files of others are read as they are meant, and their own libraries load what is written."""

import json
import logging
from pathlib import Path

import pytest
from format_cases import FULL

from loomlib.errors import LoomError
from loomlib.evals import EvalCase, EvalSet, EvaluatorChoice, ExpectedTool, Rubric, Turn, UserScenario
from loomlib.evals.formats import render

DATA = Path(__file__).parents[2] / "data" / "evals"


def test_adk_with_the_criteria_beside_it():
    evalset = EvalSet.read(DATA / "adk" / "orders.evalset.json")
    assert (evalset.name, evalset.description, len(evalset)) == ("orders", "demo", 3)
    assert evalset["static_intermediate_data"].turns == (
        Turn(
            prompt="Where is order 7?",
            expected_answer="Order 7 is shipped.",
            expected_tools=(ExpectedTool(name="lookup_order", arguments={"order_id": "7"}, result="shipped"),),
            rubrics=(Rubric(text="States the order status", id="r1"),),
        ),
    )
    assert evalset["static_invocation_events"].expected_tools == (
        ExpectedTool(name="lookup_order", arguments={"order_id": "8"}),
    )
    assert evalset["scenario"].scenario == UserScenario(
        starting_prompt="I want a refund", plan="Ask for a refund of order 7; accept the first offer."
    )
    assert evalset.evaluators[:2] == (
        EvaluatorChoice(name="trajectory", options={"match": "IN_ORDER", "arguments": False}, threshold=1.0),
        EvaluatorChoice(name="rouge1", threshold=0.8),
    )
    assert [choice.name for choice in evalset.evaluators[2:]] == [
        "adk:final_response_match_v2",
        "adk:rubric_based_final_response_quality_v1",
    ]


def test_adk_in_both_spellings_has_the_same_content():
    snake = json.loads((DATA / "adk" / "orders.evalset.json").read_text())

    def camel(value):
        if isinstance(value, list):
            return [camel(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            key if key == "order_id" else key.split("_")[0] + "".join(w.title() for w in key.split("_")[1:]): camel(
                item
            )
            for key, item in value.items()
        }

    assert EvalSet.read(json.dumps(camel(snake))) == EvalSet.read(json.dumps(snake))


@pytest.mark.parametrize("wrapped", [True, False])
def test_the_old_form_of_adk(wrapped):
    case = {
        "name": "ask_price",
        "data": [
            {
                "query": "What is the stock price of GOOG?",
                "reference": "The price is $175.",
                "expected_tool_use": [{"tool_name": "get_stock_price", "tool_input": {"symbol": "GOOG"}}],
                "expected_intermediate_agent_responses": [{"author": "a", "text": "Looking"}],
            },
            {"query": "Thanks", "expected_tool_use": []},
        ],
        "initial_session": {"state": {"k": 1}, "app_name": "hello_world", "user_id": "user"},
    }
    evalset = EvalSet.read(json.dumps([case] if wrapped else case))
    assert evalset["ask_price"].initial_state == {"k": 1}
    assert evalset["ask_price"].turns == (
        Turn(
            prompt="What is the stock price of GOOG?",
            expected_answer="The price is $175.",
            expected_tools=(ExpectedTool(name="get_stock_price", arguments={"symbol": "GOOG"}),),
            expected_texts=("Looking",),
        ),
        Turn(prompt="Thanks", expected_tools=()),
    )


def test_a_picture_in_a_prompt_of_adk_is_kept_as_payload():
    part = {"inline_data": {"mime_type": "image/png", "data": "AA=="}}
    content = {"role": "user", "parts": [{"text": "What is this?"}, part]}
    evalset = EvalSet.read(json.dumps({"eval_cases": [{"eval_id": "p", "conversation": [{"user_content": content}]}]}))
    assert evalset["p"].turns[0].payload == {"prompt": "What is this?", "content": content}
    assert not render(evalset, "adk").losses


def test_adk_criteria_are_written_beside_the_set_and_read_with_it(tmp_path):
    evaluators = (EvaluatorChoice(name="trajectory", options={"match": "ANY_ORDER"}, threshold=0.5),)
    evalset = EvalSet(name="orders", cases=(EvalCase(id="a", turns=(Turn(prompt="x"),)),), evaluators=evaluators)
    path = tmp_path / "orders.evalset.json"
    assert not evalset.write(path, strict=True)
    assert json.loads((tmp_path / "test_config.json").read_text()) == {
        "criteria": {"tool_trajectory_avg_score": {"threshold": 0.5, "match_type": "ANY_ORDER"}}
    }
    assert EvalSet.read(path) == evalset
    changed = EvalSet(name="other", cases=evalset.cases)
    with pytest.raises(LoomError, match="every eval set in the folder"):
        changed.write(tmp_path / "other.evalset.json")
    assert EvalSet.read(path) == evalset


def test_a_dataset_of_agentcore():
    evalset = EvalSet.read(DATA / "agentcore_dataset.json")
    assert evalset["order_status"].assertions == ("The agent states order 7 is shipped",)
    assert evalset["order_status"].expected_tools == (ExpectedTool(name="lookup_order"),)
    assert evalset["refund_sim"].scenario == UserScenario(
        starting_prompt="I want a refund", plan="get a refund", persona="bought a mug", max_turns=4
    )
    lines = "\n".join(
        json.dumps(scenario) for scenario in json.loads((DATA / "agentcore_dataset.json").read_text())["scenarios"]
    )
    assert EvalSet.read(lines).cases == evalset.cases


def test_an_experiment_of_strands():
    evalset = EvalSet.read(DATA / "strands_experiment.json")
    assert evalset["order_status"].expected_answer == "Order 7 is shipped."
    assert evalset.evaluators[:2] == (
        EvaluatorChoice(name="exact"),
        EvaluatorChoice(name="strands:Contains", options={"name": "c1", "value": "shipped"}),
    )
    assert not render(evalset, "strands").losses


def test_strands_own_library_loads_what_is_written():
    level = logging.getLogger().level
    try:
        from strands_evals import Experiment
    finally:
        logging.getLogger().setLevel(level)
    for evalset in (
        FULL,
        EvalSet.read(DATA / "strands_experiment.json"),
        EvalSet.read(DATA / "agentcore_dataset.json"),
    ):
        loaded = Experiment.from_dict(json.loads("".join(render(evalset, "strands").parts)))
        assert [case.name for case in loaded.cases] == [case.id for case in evalset]
        assert [case.input for case in loaded.cases] == [case.prompt for case in evalset]


@pytest.mark.filterwarnings("ignore:Support for class-based:DeprecationWarning")  # the library's own
def test_agentcores_own_library_loads_what_is_written(tmp_path):
    from bedrock_agentcore.evaluation.runner.dataset_providers import FileDatasetProvider

    for evalset in (
        FULL,
        EvalSet.read(DATA / "agentcore_dataset.json"),
        EvalSet.read(DATA / "adk/orders.evalset.json"),
    ):
        evalset.write(tmp_path / "set.json", "agentcore")
        loaded = FileDatasetProvider(str(tmp_path / "set.json")).get_dataset()
        assert [scenario.scenario_id for scenario in loaded.scenarios] == [case.id for case in evalset]


def test_simple_rows_of_any_kind():
    expected = (
        EvalCase(
            id="case-1",
            turns=(Turn(prompt="2+2?", expected_answer="4", expected_tools=(ExpectedTool(name="add"),)),),
            metadata={"topic": "sums"},
        ),
        EvalCase(id="case-2", turns=(Turn(prompt="Hi"),)),
    )
    rows = [{"prompt": "2+2?", "expected": "4", "tools": "add", "topic": "sums"}, {"prompt": "Hi"}]
    assert EvalSet.from_rows(rows).cases == expected
    assert EvalSet.read("\n".join(map(json.dumps, rows))).cases == expected
    assert EvalSet.read(json.dumps(rows)).cases == expected
    assert EvalSet.read("question,answer,tools,topic\r\n2+2?,4,add,sums\r\nHi,,,\r\n").cases == expected
    assert EvalSet.read("question;answer;tools;topic\n2+2?;4;add;sums\nHi;;;\n").cases == expected


def test_a_frame_with_missing_values_and_numbers():
    import pandas as pd

    frame = pd.DataFrame({"input": ["a", "b"], "expected": [4, None], "tags": [["x"], None], "n": [1, pd.NA]})
    evalset = EvalSet.from_frame(frame, name="sums")
    assert [case.expected_answer for case in evalset] == ["4", None]
    assert evalset["case-1"].tags == ("x",)
    assert evalset["case-1"].metadata == {"n": 1}


def test_the_cells_of_a_frame_may_be_numpys_values():
    import numpy as np
    import pandas as pd

    cells = [np.array(["x", "y"]), np.array([]), np.float32("nan"), np.datetime64("NaT"), np.int64(3)]
    frame = pd.DataFrame({"prompt": list("abcde"), "tags": [*cells[:4], None], "n": [*cells[1:], 2.5]}, dtype=object)
    evalset = EvalSet.from_frame(frame, name="cells")
    assert [case.tags for case in evalset] == [("x", "y"), (), (), (), ()]
    assert [case.metadata.get("n") for case in evalset] == [[], None, None, 3, 2.5]


def test_a_formula_in_a_table_is_no_formula():
    evalset = EvalSet(
        name="e", cases=(EvalCase(id="=cmd|' /C calc'!A0", turns=(Turn(prompt="=1+1", expected_answer="-2"),)),)
    )
    text = "".join(render(evalset, "csv").parts)
    assert not any(cell.startswith("=") for line in text.splitlines() for cell in line.replace('"', "").split(","))
    assert EvalSet.read(text, "csv").cases == evalset.cases
