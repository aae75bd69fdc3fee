"""A small agent to measure, over a real store, for tests without a service.

It writes its invocations as the real one does: stored before the call, finished after it. What it answers is a script:
a function of the call's number and labels.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from loomlib.store import InvocationRow, Store

ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/calculator-AbC123dEf4"


@dataclass(frozen=True)
class Reply:
    """What one call comes to. `failure` None means an answer after `duration_ms`."""

    duration_ms: float = 10.0
    failure: str | None = None
    bytes_received: int = 120
    raises: BaseException | None = None
    delay_s: float = 0.0


@dataclass(frozen=True)
class Start:
    state: str = "found"
    cold_start_latency_ms: float | None = None


@dataclass
class ScriptedAgent:
    """Implements `loomlib.latency.MeasuredAgent`."""

    store: Store
    script: Callable[[int, Sequence[str]], Reply] = lambda _number, _labels: Reply()
    starts: Callable[[InvocationRow], Start] = lambda row: Start("found", (row.client_duration_ms or 0) * 0.9)
    alive: Callable[[], bool] = lambda: True
    name: str = "calculator"
    arn: str = ARN
    qualifier: str = "DEFAULT"
    scope: str = "local"
    labels: Sequence[str] = ("local AgentCore", "model: scripted (simulated)")
    made: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._agent_id = self.store.agents.upsert(
            scope=self.scope, arn=self.arn, runtime_id="calculator-AbC123dEf4", name=self.name, status="READY",
            region="us-east-1", account_id="123456789012", log_group="/x", available_qualifiers=["DEFAULT"],
            raw_metadata={},
        ).id  # fmt: skip

    async def measure(
        self, prompt: str, *, session_id: str, labels: Sequence[str] = (), timeout_s: float | None = None
    ) -> InvocationRow:
        number = len(self.made)
        self.made.append((session_id, tuple(labels)))
        began = time.time()
        key = self.store.invocations.begin(
            agent_id=self._agent_id, session_id=session_id, prompt=prompt, client_invoke_time=began, labels=labels
        )
        reply = self.script(number, labels)
        if reply.raises:
            raise reply.raises
        await asyncio.sleep(reply.delay_s)
        ok = reply.failure is None
        self.store.invocations.finish(
            key,
            status="complete" if ok else "error",
            response="4" if ok else "",
            client_done_time=began + reply.duration_ms / 1e3,
            client_duration_ms=reply.duration_ms,
            client_invoke_time=began,
            ttft_ms=reply.duration_ms * 0.95 if ok else None,
            connect_ms=0.2 if number == 0 else 0.0,
            connection_reused=number > 0,
            bytes_received=reply.bytes_received if ok or reply.bytes_received != 120 else 0,
            failure=reply.failure,
            error_message=None if ok else f"scripted {reply.failure}",
            content_type="application/json",
        )
        stored = self.store.invocations.get(key)
        assert stored is not None
        return stored

    def end_session(self, session_id: str) -> bool:
        self.ended.append(session_id)
        return True

    def agent_start(self, invocation_id: int) -> Start:
        stored = self.store.invocations.get(invocation_id)
        assert stored is not None
        return self.starts(stored)

    async def is_alive(self) -> bool:
        return self.alive()

    def timed(self) -> list[tuple[str, tuple[str, ...]]]:
        return [call for call in self.made if "timed" in call[1]]
