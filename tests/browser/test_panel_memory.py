"""The Memory panel in a real JupyterLab: create, browse, search, check, and forget an actor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_cell, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_TALK = """
from datetime import UTC, datetime, timedelta

def say(actor, session, *turns, **more):
    messages = [
        {"conversational": {"role": ("USER", "ASSISTANT")[n % 2], "content": {"text": text}}}
        for n, text in enumerate(turns)
    ]
    created = memory.reader.clients.data().create_event(memoryId=memory.id, actorId=actor, sessionId=session,
        eventTimestamp=datetime.now(UTC), payload=messages, **more)
    return created["event"]["eventId"]

memory = bench.memories.get("assistant")
say("anna", "monday", "I am allergic to shellfish and nuts.", "Noted.", metadata={"channel": {"stringValue": "web"}})
say("anna", "monday", "I live in Lisbon.", "Thank you.")
say("anna", "friday", "I prefer trains over planes.", "Good to know.")
say("ben", "tuesday", "My e-mail address is ben@example.com. I live in Porto.", "Noted.")
root = say("eve", "x", "<img src=x onerror=document.title='hit'> I live in $\\\\alpha$ <b>town</b>.", "ok")
say("eve", "x", "Hello again.", "Hello.", branch={"name": "alt", "rootEventId": root})
"""
_EXTRACTED = """
import time
deadline = time.monotonic() + 240
while len(memory.records(progress=lambda sentence: None)) < 5 and time.monotonic() < deadline:
    time.sleep(0.2)
"""


@pytest.fixture
def page(lab: Lab, lab_page: Watched) -> Iterator[Page]:
    run_notebook(lab_page.page, lab, "memory_panel.ipynb", [CONNECT, "panel = loom_widgets.memory(bench)\npanel"])
    yield lab_page.page
    end_kernels(lab_page.page)


def grid(panel: Locator, name: str) -> Locator:
    return panel.get_by_role("grid", name=name, exact=True)


def rows(panel: Locator, name: str) -> Locator:
    return grid(panel, name).locator("tr[data-index]")


def bad_for_some(page: Page) -> list[str]:
    """What axe finds serious or critical in the panel."""
    violations = Axe().run(page, context=".loom-panel").response["violations"]
    return [violation["id"] for violation in violations if violation["impact"] in ("serious", "critical")]


def test_a_memory_is_made_browsed_searched_and_an_actor_is_forgotten(
    page: Page, lab_page: Watched, tmp_path: Path
) -> None:
    panel = panel_of(page, "Memory")
    expect(panel).to_contain_text("No memory yet.")
    screenshot(page, "memory-empty", tmp_path)
    panel.get_by_label("Name", exact=True).fill("assistant")
    panel.get_by_label("preferences", exact=True).check()
    panel.get_by_role("button", name="Create", exact=True).click()
    expect(panel.get_by_role("tab", name="Actors")).to_be_visible()
    run_cell(page, _TALK + _EXTRACTED)
    panel.scroll_into_view_if_needed()
    panel.get_by_role("button", name="Refresh", exact=True).click()
    expect(rows(panel, "actors")).to_have_count(3)
    rows(panel, "actors").filter(has_text="anna").click()
    expect(rows(panel, "sessions of the actor")).to_have_count(2)
    screenshot(page, "memory-actors", tmp_path)

    panel.get_by_role("tab", name="Events").click()
    expect(rows(panel, "events")).to_have_count(3)
    expect(grid(panel, "events")).to_contain_text("channel=web")
    rows(panel, "events").filter(has_text="shellfish").click()
    chosen = panel.get_by_role("region", name="chosen")
    expect(chosen).to_contain_text("channel")
    screenshot(page, "memory-events", tmp_path)

    # The branch filters the events of one actor; those of the next are all shown.
    branch = panel.get_by_label("Branch", exact=True)
    panel.get_by_label("Actor", exact=True).select_option("eve")
    expect(branch.locator("option", has_text="alt")).to_be_attached()
    branch.select_option("alt")
    expect(panel.locator(".loom-code").last).to_contain_text("branch='alt'")
    panel.get_by_label("Actor", exact=True).select_option("anna")
    expect(rows(panel, "events")).to_have_count(3)
    expect(branch).to_have_value("")

    # From a record to the event that it came from.
    panel.get_by_role("tab", name="Records").click()
    records = rows(panel, "records")
    expect(records.filter(has_text="offline extractor").first).to_be_visible()
    records.filter(has_text="Lisbon").first.click()
    chosen.get_by_role("button", name="Show the source").click()
    sources = rows(panel, "sources of this record")
    expect(sources).to_contain_text("stated")
    screenshot(page, "memory-provenance", tmp_path)
    sources.first.click()
    expect(panel.get_by_role("tab", name="Events")).to_have_attribute("aria-selected", "true")
    expect(grid(panel, "events").locator("tr[aria-selected=true]")).to_contain_text("I live in Lisbon.")
    expect(panel.get_by_label("Session", exact=True)).to_have_value("monday")

    # Search by keyboard, over everybody; then a threshold.
    panel.get_by_label("Actor", exact=True).select_option("")
    expect(panel.get_by_label("Session", exact=True)).to_be_disabled()
    panel.get_by_role("tab", name="Search").click()
    panel.get_by_label("Question", exact=True).fill("Who is allergic to nuts?")
    page.keyboard.press("Enter")
    search_results = rows(panel, "search results")
    expect(search_results.first).to_contain_text("allergic to nuts")
    screenshot(page, "memory-search", tmp_path)
    assert bad_for_some(page) == []
    panel.get_by_label("Minimum score", exact=True).fill("0.99")
    expect(panel.get_by_text("below the score")).to_be_visible()

    panel.get_by_label("Actor", exact=True).select_option("anna")
    expect(panel.get_by_text("Found among the records of all actors.")).to_be_visible()
    panel.get_by_role("tab", name="Timeline").click()
    expect(panel.get_by_role("img", name="timeline of anna")).to_be_visible()
    expect(panel.get_by_role("tabpanel")).to_contain_text("extracted by: offline extractor")
    screenshot(page, "memory-timeline", tmp_path)

    panel.get_by_role("tab", name="Health").click()
    panel.get_by_role("button", name="Check", exact=True).click()
    findings = rows(panel, "findings")
    findings.filter(has_text="email").first.click(timeout=120_000)
    expect(panel.get_by_role("tabpanel")).to_contain_text("Fix: ")
    expect(panel.get_by_role("tabpanel")).not_to_contain_text("ben@example.com")
    screenshot(page, "memory-health", tmp_path)

    panel.get_by_role("tab", name="Changes").click()
    panel.get_by_role("button", name="Take a snapshot").click()
    expect(panel.get_by_label("Before", exact=True)).to_contain_text("records")
    panel.get_by_role("tab", name="Copies").click()
    panel.get_by_role("button", name="Preview", exact=True).first.click()
    expect(grid(panel, "preview of the export")).to_contain_text("[email 1]")
    screenshot(page, "memory-copies", tmp_path)

    panel.get_by_role("tab", name="Forget").click()
    panel.get_by_label("Actor to forget", exact=True).fill("ben")
    panel.get_by_role("tabpanel").get_by_role("button", name="Preview", exact=True).click()
    for_good = panel.get_by_role("button", name="Delete permanently")
    expect(for_good).to_be_disabled()
    screenshot(page, "memory-forget-preview", tmp_path)
    panel.get_by_label("Type the actor's id to delete permanently").fill("ben")
    for_good.click()
    expect(panel.get_by_role("tabpanel")).to_contain_text("A second check found no data of ben")
    screenshot(page, "memory-forgotten", tmp_path)
    panel.get_by_role("tab", name="Changes").click()
    panel.get_by_role("button", name="Compare", exact=True).click()
    expect(grid(panel, "changed records")).to_contain_text("deleted")
    screenshot(page, "memory-changes", tmp_path)
    # Dark, and as narrow as 700 px: nothing hangs out at the side.
    page.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    for tab in ("Events", "Records", "Search", "Timeline", "Health", "Changes", "Copies"):
        panel.get_by_role("tab", name=tab).click()
        if tab == "Events":
            expect(rows(panel, "events")).to_have_count(3)
        assert panel.evaluate("(panel) => panel.scrollWidth <= panel.clientWidth + 1"), tab
        screenshot(page, f"memory-dark-{tab.lower()}", tmp_path)
    assert bad_for_some(page) == []
    panel.get_by_text("As Python", exact=True).click()
    expect(panel.locator(".loom-code").last).to_contain_text("memory.")
    # Nothing of the former memory is shown under a new one.
    panel.get_by_role("tab", name="Timeline").click()
    expect(panel.get_by_role("img", name="timeline of anna")).to_be_visible()
    panel.get_by_text("New memory", exact=True).click()
    panel.get_by_label("Name", exact=True).fill("other")
    panel.get_by_role("button", name="Create", exact=True).click()
    expect(panel.get_by_role("tabpanel")).to_contain_text("Choose an actor at the top")
    expect(panel.get_by_role("img", name="timeline of anna")).to_have_count(0)
    assert page.title() != "hit"
    assert lab_page.errors == []
    assert lab_page.outside == []
