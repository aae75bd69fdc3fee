"""A study in a real kernel: a progress bar in a notebook, log lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel
from waiting import PATIENCE_S

CELL = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, force=True)
logging.getLogger("asyncio").setLevel(logging.WARNING)
sys.path.insert(0, {here!r})
from latency_agent import Reply, ScriptedAgent
from loomlib.latency import LatencyStudy
from loomlib.store import Store
store = Store.open("sqlite:///" + {path!r})
agent = ScriptedAgent(store, script=lambda *_: Reply(delay_s=0.05))
result = LatencyStudy(agent, cold=2, warm=2, sticky=2).run()
result
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    manager, client = start_new_kernel(startup_timeout=PATIENCE_S, kernel_name="python3")
    try:
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def outputs(kernel: Any, path: Path, *, watched: bool) -> list[dict[str, Any]]:
    cell = CELL.format(here=str(Path(__file__).parents[2] / "unit"), path=str(path / "loom.db"))
    messages: list[dict[str, Any]] = []
    reply = kernel.execute_interactive(cell, allow_stdin=watched, output_hook=messages.append, timeout=PATIENCE_S)
    assert reply["content"]["status"] == "ok", reply["content"]
    message_id = reply["parent_header"]["msg_id"]
    assert {message["parent_header"]["msg_id"] for message in messages} == {message_id}, (
        "every output belongs to its cell"
    )
    return messages


def test_a_watched_notebook_shows_one_bar_that_ends_as_static_html(kernel: Any, tmp_path: Path) -> None:
    messages = outputs(kernel, tmp_path, watched=True)
    first = [message for message in messages if message["msg_type"] == "display_data"]
    updates = [message for message in messages if message["msg_type"] == "update_display_data"]
    assert len(first) == 1
    assert {message["content"]["transient"]["display_id"] for message in [*first, *updates]} == {
        first[0]["content"]["transient"]["display_id"]
    }
    final = updates[-1]["content"]["data"]
    assert final["text/plain"].startswith("latency study · cold 2/2 · warm 2/2 · sticky 2/2 · 0 failed · ")
    assert final["text/plain"] in final["text/html"].replace("\xa0", " ")
    assert set(final) == {"text/plain", "text/html"}
    streams = [message["content"]["text"] for message in messages if message["msg_type"] == "stream"]
    assert "latency study" not in "".join(streams)


def test_a_notebook_that_nobody_watches_has_log_lines(kernel: Any, tmp_path: Path) -> None:
    messages = outputs(kernel, tmp_path, watched=False)
    assert not [message for message in messages if message["msg_type"] in ("display_data", "update_display_data")]
    text = "".join(message["content"]["text"] for message in messages if message["msg_type"] == "stream")
    assert "latency study · cold 2/2 · warm 2/2 · sticky 2/2 · 0 failed" in text


def test_the_result_of_a_cell_is_a_page_and_a_stable_line(kernel: Any, tmp_path: Path) -> None:
    messages = outputs(kernel, tmp_path, watched=False)
    (mime_bundle,) = [message["content"]["data"] for message in messages if message["msg_type"] == "execute_result"]
    assert mime_bundle["text/plain"].startswith("StudyResult('latency-")
    assert "<table>" in mime_bundle["text/html"]
