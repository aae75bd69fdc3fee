"""An agent whose times are injected: in each call it waits for times that are drawn anew from gamma distributions.

It waits where an agent of its platform would: before it serves (V1, where each session imports its code), or in a
session's first call before it states that it began (V2: what a snapshot cannot hold, such as a connection). Then it
waits in its model and in its tool. `INJECTED` has the distributions: `{"start": [offset, shape, scale], …}`, in ms.
A payload with `instead` has others for that call.
"""

import json
import os
import random
import time
from datetime import UTC, datetime

_INJECTED = json.loads(os.environ["INJECTED"])
_IS_RESTORED = os.environ["PLATFORM"] == "V2"


def _wait(name, injected):
    offset, shape, scale = injected[name]
    # The system's randomness: sessions that are forked from one snapshot would otherwise draw the same times.
    drawn = random.SystemRandom().gammavariate(shape, scale) if scale else 0
    time.sleep((offset + drawn) / 1000)


if not _IS_RESTORED:
    _wait("start", _INJECTED)

from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext  # noqa: E402
from opentelemetry import trace  # noqa: E402
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol  # noqa: E402

tracer = trace.get_tracer("injected")
noted = {"calls": 0, "received": 0.0, "answered": 0.0}


class Stamped(HttpToolsProtocol):
    """Notes when a request reaches the process, before anything reads it."""

    def data_received(self, data):
        if data.startswith(b"POST /invocations"):
            noted["received"] = time.time()
        super().data_received(data)


class Noting(BedrockAgentCoreApp):
    """Notes when the SDK has answered."""

    async def __call__(self, scope, receive, send):
        async def note(message):
            if message["type"] == "http.response.body" and not message.get("more_body"):
                noted["answered"] = time.time()
            await send(message)

        await super().__call__(scope, receive, note if scope.get("path") == "/invocations" else send)


app = Noting()


def _span(operation, **attributes):
    return tracer.start_as_current_span(operation, attributes={"gen_ai.operation.name": operation, **attributes})


@app.entrypoint
def answer(payload, context):
    """Wait as injected, and return what the agent's own clock says: the calls without injected times are read."""
    injected, previous_answered = payload.get("instead", _INJECTED), noted["answered"]
    noted["calls"] += 1
    if _IS_RESTORED and noted["calls"] == 1:
        _wait("start", injected)
    began, start_time = time.time(), datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {start_time}, Session ID: {context.session_id}, Request ID: {request_id}",
        flush=True,
    )
    took = {}
    with _span("invoke_agent", **{"gen_ai.agent.name": "injected"}):
        for name, span in (
            ("model", _span("chat", **{"gen_ai.request.model": "injected"})),
            ("tool", _span("execute_tool", **{"gen_ai.tool.name": "injected"})),
        ):
            with span:
                from_ns = time.monotonic_ns()
                _wait(name, injected)
                took[name] = (time.monotonic_ns() - from_ns) / 1e6
    return {"received": noted["received"], "began": began, "previous_answered": previous_answered, **took}


if __name__ == "__main__":
    app.run(http=Stamped)
