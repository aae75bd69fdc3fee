"""The bill of an invocation: the field note's figures, what is unknown, and sums that never lose it."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from priced_traces import HAIKU, SONNET, call, refusal, trace_of

from loomlib.telemetry.cost import Amount, RuntimeUse, cost_by, cost_of, total_cost, usage_of

NOTE = RuntimeUse.during(4.6, active_vcpus=1.0, memory_gb=0.1)  # below the minimum of 128 MB


@pytest.mark.parametrize(
    ("model", "read", "written", "all_in_all"),
    [(HAIKU, 0.000894, 0.000079, 0.001089), (SONNET, 0.010722, 0.000945, 0.011783)],
)
def test_the_field_notes_cost_per_request_is_reproduced(
    model: str, read: float, written: float, all_in_all: float
) -> None:
    cost = cost_of(trace_of(call(model, 1752, 20), call(model, 1822, 43)), runtime=NOTE)
    amounts = {line.item: float(line.amount.known) for line in cost.lines}
    assert amounts["input tokens"] == pytest.approx(read, abs=1e-6)
    assert amounts["output tokens"] == pytest.approx(written, abs=1e-6)
    assert amounts["runtime CPU"] == pytest.approx(0.000114, abs=1e-6)
    assert amounts["runtime memory"] == pytest.approx(0.000002, abs=1e-6)
    assert cost.total.value == pytest.approx(all_in_all, abs=1.5e-6)
    assert cost.total.state == "known"
    assert cost.tokens("input") == 3574


def test_the_field_notes_bill_of_the_runtime_is_reproduced() -> None:
    use = RuntimeUse.measured(vcpu_hours=0.004628, gb_hours=0.007257)
    lines = cost_of(trace_of(), runtime=use).lines
    assert [round(float(line.amount.known), 6) for line in lines if line.unit != "tokens"] == [0.000414, 0.000069]
    assert not any(line.amount.is_estimate for line in lines)


def test_every_line_states_where_its_price_is_from_and_of_which_day() -> None:
    for line in cost_of(trace_of(call(SONNET, 10, 10, cache_read=5, cache_write=5)), runtime=NOTE).lines:
        assert line.source
        assert line.as_of is not None


def test_cached_tokens_have_their_own_prices() -> None:
    cost = cost_of(trace_of(call("claude-sonnet-4-6", 100, 10, cache_read=1_000_000, cache_write=100_000)))
    amounts = {line.item: line.amount.known for line in cost.lines}
    assert amounts["cache-read tokens"] == Decimal("0.30")
    assert amounts["cache-write tokens"] == Decimal("0.375")


def test_cached_tokens_that_are_part_of_the_input_are_charged_once() -> None:
    apart = usage_of(trace_of(call(SONNET, 100, 10, cache_read=900, total=1010)))
    within = usage_of(trace_of(call(SONNET, 1000, 10, cache_read=900, total=1010)))
    assert [usage.input_tokens for usage in (*apart, *within)] == [100, 100]


def test_a_model_without_a_price_is_unknown_and_not_free() -> None:
    cost = cost_of(trace_of(call("meta.llama9-405b-v1:0", 1000, 100)), runtime=NOTE)
    assert cost.model.state == "unknown"
    assert cost.model.value is None
    assert cost.model.unknown == 2
    assert cost.total.state == "partial"
    assert str(cost.total).startswith("at least $")
    assert "price table does not have this model" in cost.lines[0].why


def test_a_kind_without_a_price_is_unknown_while_the_others_are_known() -> None:
    cost = cost_of(trace_of(call("anthropic.claude-3-sonnet-20240229-v1:0", 1000, 10, cache_read=500)), runtime=NOTE)
    assert {line.item: line.amount.state for line in cost.lines}["cache-read tokens"] == "unknown"
    assert cost.model.known == Decimal("0.00315")


def test_a_prompt_beyond_a_priced_length_is_unknown_or_has_its_own_price() -> None:
    assert cost_of(trace_of(call(SONNET, 200_001, 10))).model.state == "unknown"
    short, long = (cost_of(trace_of(call("claude-haiku-5-5", tokens, 0))).model for tokens in (100_000, 100_001))
    assert (short.known, long.known) == (Decimal("0.01"), Decimal("0.0500005"))


def test_without_figures_the_runtime_is_unknown() -> None:
    cost = cost_of(trace_of(call(HAIKU, 10, 10)))
    assert cost.runtime.state == "unknown"
    assert cost.total.unknown == 2
    half = cost_of(trace_of(), runtime=RuntimeUse.during(3, memory_gb=1.0))
    assert half.runtime.state == "partial"


def test_a_refused_call_costs_nothing_and_a_silent_one_is_unknown() -> None:
    refused = cost_of(trace_of(call(HAIKU, None, None), **refusal()), runtime=NOTE)
    assert refused.model == Amount()
    silent = cost_of(trace_of(call(HAIKU, None, None)), runtime=NOTE)
    assert silent.model.state == "unknown"
    assert "states no usage" in silent.lines[0].why


def test_counts_that_one_call_states_are_known_beside_another_that_does_not() -> None:
    cost = cost_of(trace_of(call(HAIKU, 100, None), call(HAIKU, None, 50)), runtime=NOTE)
    assert (cost.tokens("input"), cost.tokens("output")) == (100, 50)
    assert {(line.item, line.quantity, line.amount.unknown) for line in cost.lines if line.model} == {
        ("input tokens", 100, 0),
        ("input tokens", None, 1),
        ("output tokens", 50, 0),
        ("output tokens", None, 1),
    }


@pytest.mark.parametrize("tokens", [10**9 + 1, 2**63 - 1, 10**25])
def test_an_impossible_count_of_tokens_is_unknown(tokens: int) -> None:
    of_agent = {f"gen_ai.usage.{kind}_tokens": count for kind, count in (("input", 10), ("output", tokens))}
    for trace in (trace_of(call(HAIKU, 10, tokens)), trace_of(agent={"gen_ai.request.model": HAIKU} | of_agent)):
        cost = cost_of(trace, runtime=NOTE)
        assert (cost.tokens("input"), cost.tokens("output"), cost.model.unknown) == (10, 0, 1)
        assert cost.total.state == "partial"


def test_the_agents_sum_is_used_only_where_its_calls_have_no_spans() -> None:
    agent = {"gen_ai.request.model": HAIKU, "gen_ai.usage.input_tokens": 3574, "gen_ai.usage.output_tokens": 63}
    alone = cost_of(trace_of(agent=agent))
    doubled = cost_of(trace_of(call(None, 3574, 63), agent=agent))
    assert alone.model == doubled.model
    assert alone.model.known == Decimal("0.00097225")


def test_the_agents_sum_of_cached_tokens_costs_as_much_as_its_call() -> None:
    within = call(SONNET, 1000, 100, cache_read=800, total=1100)
    former = {name.replace("cache_read.", "cache_read_"): value for name, value in within.items()}
    for usage in (within, former):
        del usage["gen_ai.operation.name"]
        assert cost_of(trace_of(agent=usage)).model == cost_of(trace_of(call(SONNET, 200, 100, cache_read=800))).model


def test_simulated_tokens_and_another_models_price_are_estimates() -> None:
    trace = trace_of(call("loom.scripted@field-notes", 1000, 100))
    assert cost_of(trace, is_simulated=True).model.state == "unknown"
    priced = cost_of(trace, is_simulated=True, priced_as=HAIKU)
    assert priced.model.is_estimate
    assert priced.is_simulated
    assert "estimated" in str(priced.model)
    assert total_cost([priced]).simulated == 1


def test_sums_by_key_carry_what_is_unknown() -> None:
    known_cost = cost_of(trace_of(call(HAIKU, 1000, 100)), runtime=NOTE)
    unknown_cost = cost_of(trace_of(call("nobody.knows", 1000, 100), number=2), runtime=NOTE)
    days = cost_by([("Monday", known_cost), ("Tuesday", unknown_cost), ("Tuesday", known_cost)])
    assert days["Monday"].amount.state == "known"
    assert (days["Tuesday"].incomplete, days["Tuesday"].invocations) == (1, 2)
    assert days["Tuesday"].amount.state == "partial"
    assert days["Tuesday"].by_model["nobody.knows"].state == "unknown"
    assert days["Tuesday"].row()["unknown"] == 2


counts = st.one_of(st.none(), st.integers(0, 10**9))
models = st.sampled_from([HAIKU, SONNET, "nobody.knows", None])
calls = st.lists(
    st.builds(call, models, counts, counts, cache_read=counts, cache_write=counts, total=counts), max_size=5
)


@given(st.lists(calls, max_size=5), st.randoms())
def test_costs_add_up_in_any_order_and_are_never_negative(bills: list[list[dict[str, object]]], random: object) -> None:
    costs = [cost_of(trace_of(*bill, number=place)) for place, bill in enumerate(bills, 1)]
    total = total_cost(costs)
    assert total.amount.known == sum((cost.total.known for cost in costs), Decimal(0))
    assert total.amount.unknown == sum(cost.total.unknown for cost in costs)
    assert total.amount == total.model + total.runtime
    assert total.amount.known >= 0
    assert sum((amount.known for amount in total.by_model.values()), Decimal(0)) == total.model.known
    for order in list(permutations(costs))[:6]:
        assert total_cost(order) == total


@given(calls.filter(len))
def test_a_call_more_never_makes_it_cheaper(bill: list[dict[str, object]]) -> None:
    before, after = cost_of(trace_of(*bill)), cost_of(trace_of(*bill, call(SONNET, 5, 5)))
    assert after.total.known > before.total.known
    assert after.total.unknown == before.total.unknown


@pytest.mark.parametrize("wrong", [Decimal(-1), Decimal("NaN"), Decimal("Infinity")])
def test_an_impossible_amount_is_rejected(wrong: Decimal) -> None:
    with pytest.raises(ValueError):
        Amount(known=wrong)
    with pytest.raises(ValueError):
        RuntimeUse(vcpu_s=wrong)


def test_amounts_of_different_currencies_are_not_added() -> None:
    with pytest.raises(ValueError, match="EUR"):
        Amount(known=Decimal(1)) + Amount(known=Decimal(1), currency="EUR")
