"""Strands' tool for AgentCore's browser, as on AWS: a page is opened, used and read."""

import os

from strands import Agent
from strands.models import BedrockModel
from strands_tools.browser import AgentCoreBrowser

PAGE = """data:text/html,<input id=name><button onclick="said.textContent = 'The page said ' + document.getElementById(
'name').value">Say</button><p id=said>"""

tool = AgentCoreBrowser(region=os.environ["AWS_REGION"])
model = BedrockModel(model_id="us.anthropic.claude-sonnet-4-20250514-v1:0")
agent = Agent(model=model, tools=[tool.browser], callback_handler=None)


def do(kind, **options):
    action = {"type": kind, "session_name": "shop-session", **options}
    answer = agent.tool.browser(browser_input={"action": action})
    assert answer["status"] == "success", answer
    return answer["content"][0].get("text", "")


do("init_session", description="A page of the shop")
do("navigate", url=PAGE)
do("type", selector="#name", text="hello")
do("click", selector="button")
print("The page said hello" in do("get_text", selector="#said"))
do("close")
