"""A2A agent: the calculator for other agents, on AgentCore's port 9000.

Callers find its agent card at /.well-known/agent-card.json and send messages as JSON-RPC (message/send,
message/stream, tasks/get, tasks/cancel). An answer is a task with an artifact. One context is one conversation.
"""

import os
from datetime import UTC, datetime

# Otherwise a trace has dozens of spans of the SDK's queues.
os.environ["OTEL_INSTRUMENTATION_A2A_SDK_ENABLED"] = os.environ.get("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")

from a2a.types import AgentCapabilities, AgentCard, AgentSkill
from arithmetic import calculated
from bedrock_agentcore import BedrockAgentCoreContext
from bedrock_agentcore.runtime import serve_a2a
from strands import Agent, tool
from strands.models import BedrockModel
from strands.multiagent.a2a.executor import StrandsA2AExecutor

MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")
SYSTEM_PROMPT = os.environ.get(
    "SYSTEM_PROMPT",
    "You are a calculator. Work out every sum with the calculator tool. Answer in a short sentence.",
)
CARD = AgentCard(
    name="calculator",
    description="Calculates: works out arithmetic exactly and answers in a sentence.",
    url="http://localhost:9000/",  # serve_a2a replaces it with the runtime's address
    version="1.0.0",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text"],
    default_output_modes=["text"],
    skills=[
        AgentSkill(
            id="calculator",
            name="Calculator",
            description="Compute, calculate and evaluate math: sums, products, powers and percentages.",
            tags=["arithmetic", "math"],
            examples=["What is 15 * 37, add 42?"],
        )
    ],
)


@tool
def calculator(expression: str) -> str:
    """Work out an arithmetic expression exactly.

    Args:
        expression: Numbers, + - * / // % ** and brackets, such as "15 * 37 + 42".
    """
    return calculated(expression)


def agent_for(context_id: str) -> Agent:
    """Return the agent of an A2A context: it remembers the conversation."""
    return Agent(
        model=BedrockModel(model_id=MODEL_ID),
        tools=[calculator],
        system_prompt=SYSTEM_PROMPT,
        callback_handler=None,  # the default handler prints the answer to the log
    )


class Executor(StrandsA2AExecutor):
    """Runs the agent for each message; Strands converts its answer to A2A events."""

    async def execute(self, context, event_queue) -> None:
        """Answer one message."""
        started = datetime.now(UTC).isoformat(timespec="microseconds")
        session_id, request_id = BedrockAgentCoreContext.get_session_id(), BedrockAgentCoreContext.get_request_id()
        print(f"Agent invoked - Start time: {started}, Session ID: {session_id}, Request ID: {request_id}", flush=True)
        await super().execute(context, event_queue)


if __name__ == "__main__":
    serve_a2a(Executor(agent_factory=agent_for, enable_a2a_compliant_streaming=True), CARD)
