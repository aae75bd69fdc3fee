"""Few workers: an agent whose capacity is known. A call waits for a free worker, which then takes a fixed time.

With one worker and 40 ms, it handles at most 25 calls a second in a session; above that, waiting times grow. It has
no model. The environment variables WORKERS and WORK_MS change its capacity.
It answers with plain JSON: {"result": "Done: …"}. The payload is {"prompt": "Pack an order"}.
"""

import os
import threading
import time
from datetime import UTC, datetime

from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from opentelemetry import trace

WORKERS = threading.Semaphore(int(os.environ.get("WORKERS", "1")))
WORK_S = float(os.environ.get("WORK_MS", "40")) / 1000

app = BedrockAgentCoreApp()
tracer = trace.get_tracer(__name__)


@app.entrypoint
def invoke(payload, context):
    """Wait for a free worker, let it work for the fixed time, and answer {"prompt": …}."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )

    prompt = payload.get("prompt")
    if not prompt:
        raise ValueError('the payload needs a "prompt", such as {"prompt": "Pack an order"}')

    # The trace shows the waiting time and the work as separate spans.
    with tracer.start_as_current_span("wait for a free worker"):
        WORKERS.acquire()
    try:
        with tracer.start_as_current_span("execute_tool work", attributes={"gen_ai.operation.name": "execute_tool"}):
            time.sleep(WORK_S)
    finally:
        WORKERS.release()
    return {"result": f"Done: {prompt}"}


if __name__ == "__main__":
    app.run()
