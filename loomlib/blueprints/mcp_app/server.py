"""An MCP server over standard input and output, with a tool that rolls dice and its view."""

import random
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.apps import Apps

VIEW = "ui://dice/view.html"
rolls: list[list[int]] = []
apps = Apps()


@apps.tool(resource_uri=VIEW, name="roll_dice", description="Roll dice: throw some dice and tell what they show.")
def roll_dice(count: int) -> dict:
    """Throw `count` dice, one to ten of them."""
    if not 1 <= count <= 10:
        raise ValueError("one to ten dice can be thrown")
    thrown = [random.randint(1, 6) for _ in range(count)]  # noqa: S311 -- a game
    rolls.append(thrown)
    return {"dice": thrown, "sum": sum(thrown)}


@apps.tool(resource_uri=VIEW, visibility=["app"], name="roll_history", description="Every throw of this session.")
def roll_history() -> dict:
    """Return what was thrown so far; for the view alone."""
    return {"throws": rolls, "total": sum(map(sum, rolls))}


@apps.tool(resource_uri=VIEW, visibility=["model"], name="forget_throws", description="Forget all earlier throws.")
def forget_throws() -> str:
    """Forget every throw; for the model alone."""
    rolls.clear()
    return "All throws are forgotten."


apps.add_html_resource(VIEW, Path(__file__).with_name("view.html").read_text("utf-8"), title="Dice")
server = MCPServer("dice", extensions=[apps], log_level="ERROR")

if __name__ == "__main__":
    server.run("stdio")
