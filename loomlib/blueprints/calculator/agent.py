"""Calculator: an agent with one tool, which works out arithmetic exactly.

It streams: each event is a JSON string, a piece of the answer's text. The payload is {"prompt": "What is 15 * 37?"}.
The environment variables MODEL_ID, SYSTEM_PROMPT and TOOL_DESCRIPTIONS replace its defaults.
"""

import ast
import functools
import json
import operator
import os
from datetime import UTC, datetime

from bedrock_agentcore import BedrockAgentCoreApp, BedrockAgentCoreContext
from strands import Agent, tool
from strands.models import BedrockModel

MODEL_ID = os.environ.get("MODEL_ID", "global.anthropic.claude-sonnet-4-6")
SYSTEM_PROMPT = os.environ.get(
    "SYSTEM_PROMPT",
    "You are a calculator. Work out every sum with the calculator tool. Answer in a short sentence.",
)
LARGEST_POWER = 1_000  # so that 9**9**9 is refused instead of computed for hours

app = BedrockAgentCoreApp()

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def evaluate(node: ast.AST) -> int | float:
    """Compute the value of a parsed expression that holds numbers, operators and brackets only."""
    match node:
        case ast.Expression(body=body):
            return evaluate(body)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            return OPERATORS[type(op)](evaluate(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            first, second = evaluate(left), evaluate(right)
            if isinstance(op, ast.Pow) and (abs(second) > LARGEST_POWER or abs(first) > 1e100):
                raise ValueError(f"{first} ** {second} is too large for this calculator")
            return OPERATORS[type(op)](first, second)
    raise ValueError("only numbers, + - * / // % ** and brackets are understood")


@tool
def calculator(expression: str) -> str:
    """Work out an arithmetic expression exactly.

    Args:
        expression: Numbers, + - * / // % ** and brackets, such as "15 * 37 + 42".
    """
    value = evaluate(ast.parse(expression.strip(), mode="eval"))
    return str(int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value)


def described(used: list) -> list:
    """Return the tools, with the descriptions from the environment variable TOOL_DESCRIPTIONS (JSON, by tool name)."""
    for name, description in json.loads(os.environ.get("TOOL_DESCRIPTIONS", "{}")).items():
        for call in [call for call in used if call.tool_name == name]:
            call.tool_spec = {**call.tool_spec, "description": description}
    return used


@functools.cache
def agent_for(session_id: str | None) -> Agent:
    """Return the agent of a session: it remembers the conversation until the session ends."""
    return Agent(
        model=BedrockModel(model_id=MODEL_ID),
        tools=described([calculator]),
        system_prompt=SYSTEM_PROMPT,
        callback_handler=None,  # the default handler prints the answer to the log
    )


@app.entrypoint
async def invoke(payload, context):
    """Stream the answer to {"prompt": …}."""
    started = datetime.now(UTC).isoformat(timespec="microseconds")
    request_id = BedrockAgentCoreContext.get_request_id()
    print(
        f"Agent invoked - Start time: {started}, Session ID: {context.session_id}, Request ID: {request_id}", flush=True
    )

    prompt = payload.get("prompt")
    if not prompt:
        raise ValueError('the payload needs a "prompt", such as {"prompt": "What is 15 * 37?"}')

    async for event in agent_for(context.session_id).stream_async(prompt):
        if "data" in event:
            yield event["data"]


if __name__ == "__main__":
    app.run()
