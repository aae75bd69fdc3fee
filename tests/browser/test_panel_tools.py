"""The Tools panel in a real JupyterLab: call a gateway's tool, ask a knowledge base, check a text, run a cell."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_MADE = """
import pathlib, tempfile
agent = bench.deploy("mcp_server")
gateway = bench.gateways.create("desk", search=True)
gateway.add_agent("shop", agent)
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "owls.txt").write_text("The warranty of an owl is two years. <img src=x onerror=document.title='hit'>")
bench.bedrock.knowledge_bases.create("handbook").add_folder(folder)
bench.bedrock.guardrails.create("careful", words=["nightjar"], mask=["EMAIL"])
(folder / "orders.py").write_text("def lambda_handler(event, context): return {'order': event['order'], 'sent': True}")
bench.tools.functions.create("orders", folder / "orders.py")
agents = bench.clients.client("bedrock-agent")
weather = agents.create_agent(
    agentName="weather", foundationModel="amazon.nova-pro-v1:0",
    agentResourceRoleArn="arn:aws:iam::123456789012:role/weather",
    instruction="You help travellers with questions about the weather in cities.",
)["agent"]["agentId"]
city = {"city": {"type": "string", "description": "The city", "required": True}}
agents.create_agent_action_group(
    agentId=weather, agentVersion="DRAFT", actionGroupName="weather",
    actionGroupExecutor={"customControl": "RETURN_CONTROL"},
    functionSchema={"functions": [
        {"name": "get_weather", "description": "Returns the weather in a city", "parameters": city}
    ]},
)
agents.prepare_agent(agentId=weather)
"""


def test_each_kind_of_tool_is_tried(lab: Lab, watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    run_notebook(page, lab, "tools_panel.ipynb", [CONNECT + _MADE, "panel = loom_widgets.tools(bench)\npanel"])
    panel = panel_of(page, "Tools")
    expect(panel).to_contain_text(
        "1 gateway · 1 knowledge base · 1 guardrail · 1 function · 1 Bedrock agent · 1 browser"
    )

    panel.get_by_role("grid", name="gateways").locator("tr[data-index]").click()
    tools = panel.get_by_role("grid", name="tools of the gateway")
    expect(tools.locator("tr[data-index]").filter(has_text="shop___")).not_to_have_count(0)
    panel.get_by_label("Find tools by what they do").fill("calculate an expression")
    panel.get_by_role("button", name="Search", exact=True).click()
    expect(panel).to_contain_text("Best first:")
    tools.locator("tr[data-index]").filter(has_text="shop___calculator").click()
    panel.get_by_role("group", name="arguments of shop___calculator").locator("input").fill("2 + 3")
    panel.get_by_role("button", name="Call", exact=True).click()
    expect(panel.get_by_role("region", name="shop___calculator").last).to_contain_text("answered")
    expect(panel.get_by_role("region", name="shop___calculator").last).to_contain_text("5")
    screenshot(page, "tools-gateway", tmp_path)

    panel.get_by_role("tab", name="Knowledge bases").click()
    panel.get_by_role("grid", name="knowledge bases").locator("tr[data-index]").click()
    panel.get_by_label("Question").fill("How long is the warranty of an owl?")
    panel.get_by_role("button", name="Ask", exact=True).click()
    expect(panel.get_by_role("region", name="Answer")).to_contain_text("two years")
    expect(panel.get_by_role("region", name="passages")).to_contain_text("owls.txt")
    screenshot(page, "tools-knowledge", tmp_path)

    panel.get_by_role("tab", name="Guardrails").click()
    panel.get_by_role("grid", name="guardrails").locator("tr[data-index]").click()
    panel.get_by_label("Text", exact=True).fill("Write to ann@example.org")
    panel.get_by_role("button", name="Check", exact=True).click()
    expect(panel.get_by_role("region", name="Check")).to_contain_text("Write to {EMAIL}")
    screenshot(page, "tools-guardrail", tmp_path)

    panel.get_by_role("tab", name="Functions").click()
    panel.get_by_role("grid", name="functions").locator("tr[data-index]").click()
    panel.get_by_label("Event (JSON)").fill('{"order": "4711"}')
    panel.get_by_role("button", name="Call", exact=True).click()
    expect(panel.get_by_role("region", name="Result")).to_contain_text('{"order": "4711", "sent": true}')
    screenshot(page, "tools-function", tmp_path)

    panel.get_by_role("tab", name="Bedrock agents").click()
    panel.get_by_role("grid", name="Bedrock agents").locator("tr[data-index]").click()
    panel.get_by_label("Prompt").fill("What is the weather in Paris?")
    panel.get_by_role("button", name="Ask", exact=True).click()
    expect(panel.get_by_role("region", name="Calls that the agent returns")).to_contain_text(
        "get_weather(city='Paris')"
    )
    panel.get_by_label("Result of get_weather").fill("In Paris it is 21 degrees.")
    # A result that is not sent yet stays when another tool answers, and when the agent is chosen again.
    panel.get_by_role("tab", name="Functions").click()
    panel.get_by_label("Event (JSON)").fill('{"order": "4712"}')
    panel.get_by_role("button", name="Call", exact=True).click()
    expect(panel.get_by_role("region", name="Result")).to_contain_text('{"order": "4712", "sent": true}')
    panel.get_by_role("tab", name="Bedrock agents").click()
    panel.get_by_role("grid", name="Bedrock agents").locator("tr[data-index]").click()
    expect(panel.get_by_label("Result of get_weather")).to_have_value("In Paris it is 21 degrees.")
    panel.get_by_role("button", name="Send the results").click()
    expect(panel.get_by_role("region", name="Answer")).to_contain_text("21 degrees")
    expect(panel.get_by_role("region", name="steps")).to_contain_text("action")
    panel.get_by_role("button", name="Features on AgentCore").click()
    features = panel.get_by_role("region", name="features on AgentCore")
    expect(features).to_contain_text("return of control becomes an interrupt")
    panel.get_by_label("Folder").fill("weather-agent")
    panel.get_by_role("button", name="Write a snapshot").click()
    expect(panel).to_contain_text("weather-agent.")
    expect(panel).to_contain_text("the working draft, which can change")
    screenshot(page, "tools-agent", tmp_path)

    panel.get_by_role("tab", name="Browsers").click()
    panel.get_by_role("grid", name="browsers").locator("tr[data-index]").click()
    panel.get_by_label("Address").fill("data:text/html,<title>Owls</title><h1>Owls of the shop</h1>")
    panel.get_by_role("button", name="Open", exact=True).click()
    expect(panel).to_contain_text("Opened in")
    expect(panel.get_by_role("img", name="screenshot of Owls")).to_be_visible()
    screenshot(page, "tools-browser", tmp_path)
    panel.get_by_role("button", name="End the session").last.click()
    expect(panel.get_by_role("img", name="screenshot of Owls")).to_have_count(0)

    panel.get_by_role("tab", name="Web search").click()
    panel.get_by_label("Search for").fill("price of a lamp")
    panel.get_by_role("button", name="Search", exact=True).last.click()
    expect(panel).to_contain_text("--web-search-folder")

    panel.get_by_role("tab", name="Code interpreter").click()
    panel.get_by_label("Cell").fill("open('owls.csv', 'w').write('a,b')\nprint(6 * 7)")
    panel.get_by_role("button", name="Run", exact=True).click()
    expect(panel.get_by_role("region", name="Output")).to_contain_text("42")
    expect(panel.get_by_role("grid", name="files of the session")).to_contain_text("owls.csv")
    screenshot(page, "tools-code", tmp_path)

    violations = Axe().run(page, context=".loom-panel").response["violations"]
    assert [violation["id"] for violation in violations if violation["impact"] in ("serious", "critical")] == []
    assert page.title() != "hit"
    end_kernels(page)
