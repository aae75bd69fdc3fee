"""An agent whose tool has a name of markup, and on whose spans lie ten megabytes, and bytes that are not text."""

from bedrock_agentcore import BedrockAgentCoreApp
from opentelemetry import trace

MARKUP = "</td></svg><img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
app = BedrockAgentCoreApp()


@app.entrypoint
def answer(payload):
    spans = trace.get_tracer("hostile")

    def span(operation, **attributes):
        stated = {f"gen_ai.{name.replace('_', '.', 1)}": value for name, value in attributes.items()}
        name = f"{operation} {MARKUP}"
        return spans.start_as_current_span(name, attributes={"gen_ai.operation.name": operation, **stated})

    with span("invoke_agent", agent_name=MARKUP):
        with span("chat", request_model=MARKUP) as chat:
            chat.set_attribute("large", "m" * 10_000_000)
            chat.add_event(MARKUP, {MARKUP: MARKUP})
        with span("execute_tool", tool_name=MARKUP, tool_status=MARKUP) as tool:
            tool.set_attribute("binary", b"\x00\xff\xfe\x80 no text")
            tool.set_attribute("odd", "\x00 \x1b[31m \u202e \ud800")
            tool.set_attribute(MARKUP, MARKUP)
            tool.set_status(trace.Status(trace.StatusCode.ERROR, MARKUP))
    return {"result": MARKUP}


if __name__ == "__main__":
    app.run()
