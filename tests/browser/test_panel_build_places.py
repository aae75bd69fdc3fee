"""The Build panel: where errors stand, ARNs of other accounts, details after a change; panels that follow others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from waiting import wait_until

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_cell, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ELSEWHERE = "arn:aws:bedrock-agentcore:eu-west-1:999999999999:runtime/other-AbC123dEf4"
_CELLS = [
    CONNECT,
    "from IPython.display import display\n"
    "for name in ('AWS_PROFILE', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'):\n    os.environ.pop(name, None)\n"
    "os.environ.update(AWS_CONFIG_FILE='/nowhere', AWS_SHARED_CREDENTIALS_FILE='/nowhere')\n"
    "os.environ.update(AWS_EC2_METADATA_DISABLED='true')\n"
    "display(loom_widgets.test(bench), loom_widgets.build(bench))",
]
_OTHER_PANELS = "display(*(bench.panel(name) for name in ('operate', 'evaluate', 'memory')))"


@pytest.fixture
def page(lab: Lab, lab_page: Watched) -> Iterator[Page]:
    run_notebook(lab_page.page, lab, "build_places.ipynb", _CELLS)
    yield lab_page.page
    end_kernels(lab_page.page)


def focus_until(place: Locator, content: Locator) -> None:
    """Leave a panel and come back to it until it shows something: its view asks at most every two seconds."""

    def comes() -> bool:
        place.evaluate("() => document.activeElement.blur()")
        place.focus()
        return content.count() > 0

    wait_until(comes, content)


_IS_IN_SIGHT = """(node) => {
    const place = node.getBoundingClientRect();
    return node.contains(document.elementFromPoint(place.x + 9, place.y + 9));
}"""


def is_in_sight(node: Locator) -> bool:
    return bool(node.evaluate(_IS_IN_SIGHT))


def test_errors_stand_beside_their_field_and_panels_follow_what_others_change(
    page: Page, lab_page: Watched, tmp_path: Path
) -> None:
    test, build = panel_of(page, "Test"), panel_of(page, "Build")
    expect(test).to_contain_text("No agents yet.")
    expect(build).not_to_contain_text("half a second")

    # Deployed in Build: Test has it without a click.
    build.get_by_role("button", name="Deploy", exact=True).click()
    expect(build.locator(".loom-status").first).to_contain_text("calculator is READY", timeout=90_000)
    expect(test.get_by_label("Agent", exact=True)).to_have_value("calculator")
    expect(test.get_by_role("button", name="Invoke", exact=True)).to_be_enabled()

    # Registered wrongly: the error is where the ARN was typed, and in sight.
    arn = build.get_by_label("ARN of a deployed runtime")
    arn.fill("arn:aws:nonsense")
    arn.press("Enter")
    register = build.get_by_role("region", name="Register", exact=True)
    error = register.get_by_role("alert")
    expect(error).to_contain_text("Not an AgentCore runtime ARN")
    expect(build.get_by_role("alert").filter(has_text="Failed:")).to_have_count(1)
    assert is_in_sight(error)
    screenshot(page, "build-error-beside", tmp_path)

    # Of another account: what this is, and a way on.
    arn.fill(ELSEWHERE)
    register.get_by_role("button", name="Register", exact=True).click()
    expect(error).to_contain_text("This is the local AgentCore")
    expect(error).to_contain_text('loom.connect("aws", region="eu-west-1")')
    connect = register.get_by_role("button", name="Connect to AWS (eu-west-1) and register")
    screenshot(page, "build-other-account", tmp_path)
    connect.click()
    expect(error).to_contain_text("credentials")
    expect(build.get_by_role("grid", name="agents of the catalog")).to_contain_text("calculator")

    # Open details follow a new version.
    build.get_by_role("grid", name="agents of the catalog").locator("tr[data-index]").first.click()
    details = build.get_by_role("region", name="calculator", exact=True)
    expect(details.locator("dd").nth(4)).to_have_text("1")
    run_cell(page, "bench.deploy('calculator', environment={'TONE': 'kind'}); bench.deploy('echo'); None")
    build.get_by_role("button", name="Refresh all").click()
    expect(details.locator("dd").nth(4)).to_have_text("2")
    screenshot(page, "build-details", tmp_path)

    # Refreshed in Build: Test has the agent that a cell deployed. The next one it reads when the focus comes to it.
    agents = test.get_by_label("Agent", exact=True).locator("option")
    expect(agents).to_have_text(["calculator", "echo"])
    run_cell(page, "bench.deploy('echo', name='late'); None")
    focus_until(test.get_by_label("Prompt", exact=True), agents.get_by_text("late", exact=True))
    expect(agents).to_have_text(["calculator", "echo", "late"])

    # So do the others, and a memory that is made elsewhere is there.
    run_cell(page, _OTHER_PANELS)
    run_cell(page, "bench.deploy('echo', name='last'); bench.memories.create('made', strategies=['semantic']); None")
    operate, evaluate, memory = (panel_of(page, name) for name in ("Operate", "Evaluate", "Memory"))
    rows = operate.get_by_role("grid", name="agents and their numbers")
    focus_until(operate.get_by_role("tab", name="Agents"), rows.get_by_text("last", exact=True))
    focus_until(evaluate.get_by_role("tab").first, evaluate.get_by_label("last", exact=True))
    memories = memory.get_by_label("Memory", exact=True).locator("option", has_text="made")
    focus_until(memory.locator("summary", has_text="New memory"), memories)
    assert (lab_page.errors, lab_page.outside) == ([], [])
