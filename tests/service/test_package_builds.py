"""Packages whose dependencies are compiled for AgentCore's machines run here with this machine's builds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plain_agents import PLAIN_APP
from wheels import build_wheel

from loomlib.local.runtimes.builds import take_out_builds

OF_AWS = "cp313-cp313-manylinux_2_17_aarch64.manylinux2014_aarch64"
AGENT = (
    PLAIN_APP
    + """
import loom_compiled
import loom_plain
app = PlainApp()
@app.entrypoint
def answer(payload):
    return {"compiled": loom_compiled.TEXT, "plain": loom_plain.TEXT}
app.run()
"""
)


def installed(
    name: str, source: str, *, tag: str, version: str = "1.0", recorded: str = "", requires: str = ""
) -> dict[str, str]:
    """The files of a distribution, as an installer leaves them in a folder."""
    info = f"{name}-{version}.dist-info"
    return {
        f"{name}/__init__.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}\nName: another\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{info}/RECORD": f"{name}/__init__.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n{recorded}",
        f"{info}/INSTALLER": "uv",
    }


@pytest.fixture
def offline_service(start_service: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A service whose pip finds the wheels of this test and nothing else."""
    (tmp_path / "wheels").mkdir()
    build_wheel(tmp_path / "wheels", "loom_compiled", "1.0", 'TEXT = "for this machine"')
    build_wheel(tmp_path / "wheels", "loom_compiled", "2.0", 'TEXT = "another version"')
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return start_service()


def test_a_distribution_compiled_for_agentcore_is_replaced_by_the_same_version_for_this_machine(
    offline_service: Any,
) -> None:
    files = {
        "agent.py": AGENT,
        **installed("loom_compiled", "raise ImportError('invalid ELF header')", tag=OF_AWS),
        **installed("loom_plain", 'TEXT = "from the package"', tag="py3-none-any"),
    }
    created = offline_service.create("compiled", offline_service.upload(files))
    described = offline_service.settled(created["agentRuntimeId"])
    assert described["status"] == "READY", described
    _, body = offline_service.invoke(created["agentRuntimeArn"])
    assert b"for this machine" in body
    assert b"from the package" in body


@pytest.mark.parametrize("tag", ["py3-none-any", OF_AWS])
def test_a_version_for_a_newer_python_is_replaced_by_the_last_one_for_this_python(
    tag: str, offline_service: Any
) -> None:
    newer = "type Text = str\nTEXT = 'for a newer Python'"
    files = {
        "agent.py": AGENT,
        **installed("loom_compiled", newer, tag=tag, version="3.0", requires="Requires-Python: >=3.99\n"),
        **installed("loom_plain", 'TEXT = "kept"', tag="py3-none-any", requires="Requires-Python: >=3.9\n"),
    }
    created = offline_service.create("newer", offline_service.upload(files))
    described = offline_service.settled(created["agentRuntimeId"])
    assert described["status"] == "READY", described
    _, body = offline_service.invoke(created["agentRuntimeArn"])
    assert b"another version" in body
    assert b"kept" in body


def test_a_version_without_a_build_for_this_machine_fails_with_its_name(offline_service: Any) -> None:
    files = {"agent.py": AGENT, **installed("loom_compiled", "", tag=OF_AWS, version="3.0")}
    created = offline_service.create("unbuilt", offline_service.upload(files))
    described = offline_service.settled(created["agentRuntimeId"])
    assert described["status"] == "CREATE_FAILED"
    assert "No matching distribution found for loom-compiled==3.0" in described["failureReason"]


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_all_files_of_the_distribution_go_and_no_others(tmp_path: Path) -> None:
    code = write(tmp_path / "code", {"agent.py": "", **installed("loom_compiled", "", tag=OF_AWS)})
    compiled = write(code / "loom_compiled" / "__pycache__", {"__init__.cpython-311.pyc": ""})
    assert take_out_builds(code) == ["loom-compiled==1.0"]
    assert [path.name for path in code.rglob("*")] == ["agent.py"]
    assert not compiled.exists()


@pytest.mark.parametrize(
    "tag", ["py3-none-any", "cp313-cp313-macosx_11_0_arm64", "cp313-cp313-win_amd64", "cp313", "", "a-b-c-d"]
)
def test_what_agentcore_could_not_load_either_stays(tmp_path: Path, tag: str) -> None:
    code = write(tmp_path, installed("loom_compiled", "", tag=tag))
    assert take_out_builds(code) == []
    assert (code / "loom_compiled" / "__init__.py").exists()


@pytest.mark.parametrize("recorded", ["../outside.txt,,\n", "/etc/hostname,,\n", "loom_compiled/../../outside.txt,,\n"])
def test_a_record_reaches_nothing_outside_the_package(tmp_path: Path, recorded: str) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("kept")
    recorded = recorded.replace("/etc/hostname", str(outside))
    code = write(tmp_path / "code", installed("loom_compiled", "", tag=OF_AWS, recorded=recorded))
    assert take_out_builds(code) == ["loom-compiled==1.0"]
    assert outside.read_text() == "kept"


@pytest.mark.parametrize("name", ["-r /etc/passwd", "x @ https://example.org/x.whl", "", "a b"])
def test_a_name_that_pip_would_read_as_something_else_is_left(tmp_path: Path, name: str) -> None:
    files = installed("loom_compiled", "", tag=OF_AWS)
    files["loom_compiled-1.0.dist-info/METADATA"] = f"Name: {name}\nVersion: 1.0\n"
    assert take_out_builds(write(tmp_path, files)) == []
