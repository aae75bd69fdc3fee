"""Build the documentation site: pages, executed notebooks and a reference page for each public package.

    python docs/build.py

Executed notebooks come from the folder `LOOM_EXECUTED`, else from `.loom/executed`; those that are missing
there are executed first. The build is strict: a broken link, an unknown cross-reference, a public name without a
docstring or an example that the reference would show as prose is an error.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "pages"
TUTORIALS = (
    "00_start_here.ipynb",
    "01_is_it_any_good.ipynb",
    "02_pause_and_resume.ipynb",
    "03_support_desk.ipynb",
    "04_bedrock_agent.ipynb",
    "06_move_a_bedrock_agent.ipynb",
    "workshop/1_your_first_agent.ipynb",
    "workshop/2_why_is_it_slow.ipynb",
    "workshop/3_is_it_any_good.ipynb",
    "workshop/4_what_does_it_remember.ipynb",
    "workshop/5_ship_it.ipynb",
    "workshop/7_move_a_bedrock_agent.ipynb",
    "reports/latency_study.ipynb",
    "reports/eval_set.ipynb",
    "reports/where_time_goes.ipynb",
)
PACKAGES = (
    "loomlib",
    "loomlib.agents",
    "loomlib.alerts",
    "loomlib.deploy",
    "loomlib.errors",
    "loomlib.evals",
    "loomlib.evals.compare",
    "loomlib.experiments",
    "loomlib.hub",
    "loomlib.imports.bedrock_agents",
    "loomlib.imports.bedrock_agents.parity",
    "loomlib.latency",
    "loomlib.local",
    "loomlib.memory",
    "loomlib.memory_study",
    "loomlib.metrics",
    "loomlib.plugins",
    "loomlib.presentation",
    "loomlib.redaction",
    "loomlib.releases",
    "loomlib.reports",
    "loomlib.settings",
    "loomlib.statistics",
    "loomlib.telemetry",
    "loomlib.workbench",
    "loom_widgets",
)


def main() -> int:
    """Build the site into `docs/site`; return the exit code."""
    work = ROOT / ".loom" / "docs"
    source = work / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(PAGES, source)
    shutil.copytree(ROOT / "notebooks" / "images", source / "images")
    copy_notebooks(source / "tutorials")
    prose = examples_as_prose()
    if prose:
        print("examples that are not `>>>` lines of an `Examples:` section, nor an indented block:", *prose, sep="\n  ")
        return 1
    missing = write_reference(source / "reference")
    if missing:
        print("public names without a docstring:", *missing, sep="\n  ")
        return 1
    environment = os.environ | {"LOOM_DOCS_SOURCE": str(source), "LOOM_DOCS_SITE": str(ROOT / "docs" / "site")}
    # mkdocs-material prints an advertisement about the future of MkDocs unless this is disabled.
    environment["NO_MKDOCS_2_WARNING"] = "1"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-f", str(ROOT / "docs" / "mkdocs.yml")]
    return subprocess.run(command, env=environment, check=False).returncode


def copy_notebooks(folder: Path) -> None:
    """Copy the executed notebooks of the tutorials into `folder`; execute those that do not exist yet."""
    executed = Path(os.environ.get("LOOM_EXECUTED", ROOT / ".loom" / "executed"))
    folder.mkdir(exist_ok=True)
    for name in TUTORIALS:
        path = ROOT / "notebooks" / name
        target = folder / path.name.replace("_", "-")
        if path.parent.name == "workshop":
            target = folder / f"workshop-{target.name}"
        done = executed / name
        if not done.exists():
            print(f"loom  executing {name} …", flush=True)
            done.parent.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, "-m", "papermill", "-k", "python3"]
            subprocess.run([*command, str(path), str(done)], cwd=path.parent, check=True, capture_output=True)
        shutil.copyfile(done, target)


def write_reference(folder: Path) -> list[str]:
    """Write a page for each package; return the public names that have no docstring."""
    folder.mkdir(exist_ok=True)
    missing: list[str] = []
    index = ["# Reference", "", "Every public name, from its docstring.", ""]
    for package in PACKAGES:
        module = importlib.import_module(package)
        names = [name for name in public_names(module) if not name.startswith("__")]
        lines = [f"# {package}", "", (inspect.getdoc(module) or "").split("\n\n")[0], ""]
        for name in names:
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            if inspect.isclass(value) or inspect.isroutine(value):
                if not has_docstring(value):
                    missing.append(f"{package}.{name}")
                lines += [f"::: {package}.{name}", ""]
        (folder / f"{package}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        index.append(f"- [{package}]({package}.md)")
    (folder / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")
    return missing


def public_names(module: object) -> list[str]:
    """Return `__all__` of the module, or the classes and functions that it defines."""
    names = getattr(module, "__all__", None)
    if names is not None:
        return sorted(names)
    values = vars(module).items()
    return sorted(n for n, v in values if not n.startswith("_") and getattr(v, "__module__", "") == module.__name__)


def has_docstring(value: object) -> bool:
    """Return whether the object has a docstring of its own (a dataclass's generated signature does not count)."""
    text = inspect.getdoc(value) or ""
    return bool(text) and not text.startswith(f"{getattr(value, '__name__', '')}(")


def examples_as_prose() -> list[str]:
    """Return the docstrings, as `file:line`, with code that the reference would show as a paragraph or a quotation."""
    found: list[str] = []
    for path in sorted([*(ROOT / "loomlib").rglob("*.py"), *(ROOT / "widgets" / "loom_widgets").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            text = ast.get_docstring(node) or ""
            loose = re.search(r"^Example:|^Examples:\n(?! +>>> )|^>>> ", text, re.MULTILINE)
            if loose or any(is_code(paragraph) for paragraph in text.split("\n\n")[1:]):
                found.append(f"{path.relative_to(ROOT)}:{node.body[0].lineno}")
    return found


def is_code(paragraph: str) -> bool:
    """Return whether a paragraph at the margin is Python, which prose never is, except a single name or number."""
    try:
        statements = ast.parse(paragraph).body
    except SyntaxError:  # also an indented block
        return False
    return any(not isinstance(getattr(each, "value", None), ast.Name | ast.Constant) for each in statements)


if __name__ == "__main__":
    sys.exit(main())
