"""A Strands agent without a line of telemetry: which spans it exports, under which parents."""

from __future__ import annotations

import asyncio

import pytest

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
XRAY = "Root=1-67891233-abcdef012345678912345678;Parent=53995c3f42cd8ad8"


async def test_an_agent_without_a_line_of_telemetry_exports_its_whole_tree(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced()
    headers = {"traceparent": TRACEPARENT, "x-amzn-bedrock-agentcore-runtime-request-id": "r1"}
    assert b"done" in await ask(pool, runtime, headers=headers)
    await eventually(lambda: lab.collector.named("POST /invocations"))
    spans = {span.id: span for span in lab.collector.spans}
    assert len(spans) == len(lab.collector.spans) == 8
    [root] = lab.collector.named("POST /invocations")
    assert (root.trace, root.parent, root.kind) == (*TRACEPARENT.split("-")[1:3], 2)
    assert root.attributes["http.status_code"] == 200
    assert root.attributes["http.method"] == "POST"
    assert root.attributes["aws.request_id"] == "r1"
    paths = sorted(path(span, spans) for span in spans.values())
    cycle = "POST /invocations > invoke_agent paced > execute_event_loop_cycle"
    assert paths == sorted(
        [
            "POST /invocations",
            "POST /invocations > invoke_agent paced",
            *[cycle, cycle],
            *[f"{cycle} > chat", f"{cycle} > chat"],
            f"{cycle} > execute_tool look",
            f"{cycle} > execute_tool search",
        ]
    )
    assert {span.attributes["session.id"] for span in spans.values()} == {"s" * 33}
    assert {span.resource["service.name"] for span in spans.values()} == {"one.DEFAULT"}
    assert root.resource["cloud.resource_id"].endswith(":runtime/one-AbC123dEf4/runtime-endpoint/DEFAULT:DEFAULT")
    assert root.headers["authorization"] == "Bearer KEY"
    assert pool.sessions()[0].stream.endswith(root.headers["x-loom-stream"])


COLLECTING = """
import gc


@app.entrypoint
async def invoke(payload, context):
    answer = str(await agent().invoke_async(payload["prompt"]))
    if payload["prompt"] == "collect":
        nodes = [[None] for _ in range(400_000)]
        gc.collect()
    return answer
"""


async def test_a_full_garbage_collection_is_an_event_of_the_invocation_in_which_it_ran(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced(COLLECTING, MODEL_S="0", LOOK_S="0", SEARCH_S="0")
    await ask(pool, runtime, "collect")
    await eventually(lambda: lab.collector.named("POST /invocations"))
    [root] = lab.collector.named("POST /invocations")
    pauses = [facts["duration_ns"] for name, facts in root.events if name == "garbage collection"]
    assert pauses
    assert max(pauses) >= 1_000_000
    assert sum(pauses) < root.end_ns - root.start_ns


@pytest.mark.parametrize(
    "opt_in", ["", "gen_ai_latest_experimental", "gen_ai_latest_experimental,gen_ai_span_attributes_only"]
)
async def test_what_was_said_survives_in_every_convention(lab, ask, eventually, opt_in):
    more = {"OTEL_SEMCONV_STABILITY_OPT_IN": opt_in} if opt_in else {}
    answer = "naïve \\ud83e\\uddf5 text"
    pool, runtime = lab.pool(), lab.paced(ANSWER=answer, **more)
    await ask(pool, runtime, "what of the looms?")
    await eventually(lambda: lab.collector.named("POST /invocations"))
    [agent] = lab.collector.named("invoke_agent paced")
    [tool] = lab.collector.named("execute_tool look")
    agent_values = {name: value for _, event in agent.events for name, value in event.items()} | agent.attributes
    tool_values = {name: value for _, event in tool.events for name, value in event.items()} | tool.attributes
    assert any("what of the looms?" in str(value) for value in agent_values.values())
    assert any("naïve" in str(value) for value in agent_values.values())
    assert any("looms" in str(value) for value in tool_values.values())
    assert ("gen_ai.provider.name" if opt_in else "gen_ai.system") in agent.attributes
    if opt_in:
        assert "looms" in str(tool.attributes["gen_ai.tool.call.arguments"])
        assert "looms" in str(tool.attributes["gen_ai.tool.call.result"])
    assert bool(agent.events) == ("attributes_only" not in opt_in)


async def test_parallel_tools_overlap_within_their_cycle(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced(MODEL_S="0.4", LOOK_S="0.12", SEARCH_S="0.2")
    await ask(pool, runtime)
    await eventually(lambda: lab.collector.named("POST /invocations"))
    [look], [search] = (lab.collector.named(f"execute_tool {name}") for name in ("look", "search"))
    assert max(look.start_ns, search.start_ns) < min(look.end_ns, search.end_ns)
    assert [look.ms >= 120, search.ms >= 200] == [True, True]
    assert [chat.ms >= 400 for chat in lab.collector.named("chat")] == [True, True]
    by_id = {span.id: span for span in lab.collector.spans}
    for span in by_id.values():
        parent = by_id.get(span.parent or "", span)
        assert parent.start_ns <= span.start_ns <= span.end_ns <= parent.end_ns


async def test_sessions_at_once_each_have_a_whole_trace_of_their_own(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced()
    sessions = [f"session-{number:030d}" for number in range(8)]
    traces = {session: f"{number + 1:032x}" for number, session in enumerate(sessions)}
    limit = asyncio.Semaphore(4)  # starts at a time; all of them live on

    async def start_and_ask(session):
        async with limit:
            await ask(pool, runtime, session_id=session)

    await asyncio.gather(*(start_and_ask(session) for session in sessions))
    await eventually(lambda: len(lab.collector.named("POST /invocations")) == len(sessions))
    lab.collector.spans.clear()
    headers = {session: {"traceparent": f"00-{trace}-00000000000000aa-01"} for session, trace in traces.items()}
    await asyncio.gather(*(ask(pool, runtime, session_id=session, headers=headers[session]) for session in sessions))
    await eventually(lambda: len(lab.collector.named("POST /invocations")) == len(sessions))
    for session in sessions:
        mine = [span for span in lab.collector.spans if span.attributes["session.id"] == session]
        assert {span.trace for span in mine} == {traces[session]}
        assert len({span.id for span in mine}) == len(mine) == 8


async def test_calls_of_one_session_at_the_same_time_do_not_share_a_trace(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced()
    await ask(pool, runtime)
    await eventually(lambda: lab.collector.named("POST /invocations"))
    lab.collector.spans.clear()
    headers = [{"traceparent": f"00-{number:032x}-00000000000000aa-01"} for number in range(1, 6)]
    await asyncio.gather(*(ask(pool, runtime, headers=request_headers) for request_headers in headers))
    await eventually(lambda: len(lab.collector.named("POST /invocations")) == 5)
    for number in range(1, 6):
        assert len([span for span in lab.collector.spans if int(span.trace, 16) == number]) == 8


async def test_a_bare_agent_exports_nothing(lab, ask):
    pool = lab.pool()
    runtime = lab.runtime(
        """
        from bedrock_agentcore import BedrockAgentCoreApp
        app = BedrockAgentCoreApp()

        @app.entrypoint
        def answer(payload):
            import sys
            return [name for name in sys.modules if name.startswith("_loom_tracing")]

        app.run()
        """
    )
    assert await ask(pool, runtime) == b"[]"
    await pool.close()
    assert lab.collector.requests == []


async def test_an_agent_that_imports_strands_in_its_first_call_has_a_root_span_then_too(lab, ask, eventually):
    pool = lab.pool()
    lab.paced()
    (lab.folder / "code" / "agent.py").rename(lab.folder / "code" / "paced.py")
    runtime = lab.runtime(
        """
        from bedrock_agentcore import BedrockAgentCoreApp
        app = BedrockAgentCoreApp()

        @app.entrypoint
        async def answer(payload):
            from paced import agent
            return str(await agent().invoke_async(payload["prompt"]))

        app.run()
        """
    )
    assert b"done" in await ask(pool, runtime, headers={"traceparent": TRACEPARENT})
    await eventually(lambda: lab.collector.named("POST /invocations"))
    spans = {span.id: span for span in lab.collector.spans}
    assert len(spans) == 8
    assert {span.trace for span in spans.values()} == {TRACEPARENT.split("-")[1]}
    assert all(span.parent in spans for span in spans.values() if span.name != "POST /invocations")


@pytest.mark.parametrize(
    ("headers", "trace", "parent"),
    [
        ({"x-amzn-trace-id": f"{XRAY};Sampled=1"},
         "67891233abcdef012345678912345678", "53995c3f42cd8ad8"),
        ({"x-amzn-trace-id": XRAY, "traceparent": TRACEPARENT},
         "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"),
        ({"traceparent": "garbage", "x-amzn-trace-id": "Root=garbage;Parent=1"}, None, None),
        ({"traceparent": "00-" + "0" * 32 + "-b7ad6b7169203331-01"}, None, None),
    ],
)  # fmt: skip
async def test_the_callers_trace_is_continued(lab, ask, eventually, headers, trace, parent):
    pool, runtime = lab.pool(), lab.paced()
    await ask(pool, runtime, headers=headers)
    await eventually(lambda: lab.collector.named("POST /invocations"))
    [root] = lab.collector.named("POST /invocations")
    assert root.parent == parent
    if trace:
        assert {span.trace for span in lab.collector.spans} == {trace}


async def test_a_caller_that_samples_nothing_is_obeyed(lab, ask):
    pool, runtime = lab.pool(), lab.paced()
    await ask(pool, runtime, headers={"traceparent": TRACEPARENT[:-1] + "0"})
    await pool.close()
    assert lab.collector.spans == []


@pytest.mark.parametrize(
    "switch",
    [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}, {"AGENT_OBSERVABILITY_ENABLED": "false"}],
)
async def test_a_runtime_can_turn_its_spans_off(lab, ask, switch):
    pool, runtime = lab.pool(), lab.paced(**switch)
    assert b"done" in await ask(pool, runtime)
    await pool.close()
    assert lab.collector.requests == []


async def test_a_failing_agent_leaves_its_error_in_its_spans(lab, ask, eventually):
    pool = lab.pool()
    runtime = lab.paced("""
        @app.entrypoint
        def invoke(payload):
            if payload["prompt"] == "early":
                raise ValueError("before any agent")
            return str(Agent(model=Broken(), callback_handler=None, name="broken")("go"))

        class Broken(PacedModel):
            async def stream(self, *given, **more):
                raise RuntimeError("no model today")
                yield
    """)
    assert b"no model today" in await ask(pool, runtime)
    assert b"before any agent" in await ask(pool, runtime, "early")
    await eventually(lambda: len(lab.collector.named("POST /invocations")) == 2)
    roots = lab.collector.named("POST /invocations")
    assert [(root.status, root.attributes["http.status_code"]) for root in roots] == [(2, 500)] * 2
    [agent] = lab.collector.named("invoke_agent broken")
    assert agent.status == 2
    assert agent.parent == roots[0].id


async def test_a_trace_begun_before_the_first_call_is_exported_as_its_own(lab, ask, eventually):
    pool, runtime = lab.pool(), lab.paced('str(agent()("warm up"))')
    await ask(pool, runtime, headers={"traceparent": TRACEPARENT})
    await eventually(lambda: len(lab.collector.spans) == 15)
    assert len({span.trace for span in lab.collector.spans}) == 2
    assert {span.attributes["session.id"] for span in lab.collector.spans} == {"s" * 33}


async def test_spans_of_threads_and_of_plain_opentelemetry_belong_to_their_call(lab, ask, eventually):
    pool = lab.pool()
    runtime = lab.runtime(
        """
        import asyncio
        from bedrock_agentcore import BedrockAgentCoreApp
        from opentelemetry import baggage, trace

        app = BedrockAgentCoreApp()
        tracer = trace.get_tracer("my.agent", "1.2")

        @tracer.start_as_current_span("decorated")
        def work():
            with tracer.start_as_current_span("inner"):
                return baggage.get_baggage("session.id")

        @app.entrypoint
        async def answer(payload):
            trace.get_current_span().set_attribute("mine", "yes")
            return await asyncio.to_thread(work)

        app.run()
        """
    )
    assert await ask(pool, runtime) == b'"' + b"s" * 33 + b'"'
    await eventually(lambda: len(lab.collector.spans) == 3)
    inner, decorated, root = (lab.collector.named(name)[0] for name in ("inner", "decorated", "POST /invocations"))
    assert [inner.parent, decorated.parent] == [decorated.id, root.id]
    assert root.attributes["mine"] == "yes"


def path(span, spans):
    """The names from the root down to `span`."""
    return f"{path(spans[span.parent], spans)} > {span.name}" if span.parent in spans else span.name
