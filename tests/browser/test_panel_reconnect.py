"""A launcher panel whose kernel was restarted behind it: what was typed stays, and one button brings the panel back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import Lab, Watched
from .panels import panel_of, screenshot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOOM = str(Path(sys.executable).with_name("loom"))
_KERNELS = """async () => {
    const kernels = window.jupyterapp.serviceManager.kernels;
    await kernels.refreshRunning();
    return [...kernels.running()].map((kernel) => kernel.id);
}"""
_RESTART = """async (id) => {
    const { baseUrl, token } = window.jupyterapp.serviceManager.serverSettings;
    const headers = { Authorization: `token ${token}` };
    const answer = await fetch(`${baseUrl}api/kernels/${id}/restart`, { method: "POST", headers });
    return answer.status;
}"""


def open_test_panel(lab: Lab, page: Page) -> str:
    """The Test panel from its launcher card; returns the id of its kernel."""
    page.goto(f"{lab.url}/lab?token={lab.token}&reset")
    page.locator(".jp-Launcher").wait_for(timeout=180_000)
    before = page.evaluate(_KERNELS)
    loom = page.locator(".jp-Launcher-section", has=page.locator("h2", has_text=re.compile(r"^Loom$")))
    loom.locator(".jp-LauncherCard", has_text="Test").click()
    panel_of(page, "Test")
    (kernel,) = set(page.evaluate(_KERNELS)) - set(before)
    return str(kernel)


def test_a_launcher_panel_keeps_its_prompt_and_reconnects_after_a_kernel_restart(
    lab: Lab, watched: Watched, tmp_path: Path
) -> None:
    environment = {**os.environ, "LOOM_HOME": str(lab.root.parent / "home")}
    subprocess.run([LOOM, "deploy", "calculator"], check=True, capture_output=True, timeout=180, env=environment)
    page = watched.page
    kernel = open_test_panel(lab, page)
    panel = panel_of(page, "Test")
    panel.get_by_label("Prompt", exact=True).fill("What is 6 * 7?")
    # By another client, so that JupyterLab in this page does not know of it.
    assert page.evaluate(_RESTART, kernel) == 200
    panel.get_by_role("button", name="Invoke", exact=True).click()
    lost = panel.get_by_role("alert").filter(has_text="The kernel does not respond")
    expect(lost).to_be_visible()
    expect(lost).not_to_contain_text("above the notebook")
    expect(panel.get_by_label("Prompt", exact=True)).to_have_value("What is 6 * 7?")
    screenshot(page, "panel-lost", tmp_path)

    lost.get_by_role("button", name="Reconnect").click()
    expect(page.get_by_role("button", name="Reconnect")).to_have_count(0)
    panel = panel_of(page, "Test")
    expect(panel.get_by_label("Agent", exact=True)).to_have_value("calculator")
    expect(panel.get_by_label("Prompt", exact=True)).to_have_value("What is 6 * 7?")
    panel.get_by_role("button", name="Invoke", exact=True).click()
    expect(panel.locator(".loom-answer").last).to_contain_text("42")
    expect(panel.get_by_label("Prompt", exact=True)).to_have_value("")
    screenshot(page, "panel-reconnected", tmp_path)
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.dispose(); }")
    assert (watched.errors, watched.outside) == ([], [])
