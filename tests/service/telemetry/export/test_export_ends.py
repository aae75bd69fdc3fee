"""How a session's end, a collector's absence and an agent's own OpenTelemetry treat the spans."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket

import pytest

from loomlib.local.contract import AgentProcessError, SessionEndedError

KEEPING = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

class Keeper(SpanExporter):
    _endpoint = "http://elsewhere.example/v1/traces"
    kept = []
    def export(self, spans): self.kept.extend(span.name for span in spans)
    def shutdown(self): ...

def set_own():
    from opentelemetry.sdk.resources import Resource
    provider = TracerProvider(resource=Resource({"service.name": "mine"}))
    provider.add_span_processor(SimpleSpanProcessor(Keeper()))
    trace.set_tracer_provider(provider)
"""
KEPT = """
@app.entrypoint
async def invoke(payload):
    if payload["prompt"] == "kept":
        return Keeper.kept
    if payload["prompt"] == "set":
        set_own()
    return str(await agent().invoke_async("go"))
"""
TREE = ["POST /invocations", "chat", "chat", "execute_event_loop_cycle", "execute_event_loop_cycle"]
TREE += ["execute_tool look", "execute_tool search", "invoke_agent paced"]


def names(collector):
    return sorted(span.name for span in collector.spans)


async def test_stopping_a_session_right_after_its_answer_loses_no_span(lab, ask):
    pool, runtime = lab.pool(), lab.paced()
    await ask(pool, runtime)
    assert await pool.stop(runtime.runtime_id, "DEFAULT", "s" * 33)
    assert names(lab.collector) == TREE


async def test_sigterm_in_the_middle_of_a_call_keeps_what_had_ended_and_the_end(lab, ask):
    pool, runtime = lab.pool(), lab.paced(SEARCH_S="0.6")
    calling = asyncio.create_task(ask(pool, runtime))
    await asyncio.sleep(0)
    while not lab.collector.named("chat"):
        await asyncio.sleep(0.01)
    os.kill(pool.sessions()[0].pid, signal.SIGTERM)
    assert b"done" in await calling  # uvicorn lets calls on their way finish
    await pool.close()
    assert names(lab.collector) == TREE


async def test_stopping_a_session_in_the_middle_of_a_call_keeps_what_had_ended(lab, ask):
    pool, runtime = lab.pool(), lab.paced(SEARCH_S="3")
    calling = asyncio.create_task(ask(pool, runtime))
    while not lab.collector.named("chat"):
        await asyncio.sleep(0.01)
    await pool.stop(runtime.runtime_id, "DEFAULT", "s" * 33)
    with pytest.raises(SessionEndedError):
        await calling
    assert {"chat", "execute_tool look"} <= set(names(lab.collector))


async def test_a_killed_agent_has_sent_what_ended_before_its_end(lab, ask):
    pool, runtime = lab.pool(), lab.paced(SEARCH_S="30")
    calling = asyncio.create_task(ask(pool, runtime))
    while not lab.collector.named("execute_tool look"):
        await asyncio.sleep(0.01)
    os.kill(pool.sessions()[0].pid, signal.SIGKILL)
    with pytest.raises(AgentProcessError):
        await calling
    assert names(lab.collector) == ["chat", "execute_tool look"]


async def test_an_agent_that_ends_itself_sends_its_spans_first(lab, ask):
    pool, _ = lab.pool(), lab.paced()
    runtime = lab.runtime(
        (lab.folder / "code" / "agent.py").read_text().replace("    app.run()", "    str(agent()('go'))")
    )
    with pytest.raises(AgentProcessError):
        await ask(pool, runtime)
    assert names(lab.collector) == TREE[1:]


async def test_a_collector_that_is_down_costs_two_lines_and_delays_nothing(lab, ask):
    pool, runtime = lab.pool(url="http://127.0.0.1:1/otlp"), lab.paced()
    for _ in range(3):
        assert b"done" in await ask(pool, runtime)
        await asyncio.sleep(0.2)
    await pool.close()
    lines = [line for line in lab.lines if line.startswith("Loom:")]
    assert len(lines) <= 2
    assert "not exported" in lines[0]
    assert "24 spans" in lines[-1]


async def test_a_collector_that_is_busy_gets_the_spans_again_and_one_that_refuses_does_not(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced()
    lab.collector.answers[:] = [503, 429]
    await ask(pool, runtime)
    await eventually(lambda: lab.collector.spans)
    await eventually(lambda: names(lab.collector) == TREE)
    before = len(lab.collector.requests)
    lab.collector.answers[:] = [400] * 9
    await ask(pool, runtime)
    await eventually(lambda: [line for line in lab.lines if "answered 400" in line])
    assert names(lab.collector) == TREE
    assert len(lab.collector.requests) > before


async def test_spans_that_the_collector_rejects_are_reported(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced()
    lab.collector.body = json.dumps({"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too odd"}}).encode()
    await ask(pool, runtime)
    await eventually(lambda: [line for line in lab.lines if "too odd" in line])


async def test_a_provider_of_the_agents_own_wins_and_its_spans_are_exported_once_more_to_us(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced(KEEPING + "set_own()\n" + KEPT)
    await ask(pool, runtime)
    await eventually(lambda: lab.collector.named("POST /invocations"))
    assert names(lab.collector) == TREE
    assert {span.resource["service.name"] for span in lab.collector.spans} == {"mine"}
    assert sorted(json.loads(await ask(pool, runtime, "kept"))) == TREE
    assert not [line for line in lab.lines if "Overriding" in line]


async def test_a_provider_that_is_set_in_the_course_of_a_call_takes_over_without_a_warning(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced(KEEPING + KEPT)
    await ask(pool, runtime, "set")
    await eventually(lambda: names(lab.collector) == TREE)
    span_names = json.loads(await ask(pool, runtime, "kept"))
    assert sorted(span_names) == TREE[1:]  # the root span had begun before
    assert not [line for line in lab.lines if "Overriding" in line]


async def test_an_agent_that_exports_to_the_local_service_itself_is_left_to_it(lab, ask):
    own = KEEPING.replace('"http://elsewhere.example/v1/traces"', 'os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]')
    pool, runtime = lab.pool(), lab.paced(own + "set_own()\n" + KEPT)
    await ask(pool, runtime)
    assert sorted(json.loads(await ask(pool, runtime, "kept"))) == TREE
    await pool.close()
    assert lab.collector.spans == []


async def test_strands_own_telemetry_set_up_is_exported_once(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced("from strands.telemetry import StrandsTelemetry; StrandsTelemetry()")
    await ask(pool, runtime)
    await eventually(lambda: lab.collector.named("POST /invocations"))
    await pool.close()
    assert names(lab.collector) == TREE


async def test_a_package_that_asks_for_opentelemetry_instrument_is_traced_by_loom_and_notified(lab, ask, eventually):
    pool = lab.pool()
    more = "from opentelemetry import trace\n" + KEPT.replace(
        "Keeper.kept", "type(trace.get_tracer_provider()).__module__"
    )
    runtime = lab.paced(more, entry_point=("opentelemetry-instrument", "agent.py"))
    assert await ask(pool, runtime, "kept") == b'"_loom_tracing.tracing"'
    await ask(pool, runtime)
    await eventually(lambda: len(lab.collector.named("POST /invocations")) == 2)
    await pool.close()
    assert names(lab.collector) == sorted([*TREE, "POST /invocations"])
    assert [line for line in lab.lines if "exports its spans to the local service" in line]


VARIABLES = """
import json, os
from bedrock_agentcore import BedrockAgentCoreApp
app = BedrockAgentCoreApp()

@app.entrypoint
def answer(payload):
    return dict(os.environ)

app.run()
"""


async def test_exporters_that_the_agent_brings_find_the_local_service(lab, ask):
    environment = json.loads(await ask(lab.pool(), lab.runtime(VARIABLES)))
    assert environment["OTEL_EXPORTER_OTLP_ENDPOINT"] == lab.collector.url
    assert environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] == f"{lab.collector.url}/v1/traces"
    assert environment["OTEL_EXPORTER_OTLP_PROTOCOL"] == "http/protobuf"
    assert "Authorization=Bearer%20KEY," in environment["OTEL_EXPORTER_OTLP_HEADERS"]
    assert environment["OTEL_RESOURCE_ATTRIBUTES"].startswith("service.name=one.DEFAULT,")
    assert not [name for name in environment if name.startswith("LOOM_") and name != "LOOM_SESSION"]


async def test_a_runtime_that_sends_telemetry_elsewhere_gets_no_half_of_ours(lab, ask):
    environment = json.loads(
        await ask(lab.pool(), lab.runtime(VARIABLES, OTEL_EXPORTER_OTLP_ENDPOINT="https://elsewhere.example"))
    )
    exporter_variables = {name: value for name, value in environment.items() if name.startswith("OTEL_EXPORTER_")}
    assert exporter_variables == {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://elsewhere.example"}


async def test_the_runtimes_own_service_name_and_resource_are_those_of_its_spans(lab, ask, eventually):
    own = {
        "OTEL_SERVICE_NAME": "shop",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=dev%20one,service.name=other",
    }
    pool, runtime = lab.pool(), lab.paced(**own)
    await ask(pool, runtime)
    await eventually(lambda: lab.collector.named("POST /invocations"))
    [root] = lab.collector.named("POST /invocations")
    assert root.resource["service.name"] == "shop"
    assert root.resource["deployment.environment"] == "dev one"
    assert root.resource["cloud.platform"] == "aws_bedrock_agentcore"


async def test_a_forked_child_exports_its_own_spans_and_not_its_parents_again(lab, ask, eventually):
    pool = lab.pool()
    runtime = lab.runtime(
        """
        import os
        import signal
        from bedrock_agentcore import BedrockAgentCoreApp
        from opentelemetry import trace
        app = BedrockAgentCoreApp()
        children = []

        @app.entrypoint
        async def answer(payload):
            if payload["prompt"] == "end":
                os.kill(children[0], signal.SIGKILL)
                os.waitpid(children[0], 0)
                return
            tracer = trace.get_tracer("mine")
            with tracer.start_as_current_span("parent"):
                if (child := os.fork()) == 0:
                    with tracer.start_as_current_span("child"):
                        pass
                    while True:
                        signal.pause()
            children.append(child)

        app.run()
        """
    )
    await ask(pool, runtime)
    await eventually(lambda: len(lab.collector.spans) >= 3)
    await ask(pool, runtime, "end")  # only now: the child has sent its span
    await pool.close()
    assert names(lab.collector) == ["POST /invocations", "POST /invocations", "child", "parent"]


async def test_a_huge_value_is_cut_and_marked_as_cut(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced()
    await ask(pool, runtime, "x" * 10_000_000)
    await eventually(lambda: lab.collector.named("POST /invocations"))
    [agent] = lab.collector.named("invoke_agent paced")
    assert max(len(str(value)) for _, event in agent.events for value in event.values()) == 1_048_576
    assert "100000" in json.dumps(agent.attributes["loom.cut"])


async def test_a_collector_that_never_answers_delays_neither_answers_nor_the_end(lab, ask):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        pool, runtime = lab.pool(url=f"http://127.0.0.1:{mute.getsockname()[1]}/otlp"), lab.paced()
        for _ in range(3):
            assert b"done" in await ask(pool, runtime)
        await pool.close()
    assert not [line for line in lab.lines if "Traceback" in line]


async def test_more_spans_than_the_queue_holds_are_counted_not_kept(lab, ask):
    pool = lab.pool(url="http://127.0.0.1:1/otlp")
    runtime = lab.runtime(
        """
        from bedrock_agentcore import BedrockAgentCoreApp
        from opentelemetry import trace
        app = BedrockAgentCoreApp()

        @app.entrypoint
        def answer(payload):
            for _ in range(10_000):
                trace.get_tracer("mine").start_span("one").end()

        app.run()
        """
    )
    await ask(pool, runtime)
    await pool.close()
    assert [line for line in lab.lines if "10001 spans in all were not exported" in line]


async def test_an_agent_without_opentelemetrys_sdk_runs_and_its_log_gives_the_reason_it_exports_nothing(lab, ask):
    pool = lab.pool()
    runtime = lab.runtime(
        """
        import sys
        sys.modules["opentelemetry.sdk"] = sys.modules["opentelemetry.sdk.trace"] = None
        from bedrock_agentcore import BedrockAgentCoreApp
        from opentelemetry import trace
        app = BedrockAgentCoreApp()

        @app.entrypoint
        def answer(payload):
            with trace.get_tracer("mine").start_as_current_span("one"):
                return "fine"

        app.run()
        """
    )
    assert await ask(pool, runtime) == await ask(pool, runtime) == b'"fine"'
    await pool.close()
    [line] = [line for line in lab.lines if line.startswith("Loom:")]
    assert "spans are not exported" in line
    assert "opentelemetry.sdk" in line


async def test_an_opentelemetry_that_is_built_otherwise_is_served_by_a_global_provider(lab, ask, eventually):
    other = """
    from opentelemetry import trace

    class Proxy(trace.ProxyTracer):
        def __init__(self, *given, **more):
            super().__init__(*given, **more)
            del self._noop_tracer

    trace.ProxyTracer = Proxy
    """
    pool, runtime = lab.pool(), lab.paced(other)
    await ask(pool, runtime)
    await eventually(lambda: names(lab.collector) == TREE)
