"""A long wait says how it stands, a short one nothing."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest

from loomlib.workbench.wait_line import WaitLine


def test_a_short_wait_reports_nothing_and_a_long_one_goes_to_the_log(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    WaitLine(quiet_s=60)("0 spans so far")
    assert caplog.messages == []
    WaitLine(quiet_s=0)("3 spans so far")
    assert caplog.messages == ["3 spans so far"]
    assert capsys.readouterr().out == ""


def test_a_log_gets_a_line_for_each_change_and_one_every_ten_seconds(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    now = [0.0]
    line = WaitLine(quiet_s=0, clock=lambda: now[0])
    for second in range(25):
        now[0] = float(second)
        line(f"{'0' if second < 3 else '7'} spans so far, trace incomplete · {second} s of at most 3 min 00 s")
    assert caplog.messages == [
        "0 spans so far, trace incomplete · 0 s of at most 3 min 00 s",
        "7 spans so far, trace incomplete · 3 s of at most 3 min 00 s",
        "7 spans so far, trace incomplete · 13 s of at most 3 min 00 s",
        "7 spans so far, trace incomplete · 23 s of at most 3 min 00 s",
    ]


IN_A_KERNEL = """
import json
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(startup_timeout=240, kernel_name="python3")
code = '''
from loomlib.workbench.wait_line import WaitLine
line = WaitLine(quiet_s=0)
line("<b>1</b> span so far")
line("7 spans")
'''
shown = []
client.execute_interactive(code, output_hook=shown.append, allow_stdin=True, timeout=240)
client.stop_channels()
manager.shutdown_kernel(now=True)
displayed = [each for each in shown if "data" in each["content"]]
print(json.dumps([[each["msg_type"], each["content"]["data"]["text/html"]] for each in displayed]))
"""


@pytest.mark.slow
def test_in_a_notebook_the_line_changes_in_place_and_is_text() -> None:
    ran = subprocess.run([sys.executable, "-c", IN_A_KERNEL], capture_output=True, text=True, timeout=540, check=True)
    first, second = json.loads(ran.stdout.splitlines()[-1])
    assert (first[0], second[0]) == ("display_data", "update_display_data")
    assert "&lt;b&gt;1&lt;/b&gt; span so far" in first[1]
