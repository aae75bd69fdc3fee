"""Metrics of agents that have no code for metrics, and what a process reports about spans that it did not create."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.local.otlp.json_form import decode_json
from loomlib.local.sessions.tracing.points import SERIES_LIMIT, Buckets, Points, Series

SILENT = """
from bedrock_agentcore import BedrockAgentCoreApp
app = BedrockAgentCoreApp()

@app.entrypoint
def answer(payload):
    if payload["prompt"] == "trace":
        from opentelemetry import trace
        with trace.get_tracer("mine").start_as_current_span("one"):
            pass
    return "fine"

app.run()
"""


def counted(lab, name):
    return sum(int(p["asInt"]) for form in lab.collector.metrics().get(name, ()) for p in form["sum"]["dataPoints"])


async def test_a_strands_agents_metrics_are_exported_and_each_counts_once(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced()
    for calls in (1, 2):
        await ask(pool, runtime)
        await eventually(lambda calls=calls: counted(lab, "strands.tool.call_count") >= 2 * calls)
        await eventually(lambda calls=calls: counted(lab, "strands.event_loop.cycle_count") >= 2 * calls)
    await pool.close()
    assert counted(lab, "strands.tool.call_count") == counted(lab, "strands.event_loop.cycle_count") == 4
    forms = lab.collector.metrics()
    durations = forms["strands.tool.duration"]
    assert {form["exponentialHistogram"]["aggregationTemporality"] for form in durations} == {1}
    assert sum(int(p["count"]) for form in durations for p in form["exponentialHistogram"]["dataPoints"]) == 4
    assert not [name for name in forms if name.startswith("otel.sdk")]


async def test_metrics_that_are_switched_off_stay_away_and_the_spans_come(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced(OTEL_METRICS_EXPORTER="none")
    await ask(pool, runtime)
    await pool.close()
    assert lab.collector.named("POST /invocations")
    assert lab.collector.metrics() == {}


async def test_a_provider_of_meters_of_the_agents_own_decides_where_its_metrics_go(lab, ask):
    code = """
    from opentelemetry import metrics
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()

    @app.entrypoint
    async def invoke(payload):
        first = agent()
        metrics.set_meter_provider(MeterProvider([reader]))
        await first.invoke_async("go")
        found = reader.get_metrics_data().resource_metrics[0].scope_metrics
        return sorted(metric.name for scope in found for metric in scope.metrics if "tool" in metric.name)
    """
    pool = lab.pool()
    metric_names = json.loads(await ask(pool, lab.paced(code)))
    assert "strands.tool.call_count" in metric_names
    await pool.close()
    assert lab.collector.metrics() == {}


async def test_a_meter_of_the_agents_own_has_every_kind_of_instrument(lab, ask):
    runtime = lab.runtime(
        """
        from bedrock_agentcore import BedrockAgentCoreApp
        from opentelemetry import metrics
        app = BedrockAgentCoreApp()
        meter = metrics.get_meter("mine", "1.0")
        counter, histogram = meter.create_counter("sold", "Count"), meter.create_histogram("took", "s")
        open_ones, level = meter.create_up_down_counter("open"), meter.create_gauge("level")
        meter.create_observable_gauge("seen", [lambda options: [metrics.Observation(7, {"who": "me"})]])
        meter.create_observable_counter("broken", [lambda options: 1 / 0])

        @app.entrypoint
        def answer(payload):
            counter.add(2, {"of": ["a", "b"]})
            counter.add(-5)
            histogram.record(0.25)
            open_ones.add(3)
            open_ones.add(-1)
            level.set(4.5)
            level.set(float("nan"))

        app.run()
        """
    )
    pool = lab.pool()
    await ask(pool, runtime)
    await pool.close()
    forms = {name: form[0] for name, form in lab.collector.metrics().items()}
    assert sorted(forms) == ["level", "open", "seen", "sold", "took"]
    assert forms["sold"]["sum"]["dataPoints"][0]["asInt"] == "2"
    assert forms["open"]["sum"]["dataPoints"][0]["asInt"] == "2"
    assert forms["open"]["sum"]["isMonotonic"] is False
    assert forms["level"]["gauge"]["dataPoints"][0]["asDouble"] == 4.5
    assert forms["seen"]["gauge"]["dataPoints"][0]["asInt"] == "7"
    assert forms["took"]["exponentialHistogram"]["dataPoints"][0]["sum"] == 0.25


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=50))
def test_a_histogram_arrives_with_its_values(values: list[float]) -> None:
    points = Points({})
    for value in values:
        points.record(Series(scope=("mine", ""), name="took", unit="s", kind="histogram"), value)
    (group,) = decode_json(points.take(), "metrics").groups
    (point,) = group.records[0]["points"]
    assert (point["count"], point["sum"]) == (len(values), pytest.approx(sum(values)))
    assert (point["min"], point["max"]) == (min(values), max(values))
    assert sum(count for _, count in point["buckets"]) == len(values)
    assert points.take() == b""


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=100))
def test_however_many_and_far_apart_its_values_are_a_histogram_holds_few_buckets(values: list[float]) -> None:
    buckets = Buckets()
    for value in values:
        buckets.add(value)
        assert all(len(range(min(counts), max(counts) + 1)) <= 160 for counts in buckets.counts if counts)
    nonzero_count = sum(sum(counts.values()) for counts in buckets.counts)
    assert nonzero_count + int(buckets.encoded()["zeroCount"]) == buckets.count == len(values)
    for counts, sign in zip(buckets.counts, (1, -1), strict=True):
        for value in values:
            if value * sign >= 1e-300:
                index = math.ceil(math.log2(value * sign) * 2.0**buckets.scale) - 1
                assert index in counts


def test_metrics_that_nobody_takes_fill_a_bounded_memory() -> None:
    points = Points({})
    waits = Series(scope=("mine", ""), name="took", unit="s", kind="histogram")
    for number in range(20_000):
        points.record(waits, number)
    (histogram,) = points._histograms[waits].values()
    assert histogram.count == 20_000
    assert sum(map(len, histogram.counts)) <= 160


def test_totals_beyond_the_limit_are_one_total_also_after_points_were_taken() -> None:
    points, open_ones = Points({}), Series(scope=("mine", ""), name="open", unit="", kind="up_down")
    for number in range(SERIES_LIMIT + 500):
        points.record(open_ones, 1, {"number": number})
        if number % 700 == 0:
            points.take()
    points.record(open_ones, -1, {"number": 0})
    points.record(open_ones, 1, {"number": "new"})
    data_points = json.loads(points.take())["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["sum"]["dataPoints"]
    numbers = [point["asInt"] for point in data_points if point["attributes"][0]["key"] == "otel.metric.overflow"]
    assert numbers == ["501"]
    assert "0" in [point["asInt"] for point in data_points]
    assert len(points._totals[open_ones]) == SERIES_LIMIT + 1


def test_series_beyond_the_limit_count_as_one() -> None:
    points = Points({})
    for number in range(5_000):
        points.record(Series(scope=("mine", ""), name="sold", unit="", kind="counter"), 1, {"number": number})
    (group,) = decode_json(points.take(), "metrics").groups
    data_points = group.records[0]["points"]
    assert len(data_points) == 2_001
    assert sum(point["value"] for point in data_points) == 5_000


async def test_a_process_reports_once_that_it_makes_no_spans_and_that_it_makes_some_after_all(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.runtime(SILENT)

    def said():
        return [line for line in lab.lines if "Loom: session" in line]

    for _ in range(3):
        await ask(pool, runtime)
    await eventually(said)
    await ask(pool, runtime, "trace")
    await eventually(lambda: len(said()) == 2)
    await ask(pool, runtime)
    await pool.close()
    silent, speaks = said()
    assert "makes no spans" in json.loads(silent)["body"]
    assert json.loads(silent)["attributes"]["session.id"] == "s" * 33
    assert "makes spans now" in speaks


async def test_a_runtime_whose_tracing_is_off_is_known_to_make_no_spans(lab, ask):
    pool, runtime = lab.pool(), lab.paced(OTEL_SDK_DISABLED="true")
    await ask(pool, runtime)
    await pool.close()
    assert [line for line in lab.lines if "makes no spans" in line]


async def test_an_agent_that_traces_or_stops_when_asked_is_not_reported(lab, ask):
    pool, runtime = lab.pool(), lab.paced()
    await ask(pool, runtime)
    await pool.close()
    assert not [line for line in lab.lines if "Loom: session" in line]
