"""What a listing of blueprints relies on, and that a blueprint is all it claims to be."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from loomlib.errors import LoomError
from loomlib.workbench.blueprints import find_code

FOLDERS = sorted((Path(__file__).parents[2] / "loomlib" / "blueprints").glob("*/blueprint.toml"))


def test_there_are_the_promised_blueprints() -> None:
    names = {path.parent.name: tomllib.loads(path.read_text()).get("variant_of") for path in FOLDERS}
    assert [name for name, of in names.items() if of is None] == [
        "a2a_agent", "a2a_orchestrator", "agui_assistant", "approvals", "assistant", "assistant_with_memory",
        "calculator", "calculator_protocols", "echo", "few_workers", "mcp_app", "mcp_server", "parallel_tools",
        "support_desk", "tool_catalogue", "writer",
    ]  # fmt: skip
    assert {name: of for name, of in names.items() if of is not None} == {
        "calculator_detour": "calculator",
        "calculator_guessing": "calculator",
        "calculator_wrong_argument": "calculator",
    }


@pytest.mark.parametrize("path", FOLDERS, ids=lambda path: path.parent.name)
def test_a_blueprint_has_what_a_listing_shows(path: Path) -> None:
    metadata = tomllib.loads(path.read_text())
    assert set(metadata) - {"variant_of", "protocol"} == {"title", "description", "response", "shows", "prompts"}
    assert metadata["response"] in ("json", "stream")
    assert metadata.get("protocol", "HTTP") in ("HTTP", "MCP", "A2A", "AGUI")
    assert metadata["prompts"]
    assert (path.parent / "requirements.txt").read_text().strip()


@pytest.mark.parametrize("path", FOLDERS, ids=lambda path: path.parent.name)
def test_a_blueprint_imports_nothing_of_loom(path: Path) -> None:
    tree = ast.parse((path.parent / "agent.py").read_text())
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [module for module in modules if module.startswith("loom")]


@pytest.mark.parametrize(
    "path",
    [path for path in FOLDERS if 'protocol = "MCP"' not in path.read_text()],
    ids=lambda path: path.parent.name,
)
def test_a_blueprint_notes_its_start_before_anything_else(path: Path) -> None:
    tree = ast.parse((path.parent / "agent.py").read_text())
    invoke = next(node for node in ast.walk(tree) if getattr(node, "name", "") in ("invoke", "execute"))
    first = [ast.unparse(statement) for statement in invoke.body[1:4]]  # type: ignore[attr-defined]
    assert first[0].startswith("started = datetime.now")
    assert first[2].startswith("print(f'Agent invoked - Start time:")


@pytest.mark.parametrize(
    ("script", "agent_file"), [("app.py", ""), ("start.py", '[agent]\nentry_point = "start.py"\n')]
)
def test_a_folder_with_any_entry_point_can_be_deployed(tmp_path: Path, script: str, agent_file: str) -> None:
    with pytest.raises(LoomError, match=r"The folder has no agent.py, main.py or app.py.*entry_point"):
        find_code(tmp_path)
    (tmp_path / script).write_text("")
    if agent_file:
        (tmp_path / "loom-agent.toml").write_text(agent_file)
    assert find_code(tmp_path) == tmp_path
