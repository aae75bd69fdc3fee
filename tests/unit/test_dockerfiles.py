"""What a Dockerfile becomes: a package, its requirements, its variables and its command, or a refusal by name."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from loomlib.local.images.building import LAUNCHER, BuiltImage, build_image
from loomlib.local.images.buildspec import BuildspecError, read_buildspec
from loomlib.local.images.dockerfile import DockerfileError

TOOLKIT = """\
FROM ghcr.io/astral-sh/uv:python3.11-bookworm-slim
WORKDIR /app

# All environment variables in one layer
ENV UV_SYSTEM_PYTHON=1 \\
    PYTHONUNBUFFERED=1 \\
    DOCKER_CONTAINER=1 \\
    GREETING="hello there"

COPY requirements.txt requirements.txt
RUN uv pip install -r requirements.txt
RUN uv pip install "aws-opentelemetry-distro>=0.18.0,<1.0.0"

RUN useradd -m -u 1000 bedrock_agentcore
USER bedrock_agentcore
EXPOSE 8080
COPY . .
CMD ["opentelemetry-instrument", "python", "-m", "agent"]
"""
SOURCE = {"agent.py": "print('agent')\n", "requirements.txt": "boto3\nrequests>=2\n", "tools/one.py": "ONE = 1\n"}


def _built(dockerfile: str, files: dict[str, str] = SOURCE, **more: object) -> BuiltImage:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as source:
        for name, content in {**files, "Dockerfile": dockerfile}.items():
            source.writestr(name, content)
    return build_image(zipfile.ZipFile(buffer), **more)  # type: ignore[arg-type]


def _files(image: BuiltImage) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(image.package)) as package:
        return {name: package.read(name).decode() for name in package.namelist()}


def test_the_toolkits_dockerfile_becomes_a_package() -> None:
    image = _built(TOOLKIT)
    files = _files(image)
    assert image.entry_point == ("opentelemetry-instrument", LAUNCHER)
    assert image.environment == {"PYTHONUNBUFFERED": "1", "DOCKER_CONTAINER": "1", "GREETING": "hello there"}
    assert files["requirements.txt"].split() == ["boto3", "requests>=2", "aws-opentelemetry-distro>=0.18.0,<1.0.0"]
    assert files["tools/one.py"] == "ONE = 1\n"
    assert "run_module('agent'" in files[LAUNCHER]
    assert any("useradd" in note for note in image.notes)


def test_the_same_source_makes_the_same_package() -> None:
    assert _built(TOOLKIT).package == _built(TOOLKIT).package


@pytest.mark.parametrize(
    ("command", "launched"),
    [
        ('CMD ["python", "agent.py", "--port", "8080"]', "run_path('agent.py'"),
        ("CMD python -u agent.py", "run_path('agent.py'"),
        ('CMD ["uv", "run", "agent.py"]', "run_path('agent.py'"),
        ('CMD ["uvicorn", "agent:app", "--host", "0.0.0.0", "--port", "8080"]', "run_module('uvicorn'"),
        ('ENTRYPOINT ["python"]\nCMD ["-m", "tools.one"]', "run_module('tools.one'"),
    ],
)
def test_commands_that_start_an_agent(command: str, launched: str) -> None:
    assert launched in _files(_built(f"FROM python:3.11\nWORKDIR /app\nCOPY . .\n{command}\n"))[LAUNCHER]


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (
            'CMD ["uv", "run", "--no-sync", "uvicorn", "agent:app", "--host", "0.0.0.0", "--port", "8080"]',
            ["uvicorn", "agent:app", "--host", "0.0.0.0", "--port", "8080"],
        ),
        ("CMD uv run --python 3.11 --extra web -- agent.py --verbose", ["agent.py", "--verbose"]),
        ("CMD uv run -m tools.one --verbose", ["tools.one", "--verbose"]),
        ('CMD ["agent.py", "--verbose"]\nENTRYPOINT ["python"]', ["agent.py", "--verbose"]),
        ("CMD --verbose\nENTRYPOINT python agent.py", ["agent.py"]),
        ("ENTRYPOINT []\nCMD python agent.py --verbose", ["agent.py", "--verbose"]),
    ],
)
def test_a_command_keeps_its_own_options(command: str, arguments: list[str]) -> None:
    launcher = _files(_built(f"FROM python:3.11\nWORKDIR /app\nCOPY . .\n{command}\n"))[LAUNCHER]
    assert f"sys.argv[:] = {arguments!r}" in launcher


def test_a_command_of_uv_run_may_be_instrumented() -> None:
    image = _built("FROM python:3.11\nCOPY . .\nCMD exec uv run opentelemetry-instrument python -m agent --verbose\n")
    assert image.entry_point == ("opentelemetry-instrument", LAUNCHER)
    assert "sys.argv[:] = ['agent', '--verbose']" in _files(image)[LAUNCHER]


def test_arguments_variables_and_a_project_file() -> None:
    files = {"pyproject.toml": '[project]\nname = "a"\ndependencies = ["httpx>=0.27"]\n', "src/main.py": ""}
    dockerfile = (
        "ARG VERSION=3.11\nFROM --platform=linux/arm64 public.ecr.aws/docker/library/python:${VERSION}-slim\n"
        "ARG MODE=test\nENV MODE=${MODE} LEVEL ${MODE:-x}\n"
        "WORKDIR /srv/app\nCOPY pyproject.toml ./\nRUN uv sync --frozen --no-dev && rm -rf /var/cache/apt\n"
        'COPY src/ ./\nCMD ["python", "main.py"]\n'
    ).replace(" LEVEL ${MODE:-x}", "")
    image = _built(dockerfile, files, arguments={"MODE": "production"})
    assert image.environment == {"MODE": "production"}
    assert _files(image)["requirements.txt"].split() == ["httpx>=0.27"]
    assert "main.py" in _files(image)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("ENV A=$TITLE", 'My "agent" MODE=x'),
        ('ENV A="<$TITLE>"', '<My "agent" MODE=x>'),
        ("ENV A $TITLE here", 'My "agent" MODE=x here'),
        ("ENV A='$TITLE'", "$TITLE"),
        ("ENV A=\\$TITLE", "$TITLE"),
        ('ENV A="\\$TITLE"', "$TITLE"),
        ('ENV A=${OTHER:-"an other"}', "an other"),
        ('ENV A="${OTHER:-an other}"', "an other"),
        ("ARG B=$TITLE C\nENV A=$B$C", 'My "agent" MODE=x'),
    ],
)
def test_a_variable_of_a_dockerfile_stays_one_value(line: str, value: str) -> None:
    lines = f'FROM python:3.11\nARG TITLE\n{line}\nCOPY . .\nCMD ["python", "agent.py"]\n'
    assert _built(lines, arguments={"TITLE": 'My "agent" MODE=x'}).environment == {"A": value}


@pytest.mark.parametrize("sources", ["$FOLDER", '["$FOLDER", "."]'])
def test_a_folder_whose_name_has_a_space_is_copied(sources: str) -> None:
    target = "" if sources.startswith("[") else " ."
    lines = f'FROM python:3.11\nARG FOLDER="my dir"\nCOPY {sources}{target}\nCMD ["python", "agent.py"]\n'
    assert "agent.py" in _files(_built(lines, {"my dir/agent.py": ""}))


def test_a_command_whose_quotation_marks_do_not_match_is_refused() -> None:
    with pytest.raises(DockerfileError, match="No closing quotation"):
        _built('FROM python:3.11\nENV TITLE="it\'s"\nCOPY . .\nCMD python agent.py $TITLE\n')


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("FROM node:22", "node:22"),
        ("FROM python:3.11 AS builder\nFROM python:3.11", "several stages"),
        ("FROM python:3.11\nRUN make install", "make"),
        ("FROM python:3.11\nRUN apt-get install -y no-such-program-here", "no-such-program-here"),
        ("FROM python:3.11\nVOLUME /data", "VOLUME"),
        ("FROM python:3.11\nCOPY missing.py .", "missing.py"),
        ("FROM python:3.11\nADD http://example.org/x.tgz /", "address"),
        ("FROM python:3.11\nWORKDIR /app\nCOPY agent.py /opt/agent.py", "/opt/agent.py"),
        ("FROM python:3.11\nCOPY --from=other /x /y", "--from=other"),
        ("FROM python:3.11\nRUN pip install -r absent.txt", "absent.txt"),
        ("FROM python:3.11\nCOPY --exclude=*.md . .", "--exclude"),
        ("FROM python:3.11\nADD tools.tar.gz /", "tools.tar.gz"),
        ("FROM python:3.11\nCOPY <<EOF /agent.py", "here-document"),
        ("FROM python:3.11\nRUN <<EOF", "here-document"),
        ("FROM python:3.11\nENV PIP_INDEX_URL=https://example.org", "PIP_INDEX_URL"),
        ("FROM python:3.11\nARG UV_EXTRA_INDEX_URL=https://example.org", "UV_EXTRA_INDEX_URL"),
        ("FROM python:3.11\nENV PIP_CONSTRAINT=c.txt", "PIP_CONSTRAINT"),
        ("FROM python:3.11\nENV A=1 B", "B is not NAME=value"),
        ('FROM python:3.11\nENV A="1', "line 2: .* no closing quotation"),
        ("FROM python:3.11\nWORKDIR /app\nENV PYTHONPATH=/opt/lib", "/opt/lib"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(lines: str, named: str) -> None:
    with pytest.raises(DockerfileError, match=named):
        _built(f'{lines}\nCOPY agent.py .\nCMD ["python", "agent.py"]\n')


@pytest.mark.parametrize(
    "command",
    [
        "",
        'CMD ["node", "x.js"]',
        'CMD ["python"]',
        "CMD sh -c 'x; y'",
        'CMD ["python", "b.py"]',
        "CMD uv run --with=httpx agent.py",
    ],
)
def test_a_command_that_starts_no_agent_is_refused(command: str) -> None:
    with pytest.raises(DockerfileError, match=r"CMD|ENTRYPOINT|line"):
        _built(f"FROM python:3.11\nCOPY . .\n{command}\n")


def test_a_buildspec_with_variables() -> None:
    text = """
version: 0.2
env:
  variables: {REPOSITORY: agents}
phases:
  pre_build:
    commands:
      - aws ecr get-login-password | docker login --username AWS --password-stdin $URL
      - export TAG=${IMAGE_TAG:-v1}
  build:
    commands:
      - docker build -t $REPOSITORY:$TAG -f docker/Dockerfile --build-arg MODE=x ./service
      - docker tag $REPOSITORY:$TAG $URL/$REPOSITORY:$TAG
  post_build:
    commands: ["docker push $URL/$REPOSITORY:$TAG"]
"""
    spec = read_buildspec(text, {"URL": "123456789012.dkr.ecr.us-east-1.amazonaws.com"})
    assert spec.pushed == ["123456789012.dkr.ecr.us-east-1.amazonaws.com/agents:v1"]
    assert (spec.dockerfile, spec.folder, spec.arguments) == ("docker/Dockerfile", "service/", {"MODE": "x"})


def test_variables_of_the_build_precede_those_of_the_buildspec_which_precede_predefined_ones() -> None:
    text = """
env:
  variables: {TAG: default, AWS_ACCOUNT_ID: "210987654321"}
phases: {build: {commands: ["docker build -t $AWS_ACCOUNT_ID/$AWS_REGION:$TAG --push ."]}}
"""
    predefined = {"AWS_ACCOUNT_ID": "123456789012", "AWS_REGION": "eu-west-1"}
    assert read_buildspec(text, {"TAG": "v2"}, predefined).pushed == ["210987654321/eu-west-1:v2"]
    assert read_buildspec(text, {}, predefined).pushed == ["210987654321/eu-west-1:default"]


def _spec(*commands: str, **env: dict[str, str]) -> str:
    return json.dumps({"env": env, "phases": {"build": {"commands": commands}}})


def test_commands_of_a_buildspec_follow_its_working_folder_and_quotation_marks() -> None:
    spec = read_buildspec(
        _spec(
            'cd $CODEBUILD_SRC_DIR && echo "Building & pushing; then > done" # don\'t wait',
            'cd services/agent\ndocker build --build-arg "SPEC=strands-agents>=1.0" -t r/a -f ../Dockerfile . > log',
            "docker push r/a",
        ),
        {},
    )
    assert (spec.dockerfile, spec.folder, spec.pushed) == ("services/Dockerfile", "services/agent/", ["r/a"])
    assert spec.arguments == {"SPEC": "strands-agents>=1.0"}


def test_an_image_may_be_built_under_several_names() -> None:
    again = "cd agent && docker build -t r/a:2 --push $CODEBUILD_SRC_DIR"
    spec = read_buildspec(_spec("docker build -t r/a:1 --push ./", again), {})
    assert (spec.dockerfile, spec.pushed) == ("Dockerfile", ["r/a:1", "r/a:2"])


def test_a_stored_variable_is_refused_where_an_image_depends_on_it() -> None:
    stored = {"secrets-manager": {"PASSWORD": "hub:password"}, "parameter-store": {"TAG": "/prod/tag"}}
    text = _spec(
        "docker login -u me -p $PASSWORD", "NAME=r/a:$TAG", "docker build -t $NAME .", "docker push $NAME", **stored
    )
    with pytest.raises(BuildspecError, match="needs TAG from Parameter Store"):
        read_buildspec(text, {})
    assert read_buildspec(text, {"TAG": "v1"}).pushed == ["r/a:v1"]
    with pytest.raises(BuildspecError, match="needs MODE"):
        read_buildspec(_spec("docker build --build-arg MODE=$MODE -t r/a --push ."), {}, stored={"MODE"})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("phases: {build: {commands: [make]}}", "make"),
        ("phases: {build: {commands: [echo hi]}}", "no docker build"),
        ("phases: {build: {commands: [docker build .]}}", "no docker push"),
        (_spec("docker build -t r/a --push ./a", "docker build -t r/b --push ./b"), "a/Dockerfile and of b/Dockerfile"),
        (_spec("docker build -t a .", "docker build -t a --build-arg MODE=x ."), "several images"),
        (_spec("cd -"), "cd -"),
        (_spec("cd $(dirname $0)"), "output of another command"),
        (_spec('docker build -t "r/a .'), "No closing quotation"),
        (_spec('TAG="$(date | md5sum)"', "docker build -t r/a:$TAG --push ."), "output of another command"),
        ("- a", "mapping"),
        ("a: [", "YAML"),
    ],
)
def test_a_buildspec_that_cannot_be_followed_is_refused(text: str, named: str) -> None:
    with pytest.raises(BuildspecError, match=named):
        read_buildspec(text, {})
