"""The planted causes in other shapes: smaller, longer, without content, without token counts, beside each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from invented_requests import MS, SONNET, T0, Request, Tool

from loomlib.telemetry.diagnosis import ClientSide, InvocationCase, diagnose
from loomlib.telemetry.traces import ClientTiming, Trace


def first_of(case: InvocationCase) -> str:
    diagnosis = diagnose(case)
    assert not diagnosis.problems
    return "" if diagnosis.first is None else diagnosis.first.rule


def test_many_cycles_are_named_at_a_local_agents_pace() -> None:
    request = Request()
    for turn in range(7):
        request.turn(400, read=900 + 40 * turn, wrote=20, tools=[Tool("lookup", 120)])
    assert first_of(request.turn(400, read=1300, wrote=30).case(there_ms=3, back_ms=2)) == "too_many_cycles"


def test_repeated_calls_make_too_many_cycles_certain() -> None:
    request = Request()
    for _ in range(5):
        request.turn(1200, tools=[Tool("search", 80, "nothing", {"query": "the same"})])
    finding = diagnose(request.turn(1200).case()).first
    assert finding is not None
    assert (finding.rule, finding.confidence) == ("too_many_cycles", "high")
    assert any("same arguments" in evidence.text for evidence in finding.evidence)


def test_many_cycles_are_named_without_cycle_spans() -> None:
    request = Request()
    for _ in range(8):
        request.turn(1000)
    spans = request.trace().spans
    cycles = {span.span_id for span in spans if span.operation == "cycle"}
    flat = [replace(span, parent_id="a9") if span.parent_id in cycles else span for span in spans]
    assert (
        first_of(InvocationCase.of(Trace.one(span for span in flat if span.span_id not in cycles))) == "too_many_cycles"
    )


@pytest.mark.parametrize("with_ttft", [True, False])
@pytest.mark.parametrize("result", ["ok", "row " * 2500], ids=["short results", "each turn a long one"])
def test_steady_growth_is_growth_whatever_feeds_it(with_ttft: bool, result: str) -> None:
    request = Request()
    for turn in range(6):
        tools = [Tool("lookup", 40, result, {"page": turn})] if turn < 5 else []
        ttft = 1000.0 + 700 * turn if with_ttft else 100.0
        request.turn(1300 + 800 * turn, read=2000 + 2600 * turn, wrote=60, ttft=ttft, tools=tools)
    assert first_of(request.case()) == "token_growth"


def test_growth_that_costs_no_time_is_not_claimed() -> None:
    request = Request()
    for turn in range(3):
        request.turn(1500, read=2000 + 4000 * turn, wrote=60, tools=[Tool("lookup", 40)] if turn < 2 else [])
    assert first_of(request.case()) == ""


def test_without_content_a_jump_in_the_prompt_is_growth_and_no_tool_is_blamed() -> None:
    request = Request(content=False).turn(
        1400, read=1800, wrote=50, ttft=1200, tools=[Tool("read_file", 60, "x" * 56000)]
    )
    diagnosis = diagnose(request.turn(4900, read=15900, wrote=90, ttft=4500).case())
    assert [finding.rule for finding in diagnosis.findings] == ["token_growth"]
    assert any("no tool results" in limit for limit in diagnosis.limits)


@pytest.mark.parametrize("latest", [True, False], ids=["latest", "legacy"])
def test_a_result_that_only_the_next_message_holds_is_seen(latest: bool) -> None:
    request = Request(latest=latest).turn(1400, read=1800, ttft=1200, tools=[Tool("read_file", 60, "x" * 56000)])
    spans = request.turn(4900, read=15900, wrote=90, ttft=4500).trace().spans
    silent = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file"}
    bare = [
        replace(span, events=(), attributes=silent | {"gen_ai.tool.call.id": span.attributes["gen_ai.tool.call.id"]})
        if span.operation == "execute_tool"
        else span
        for span in spans
    ]
    assert first_of(InvocationCase.of(Trace.one(bare))) == "oversized_result"


def test_three_long_results_of_one_turn_are_oversized_together() -> None:
    tools = [Tool("read_file", 60, "x" * 16000, {"part": part}) for part in range(3)]
    request = Request().turn(1400, read=1800, wrote=50, ttft=1200, tools=tools)
    assert first_of(request.turn(4900, read=13900, wrote=90, ttft=4500).case()) == "oversized_result"


def test_a_slow_tool_is_named_when_it_dominates_a_quick_agent() -> None:
    request = Request().turn(150, ttft=100, tools=[Tool("database", 700)]).turn(160, ttft=100)
    assert first_of(request.case(there_ms=3, back_ms=2)) == "slow_tool"


def test_a_slow_tool_is_named_in_every_turn_that_it_holds_up() -> None:
    request = Request()
    for page in range(3):
        request.turn(1200, tools=[Tool("crawl", 2200, "page", {"page": page}), Tool("note", 20)])
    finding = diagnose(request.turn(1300).case()).first
    assert finding is not None
    assert finding.rule == "slow_tool"
    assert finding.ms_at_stake == pytest.approx(3 * 2100, abs=1)


def test_an_agent_that_is_used_as_a_tool_is_no_slow_tool() -> None:
    spans = list(Request().turn(1400, tools=[Tool("writer", 4200)]).turn(1500).trace().spans)
    tool = next(span for span in spans if span.operation == "execute_tool")
    agent_attributes = {"gen_ai.operation.name": "invoke_agent"}
    inner = replace(
        tool, span_id="inner", parent_id=tool.span_id, name="invoke_agent writer", attributes=agent_attributes
    )
    chat_attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 900,
        "gen_ai.usage.output_tokens": 300,
    }
    chat = replace(tool, span_id="inner chat", parent_id="inner", name="chat", attributes=chat_attributes)
    assert first_of(InvocationCase.of(Trace.one([*spans, inner, chat]))) == ""


def test_two_serial_tools_of_one_name_are_serial_before_they_are_slow() -> None:
    tools = [Tool("fetch", 1500, "page", {"page": page}) for page in range(3)]
    assert first_of(Request().turn(1400, tools=tools, serial=True).turn(1300).case()) == "serial_tools"


def test_tools_of_different_turns_are_not_called_serial() -> None:
    request = Request().turn(1400, tools=[Tool("a", 450)]).turn(1400, tools=[Tool("b", 450)]).turn(1500)
    assert first_of(request.case()) == ""


def test_retries_hidden_in_botocore_are_named_by_what_the_service_says_it_took() -> None:
    hidden = {"retry_attempts": 3, "gen_ai.server.request.duration": 1400}
    request = Request().turn(6400, ttft=6100, more=hidden)
    finding = diagnose(request.case()).first
    assert finding is not None
    assert (finding.rule, finding.confidence) == ("throttling_retries", "medium")
    assert finding.ms_at_stake == pytest.approx(5000, abs=1)


def test_hidden_retries_without_anything_to_compare_are_named_before_a_slow_first_token() -> None:
    assert first_of(Request().turn(6400, ttft=6100, more={"retry_attempts": 3}).case()) == "throttling_retries"


def test_failures_that_are_no_throttling_are_distinguished() -> None:
    request = Request().turn(1500, refused=[(3000, 2000)], error="ServiceUnavailableException: try again")
    assert first_of(request.case()) == "failed_attempts"


def test_a_slow_first_token_of_one_call_among_others_is_named() -> None:
    request = Request().turn(1400, ttft=1100, tools=[Tool("a", 50)]).turn(5200, ttft=4800, tools=[Tool("b", 50)])
    assert first_of(request.turn(1500, ttft=1200).case()) == "slow_first_token"


def test_a_large_prompt_without_a_first_token_is_named_with_low_confidence() -> None:
    request = Request()
    for _ in range(2):
        request.turn(4200, read=24000, more={"gen_ai.server.time_to_first_token": None}, tools=[Tool("a", 5)])
    finding = diagnose(request.case()).first
    assert finding is not None
    assert (finding.rule, finding.confidence) == ("large_prompt", "low")


def test_a_large_prompt_out_of_the_cache_counts_too() -> None:
    more = {"gen_ai.usage.cache_read.input_tokens": 30000}
    request = Request().turn(4200, read=200, ttft=3900, more=more).turn(4100, read=320, ttft=3800, more=more)
    finding = diagnose(request.case()).first
    assert finding is not None
    assert finding.rule == "large_prompt"
    assert any("60\u202f000 tokens were read from the prompt cache" in evidence.text for evidence in finding.evidence)


def test_memory_called_in_every_turn_is_chatty() -> None:
    request = Request()
    for _ in range(3):
        request.memory(140, "ListEvents", 3).turn(700, ttft=500, tools=[Tool("a", 5)])
    assert first_of(request.case()) == "chatty_memory"


def test_a_single_slow_memory_call_is_not_chatty() -> None:
    assert first_of(Request().memory(1900).turn(1500).case()) == "slow_memory"


def test_a_wrapped_memory_call_is_counted_once() -> None:
    request = Request().memory(60, times=4).turn(1500)
    spans = [replace(span, parent_id="around") if span.kind == "client" else span for span in request.trace().spans]
    inner = next(span for span in spans if span.kind == "client")
    wrapper = replace(inner, span_id="around", parent_id="a9", name="memory.load", end_ns=inner.end_ns + 200 * MS)
    stated = replace(wrapper, attributes={"gen_ai.operation.name": "load_memory"}, kind="internal")
    assert first_of(InvocationCase.of(Trace.one([*spans, stated]))) == ""


def test_a_usual_cold_start_is_not_blamed_for_a_model_that_answers_at_once() -> None:
    assert first_of(Request().turn(40, ttft=30).case(there_ms=620, back_ms=2, is_cold=True)) == ""
    assert first_of(Request().turn(40, ttft=30).case(there_ms=1100, back_ms=2, is_cold=True)) == "cold_start"


def test_the_agents_own_code_is_named() -> None:
    assert first_of(Request().pause(2600).turn(1500).pause(400).case()) == "agent_overhead"


def test_a_very_long_answer_is_named_with_low_confidence() -> None:
    request = Request().turn(5200, read=7700, wrote=258, ttft=3000, tools=[Tool(f"s{n}", 100) for n in range(20)])
    finding = diagnose(request.turn(31000, read=9100, wrote=4231, ttft=2900).case()).first
    assert finding is not None
    assert (finding.rule, finding.confidence) == ("long_output", "low")


def test_slow_writing_is_named() -> None:
    assert first_of(Request().turn(26000, wrote=200, ttft=1000).case()) == "slow_output"


def test_a_network_that_delays_every_chunk_is_no_slow_client() -> None:
    request = Request().turn(2500)
    end = request.end_ms(1600)
    chunks = [3400, 3900, end + 1500, end + 1580]
    assert first_of(request.case(there_ms=1600, back_ms=1600, first_byte_ms=3400, chunks=chunks)) == "network"


def test_a_client_that_came_late_to_the_whole_answer_is_no_slow_client() -> None:
    request = Request().turn(2500)
    end = request.end_ms()
    assert first_of(request.case(back_ms=2600, first_byte_ms=end + 2590, chunks=[end + 2590])) == "network"


def test_without_chunks_or_a_first_byte_no_client_is_blamed() -> None:
    assert first_of(Request().turn(2500).case(back_ms=2600)) == "network"


def test_an_unknown_start_lowers_the_confidence_in_the_network() -> None:
    finding = diagnose(Request().turn(2500).case(there_ms=3000, is_cold=None)).first
    assert finding is not None
    assert (finding.rule, finding.confidence) == ("network", "low")
    assert "cold start" in finding.because


def test_clocks_that_disagree_report_nothing_about_the_client() -> None:
    request = Request().turn(2500)
    trace = request.trace()
    hour = 3600 * 1000 * MS
    timing = ClientTiming(
        sent_ns=T0 - hour, done_ns=T0 - hour + 5500 * MS, first_byte_ns=T0 - hour + 400 * MS, is_cold=False
    )
    diagnosis = diagnose(trace, ClientSide(timing=timing, chunk_offsets_ms=(400, 5400)))
    assert [finding.rule for finding in diagnosis.findings] == ["network"]
    assert diagnosis.findings[0].confidence == "low"


def test_a_trace_that_lost_spans_is_never_certain() -> None:
    request = Request().turn(1400, tools=[Tool("database", 4200)]).turn(1500)
    trace = request.trace()
    partial_trace = Trace.one(span for span in trace.spans if span.operation not in ("invoke_agent",))
    finding = diagnose(InvocationCase.of(partial_trace)).first
    assert finding is not None
    assert finding.rule == "slow_tool"
    assert finding.confidence == "medium"
    assert "missing" in finding.because


def test_an_empty_trace_is_a_limit_and_no_finding() -> None:
    diagnosis = diagnose(Trace.one([]))
    assert diagnosis.findings == ()
    assert any("no spans" in limit for limit in diagnosis.limits)


def test_hostile_names_stay_short_and_on_one_line() -> None:
    name = "<script>alert(1)</script>\n{0.__class__}" + "x" * 5000
    finding = diagnose(Request().turn(1400, tools=[Tool(name, 4200)]).turn(1500).case()).first
    assert finding is not None
    assert len(finding.title) < 160
    assert "\n" not in finding.title
    assert "{0.__class__}" in finding.title


def test_a_model_is_named_as_its_span_names_it() -> None:
    finding = diagnose(Request().turn(6300, ttft=5900).case()).first
    assert finding is not None
    assert SONNET in finding.title
