"""The documentation's Python runs: every page's code blocks, in order, in one namespace and one empty folder."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import loomlib as loom

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / "pages" / "how-to" / f"{name}.md" for name in (
        "add-blueprint", "add-evaluator", "add-local-operation", "add-panel", "add-report", "add-study",
        "bedrock-agents", "check-snapshots", "code-interpreter", "compare-agents", "deploy", "deploy-pipeline",
        "evaluate", "gateways", "import-bedrock-agent", "measure-latency", "measure-load", "memory", "other-frameworks",
        "panels", "protocols", "start-economics", "versions", "watch-latency",
    )),
]  # fmt: skip
FEWER = {
    "README": ("cold=10, warm=10, sticky=10", "cold=2, warm=2, sticky=2"),
    "versions": ("range(24)", "range(3)"),
    "measure-latency": ("sessions=13", "sessions=3"),
    "compare-agents": ("calls=40", "calls=6"),
    "start-economics": ("sessions=13", "sessions=3"),
    "evaluate": ('EvalSet.read("calculator")', 'EvalSet.read("calculator").where(tags=["percent"])'),
}
"""What a page does many times: here it is done a few times."""
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One local AgentCore for all pages: it ends when the workbench below is closed."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def bench(home: Path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOM_HOME", str(home))
        with loom.connect() as bench:
            yield bench


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(
    page: Path, bench: loom.Workbench, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LOOM_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    many, few = FEWER.get(page.stem, ("", ""))
    text = page.read_text(encoding="utf-8")
    assert many in text
    blocks = BLOCK.findall(text.replace(many, few) if many else text)
    assert blocks, "a page of examples has at least one"
    namespace: dict[str, object] = {"__name__": "page"}
    try:
        for block in blocks:
            first, _, rest = block.partition("\n")
            if first.startswith("# file: "):
                target = tmp_path / first.removeprefix("# file: ")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(rest, encoding="utf-8")
            else:
                exec(compile(block, str(page), "exec"), namespace)
    finally:
        if isinstance(opened := namespace.get("bench"), loom.Workbench):
            opened.close()
        for name in [
            name for name, module in sys.modules.items() if str(tmp_path) in str(getattr(module, "__file__", ""))
        ]:
            del sys.modules[name]
