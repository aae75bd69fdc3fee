"""The main path of each panel by Tab, Enter, Space, arrows and typing: focus is seen, what happens is spoken."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, TimeoutError, expect
from waiting import wait_until

from .conftest import Lab, Watched
from .panels import CONNECT, end_kernels, panel_of, run_notebook, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_CELLS = [
    f"{CONNECT}\nfrom IPython.display import display",
    "agent = bench.deploy('calculator', name='keyed')\n"
    "for n in range(2):\n    agent.invoke(f'What is {n} * {n}?')\n"
    "memory = bench.memories.create('keyed', strategies=['semantic'])",
    """from datetime import UTC, datetime
from loomlib.evals import EvalCase, EvalSet, Turn
said = {"conversational": {"role": "USER", "content": {"text": "I like tea."}}}
memory.reader.clients.data().create_event(memoryId=memory.id, actorId="anna", sessionId="monday",
    eventTimestamp=datetime.now(UTC), payload=[said])
EvalSet(name="keys", cases=(
    EvalCase(id="product", turns=(Turn(prompt="What is 6 * 7?", expected_answer="42"),)),)).write("keys.json")""",
    "display(loom_widgets.build(bench), loom_widgets.test(agent), loom_widgets.operate(bench),"
    " loom_widgets.evaluate(bench), loom_widgets.memory(bench))",
]
_FOCUS = """(panel) => {
    const now = document.activeElement, box = now.getBoundingClientRect();
    // A table's scrolling box cuts a ring around the table: the box has it.
    const style = getComputedStyle(now.closest(".loom-scroll") && now.matches("[role=grid]") ? now.parentElement : now);
    return {
        what: `${now.tagName} ${now.getAttribute("role") ?? ""} ${now.getAttribute("aria-label") ?? ""} ${
            now.textContent.slice(0, 40)}`,
        inside: panel.contains(now),
        ringed: now.matches(":focus-visible") && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
        seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight,
    };
}"""
# What the live regions of a panel say from now on.
_LISTEN = """(panel) => {
    window.loomSaid = [];
    new MutationObserver((changes) => {
        for (const { target } of changes) {
            const region = (target.nodeType === 1 ? target : target.parentElement)?.closest("[role=status]");
            if (region?.textContent) window.loomSaid.push(region.textContent);
        }
    }).observe(panel, { subtree: true, childList: true, characterData: true });
}"""


class Keys:
    """A reader of one panel without a mouse."""

    def __init__(self, page: Page, title: str) -> None:
        self.page = page
        self.panel = panel_of(page, title)
        self.panel.evaluate(_LISTEN)
        self.panel.evaluate("panel => { panel.tabIndex = -1; panel.focus(); }")

    def to(self, target: Locator, *, back: bool = False) -> Locator:
        """Tab until the target has the focus; every stop on the way is inside the panel, in sight and ringed."""
        target.wait_for()
        stops: list[str] = []
        for _ in range(60):
            self.page.keyboard.press("Shift+Tab" if back else "Tab")
            focus = self.panel.evaluate(_FOCUS)
            if not focus["seen"]:  # what arrives in the panel moves the rest, and the page scrolls after it
                focus = wait_until(lambda: now if (now := self.panel.evaluate(_FOCUS))["seen"] else None, focus["what"])
            stops.append(focus["what"])
            assert (focus["inside"], focus["ringed"], focus["seen"]) == (True, True, True), stops
            if target.evaluate("e => e === document.activeElement"):
                return target
        raise AssertionError(f"Tab does not come to it: {stops}")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def button(self, name: str) -> Locator:
        return self.panel.get_by_role("button", name=name, exact=True)

    def rows(self, name: str) -> Locator:
        return self.panel.get_by_role("grid", name=name, exact=True).locator("tr[data-index]")

    def open_row(self, name: str, opens: Locator, *, back: bool = False) -> None:
        """Into a table, to its first row, and open it; when the rows were read anew meanwhile, once more."""
        first = self.rows(name).first
        expect(first).not_to_contain_text("…")
        self.to(self.panel.get_by_role("grid", name=name, exact=True), back=back)
        for _ in range(20):
            self.press("Home", "Enter")
            with contextlib.suppress(AssertionError):
                expect(opens).to_be_visible(timeout=9_000)
                return
        raise AssertionError(f"the first row of {name} does not open")

    def keeps_row(self, name: str, again: Locator, words: str) -> None:
        """The active row of a table is the same one after its rows were read anew."""
        active = self.panel.get_by_role("grid", name=name, exact=True).locator("tr.loom-active td").first
        was = active.inner_text()
        self.page.evaluate("window.loomSaid = []")
        self.to(again, back=True)
        self.press("Enter")
        self.spoken(words)
        expect(active).to_have_text(was)
        grid = self.to(self.panel.get_by_role("grid", name=name, exact=True))
        assert grid.evaluate("g => g.querySelector('.loom-active').id === g.getAttribute('aria-activedescendant')")

    def kept(self) -> None:
        """The focus did not fall out of the panel when what it stood on was changed."""
        assert self.panel.evaluate(_FOCUS)["inside"], self.panel.evaluate(_FOCUS)

    def stays_in_sight(self) -> None:
        """What has the focus is scrolled back when the panel grows above it by a whole window."""
        self.panel.evaluate("""panel => {
            const tall = document.createElement("div");
            tall.className = "tall";
            tall.style.height = `${innerHeight}px`;
            panel.querySelector(".loom-body").prepend(tall);
        }""")
        wait_until(lambda: self.panel.evaluate(_FOCUS)["seen"], "the focus in sight")
        self.panel.evaluate("panel => panel.querySelector('.tall').remove()")

    def spoken(self, words: str) -> None:
        """A live region has said it."""
        try:
            self.page.wait_for_function("(words) => window.loomSaid.some((each) => each.includes(words))", arg=words)
        except TimeoutError:
            raise AssertionError(self.page.evaluate("window.loomSaid")) from None


@pytest.fixture
def page(lab: Lab, lab_page: Watched) -> Iterator[Page]:
    run_notebook(lab_page.page, lab, "keyboard.ipynb", _CELLS)
    yield lab_page.page
    end_kernels(lab_page.page)


def test_the_main_path_of_each_panel_needs_no_mouse(page: Page, lab_page: Watched, tmp_path: Path) -> None:
    page.context.set_default_timeout(120_000)
    for path in (build, ask, operate, evaluate, remember):
        path(page)
        screenshot(page, f"keyboard-{path.__name__}", tmp_path)
    assert lab_page.errors == []
    assert lab_page.outside == []


def build(page: Page) -> None:
    keys = Keys(page, "Build")
    blueprint = keys.to(keys.panel.get_by_label("Blueprint", exact=True))
    was = blueprint.input_value()
    keys.press("ArrowDown")
    assert blueprint.input_value() != was
    keys.press("ArrowUp")
    expect(blueprint).to_have_value(was)
    keys.to(keys.button("Deploy"))
    keys.press("Enter")
    expect(keys.panel.get_by_role("group", name="the last deployment")).to_contain_text("done")
    keys.spoken("calculator")
    keys.kept()
    keys.open_row("agents of the catalog", keys.button("Close"))
    keys.keeps_row("agents of the catalog", keys.button("Refresh all"), "in the catalog")
    keys.to(keys.button("Remove from the catalog"))
    keys.press("Enter")
    expect(keys.button("No")).to_be_focused()
    keys.press("Escape")
    expect(keys.button("Remove from the catalog")).to_be_focused()
    keys.to(keys.button("Close"))
    keys.press("Enter")
    expect(keys.button("Close")).to_have_count(0)
    keys.kept()


def ask(page: Page) -> None:
    keys = Keys(page, "Test")
    keys.to(keys.panel.get_by_label("Prompt", exact=True))
    keys.type("What is 6 * 7?")
    keys.to(keys.button("Invoke"))
    keys.stays_in_sight()
    keys.press("Enter")
    expect(keys.panel.locator(".loom-turn").last).to_contain_text("complete")
    expect(keys.panel.locator(".loom-answer").last).to_contain_text("42")
    keys.spoken("Asking keyed")
    keys.kept()
    keys.to(keys.panel.get_by_role("tab", name="Figures"))
    keys.press("ArrowRight")
    expect(keys.panel.get_by_role("tab", name="Waterfall")).to_be_focused()
    keys.press("ArrowRight", "ArrowRight")
    keys.open_row("sessions of this agent", keys.panel.locator(".loom-turn").first)
    keys.kept()


def operate(page: Page) -> None:
    keys = Keys(page, "Operate")
    keys.to(keys.button("Refresh"))
    keys.press("Enter")
    keys.spoken("invocations in")
    keys.kept()
    opened = keys.panel.get_by_role("region", name="selected agent")
    keys.open_row("agents and their numbers", opened)
    keys.keeps_row("agents and their numbers", keys.button("Refresh"), "invocations in")
    keys.to(opened.get_by_role("tab", name="Numbers"))
    keys.press("ArrowRight", "ArrowRight")
    keys.to(opened.get_by_role("grid", name="sessions of the agent"))
    keys.to(opened.get_by_role("tab", name="Sessions"), back=True)
    keys.to(opened.get_by_role("button", name="Close", exact=True), back=True)
    keys.press("Enter")
    expect(opened).to_be_hidden()
    keys.kept()


def evaluate(page: Page) -> None:
    keys = Keys(page, "Evaluate")
    chosen = keys.to(keys.panel.get_by_label("Set", exact=True))
    for _ in range(20):
        if chosen.input_value() == "file:":
            break
        keys.press("ArrowDown")
    keys.to(keys.panel.get_by_label("Path of the eval set"))
    keys.type("keys.json")
    keys.press("Enter")
    keys.spoken("keys: 1 case")
    tick = keys.to(keys.panel.get_by_label("keyed", exact=True))
    if not tick.is_checked():
        keys.press("Space")
    for checkbox in keys.panel.get_by_role("group", name="Agents").get_by_role("checkbox").all():
        if checkbox.is_checked() and not checkbox.evaluate("e => e === document.activeElement"):
            raise AssertionError("only one agent should be ticked")
    keys.to(keys.button("Run"))
    keys.press("Enter")
    expect(keys.panel.get_by_role("tab", name="Results")).to_have_attribute("aria-selected", "true")
    expect(keys.rows("cases of this run")).to_have_count(1)
    keys.kept()
    keys.open_row("cases of this run", keys.panel.get_by_role("table", name="verdict of each evaluator"))
    keys.to(keys.button("Show trace"))
    keys.press("Enter")
    expect(keys.panel.get_by_role("grid", name="waterfall of")).to_be_visible()
    keys.kept()


def remember(page: Page) -> None:
    keys = Keys(page, "Memory")
    keys.to(keys.panel.get_by_role("tab", name="Actors"))
    keys.open_row("actors", keys.rows("sessions of the actor").first)
    keys.kept()
    keys.to(keys.panel.get_by_role("tab", name="Actors"), back=True)
    keys.press("ArrowRight")
    keys.spoken("1 event read")
    keys.open_row("events", keys.panel.get_by_role("region", name="chosen").get_by_text("I like tea."))
    keys.kept()
    keys.to(keys.button("Close"))
    keys.press("Enter")
    expect(keys.panel.get_by_role("region", name="chosen")).to_be_hidden()
    keys.kept()
