"""A report from start to end, in a real kernel: notebook, page, summary, exit code."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import nbformat
import psutil
import pytest

from loomlib.errors import ReportError, UnknownParameterError
from loomlib.reports import ReportOutcome, run_report
from loomlib.reports.chart_library import script_source
from loomlib.reports.destination import Folder, NameTakenError
from loomlib.settings import Settings

SAMPLE = Path(__file__).with_name("sample_report.ipynb")
WHEN = datetime(2026, 11, 21, 21, 30, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReportOutcome, ReportOutcome]:
    """The same report, twice in one minute, into one folder."""
    place = tmp_path_factory.mktemp("twice")
    first, second = (
        run_report(SAMPLE, {}, str(place / "out"), settings=Settings(home=place / "home"), timestamp=WHEN)
        for _ in range(2)
    )
    return first, second


def test_a_report_leaves_a_notebook_a_page_and_a_summary(tmp_path: Path, settings: Settings) -> None:
    lines: list[str] = []
    outcome = run_report(
        SAMPLE,
        {"name": "twelve", "count": "12", "limit_ms": "500"},
        str(tmp_path / "out"),
        settings=settings,
        say=lines.append,
        timestamp=WHEN,
    )
    assert outcome.exit_code == 0, "a gate that is not missed, too"
    stem = f"sample_report-{WHEN.astimezone():%Y%m%d-%H%M}"
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        f"{stem}.{x}" for x in ("html", "ipynb", "json")
    ]
    summary = json.loads(Path(outcome.summary_path).read_text())
    assert summary == outcome.summary
    assert summary["schema"] == "loom.report/1"
    assert summary["agent"] == "twelve"
    assert summary["parameters"]["count"] == 12
    assert summary["table"][0]["n"] == 12
    assert summary["command"].startswith("loom report ")
    assert "-p count=12" in summary["command"]
    assert summary["versions"]["python"]
    nbformat.validate(nbformat.read(outcome.notebook, as_version=4))
    page = unescape(Path(outcome.html).read_text()).replace("\u00a0", " ")
    assert len(page) < 6_000_000
    assert page.count('class="figure"') == 2
    assert page.index("It took 120 ms.") < page.index("The table"), "the answer comes first"


def test_the_page_embeds_plotly_once_and_names_no_address_to_fetch(twice: tuple[ReportOutcome, ReportOutcome]) -> None:
    page = Path(twice[0].html).read_text()
    (library,) = re.findall(r'<script type="text/plain" id="chart-library">(.*?)</script>', page, flags=re.S)
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.S)
    data = re.findall(r'<script type="application/json"[^>]*>', page)
    assert page.count("<script") == 2 + len(data), "beside the data of the figures no other script"
    assert len(data) == page.count('class="figure"')
    sources = [script_source(gzip.decompress(base64.b64decode(library))), script_source(script.encode())]
    without_scripts = unescape(re.sub(r"<script>.*?</script>", "", page, flags=re.S))
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", without_scripts)
    assert "default-src 'none'; script-src 'sha256-" in without_scripts
    assert re.findall(r"script-src ([^;]*);", without_scripts) == [" ".join(sources)], "these two, and no other script"


def test_what_an_agent_said_reaches_the_page_as_text(tmp_path: Path, settings: Settings) -> None:
    outcome = run_report(SAMPLE, {"hostile": HOSTILE}, str(tmp_path), settings=settings)
    without_scripts = re.sub(r"<script>.*?</script>", "", Path(outcome.html).read_text(), flags=re.S)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in without_scripts
    assert "<script>alert" not in without_scripts
    assert "<img" not in without_scripts
    assert json.loads(Path(outcome.summary_path).read_text())["parameters"]["hostile"] == HOSTILE


def test_a_missed_gate_is_exit_code_2_and_states_by_how_much(tmp_path: Path, settings: Settings) -> None:
    outcome = run_report(SAMPLE, {"limit_ms": "50"}, str(tmp_path), settings=settings)
    assert outcome.exit_code == 2
    assert outcome.message == "p90 is 120 ms, 70 ms over the gate of 50 ms."


def test_an_unclear_gate_is_exit_code_0_and_the_last_line_has_its_sentence(tmp_path: Path, settings: Settings) -> None:
    outcome = run_report(SAMPLE, {"limit_ms": "120"}, str(tmp_path), settings=settings)
    assert outcome.exit_code == 0
    assert outcome.message == "done. p90 is 120 ms, 0 ms over the gate of 120 ms."


def test_a_failing_cell_is_exit_code_1_and_the_page_opens_with_it(tmp_path: Path, settings: Settings) -> None:
    outcome = run_report(SAMPLE, {"fail": "true", "hostile": HOSTILE}, str(tmp_path), settings=settings)
    assert outcome.exit_code == 1
    assert re.match(r"Cell \d+ failed \(raise ValueError\(.*\): ValueError: no numbers from", outcome.message)
    page = Path(outcome.html).read_text()
    assert page.index("This report did not finish.") < page.index("The table")
    assert page.index("How fast is a sample?</h1>") < page.index("This report did not finish.")
    assert "The chart" not in page, "what never ran is not on the page"
    assert "An Exception was encountered" not in page
    assert "no numbers from &lt;script&gt;" in page
    assert outcome.summary["failure"] == outcome.message
    assert nbformat.read(outcome.notebook, as_version=4).cells


def test_a_dying_kernel_is_exit_code_1_too(tmp_path: Path, settings: Settings) -> None:
    outcome = run_report(SAMPLE, {"die": "true"}, str(tmp_path), settings=settings)
    assert outcome.exit_code == 1
    assert "kernel died" in outcome.message
    assert "if die:" in outcome.message


def test_a_misspelt_parameter_stops_before_anything_runs(tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(UnknownParameterError, match="count"):
        run_report(SAMPLE, {"cuont": "3"}, str(tmp_path / "out"), settings=settings)
    assert not (tmp_path / "out").exists()


def test_two_reports_in_one_minute_keep_both(twice: tuple[ReportOutcome, ReportOutcome]) -> None:
    first, second = twice
    assert first.html != second.html
    assert len(list(Path(first.html).parent.glob("*.html"))) == 2


def test_a_report_that_another_one_overtook_leaves_its_files_alone(tmp_path: Path, settings: Settings) -> None:
    out = tmp_path / "out"
    others = {out / f"quick-{WHEN.astimezone():%Y%m%d-%H%M}.{suffix}" for suffix in ("ipynb", "html", "json")}
    out.mkdir()
    source = f"from pathlib import Path\nfor name in {sorted(map(str, others))}:\n    Path(name).write_text('theirs')"
    outcome = run_report(_notebook(tmp_path / "quick.ipynb", source), {}, str(out), settings=settings, timestamp=WHEN)
    assert {path.read_text() for path in others} == {"theirs"}
    assert len(list(out.iterdir())) == 6
    stem = Path(outcome.notebook).stem
    assert {Path(outcome.html).stem, Path(outcome.summary_path).stem, outcome.summary["name"]} == {stem}


def test_of_many_that_take_a_name_at_once_one_gets_it(tmp_path: Path) -> None:
    folder = Folder(path=tmp_path / "out")

    def take(place: int) -> bool:
        try:
            folder.write("report.ipynb", str(place).encode(), "", new=True)
        except NameTakenError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(32))) == 1
    assert [file.name for file in folder.path.iterdir()] == ["report.ipynb"]


def test_a_destination_that_is_a_file_is_refused_before_anything_runs(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ReportError, match="is a file"):
        run_report(SAMPLE, {}, str(tmp_path / "out"), settings=settings)


def test_the_kernel_is_this_interpreter_and_gets_the_environment(tmp_path: Path, settings: Settings) -> None:
    source = 'import os, sys\nprint(sys.executable, os.environ["LOOM_HOME"], os.environ["LOOM_TEST_WORD"])'
    notebook = _notebook(tmp_path / "where.ipynb", source)
    lines: list[str] = []
    outcome = run_report(
        notebook, {}, str(tmp_path / "out"), settings=settings, environment={"LOOM_TEST_WORD": "warp"}, say=lines.append
    )
    assert outcome.exit_code == 0, outcome.message
    assert f"{sys.executable} {settings.home} warp" in lines
    assert "script-src 'none'" in unescape(Path(outcome.html).read_text()), "a page without charts has no script"


def test_secrets_of_the_environment_do_not_reach_any_file(tmp_path: Path, settings: Settings) -> None:
    notebook = _notebook(
        tmp_path / "leak.ipynb", 'import os\nprint(os.environ["MY_SECRET_KEY"])\nos.environ["MY_SECRET_KEY"]'
    )
    outcome = run_report(
        notebook, {}, str(tmp_path / "out"), settings=settings, environment={"MY_SECRET_KEY": "abc-def-ghi-jkl"}
    )
    assert outcome.exit_code == 0, outcome.message
    for file in (outcome.html, outcome.notebook, outcome.summary_path):
        assert "abc-def-ghi-jkl" not in Path(file).read_text()
    assert "[redacted]" in Path(outcome.html).read_text()


@pytest.mark.parametrize("redact", [True, False])
def test_personal_data_reaches_a_file_only_on_request(tmp_path: Path, settings: Settings, redact: bool) -> None:
    words = "my password is swordfish, write to ann.lee@example.org; p90 +12.345678 ms, n = 12345678901234"
    notebook = _notebook(tmp_path / "personal.ipynb", f"print({words!r})")
    outcome = run_report(notebook, {}, str(tmp_path / "out"), settings=settings, redact=redact)
    assert outcome.exit_code == 0, outcome.message
    page = unescape(Path(outcome.html).read_text()).replace("\u00a0", " ")
    outputs = [cell.get("outputs") for cell in nbformat.read(outcome.notebook, 4).cells]
    assert ("my password is [redacted], write to [redacted]; p90 +12.345678 ms" in page) is redact
    assert ("ann.lee@example.org" in str(outputs)) is not redact
    assert "n = 12345678901234" in page


def test_personal_data_of_a_parameter_is_in_none_of_the_files(tmp_path: Path, settings: Settings) -> None:
    notebook = _notebook(tmp_path / "asked.ipynb", "1")
    outcome = run_report(notebook, {"word": "ann.lee@example.org"}, str(tmp_path / "out"), settings=settings)
    assert outcome.exit_code == 0, outcome.message
    for file in (outcome.html, outcome.notebook, outcome.summary_path):
        assert "ann.lee" not in Path(file).read_text()
    papermill = nbformat.read(outcome.notebook, 4).metadata.papermill
    assert papermill.parameters == {"word": "[redacted]"}


def test_a_notebook_that_does_not_name_its_language_is_run_as_python(tmp_path: Path, settings: Settings) -> None:
    path = _notebook(tmp_path / "bare.ipynb", "print(word * 2)")
    bare = nbformat.read(path, as_version=4)
    bare.metadata = {}
    nbformat.write(bare, path)
    lines: list[str] = []
    outcome = run_report(path, {"word": "warp"}, str(tmp_path / "out"), settings=settings, say=lines.append)
    assert outcome.exit_code == 0, outcome.message
    assert "warpwarp" in lines


@pytest.mark.usefixtures("twice")
def test_no_kernel_outlives_its_report() -> None:
    kernels = [child for child in psutil.Process().children(recursive=True) if "ipykernel" in _command(child)]
    assert kernels == []


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # a service of another test that ends meanwhile
        return ""


def _notebook(path: Path, source: str) -> Path:
    cells = [
        nbformat.v4.new_code_cell("word: str = 'x'  # one", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(source),
    ]
    metadata = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)
    return path
