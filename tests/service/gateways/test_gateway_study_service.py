"""The study of gateways on the local service: one small catalogue from its deployment to its result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import loomlib as loom
from loomlib.errors import AgentNotFoundError
from loomlib.experiments import Silent
from loomlib.workbench import deploy_catalogues, find_catalogues


@pytest.fixture
def bench(aws: Any) -> Iterator[loom.Workbench]:
    with loom.connect(home=str(aws.state.home)) as opened:
        yield opened


def test_a_small_study_measures_calls_searches_and_choices(bench: loom.Workbench) -> None:
    with pytest.raises(AgentNotFoundError, match="no such agent"):
        find_catalogues(bench, (12,), name="studied")
    subject = deploy_catalogues(bench, (12,), name="studied")
    study = loom.GatewayStudy(subject, calls=3, searches=8, questions=4, warm_ups=1)
    result = study.run(Silent())
    assert [(unit.failure, unit.error_message) for unit in result.measured if unit.is_failed] == []
    assert result.state == "complete"
    ways = {
        way: [unit for unit in result.measured if unit.way == way]
        for way in ("direct", "gateway", "find", "all", "search")
    }
    assert {way: len(units) for way, units in ways.items()} == {
        "direct": 3,
        "gateway": 3,
        "find": 8,
        "all": 4,
        "search": 4,
    }
    for unit in ways["gateway"]:
        assert unit.is_reused
        assert unit.received is not None
        assert 0 < unit.gateway_ms < unit.duration_ms
        assert unit.target_ms > 0  # it may end after its answer, and so after the gateway's span
    for all_tools, searched in zip(
        *(sorted(ways[way], key=lambda u: u.block) for way in ("all", "search")), strict=True
    ):
        assert all_tools.wanted == searched.wanted
        assert all_tools.is_simulated
        assert len(searched.found) == 10
        assert searched.input_tokens < all_tools.input_tokens, "ten tools take fewer tokens than twelve"
        assert 0 < searched.search_ms < searched.duration_ms
    assert [unit.is_reworded for unit in sorted(ways["find"], key=lambda u: u.block)] == [False, False, True, True] * 2
    assert all(unit.rank is not None for unit in ways["find"] if not unit.is_reworded), "the description's own words"
    assert any(unit.is_right for unit in ways["all"])
    again = deploy_catalogues(bench, (12,), name="studied")
    assert again.arns == subject.arns
    assert loom.GatewayStudy.resume(again, study.study_id).run(Silent()).measured == result.measured
    bench.gateways.delete("studied-12-0")
