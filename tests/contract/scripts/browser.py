"""A page is opened, used and photographed with AgentCore's SDK and Playwright, as on AWS."""

from bedrock_agentcore.tools.browser_client import browser_session
from playwright.sync_api import sync_playwright

PAGE = """data:text/html,<input id=name><button onclick="said.textContent = 'The page said ' + document.getElementById(
'name').value">Say</button><p id=said>"""

with browser_session("us-east-1", viewport={"width": 800, "height": 600}) as session:
    url, headers = session.generate_ws_headers()
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(url, headers=headers)
        page = browser.contexts[0].pages[0]
        page.goto(PAGE)
        page.fill("#name", "hello")
        page.click("button")
        assert page.screenshot().startswith(b"\x89PNG")
        print(page.inner_text("#said"))
        print("the window is {} x {}".format(*page.evaluate("[innerWidth, innerHeight]")))
        browser.close()
