"""What the repository promises to the machines that install it."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WIDGETS = tomllib.loads((ROOT / "widgets" / "pyproject.toml").read_text())["project"]
PINS = [
    line
    for name in ("requirements-report.txt", "requirements.txt", "requirements-tiny-model.txt", "requirements-hub.txt")
    for line in (ROOT / name).read_text().splitlines()
    if line and not line.startswith("#") and line != "-r requirements-report.txt"
]
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def test_conda_installs_what_pip_installs():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    plain = [item for item in environment["dependencies"] if isinstance(item, str)]
    (pip,) = [item["pip"] for item in environment["dependencies"] if isinstance(item, dict)]
    assert f"python{PROJECT['requires-python']}" in plain
    # The weights of the small model require a package that is compiled, and JupyterHub names one that it does not need;
    # no file for conda can leave them out.
    extras = [name for name in PROJECT["optional-dependencies"] if name not in ("tiny-model", "hub")]
    assert pip == ["-r requirements.txt", "-e ./widgets", f"-e .[{','.join(extras)}]"]


def test_every_declared_dependency_is_pinned():
    pinned = {_name(line) for line in PINS}
    declared = {_name(item) for item in PROJECT["dependencies"]}
    declared |= {_name(item) for extra in PROJECT["optional-dependencies"].values() for item in extra}
    declared |= {_name(item) for item in WIDGETS["dependencies"]}
    assert declared - pinned == {"loomlib", "loom-widgets"}, "both lie in this repository"


def test_pins_carry_no_download_address():
    assert all(re.fullmatch(r"[A-Za-z0-9._\-]+(\[[a-z0-9,]+\])?==[^ ;]+", line) for line in PINS)


def test_a_package_is_pinned_once():
    names = [_name(line) for line in PINS]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_code_definitions_or_keys(path):
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        assert not cell["outputs"]
        assert cell["execution_count"] is None
        # What a lesson of the workshop writes into a file is an agent, not the notebook's own code.
        if not (source.startswith("%%writefile ") and "workshop" in path.parts):
            assert not re.search(r"^\s*(def|class) ", source, re.MULTILINE)
        assert not re.search(r"AKIA[0-9A-Z]{16}|aws_secret_access_key", source)


@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if p.parent.name == "reports"], ids=lambda path: path.stem)
def test_a_report_has_exactly_one_parameters_cell(path):
    notebook = json.loads(path.read_text())
    tagged = [cell for cell in notebook["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    assert len(tagged) == 1


def test_the_documented_policy_is_json_with_exactly_the_needed_actions():
    page = (ROOT / "docs" / "pages" / "how-to" / "aws.md").read_text()
    (policy,) = re.findall(r"```json\n(\{.*?\n\})\n```", page, re.DOTALL)
    actions = {action for statement in json.loads(policy)["Statement"] for action in statement["Action"]}
    assert actions == {
        "bedrock-agentcore:GetAgentRuntime",
        "bedrock-agentcore:ListAgentRuntimeEndpoints",
        "bedrock-agentcore:InvokeAgentRuntime",
        "bedrock-agentcore:StopRuntimeSession",
        "logs:FilterLogEvents",
        "logs:DescribeLogStreams",
    }


def test_a_public_class_name_is_defined_once():
    modules: dict[str, list[str]] = {}
    for folder in ("loomlib", "widgets/loom_widgets"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name in re.findall(r"^class ([A-Z]\w*)\b", path.read_text(), re.MULTILINE):
                modules.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert len(modules) > 1_000
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}
