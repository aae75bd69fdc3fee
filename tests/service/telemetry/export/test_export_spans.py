"""A Strands agent without a line of telemetry: which spans it exports, under which parents."""

from __future__ import annotations

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


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


def path(span, spans):
    """The names from the root down to `span`."""
    return f"{path(spans[span.parent], spans)} > {span.name}" if span.parent in spans else span.name
