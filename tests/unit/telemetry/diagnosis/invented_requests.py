"""Invocations described turn by turn: durations of model, tools and memory become spans, in either convention."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from loomlib.telemetry.diagnosis import ClientSide, InvocationCase
from loomlib.telemetry.traces import ClientTiming, Span, SpanEvent, Trace

MS = 1_000_000
T0 = 1_795_293_700_000_000_000
SONNET = "us.anthropic.claude-sonnet-4-20250514-v1:0"


@dataclass
class Tool:
    """A call of a tool. `result` is what it gave back."""

    name: str
    ms: float
    result: str = "ok"
    arguments: dict[str, Any] = field(default_factory=dict)
    failed: bool = False


class Request:
    """One invocation under construction; times advance with each step. `latest`: the convention of the messages."""

    def __init__(self, *, number: int = 1, latest: bool = True, session: str = "", content: bool = True) -> None:
        self.trace_id = f"{number:032x}"
        self.latest, self.session, self.content = latest, session, content
        self.at = 10.0
        self.spans: list[Span] = []
        self._ids = 0
        self._calls = 0
        self._messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "What is it?"}]}]
        self.tools_offered = ["search", "weather"]

    def pause(self, ms: float) -> Request:
        """The agent's own code at work."""
        self.at += ms
        return self

    def memory(self, ms: float, call: str = "ListEvents", times: int = 1) -> Request:
        """Calls to AgentCore Memory, one after the other."""
        for _ in range(times):
            self._span("a9", f"Bedrock AgentCore.{call}", self.at, self.at + ms, {}, kind="client")
            self.at += ms + 1
        return self

    def turn(
        self,
        model_ms: float,
        *,
        read: int | None = 1800,
        wrote: int | None = 60,
        ttft: float | None = None,
        tools: Sequence[Tool] = (),
        serial: bool = False,
        refused: Sequence[tuple[float, float]] = (),
        error: str = "ThrottlingException: Too many requests, please wait",
        more: dict[str, Any] | None = None,
    ) -> Request:
        """Add a cycle: refused attempts (each with its duration and the wait after it), the model call, its tools."""
        cycle, start = self._next(), self.at
        self.at += 5
        for tried_ms, waited_ms in refused:
            self._chat(cycle, tried_ms, {}, error=error)
            self.at += tried_ms + waited_ms
        ttft = min(0.8 * model_ms, 2000.0) if ttft is None else ttft
        usage = {"gen_ai.request.model": SONNET, "gen_ai.server.time_to_first_token": round(ttft), **(more or {})}
        if read is not None:
            usage["gen_ai.usage.input_tokens"] = read
        if wrote is not None:
            usage["gen_ai.usage.output_tokens"] = wrote
        ids = []
        for _ in tools:
            self._calls += 1
            ids.append(f"tooluse_{self.trace_id[-4:]}_{self._calls}")
        blocks = [
            {"toolUse": {"toolUseId": id, "name": tool.name, "input": tool.arguments or {"place": id}}}
            for id, tool in zip(ids, tools, strict=True)
        ] or [{"text": "It is fine."}]
        self._chat(cycle, model_ms, usage, said=blocks)
        self.at += model_ms + 3
        first, results = self.at, []
        for id, tool in zip(ids, tools, strict=True):
            tool_start = self.at if serial else first
            self._tool(cycle, id, tool, tool_start)
            self.at = max(self.at, tool_start + tool.ms + 1)
            results.append(
                {
                    "toolResult": {
                        "toolUseId": id,
                        "status": "error" if tool.failed else "success",
                        "content": [{"text": tool.result}],
                    }
                }
            )
        self._messages.append({"role": "assistant", "content": blocks})
        if results:
            self._messages.append({"role": "user", "content": results})
        self.at += 2
        self._span("a9", "execute_event_loop_cycle", start, self.at, _operation("execute_event_loop_cycle"), id=cycle)
        self.at += 2
        return self

    def trace(self) -> Trace:
        """The invocation as a trace, the server's span around it."""
        agent = _operation("invoke_agent") | {
            "gen_ai.agent.name": "invented",
            "gen_ai.agent.tools": json.dumps(self.tools_offered),
            "gen_ai.request.model": SONNET,
        }
        self._span("5e", "invoke_agent invented", 6, self.at + 2, agent, id="a9")
        self._span("ca11e4", "POST /invocations", 0, self.at + 6, {}, kind="server", id="5e")
        return Trace.one(self.spans)

    def case(
        self,
        *,
        there_ms: float = 120,
        back_ms: float = 60,
        first_byte_ms: float | None = None,
        chunks: Sequence[float] = (),
        is_cold: bool | None = False,
    ) -> InvocationCase:
        """Return the invocation as a client saw it: network time each way, or when it read (after sending)."""
        trace = self.trace()
        sent_ns = T0 - round(there_ms * MS)
        done_ns = trace.end_ns + round(back_ms * MS)
        timing = ClientTiming(
            sent_ns=sent_ns,
            done_ns=done_ns,
            first_byte_ns=None if first_byte_ms is None else sent_ns + round(first_byte_ms * MS),
            agent_start_ns=T0,
            is_cold=is_cold,
        )
        return InvocationCase.of(
            trace, ClientSide(timing=timing, chunk_offsets_ms=tuple(chunks), connection_reused=True)
        )

    def end_ms(self, there_ms: float = 120) -> float:
        """When the agent will have ended, after sending."""
        return there_ms + self.at + 6

    def _next(self) -> str:
        self._ids += 1
        return f"{self.trace_id[-4:]}{self._ids:04x}"

    def _chat(
        self, cycle: str, ms: float, usage: dict[str, Any], *, said: list[dict[str, Any]] | None = None, error: str = ""
    ) -> None:
        events: list[SpanEvent] = []
        if error:
            kind, _, message = error.partition(": ")
            events.append(
                SpanEvent(
                    name="exception",
                    time_ns=T0 + round((self.at + ms) * MS),
                    attributes={"exception.type": kind, "exception.message": message},
                )
            )
        elif self.content:
            events += self._said(said or [])
        self._span(
            cycle,
            "chat",
            self.at,
            self.at + ms,
            _operation("chat") | usage,
            events=tuple(events),
            status="error" if error else "unset",
        )

    def _said(self, blocks: list[dict[str, Any]]) -> list[SpanEvent]:
        time_ns = T0 + round(self.at * MS)
        if self.latest:
            attributes = {
                "gen_ai.input.messages": json.dumps(
                    [{"role": m["role"], "parts": _parts(m["content"])} for m in self._messages]
                ),
                "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": _parts(blocks)}]),
            }
            return [SpanEvent(name="gen_ai.client.inference.operation.details", time_ns=time_ns, attributes=attributes)]
        events = [
            SpanEvent(
                name=f"gen_ai.{'tool' if 'toolResult' in m['content'][0] else m['role']}.message",
                time_ns=time_ns,
                attributes={"content": json.dumps(m["content"])},
            )
            for m in self._messages
        ]
        choice = {"finish_reason": "tool_use" if "toolUse" in blocks[0] else "end_turn", "message": json.dumps(blocks)}
        return [*events, SpanEvent(name="gen_ai.choice", time_ns=time_ns, attributes=choice)]

    def _tool(self, cycle: str, id: str, tool: Tool, start: float) -> None:
        attributes = _operation("execute_tool") | {
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.call.id": id,
            "gen_ai.tool.status": "error" if tool.failed else "success",
        }
        answer = json.dumps([{"text": tool.result}])
        events: list[SpanEvent] = []
        if self.content and self.latest:
            attributes["gen_ai.tool.call.result"] = answer
        elif self.content:
            moment = T0 + round((start + tool.ms) * MS)
            events = [SpanEvent(name="gen_ai.choice", time_ns=moment, attributes={"message": answer, "id": id})]
        self._span(cycle, f"execute_tool {tool.name}", start, start + tool.ms, attributes, events=tuple(events))

    def _span(
        self,
        parent: str,
        name: str,
        start: float,
        end: float,
        attributes: dict[str, Any],
        *,
        id: str | None = None,
        **more: Any,
    ) -> None:
        if self.session:
            attributes["session.id"] = self.session
        self.spans.append(
            Span(
                trace_id=self.trace_id,
                span_id=id or self._next(),
                parent_id=parent,
                name=name,
                start_ns=T0 + round(start * MS),
                end_ns=T0 + round(end * MS),
                attributes=attributes,
                **more,
            )
        )


def _operation(name: str) -> dict[str, Any]:
    return {"gen_ai.operation.name": name}


def _parts(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Bedrock's blocks as OpenTelemetry's parts."""
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if "text" in block:
            parts.append({"type": "text", "content": block["text"]})
        elif "toolUse" in block:
            use = block["toolUse"]
            parts.append({"type": "tool_call", "id": use["toolUseId"], "name": use["name"], "arguments": use["input"]})
        else:
            result = block["toolResult"]
            parts.append({"type": "tool_call_response", "id": result["toolUseId"], "response": result["content"]})
    return parts
