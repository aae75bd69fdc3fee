"""MCP server: the calculator as tools for other agents, on AgentCore's port 8000 at /mcp.

It is stateful: a session remembers its calculations, and a tool can ask the client's user (elicitation) and the
client's model (sampling), send progress and log messages. Clients of MCP 2025-11-25 and of 2026-07-28 can use it.
"""

from typing import Annotated

from arithmetic import calculated
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CreateMessageResult, SamplingMessage, TextContent
from pydantic import BaseModel, Field

server = MCPServer("calculator", instructions="Works out arithmetic exactly. Use it for every calculation.")
history: list[str] = []


class People(BaseModel):
    """How a bill is split."""

    people: int = Field(description="How many people pay", ge=1, le=100)


def worked_out(expression: str) -> str:
    """Compute an expression, and store it for the resource with the session's calculations."""
    try:
        value = calculated(expression)
    except (ValueError, SyntaxError, ArithmeticError) as error:
        raise ToolError(f"{expression}: {error}") from error
    history.append(f"{expression} = {value}")
    return value


@server.tool()
def calculator(expression: str) -> str:
    """Work out an arithmetic expression exactly: numbers, + - * / // % ** and brackets, such as "15 * 37 + 42"."""
    return worked_out(expression)


@server.tool()
async def add_up(numbers: list[float], ctx: Context) -> str:
    """Add up a list of numbers, one after the other, with progress."""
    total = 0.0
    for count, number in enumerate(numbers, 1):
        total += number
        await ctx.report_progress(count, len(numbers), f"{total:g}")
    await ctx.info(f"added {len(numbers)} numbers")
    return worked_out(" + ".join(f"({number:g})" for number in numbers) or "0")


def ask_people(bill: float) -> Elicit[People]:
    """Ask the client's user how many people pay."""
    return Elicit(f"How many people share the bill of {bill:g}?", People)


@server.tool()
def split_bill(bill: float, shared: Annotated[People, Resolve(ask_people)]) -> str:
    """Split a bill evenly. Asks the user how many people pay."""
    return worked_out(f"{bill:g} / {shared.people}")


def ask_model(expression: str) -> Sample:
    """Ask the client's model for a sentence about a calculation."""
    question = f"Say in one sentence that {expression} is {calculated(expression)}."
    message = SamplingMessage(role="user", content=TextContent(type="text", text=question))
    return Sample([message], max_tokens=100)


@server.tool()
def explain(expression: str, said: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Work out an expression and let the client's model put it into words."""
    return f"{worked_out(expression)}: {getattr(said.content, 'text', '')}"


@server.resource("calculations://session")
def calculations() -> str:
    """List the session's calculations, one a line."""
    return "\n".join(history)


@server.prompt()
def word_problem(text: str) -> str:
    """Turn a word problem into one expression for the calculator."""
    return f"Write the following as one arithmetic expression and call the tool calculator with it: {text}"


if __name__ == "__main__":
    server.run("streamable-http", host="0.0.0.0", port=8000, stateless_http=False)  # noqa: S104 -- as AgentCore requires
