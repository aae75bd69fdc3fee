"""The code of an agent or a function as a zip: the same files give the same bytes, and nothing private goes along."""

from __future__ import annotations

import io
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from loomlib.agents.payloads import check_session_id, make_payload, new_session_id
from loomlib.aws.functions import zip_code
from loomlib.aws.packages import make_package, runtime_name


def write(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name, "utf-8")


def names(data: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.namelist()


def test_a_folder_is_packed_without_caches_secrets_and_version_control(tmp_path: Path) -> None:
    write(tmp_path, "agent.py", "tools/sum.py", "requirements.txt", "data.json")
    write(tmp_path, ".git/config", ".venv/lib/x.py", "tools/__pycache__/sum.pyc", ".ipynb_checkpoints/a.py")
    write(tmp_path, ".env", ".env.local")
    package = make_package(tmp_path)
    assert names(package.data) == ["agent.py", "data.json", "requirements.txt", "tools/sum.py"]
    assert package.entry_point == "agent.py"


def test_a_function_is_packed_without_secrets_version_control_and_links_that_lead_outside(tmp_path: Path) -> None:
    write(tmp_path, "secret", "code/app.py", "code/tools/sum.py", "code/.env", "code/.env.local", "code/.git/config")
    (tmp_path / "code" / "link").symlink_to(tmp_path / "secret")
    data, module = zip_code(tmp_path / "code")
    assert (names(data), module) == (["app.py", "tools/sum.py"], "app")


def test_a_function_whose_file_has_no_date_that_a_zip_file_can_store_is_packed(tmp_path: Path) -> None:
    write(tmp_path, "orders.py", "other.py")
    os.utime(tmp_path / "orders.py", (0, 0))
    data, module = zip_code(tmp_path / "orders.py")
    assert (names(data), module) == (["orders.py"], "orders")


def test_the_same_files_give_the_same_bytes_whenever_they_were_written(tmp_path: Path) -> None:
    write(tmp_path / "a", "agent.py", "z.py")
    write(tmp_path / "b", "z.py", "agent.py")
    os.utime(tmp_path / "b" / "agent.py", (1, 1))
    assert make_package(tmp_path / "a").digest == make_package(tmp_path / "b").digest


def test_a_link_that_leads_outside_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "secret", "code/agent.py")
    (tmp_path / "code" / "link").symlink_to(tmp_path / "secret")
    assert names(make_package(tmp_path / "code").data) == ["agent.py"]


def test_a_single_file_is_a_package(tmp_path: Path) -> None:
    write(tmp_path, "my_agent.py", "other.py")
    package = make_package(tmp_path / "my_agent.py")
    assert (names(package.data), package.entry_point) == (["my_agent.py"], "my_agent.py")


def test_a_folder_without_anything_to_start_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "tools.py")
    with pytest.raises(ValueError, match=r"no agent\.py"):
        make_package(tmp_path)
    with pytest.raises(ValueError, match=r"has no other\.py to start"):
        make_package(tmp_path, "other.py")
    assert make_package(tmp_path, "tools.py").entry_point == "tools.py"
    with pytest.raises(ValueError, match="no file or folder"):
        make_package(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "name"),
    [("my-agent v2", "my_agent_v2"), ("2nd", "agent_2nd"), ("a" * 60, "a" * 48), ("__x__", "x"), ("café", "caf")],
)
def test_a_name_is_made_fit_for_a_runtime(text: str, name: str) -> None:
    assert runtime_name(text) == name


def test_a_name_of_signs_only_is_refused() -> None:
    with pytest.raises(ValueError, match="no letter"):
        runtime_name("!!!")


def test_a_payload_is_the_prompt_a_mapping_or_bytes() -> None:
    assert make_payload("hi").body == b'{"prompt": "hi"}'
    assert make_payload("hi", {"user": 1}).body == b'{"user": 1, "prompt": "hi"}'
    assert make_payload(None, {"prompt": "own"}).prompt == "own"
    assert make_payload(None, b"raw").prompt == "raw"
    assert make_payload(None, {}).body == b"{}"
    with pytest.raises(ValueError, match="prompt or a payload"):
        make_payload(None)
    with pytest.raises(TypeError):
        make_payload(None, {"x": object()})


@pytest.mark.parametrize(
    ("prompt", "payload", "said"),
    [
        ({"question": "hi"}, None, "the prompt must be a string, not dict; pass a mapping as payload="),
        (["hi"], None, "the prompt must be a string, not list"),
        (None, "hi", "the payload must be a mapping or bytes, not str; pass a string as the prompt"),
        ("hi", 5, "the payload must be a mapping or bytes, not int"),
    ],
)
def test_what_can_be_no_prompt_and_no_payload_is_refused_with_what_is_taken(
    prompt: Any, payload: Any, said: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        make_payload(prompt, payload)


def test_a_new_session_id_keeps_the_rule_and_is_new() -> None:
    ids = {new_session_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(check_session_id(one) == one for one in ids)


def test_a_package_that_is_too_large_unzipped_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "agent.py").write_text("")
    (tmp_path / "weights.bin").touch()
    os.truncate(tmp_path / "weights.bin", 750_000_001)  # a sparse file: it takes no space
    with pytest.raises(ValueError, match=r"750.000.001 bytes unzipped, above AgentCore's 750.000.000"):
        make_package(tmp_path)


def test_installed_dependencies_are_packaged_beside_the_agents_files_which_count_first(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "installed").mkdir()
    (tmp_path / "code" / "agent.py").write_text("own")
    (tmp_path / "installed" / "agent.py").write_text("another")
    (tmp_path / "installed" / "tool.py").write_text("tool")
    package = make_package(tmp_path / "code", installed=tmp_path / "installed")
    with zipfile.ZipFile(io.BytesIO(package.data)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {"agent.py": b"own", "tool.py": b"tool"}
    assert package.unzipped_bytes == 7
