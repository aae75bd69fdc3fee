from bedrock_agentcore import BedrockAgentCoreApp
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter()))
tracer = trace.get_tracer("agent", tracer_provider=provider)
app = BedrockAgentCoreApp()


@app.entrypoint
def invoke(payload):
    with tracer.start_as_current_span("answer"):
        return "done"


if __name__ == "__main__":
    app.run()
