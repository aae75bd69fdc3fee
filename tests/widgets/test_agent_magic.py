"""`%%agent` in a real kernel: a notebook whose cells ask agents, and what each of them shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from loom_widgets.magic import LONGEST_SHOWN
from loomlib import local

RUDE = (
    "from bedrock_agentcore import BedrockAgentCoreApp\napp = BedrockAgentCoreApp()\n\n"
    "@app.entrypoint\ndef answer(payload):\n"
    "    if payload['prompt'] == 'fail':\n        raise RuntimeError('on purpose')\n"
    "    if payload['prompt'] == 'long':\n        return {'result': 'word ' * 1_000_000}\n"
    "    return {'result': '<b>\\x1b[31mred\\x07'}\n\napp.run()\n"
)
CELLS = {
    "load": "%load_ext loom_widgets",
    "own": "%%agent echo\nHello,\nyou",
    "value": "_.text, _.ok",
    "bench": "import loomlib as loom\nbench = loom.connect()\nrude = bench.deploy(FILE, name='rude')",
    "streamed": "%%agent writer --to story\nWrite 20 words about looms",
    "kept": "story.text, len(story.record.chunk_offsets_ms)",
    "shown": "story",
    "table": "story.telemetry.logs()",
    "last": "%%agent writer --session last -t next\nGo on",
    "same": "next.session_id == story.session_id",
    "given": "%%agent writer --session {story.session_id} -t third\nGo on",
    "as said": "third.session_id == story.session_id",
    "variable": "%%agent rude --qualifier DEFAULT\nhello",
    "failed": "%%agent rude -t broken\nfail",
    "failure": "broken.ok, broken.failure",
    "long": "%%agent rude -t whole\nlong",
    "whole": "len(whole.text), len(repr(whole)) < 200, len(whole._repr_html_()) < 30_000",
    "nobody": "%%agent nobody\nhello",
    "no name": "%%agent\nhello",
    "nothing": "%%agent echo\n\n",
    "no option": "%%agent echo --loud\nhello",
    "no variable": "%%agent echo --to 1st\nhello",
    "no endpoint": "%%agent echo --qualifier prod\nhello",
    "no session": "%%agent calculator --session last\nhello",
    "no bench": "%%agent echo --bench nothing\nhello",
    "short session": "%%agent echo --session short\nhello",
    "unload": "%unload_ext loom_widgets",
    "gone": "%%agent echo\nhello",
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What each cell put out, by its name."""
    place = tmp_path_factory.mktemp("magic")
    agent = place / "agent.py"
    agent.write_text(RUDE)
    cells = [new_code_cell(source.replace("FILE", repr(str(agent)))) for source in CELLS.values()]
    notebook = new_notebook(cells=cells)
    environment = {**os.environ, "LOOM_HOME": str(place / "home"), "IPYTHONDIR": str(place / "ipython")}
    client = NotebookClient(
        notebook, kernel_name="python3", allow_errors=True, timeout=240, startup_timeout=240, iopub_timeout=240
    )
    client.execute(env=environment, cwd=str(place))
    yield {name: cell["outputs"] for name, cell in zip(CELLS, nbformat.from_dict(notebook)["cells"], strict=True)}
    local.stop(place / "home")


def text(outputs: Any, stream: str = "stdout") -> str:
    return "".join(
        output["text"] for output in outputs if output["output_type"] == "stream" and output["name"] == stream
    )


def value(outputs: Any) -> str:
    (result_text,) = [output["data"]["text/plain"] for output in outputs if output["output_type"] == "execute_result"]
    return result_text


def test_a_cell_is_asked_and_its_answer_printed_and_its_invocation_the_value(ran: dict[str, Any]) -> None:
    assert text(ran["own"]) == "You said: Hello,\nyou\n"
    assert "deployed echo" in text(ran["own"], "stderr")
    assert value(ran["value"]) == "('You said: Hello,\\nyou', True)"


def test_an_answer_is_streamed_and_its_invocation_named(ran: dict[str, Any]) -> None:
    answer, count = eval(value(ran["kept"]))
    assert text(ran["streamed"]).strip() == answer.strip()
    assert count > 3
    assert not [output for output in ran["streamed"] if output["output_type"] == "execute_result"]


def test_of_an_answer_of_5_mb_a_cell_prints_the_beginning_and_states_where_all_of_it_is(ran: dict[str, Any]) -> None:
    assert len(text(ran["long"])) == LONGEST_SHOWN + 1
    hint = "4\u202f800\u202f000 more characters are not shown; all of them are in whole.text"
    assert hint in text(ran["long"], "stderr")
    assert value(ran["whole"]) == "(5000000, True, True)"


@pytest.mark.parametrize("name", ["shown", "table"])
def test_a_notebook_that_nobody_watches_has_the_static_html_alone(ran: dict[str, Any], name: str) -> None:
    (bundle,) = [output["data"] for output in ran[name] if output["output_type"] == "execute_result"]
    assert set(bundle) == {"text/plain", "text/html"}


@pytest.mark.parametrize("name", ["same", "as said"])
def test_a_conversation_continues_in_a_session(ran: dict[str, Any], name: str) -> None:
    assert value(ran[name]) == "True"


def test_what_an_agent_says_is_text_without_control_characters(ran: dict[str, Any]) -> None:
    assert text(ran["variable"]) == "<b>\ufffd[31mred\ufffd\n"


def test_a_failed_call_is_a_value_and_a_line(ran: dict[str, Any]) -> None:
    assert value(ran["failure"]).startswith("(False, '")
    assert text(ran["failed"], "stderr").startswith("loom  ")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nobody", "nobody"),
        ("no name", "Try: %%agent calculator"),
        ("nothing", "has no prompt"),
        ("no option", "unrecognized arguments: --loud"),
        ("no variable", "--to 1st is not a variable name"),
        ("no endpoint", "no such endpoint"),
        ("no session", "Try: without --session"),
        ("no bench", "nothing is not a workbench"),
        ("gone", "agent"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(ran: dict[str, Any], name: str, said: str) -> None:
    message = text(ran[name], "stderr") + "".join(
        output["evalue"] for output in ran[name] if output["output_type"] == "error"
    )
    assert said in message, ran[name]
    assert "Traceback" not in message


def test_a_session_id_that_no_agent_takes_is_reported(ran: dict[str, Any]) -> None:
    message = text(ran["short session"], "stderr") + str(ran["short session"])
    assert "33" in message
