"""An agent whose clock is set, by as many seconds as the request says, while its tool works."""

import time

_time, _time_ns, set_by_s = time.time, time.time_ns, [0]
time.time = lambda: _time() + set_by_s[0]
time.time_ns = lambda: _time_ns() + set_by_s[0] * 10**9

from bedrock_agentcore import BedrockAgentCoreApp  # noqa: E402
from opentelemetry import trace  # noqa: E402

app = BedrockAgentCoreApp()
tracer = trace.get_tracer("set_clock")


@app.entrypoint
def handle(payload):
    with tracer.start_as_current_span("invoke_agent clock", attributes={"gen_ai.operation.name": "invoke_agent"}):
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "wait"}
        with tracer.start_as_current_span("execute_tool wait", attributes=tool):
            time.sleep(0.05)
            set_by_s[0] += int(payload["prompt"])
            time.sleep(0.05)
    return "done"


app.run()
