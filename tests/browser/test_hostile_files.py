"""Hostile data frames and file names, live in JupyterLab: each panel shows them as text, and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from .conftest import Lab, Watched
from .hostile_cells import DATA
from .panels import end_kernels, panel_of, run_notebook, screenshot
from .test_hostile import NAMES, PANELS, Counter, counter, hooked, look_around, nothing_happened

__all__ = ["counter"]
pytestmark = [pytest.mark.browser, pytest.mark.slow]

MARKUP = "<img src=x onerror='window.__loom_canary=1'>"
CLICK_UNLESS_IT_DELETES = """(button) => {
    if (button.checkVisibility() && !button.disabled && !/delete/i.test(button.innerText)) button.click();
}"""
_SETUP = f"""import datetime, json, pathlib, sys, tempfile
sys.path.insert(0, {str(DATA)!r})
import hostile
import pandas as pd
import loomlib as loom
from IPython.display import display
from loomlib.evals import EvalCase, EvalSet, Turn
from loomlib.presentation.text_frame import TextFrame
texts = [answer.text for answer in hostile.answers(beacon)]
bench = loom.connect()
folder = pathlib.Path(tempfile.mkdtemp())
names = []
for text in texts:  # as names of files: without the path separator, and not too long
    name = text.replace("/", "\\N{{FRACTION SLASH}}").replace("\\0", "")[:60] + ".json"
    try:
        EvalSet(name=text[:100], cases=(EvalCase(id=text[:100], turns=(Turn(prompt=text),)),)).write(folder / name)
        names.append(name)
    except OSError:
        pass
assert len(names) > 100
markup = folder / {(MARKUP + ".json")!r}
EvalSet(name={MARKUP!r}, cases=(EvalCase(id={MARKUP!r}, turns=(Turn(prompt={MARKUP!r}),)),)).write(markup)
(folder / {MARKUP!r}).mkdir()
(folder / {MARKUP!r} / "agent.py").write_text("import nothing_of_this_name")
bench.deploy("echo")
memory = bench.memories.create("hostile", strategies=["semantic"])
memory.reader.clients.data().create_event(memoryId=memory.id, actorId="anna", sessionId="s",
    eventTimestamp=datetime.datetime.now(datetime.UTC),
    payload=[{{"conversational": {{"role": "USER", "content": {{"text": "I like tea."}}}}}}])"""
_FRAMES = """%load_ext loom_widgets
from loom_widgets.displays.frame import FrameDisplay
class Odd:
    def __init__(self, text):
        self.text = text
    __str__ = __repr__ = lambda self: self.text
wide = TextFrame({text: [text, Odd(text), [text], {text: text}] * 4 for text in texts[:40]})
long = TextFrame({texts[0]: texts, texts[1]: pd.Categorical(texts), texts[2]: [Odd(text) for text in texts]},
                 index=pd.Index(texts, name=texts[3]))
several = TextFrame([texts[:4]] * 12, columns=pd.MultiIndex.from_tuples([(text, text) for text in texts[:4]]))
for frame in (wide, long, several):
    frame.attrs.update(title=texts[5], note=texts[6])
    display(frame, FrameDisplay(frame))
None"""


@pytest.fixture(scope="module")
def opened(lab: Lab, chromium: Browser, counter: Counter) -> Iterator[tuple[Watched, Path]]:
    watched = hooked(chromium)
    setup = f"beacon = {counter.address!r}\n{_SETUP}"
    run_notebook(watched.page, lab, "hostile_files.ipynb", [setup, _FRAMES, PANELS, "print(folder)"])
    for name in NAMES:
        panel_of(watched.page, name.title())
    printed = watched.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.at(-1).outputs[0].text"
    )
    yield watched, Path("".join(printed).strip())
    end_kernels(watched.page)
    watched.page.context.close()


def fill(panel: Locator, label: str, path: Path) -> None:
    panel.get_by_label(label, exact=True).locator("visible=true").fill(str(path))


def test_hostile_data_frames_are_text_in_their_tables(opened: tuple[Watched, Path], counter: Counter) -> None:
    watched, _ = opened
    expect(watched.page.locator(".loom-panel [role=grid]").first).to_be_visible()
    page: Page = watched.page
    titles = page.evaluate("() => [...document.querySelectorAll('.loom-panel')].map((panel) => panel.ariaLabel)")
    for at in range(len(titles) - len(NAMES)):
        page.locator(".loom-panel").nth(at).locator("tr[data-index='0']").first.click()
    expect(page.locator(".loom-panel").first).to_contain_text("<script>")
    nothing_happened(watched, counter, ".jp-OutputArea-output")


def test_hostile_file_names_are_text_in_every_panel(
    opened: tuple[Watched, Path], counter: Counter, tmp_path: Path
) -> None:
    watched, folder = opened
    page = watched.page
    build = panel_of(page, "Build")
    build.get_by_label("Blueprint", exact=True).select_option("file or folder")
    for path in (
        folder / f"{MARKUP}nothing",
        folder / MARKUP,
    ):  # one that is not there, and one whose agent never starts
        fill(build, "Path", path)
        build.get_by_role("button", name="Deploy", exact=True).click()
        going = build.get_by_role("group", name="the last deployment")
        expect(going).to_contain_text(MARKUP)
        expect(build.get_by_role("button", name="Deploy", exact=True)).to_be_enabled()

    evaluate = panel_of(page, "Evaluate")
    evaluate.get_by_label("Set", exact=True).select_option("file:")
    for path in (folder / f"{MARKUP}.json", folder / f"{MARKUP}nothing.json"):
        fill(evaluate, "Path of the eval set", path)
        evaluate.get_by_label("Path of the eval set", exact=True).press("Tab")
        expect(evaluate).to_contain_text(MARKUP)

    memory = panel_of(page, "Memory")
    for name in ("Build", "Evaluate", "Memory", "Test", "Operate"):
        look_around(page, name)
        screenshot(page, f"hostile-files-{name.lower()}", tmp_path)
    for tab in memory.get_by_role("tab").all():
        tab.click()
        expect(memory.locator("[role=tabpanel]:not([hidden])")).not_to_contain_text("Loading …")
        for field in memory.locator(
            "[role=tabpanel]:not([hidden]) input[placeholder$='.json'], "
            "[role=tabpanel]:not([hidden]) input[placeholder$='.jsonl']"
        ).all():
            field.fill(str(folder / f"{MARKUP}.jsonl"))
        # Fix the list of buttons first: a click may hide a later button, and rows may be drawn again at any time.
        for button in memory.locator("[role=tabpanel]:not([hidden]) button").element_handles():
            button.evaluate(CLICK_UNLESS_IT_DELETES)
    expect(memory).to_have_attribute("aria-busy", "false")
    expect(memory).to_contain_text(MARKUP)
    nothing_happened(watched, counter, ".jp-OutputArea-output")
