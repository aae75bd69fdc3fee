"""`bench.bedrock.guardrails`: guardrails as a notebook uses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import loomlib as loom
from loomlib.errors import RequestRejectedError, ResourceNotFoundError


@pytest.fixture(scope="module")
def bench(aws: Any) -> Iterator[loom.Workbench]:
    with loom.connect(home=str(aws.state.home)) as opened:
        yield opened


def test_a_notebook_creates_checks_publishes_and_deletes_a_guardrail(bench: loom.Workbench) -> None:
    others = set(bench.bedrock.guardrails.table()["name"])  # of other tests
    guardrail = bench.bedrock.guardrails.create(
        "notebook", words=["nightjar"], mask=["EMAIL"], content="HIGH", grounding=0.6, description="of a test"
    )
    assert repr(guardrail) == "Guardrail notebook (ready): words, sensitive information, content, grounding"
    assert set(bench.bedrock.guardrails.table()["name"]) == {*others, "notebook"}
    masked = guardrail.check("Write to ann@example.org")
    assert masked.intervened
    assert masked.text == "Write to {EMAIL}"
    assert masked.matches.loc[0, ["policy", "kind", "action"]].tolist() == [
        "sensitive information",
        "EMAIL",
        "ANONYMIZED",
    ]
    assert "topics, content and grounding simulated" not in masked.labels
    version = guardrail.publish()
    blocked = guardrail.check("Is nightjar ready?", version=version)
    assert blocked.text == "Sorry, this is blocked by a guardrail."
    assert guardrail.configuration(version)["guardrailVersion"] == version == "1"
    passed = guardrail.check("What is the weather?")
    assert not passed.intervened
    assert passed.text == "What is the weather?"
    assert passed.matches.empty
    bench.bedrock.guardrails.delete("notebook")
    assert set(bench.bedrock.guardrails.table()["name"]) == others


def test_a_judged_answer_says_that_it_is_simulated(bench: loom.Workbench) -> None:
    guardrail = bench.bedrock.guardrails.create("judge", grounding=0.6)
    check = guardrail.check(
        "The tower is 500 metres high.", side="OUTPUT", grounded_in="The tower is 330 metres high.", query="How high?"
    )
    assert check.intervened
    assert check.matches.loc[0, "score"] < 0.6
    assert "topics, content and grounding simulated" in check.labels
    page = check._repr_html_()
    assert "simulated" in page
    assert "Guardrail blocked" in page
    bench.bedrock.guardrails.delete("judge")


def test_wrong_input_is_refused_with_advice(bench: loom.Workbench) -> None:
    with pytest.raises(RequestRejectedError, match="at least one policy"):
        bench.bedrock.guardrails.create("empty")
    with pytest.raises(RequestRejectedError, match=r"piiEntitiesConfig\[0\]"):
        bench.bedrock.guardrails.create("wrong", mask=["EMAILS"])
    with pytest.raises(ResourceNotFoundError, match=r"bench\.bedrock\.guardrails\.table"):
        bench.bedrock.guardrails.get("none")
