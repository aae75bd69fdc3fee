"""Eval sets for the tests of formats: one that says everything, and Hypothesis strategies for any."""

from hypothesis import strategies as st

from loomlib.evals import EvalCase, EvalSet, EvaluatorChoice, ExpectedTool, Rubric, Turn, UserScenario

FULL = EvalSet(
    name="orders",
    version="3",
    description="Orders and refunds",
    evaluators=(EvaluatorChoice(name="trajectory", options={"match": "IN_ORDER"}, threshold=1.0),),
    metadata={"owner": "shop"},
    cases=(
        EvalCase(
            id="two turns",
            turns=(
                Turn(
                    prompt="Where is order 7?",
                    expected_answer="It is shipped.",
                    expected_tools=(
                        ExpectedTool(
                            name="lookup",
                            arguments={"id": 7},
                            matchers={"id": "numeric:0"},
                            result={"state": "shipped"},
                        ),
                    ),
                    expected_texts=("One moment.",),
                    rubrics=(Rubric(text="States the order status", id="r1", kind="QUALITY"),),
                ),
                Turn(prompt="Thanks", payload={"prompt": "Thanks", "lang": "en"}, expected_tools=()),
            ),
            assertions=("The status is stated", "Nothing is promised"),
            rubrics=(Rubric(text="Is polite"),),
            tags=("refusal", "multi_turn"),
            initial_state={"user": "u"},
            final_state={"asked": 1},
            forbidden_tools=("refund",),
            reference_tokens=900,
            reference_steps=1,
            evaluators=(EvaluatorChoice(name="contains", options={"text": "shipped"}),),
            session_tools=(ExpectedTool(name="lookup"), ExpectedTool(name="close", arguments={})),
            expected_interactions=({"node_name": "agent", "messages": ["hi"]},),
            metadata={"cluster": "orders"},
            source="invocation 4",
        ),
        EvalCase(
            id="a refund",
            scenario=UserScenario(
                starting_prompt="I want a refund", plan="Accept the offer", persona="curt", max_turns=4
            ),
        ),
    ),
)

# A high and a low surrogate side by side are one character in every JSON text, and have the same hash: left out here.
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.sampled_from(
    [
        "",
        "json:",
        "=1+1",
        "-5",
        "@x",
        "a; b",
        "[x]",
        'say "hi", then',
        "two\r\nlines",
        "\x00",
        "\ud800",
        "\u200b",
        "<script>",
    ]
)
names = st.sampled_from(["add", "lookup", "a;b", "[x]", " x "]) | st.text("abc_", min_size=1, max_size=5)
ids = texts.filter(str.strip)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
mappings = st.dictionaries(texts, values, max_size=3)
some_mappings = st.none() | mappings
rubrics = st.lists(st.builds(Rubric, text=texts, id=texts, kind=texts), max_size=2).map(tuple)
tools = st.builds(
    ExpectedTool,
    name=names,
    arguments=some_mappings,
    matchers=st.dictionaries(texts, st.sampled_from(["ignore", "contains", "numeric:0.1"]), max_size=2),
    result=values,
)
turns = st.builds(
    Turn,
    prompt=texts,
    payload=some_mappings,
    expected_answer=st.none() | texts,
    expected_tools=st.none() | st.lists(tools, max_size=3).map(tuple),
    expected_texts=st.lists(texts, max_size=2).map(tuple),
    rubrics=rubrics,
)
choices = st.builds(
    EvaluatorChoice,
    name=st.sampled_from(["exact", "trajectory", "rouge1", "strands:Contains", "adk:safety_v1", "contains"]),
    options=mappings | st.sampled_from([{"match": "ANY_ORDER"}, {"arguments": False}]),
    threshold=st.none() | st.floats(0, 1),
)
scenarios = st.builds(
    UserScenario, starting_prompt=texts, plan=texts, persona=st.none() | texts, max_turns=st.integers(1, 20)
)


@st.composite
def cases(draw, id):
    common = {
        "assertions": draw(st.lists(texts, max_size=2).map(tuple)),
        "rubrics": draw(rubrics),
        "tags": draw(st.lists(names, max_size=2).map(tuple)),
        "initial_state": draw(mappings),
        "final_state": draw(some_mappings),
        "forbidden_tools": draw(st.lists(names, max_size=2).map(tuple)),
        "reference_tokens": draw(st.none() | st.integers(0, 10**6)),
        "reference_steps": draw(st.none() | st.integers(0, 50)),
        "evaluators": draw(st.lists(choices, max_size=1).map(tuple)),
        "session_tools": draw(st.none() | st.lists(tools, max_size=2).map(tuple)),
        "expected_interactions": draw(st.lists(mappings, max_size=1).map(tuple)),
        "metadata": draw(mappings | mappings.map(lambda m: {"adk": m}) | mappings.map(lambda m: {"agentcore": m})),
        "source": draw(texts),
    }
    if draw(st.booleans()):
        return EvalCase(id=id, scenario=draw(scenarios), **common)
    return EvalCase(id=id, turns=tuple(draw(st.lists(turns, min_size=1, max_size=3))), **common)


@st.composite
def eval_sets(draw):
    case_ids = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    return EvalSet(
        name=draw(ids),
        version=draw(texts.filter(bool)),
        description=draw(texts),
        evaluators=draw(st.lists(choices, max_size=2).map(tuple)),
        metadata=draw(mappings),
        notes=draw(st.lists(texts, max_size=1).map(tuple)),
        cases=tuple(draw(cases(id)) for id in case_ids),
    )
