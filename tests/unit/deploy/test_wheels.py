"""Requirements for AgentCore's machines: what pip installs, what is refused, and that no package runs code here."""

from __future__ import annotations

import io
import os
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from loomlib import local
from loomlib.deploy.building import build_package
from loomlib.deploy.spec import AgentSpec
from loomlib.deploy.wheels import _requirement_lines, install_wheels
from loomlib.errors import DeployError

sys.path.insert(0, str(Path(__file__).parents[2] / "service"))
from wheels import build_wheel

SECRETS = {"AWS_SECRET_ACCESS_KEY": "hush-key", "GITHUB_TOKEN": "hush-token"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels: one for any machine, one for ARM64, one for this kind of machine only."""
    folder = tmp_path_factory.mktemp("index")
    build_wheel(folder, "anywhere", "1.0", "WORD = 'any'\n")
    for name, tag in (("armed", "cp313-cp313-manylinux2014_aarch64"), ("intel", "cp313-cp313-manylinux2014_x86_64")):
        build_wheel(folder, name, "1.0", "WORD = 'arm'\n")
        (folder / f"{name}-1.0-py3-none-any.whl").rename(folder / f"{name}-1.0-{tag}.whl")
    return folder


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("joe:s3cret@proxy.example.com:3128", "proxy.example.com:3128"),
        ("http://joe:s3@cret@proxy.example.com:3128", "http://proxy.example.com:3128"),
        ("proxy.example.com:3128", "proxy.example.com:3128"),
    ],
)
def test_neither_the_service_nor_a_build_gets_the_user_of_a_proxy(address: str, kept: str, tmp_path: Path) -> None:
    names = ("HTTPS_PROXY", "all_proxy", "PIP_PROXY")
    service = local.service_environment(dict.fromkeys(names, address))
    installer = local.installer_environment(dict.fromkeys(names, address), tmp_path)
    assert {service[name] for name in names} == {installer[name] for name in names} == {kept}


def test_an_index_has_no_part_of_a_password_with_an_at_sign() -> None:
    user = {
        "PIP_INDEX_URL": "https://me:p@ssw0rd@pypi.example.com/simple",
        "PIP_FIND_LINKS": "https://a.example.com/@b",
    }
    service = local.service_environment(user)
    assert service["PIP_INDEX_URL"] == "https://pypi.example.com/simple"
    assert service["PIP_FIND_LINKS"] == "https://a.example.com/@b"


@pytest.fixture
def make_environment(index: Path) -> Callable[[Path], Mapping[str, str]]:
    user = {**SECRETS, "PATH": os.environ["PATH"], "PIP_FIND_LINKS": str(index), "PIP_NO_INDEX": "1"}

    def make(scratch: Path) -> Mapping[str, str]:
        return local.installer_environment(local.service_environment(user), scratch)

    return make


def agent(folder: Path, requirements: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "agent.py").write_text("print('started')\n")
    (folder / "requirements.txt").write_text(requirements)
    return folder


def installed(code: Path, target: Path, environment: Callable[[Path], Mapping[str, str]]) -> set[str]:
    install_wheels(code, target, python="3.13", environment=environment)
    return {path.name for path in target.glob("*.py")}


def test_wheels_for_arm64_are_installed_whatever_this_machine_is(tmp_path: Path, make_environment) -> None:
    code = agent(tmp_path / "code", "# what it needs\nanywhere==1.0\narmed >= 0.5  # with a comment\n")
    assert installed(code, tmp_path / "target", make_environment) == {"anywhere.py", "armed.py"}
    assert not list((tmp_path / "target").rglob("__pycache__"))


def test_a_wheel_for_another_machine_is_refused(tmp_path: Path, make_environment) -> None:
    code = agent(tmp_path / "code", "intel==1.0\n")
    with pytest.raises(DeployError, match="pip cannot install the requirements for Linux on ARM64"):
        installed(code, tmp_path / "target", make_environment)


def test_markers_are_those_of_the_machine_that_runs_the_agent(tmp_path: Path, make_environment) -> None:
    lines = "anywhere==1.0; platform_machine == 'aarch64' and python_version >= '3.13'\n"
    code = agent(tmp_path / "code", lines)
    assert installed(code, tmp_path / "target", make_environment) == {"anywhere.py"}


@pytest.mark.parametrize(
    "line",
    [
        "-e .",
        "--editable ./lib",
        "./lib",
        "/srv/lib",
        "file:///srv/lib",
        "git+https://example.com/lib.git",
        "lib @ git+https://example.com/lib.git",
        "lib @ https://example.com/lib.tar.gz",
        "lib @ file:///srv/lib",
        "--no-binary :all:",
        "--only-binary=:none:",
        "--config-settings x=y",
    ],
)
@pytest.mark.parametrize("file", ["requirements.txt", "more.txt", "pins.txt"])
def test_what_would_run_code_here_is_refused(tmp_path: Path, make_environment, line: str, file: str) -> None:
    code = agent(tmp_path / "code", "-r more.txt\n-c pins.txt\n")
    (code / "more.txt").write_text("")
    (code / "pins.txt").write_text("")
    (code / file).write_text(f"{line}\n")
    with pytest.raises(DeployError, match=rf"A requirement must be a published package.*{file}, line 1"):
        installed(code, tmp_path / "target", make_environment)


def test_an_error_about_a_requirement_does_not_show_the_token_in_its_address(tmp_path: Path, make_environment) -> None:
    for address in ("hush-1@", "ann:hush-2@"):
        code = agent(tmp_path / address, f"tools @ git+https://{address}example.com/tools.git\n")
        with pytest.raises(DeployError, match=r"tools @ git\+https://…@example") as refused:
            installed(code, tmp_path / "target", make_environment)
        assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "# a comment that continues for pip in no line \\\n./lib\n",
        "--pre --no-binary lib\nlib\n",
        "--pre -e ./lib\n",
        "lib==1 --no-binary lib\n",
        "-r more.txt --no-binary :all:\n",
        '--pre "--no-binary" :all:\n',
        "lib @ https://example.com/lib.tar.gz?name=.whl\n",
        "lib @ https://example.com/lib.tar.gz#.whl\n",
        "lib @ ${HOME}/lib.whl\n",
    ],
)
def test_what_pip_reads_otherwise_than_a_line_looks_is_refused(tmp_path: Path, make_environment, text: str) -> None:
    code = agent(tmp_path / "code", text)
    (code / "more.txt").write_text("anywhere\n")
    with pytest.raises(DeployError, match="A requirement must be a published package"):
        installed(code, tmp_path / "target", make_environment)


def test_a_file_of_requirements_in_another_encoding_is_refused(tmp_path: Path, make_environment) -> None:
    code = agent(tmp_path / "code", "# coding: utf-7\nanywhere # +AAo-./lib\n")
    with pytest.raises(DeployError, match="must be encoded in UTF-8"):
        installed(code, tmp_path / "target", make_environment)


def test_hashes_continued_lines_and_options_of_the_index_are_accepted(tmp_path: Path) -> None:
    hashed = "one==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n"
    index = "https://example.com/simple"
    text = f"--index-url {index} --pre\n{hashed}two[a] >= 2 # why\n"
    code = agent(tmp_path / "code", text)
    assert list(_requirement_lines(code / "requirements.txt", code)) == ["one==1", "two[a] >= 2"]


def test_a_file_of_requirements_outside_the_folder_is_refused(tmp_path: Path, make_environment) -> None:
    (tmp_path / "outside.txt").write_text("anywhere\n")
    code = agent(tmp_path / "code", "-r ../outside.txt\n")
    with pytest.raises(DeployError, match="must exist in the agent's folder"):
        installed(code, tmp_path / "target", make_environment)


def test_neither_the_agents_pip_nor_a_source_distribution_runs(tmp_path: Path, make_environment, index: Path) -> None:
    code, trap = agent(tmp_path / "code", "anywhere==1.0\n"), tmp_path / "ran"
    spring = f"import os, pathlib\npathlib.Path({str(trap)!r}).write_text(repr(dict(os.environ)))\n"
    (code / "pip").mkdir()
    for name in ("pip/__main__.py", "pip/__init__.py", "sitecustomize.py", "setup.py"):
        (code / name).write_text(spring)
    assert installed(code, tmp_path / "target", make_environment) == {"anywhere.py"}
    assert not trap.exists()


def test_a_source_distribution_that_a_wheel_requires_by_url_is_not_built(tmp_path: Path, make_environment) -> None:
    trap, source = tmp_path / "ran", tmp_path / "spring-1.0.tar.gz"
    files = {
        "PKG-INFO": "Metadata-Version: 2.1\nName: spring\nVersion: 1.0\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "back"\nbackend-path = ["."]\n',
        "back.py": f"import pathlib\npathlib.Path({str(trap)!r}).touch()\n",
    }
    with tarfile.open(source, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"spring-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    links = tmp_path / "links"
    links.mkdir()
    build_wheel(links, "carrier", "1.0", "WORD = 'any'\n", requires=f"spring @ {source.as_uri()}")
    code = agent(tmp_path / "code", f"--find-links {links}\ncarrier\n")
    with pytest.raises(DeployError, match="pip cannot install the requirements"):
        installed(code, tmp_path / "target", make_environment)
    assert not trap.exists()


def test_pip_gets_none_of_the_users_keys(tmp_path: Path, make_environment) -> None:
    environment = make_environment(tmp_path)
    assert not any(secret in str(environment) for secret in SECRETS.values())
    assert environment["PIP_NO_INDEX"] == "1"


def test_the_same_files_make_the_same_package(tmp_path: Path, make_environment) -> None:
    digests = set()
    for name in ("one", "two"):
        code = agent(tmp_path / name, "anywhere==1.0\narmed==1.0\n")
        built = build_package(code, AgentSpec(name="same"), where="aws", environment=make_environment)
        digests.add(built.package.digest)
        assert built.notes == ()
    assert len(digests) == 1


def test_on_aws_a_package_without_requirements_is_noted(tmp_path: Path, make_environment) -> None:
    code = agent(tmp_path / "code", "")
    (code / "requirements.txt").unlink()
    aws_package = build_package(code, AgentSpec(name="bare"), where="aws", environment=make_environment)
    assert "AgentCore on AWS installs nothing" in aws_package.notes[0]
    local_package = build_package(code, AgentSpec(name="bare"), where="local", environment=make_environment)
    assert local_package.notes == ()


def test_an_agent_with_awss_distribution_of_opentelemetry_starts_with_it(
    tmp_path: Path, make_environment, index: Path
) -> None:
    build_wheel(index, "aws_opentelemetry_distro", "0.12.1", "")
    code = agent(tmp_path / "code", "aws-opentelemetry-distro\n")
    built = build_package(code, AgentSpec(name="traced"), where="aws", environment=make_environment)
    assert built.package.entry_point == "opentelemetry-instrument agent.py"
    plain = AgentSpec(name="plain", entry_point="agent.py")
    assert build_package(code, plain, where="aws", environment=make_environment).package.entry_point == "agent.py"


def test_what_cannot_be_packaged_is_an_error_of_the_deployment(tmp_path: Path, make_environment) -> None:
    code = agent(tmp_path / "code", "")
    with pytest.raises(DeployError, match=r"The agent cannot be packaged: .* has no other\.py to start"):
        build_package(code, AgentSpec(name="a", entry_point="other.py"), where="aws", environment=make_environment)
