"""RUN instructions, .dockerignore and PYTHONPATH of a Dockerfile: followed, noted in the log, or refused by name."""

from __future__ import annotations

import io
import zipfile

import pytest

from loomlib.local.images.building import BuiltImage, build_image
from loomlib.local.images.dockerfile import DockerfileError
from loomlib.local.images.dockerignore import Dockerignore

PROJECT = """\
[project]
name = "a"
dependencies = ["httpx>=0.27"]
[project.optional-dependencies]
metrics = ["numpy"]
plots = ["plotly"]
"""
SOURCE = {
    "agent.py": "print('agent')\n",
    "requirements.txt": "boto3\nrequests>=2\n",
    "requirements/all.txt": "-r base.txt\npandas \\\n  >=2  # tables\n",
    "requirements/base.txt": "click\n",
    "pyproject.toml": PROJECT,
    "src/tool.py": "",
    "src/deep/other.py": "",
    ".hidden.py": "",
}

PRIVATE = "https://user:hunter2@example.org/simple"
TOKEN = "https://example.org/simple?token=hunter2"


def built(lines: str, files: dict[str, str] | None = None, **more: object) -> BuiltImage:
    """The image of a Dockerfile with these lines after its first COPY."""
    dockerfile = f'FROM python:3.11\nWORKDIR /app\nCOPY . .\n{lines}\nCMD ["python", "agent.py"]\n'
    return packed(dockerfile, SOURCE | (files or {}), **more)


def packed(text: str, files: dict[str, str], **more: object) -> BuiltImage:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as source:
        for name, content in {"Dockerfile": text, **files}.items():
            source.writestr(name, content)
    return build_image(zipfile.ZipFile(buffer), **more)  # type: ignore[arg-type]


def files_of(image: BuiltImage) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(image.package)) as package:
        return {name: package.read(name).decode() for name in package.namelist()}


def requirements_of(image: BuiltImage) -> list[str]:
    return files_of(image)["requirements.txt"].splitlines()


@pytest.mark.parametrize(
    "options",
    [
        "-r requirements.txt",
        "-rrequirements.txt",
        "--requirement requirements.txt",
        "--requirement=requirements.txt",
        "-Ur requirements.txt",
        "-qUrrequirements.txt",
        "--no-cache-dir --upgrade --quiet --disable-pip-version-check --no-input -r ./requirements.txt",
        "--prefer-binary --compile --root-user-action=ignore --root-user-action ignore -q -U -r requirements.txt",
        "--timeout=30 --retries 3 --target /deps --trusted-host example.org -r requirements.txt",
        "--require-hashes -r requirements.txt",
        "--upgrade pip setuptools && pip install -r requirements.txt",
        "-r requirements.txt > /dev/null 2>&1",
        "-r requirements.txt # a comment",
    ],
)
def test_all_spellings_install_the_requirements(options: str) -> None:
    assert requirements_of(built(f"RUN pip install {options}")) == ["boto3", "requests>=2"]


def test_requirement_files_that_name_others_are_read_where_they_are() -> None:
    image = built("RUN cd requirements && pip install -r all.txt")
    assert requirements_of(image) == ["click", "pandas >=2"]


@pytest.mark.parametrize(
    ("command", "requirements"),
    [
        ("uv pip install --system --no-cache -r requirements.txt", ["boto3", "requests>=2"]),
        ("uv pip install -r pyproject.toml --extra metrics", ["httpx>=0.27", "numpy"]),
        ("uv pip install -r pyproject.toml --all-extras", ["httpx>=0.27", "numpy", "plotly"]),
        ("pip install '.[metrics,plots]'", ["httpx>=0.27", "numpy", "plotly"]),
        ("pip install -e .[metrics]", ["httpx>=0.27", "numpy"]),
        ("pip install --editable=.", ["httpx>=0.27"]),
        ("uv sync --frozen --no-dev --extra plots", ["httpx>=0.27", "plotly"]),
        ("pip install \"requests>=2,<3\" 'rich!=1'", ["requests>=2,<3", "rich!=1"]),
        ("DEBIAN_FRONTEND=noninteractive pip install rich", ["rich"]),
        ("pip install rich || exit 1", ["rich"]),
        ("pip install rich || pip install other", ["rich"]),
        ("pip install rich; pip install click", ["rich", "click"]),
    ],
)
def test_commands_that_install(command: str, requirements: list[str]) -> None:
    assert requirements_of(built(f"RUN {command}")) == requirements


def test_variables_are_replaced_as_by_a_shell() -> None:
    lines = "ARG NAMES='rich click'\nARG LIMIT='>=2'\nRUN pip install $NAMES \"requests${LIMIT}\" '$NAMES'httpx$LIMIT"
    assert requirements_of(built(lines)) == ["rich", "click", "requests>=2", "$NAMEShttpx>=2"]


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (f"pip install --index-url {PRIVATE} rich", "--index-url"),
        (f"pip install --index-url={PRIVATE} rich", "--index-url"),
        (f"pip install -i {PRIVATE} rich", "--index-url"),
        (f"pip install -i{PRIVATE} rich", "--index-url"),
        (f"pip install --extra-index-url={PRIVATE} rich", "--extra-index-url"),
        ("pip install 'rich @ https://user:hunter2@example.org/rich.whl'", "credentials"),
        ("pip install git+https://hunter2@example.org/rich", "credentials"),
        (f"pip install --extra-index-url {TOKEN} rich", "--extra-index-url"),
        ("curl https://user:hunter2@example.org/install", "curl"),
        (f"PIP_INDEX_URL={PRIVATE} pip install rich", "PIP_INDEX_URL"),
        ("echo hunter2 > /home/agent/.netrc", "/home/agent/.netrc"),
    ],
)
def test_a_refusal_does_not_show_credentials(command: str, named: str) -> None:
    with pytest.raises(DockerfileError, match=named) as refused:
        built(f"RUN {command}")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("pip install -c constraints.txt rich", "--constraint"),
        ("pip install --constraint=constraints.txt rich", "--constraint"),
        ("pip install --no-deps rich", "--no-deps"),
        ("pip install --pre rich", "--pre"),
        ("pip install --find-links=/wheels rich", "--find-links"),
        ("pip install -f /wheels rich", "--find-links"),
        ("pip install --no-index rich", "--no-index"),
        ("pip install --only-binary=:all: rich", "--only-binary"),
        ("pip install --platform manylinux2014_aarch64 rich", "--platform"),
        ("pip install -Zx rich", "-Z"),
        ("pip install -r", "--requirement"),
        ("pip install '.[absent]'", "absent"),
        ("uv sync --group dev", "--group"),
        ("pip install requests>2", "2.*quote < and >"),
        ("pip install $(cat requirements.txt)", "substitution|subshell"),
        ("pip install `cat requirements.txt`", "substitution"),
        ('pip install "${NAME%x}"', "NAME%x"),
        ("(pip install rich)", "subshell"),
        ("pip install 'rich", "quotation"),
        ("echo x > made.txt", "made.txt"),
        ("echo x >> made.txt", "made.txt"),
        ("echo x | tee made.txt", "tee"),
        ("rm src", "folder"),
        ("cat <<EOF", "here-document"),
        ("touch made.txt", "touch"),
    ],
)
def test_commands_that_cannot_be_followed_are_refused_by_name(command: str, named: str) -> None:
    with pytest.raises(DockerfileError, match=named):
        built(f"RUN {command}", {"constraints.txt": "rich==1\n"})


def test_constraints_in_a_requirement_file_are_refused_by_name() -> None:
    with pytest.raises(DockerfileError, match="--constraint"):
        built("RUN pip install -r limited.txt", {"limited.txt": "-c constraints.txt\nrich\n"})


@pytest.mark.parametrize(
    ("command", "removed"),
    [
        ("rm src/tool.py", {"src/tool.py"}),
        ("rm -f /app/src/tool.py absent.py", {"src/tool.py"}),
        ("rm -rf src", {"src/tool.py", "src/deep/other.py"}),
        ("cd src && rm -r ./*", {"src/tool.py", "src/deep/other.py"}),
        ("rm -f *.txt", {"requirements.txt"}),
        ("rm -rf /var/lib/apt/lists/*", set[str]()),
    ],
)
def test_rm_removes_copied_files(command: str, removed: set[str]) -> None:
    files = files_of(built(f"RUN {command}"))
    assert {name for name in SOURCE if name not in files} == removed - {"requirements.txt"}
    assert files["requirements.txt"] == "\n"  # the requirements that were installed: none


def test_the_working_folder_may_be_left_upwards() -> None:
    dockerfile = 'FROM python:3.11\nWORKDIR /app/one\nWORKDIR ../two\nCOPY . .\nCMD ["python", "agent.py"]\n'
    assert "agent.py" in files_of(packed(dockerfile, SOURCE))


def test_a_wildcard_of_rm_leaves_hidden_files() -> None:
    assert ".hidden.py" in files_of(built("RUN rm -rf *.py\nCOPY agent.py ."))


def test_mkdir_is_noted() -> None:
    assert any("mkdir -p data/cache" in note for note in built("RUN mkdir -p data/cache").notes)


def test_files_are_copied_into_the_root_without_a_working_folder() -> None:
    image = packed('FROM python:3.11\nCOPY . .\nCMD ["python", "agent.py"]\n', SOURCE)
    assert {"agent.py", "src/tool.py"} <= files_of(image).keys()


def test_instructions_without_effect_are_noted_with_their_meaning_here() -> None:
    notes = "\n".join(built('USER agent\nEXPOSE 8080/tcp\nSHELL ["/bin/bash", "-c"]\nHEALTHCHECK NONE').notes)
    for name in ("USER agent", "EXPOSE 8080/tcp", "SHELL", "HEALTHCHECK"):
        assert name in notes


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        ("/app/src", "src"),
        ("/app:/app/src", ".:src"),
        ("src", "src"),
        ("/app/src:$PYTHONPATH", "src"),
        ("${PYTHONPATH}:/app/src/", "src"),
    ],
)
def test_pythonpath_is_relative_to_the_working_folder(value: str, passed: str) -> None:
    assert built(f"ENV PYTHONPATH={value}").environment["PYTHONPATH"] == passed


IGNORED = """\
# secrets and caches
.env
**/*.pyc
/build/
*.md
!README.md
docs/**
!docs/kept/*.txt
secret?.txt
[ab].cfg
"""


@pytest.mark.parametrize(
    ("path", "excluded"),
    [
        (".env", True),
        ("src/.env", False),
        ("x.pyc", True),
        ("src/deep/x.pyc", True),
        ("build/lib/x.py", True),
        ("src/build/x.py", False),
        ("NOTES.md", True),
        ("README.md", False),
        ("src/NOTES.md", False),
        ("docs/a/b.txt", True),
        ("docs/kept/a.txt", False),
        ("docs/kept/deep/a.txt", True),
        ("secret1.txt", True),
        ("secret12.txt", False),
        ("a.cfg", True),
        ("c.cfg", False),
        ("# secrets and caches", False),
    ],
)
def test_dockerignore_patterns(path: str, excluded: bool) -> None:
    assert Dockerignore(IGNORED).excludes(path) is excluded


@pytest.mark.parametrize(
    ("text", "excluded"),
    [
        ("\ufeffsecret.txt", True),
        ("  secret.txt  ", True),
        ("./secret.txt", True),
        ("a/../secret.txt", True),
        ("*", True),
        ("**", True),
        ("*\n!secret.txt", False),
        ("! secret.txt\n*", True),
        ("#secret.txt", False),
        (".", False),
        ("", False),
        ("SECRET.TXT", False),
        ("secret+txt", False),
        (r"secret\.txt", True),
        ("**/secret.txt", True),
        ("secret**", True),
    ],
)
def test_forms_of_a_pattern(text: str, excluded: bool) -> None:
    assert Dockerignore(text).excludes("secret.txt") is excluded


@pytest.mark.parametrize("text", ["[", "a\n[z-", "!"])
def test_a_malformed_pattern_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(DockerfileError, match=rf"line {text.count(chr(10)) + 1}"):
        Dockerignore(text)


def test_excluded_files_are_not_packed() -> None:
    image = built("", {".dockerignore": ".env\nDockerfile\n.dockerignore\n", ".env": "KEY=secret\n"})
    assert not {".env", "Dockerfile", ".dockerignore"} & files_of(image).keys()
    assert b"KEY=secret" not in image.package
    assert any(".dockerignore" in note for note in image.notes)


def test_copying_an_excluded_file_is_refused_by_name() -> None:
    with pytest.raises(DockerfileError, match=r"COPY \.env.*dockerignore"):
        built("COPY .env .", {".dockerignore": ".env\n", ".env": "KEY=secret\n"})


def test_the_dockerignore_of_the_context_and_the_one_of_the_dockerfile() -> None:
    dockerfile = 'FROM python:3.11\nWORKDIR /app\nCOPY . .\nCMD ["python", "agent.py"]\n'
    files = {
        "docker/Dockerfile": dockerfile,
        "service/agent.py": "",
        "service/a.txt": "",
        "service/b.txt": "",
        "service/.dockerignore": "a.txt",
        ".dockerignore": "*",
    }
    image_files = files_of(packed("", files, dockerfile="docker/Dockerfile", folder="service/"))
    assert {"agent.py", "b.txt"} <= image_files.keys()
    assert "a.txt" not in image_files
    files["docker/Dockerfile.dockerignore"] = "b.txt"
    image_files = files_of(packed("", files, dockerfile="docker/Dockerfile", folder="service/"))
    assert "a.txt" in image_files
    assert "b.txt" not in image_files


@pytest.mark.parametrize(
    ("copy", "copied"),
    [
        ("COPY *.py ./", {"agent.py", ".hidden.py"}),
        ("COPY agent.py src/*.py ./", {"agent.py", "tool.py"}),
        ("COPY agent.py /app", {"agent.py"}),
        ("COPY agent.py .\nCOPY s* code/", {"agent.py", "code/tool.py", "code/deep/other.py"}),
        ("COPY agent.py yarn.lock* ./", {"agent.py"}),
    ],
)
def test_wildcards_of_copy(copy: str, copied: set[str]) -> None:
    image = packed(f'FROM python:3.11\nWORKDIR /app\n{copy}\nCMD ["python", "agent.py"]\n', SOURCE)
    assert files_of(image).keys() - {"requirements.txt", "loom_image_entry.py"} == copied


def test_several_files_with_a_target_that_is_no_folder_are_refused() -> None:
    with pytest.raises(DockerfileError, match="several files"):
        packed('FROM python:3.11\nWORKDIR /app\nCOPY *.py code\nCMD ["python", "agent.py"]\n', SOURCE)
