"""An agent that asks AWS itself for all it needs: memory, a model, a bucket. Its memory is throttled once."""

import contextlib
import os

import boto3
from bedrock_agentcore import BedrockAgentCoreApp
from botocore.awsrequest import AWSResponse
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from opentelemetry import trace

app = BedrockAgentCoreApp()
spans = trace.get_tracer("remembering")
asked = {"modelId": "loom.scripted", "messages": [{"role": "user", "content": [{"text": "What is 2+2?"}]}]}


class Refusal:
    def stream(self):
        yield b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'


def throttle_once(client):
    remaining_refusals = [1]

    def answer(request, **_):
        if not remaining_refusals:
            return None
        remaining_refusals.clear()
        headers = {"x-amzn-errortype": "ThrottlingException", "content-type": "application/json"}
        return AWSResponse(request.url, 429, headers, Refusal())

    client.meta.events.register("before-send.bedrock-agentcore.ListEvents", answer)


def remember():
    memory_id = os.environ["MEMORY_ID"]
    boto3.client("bedrock-agentcore-control").get_memory(memoryId=memory_id)
    memory, session = boto3.client("bedrock-agentcore"), {"memoryId": memory_id, "sessionId": "one"}
    throttle_once(memory)
    message = {"conversational": {"content": {"text": "hello"}, "role": "USER"}}
    memory.create_event(actorId="me", eventTimestamp=0, payload=[message], **session)
    memory.list_events(actorId="me", **session)


def think():
    models = boto3.client("bedrock-runtime")
    models.converse(**asked)
    for _ in models.converse_stream(**asked)["stream"]:
        pass


def fail():
    with contextlib.suppress(ClientError):
        boto3.client("s3").head_object(Bucket="no-such-bucket", Key="nothing")


def compute():
    from bedrock_agentcore.tools.code_interpreter_client import code_session

    with code_session(os.environ["AWS_REGION"]) as session:
        for code in ("6 * 7", "1 / 0"):
            list(session.execute_code(code)["stream"])


def draw():
    from bedrock_agentcore.tools.code_interpreter_client import code_session

    dot = (
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
        "0000000d49444154789c63f8cfc0f01f00050001ff89993d1d0000000049454e44ae426082"
    )
    with code_session(os.environ["AWS_REGION"]) as session:
        session.upload_file("numbers.csv", "1,2")
        list(session.execute_code(f"_ = open('dot.png', 'wb').write(bytes.fromhex('{dot}'))")["stream"])
        session.download_file("dot.png")
        list(session.invoke("listFiles", {"directoryPath": ""})["stream"])


def instrumented():
    """What an instrumentation of botocore does, under its name."""
    tracer, call = trace.get_tracer("opentelemetry.instrumentation.botocore.s3"), BaseClient._make_api_call

    def traced(client, name, parameters):
        with tracer.start_as_current_span(f"S3.{name}", kind=trace.SpanKind.CLIENT):
            return call(client, name, parameters)

    BaseClient._make_api_call = traced
    try:
        fail()
    finally:
        BaseClient._make_api_call = call


@app.entrypoint
def answer(payload):
    with spans.start_as_current_span("invoke_agent it", attributes={"gen_ai.operation.name": "invoke_agent"}):
        for step in payload["steps"]:
            steps = (remember, think, fail, compute, draw, instrumented)
            {function.__name__: function for function in steps}[step]()
    return {"result": "done"}


if __name__ == "__main__":
    app.run()
