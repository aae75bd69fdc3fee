"""`loom-agent.toml`: what is read, what is refused, and that a written file reads back."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.aws.authorizers import JwtAuthorizer
from loomlib.deploy.agent_file import (
    agent_file_text,
    find_agent_file,
    looks_like_secret,
    parse_agent,
    read_agent_file,
    write_agent_file,
)
from loomlib.deploy.spec import (
    AgentSpec,
    NetworkSpec,
    PlatformSpec,
    ResourceBinding,
    ResourceSpec,
    TriggerSpec,
)
from loomlib.errors import SettingsError

FULL = """
[agent]
name = "support"
entry_point = "agent.py"
description = "Answers customers"
protocol = "HTTP"
python = "3.13"
build = "code"

[platform]
version = "V2"
warmup = "/warmup"
idle_timeout_s = 600
max_lifetime_s = 7200
storage = "/mnt/data"

[environment]
MODEL_ID = "us.anthropic.claude-sonnet-4-20250514-v1:0"
MAX_TOKENS = "1024"

[secrets]
ORDERS_KEY = "orders/key"
STRIPE_KEY = "ssm:/stripe/key"

[resources]
models = ["us.anthropic.claude-sonnet-4-20250514-v1:0"]
functions = {ORDERS_FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:orders"}
memories = {LOOM_MEMORY_ID = "support"}
buckets = ["documents/manuals"]

[network]
mode = "VPC"
subnets = ["subnet-1"]
security_groups = ["sg-1"]

[authorizer]
discovery_url = "https://issuer.example/.well-known/openid-configuration"
allowed_clients = ["web"]

[[trigger]]
schedule = "rate(1 day)"
prompt = "Send the report"

[[trigger]]
s3 = "documents/inbox"
suffix = ".pdf"

[tags]
team = "care"

[endpoints]
prod = "prod"
"""
SPEC = AgentSpec(
    name="support",
    entry_point="agent.py",
    description="Answers customers",
    protocol="HTTP",
    python="3.13",
    platform=PlatformSpec(version="V2", warmup="/warmup", idle_timeout_s=600, max_lifetime_s=7200, storage="/mnt/data"),
    environment={"MODEL_ID": "us.anthropic.claude-sonnet-4-20250514-v1:0", "MAX_TOKENS": "1024"},
    secrets={"ORDERS_KEY": "orders/key", "STRIPE_KEY": "ssm:/stripe/key"},
    resources=ResourceSpec(
        models=(ResourceBinding(resource="us.anthropic.claude-sonnet-4-20250514-v1:0"),),
        functions=(
            ResourceBinding(
                resource="arn:aws:lambda:us-east-1:123456789012:function:orders", variable="ORDERS_FUNCTION"
            ),
        ),
        memories=(ResourceBinding(resource="support", variable="LOOM_MEMORY_ID"),),
        buckets=(ResourceBinding(resource="documents/manuals"),),
    ),
    network=NetworkSpec(mode="VPC", subnets=("subnet-1",), security_groups=("sg-1",)),
    authorizer=JwtAuthorizer(
        discovery_url="https://issuer.example/.well-known/openid-configuration",
        clients=("web",),
        audience=(),
        scopes=(),
    ),
    triggers=(
        TriggerSpec(schedule="rate(1 day)", prompt="Send the report"),
        TriggerSpec(s3="documents/inbox", suffix=".pdf"),
    ),
    tags={"team": "care"},
    endpoints={"prod": "prod"},
)


def written(folder: Path, text: str) -> Path:
    file = folder / "loom-agent.toml"
    file.write_text(text, "utf-8")
    return file


def test_every_key_of_the_file_is_read(tmp_path: Path) -> None:
    written(tmp_path, FULL)
    assert read_agent_file(tmp_path) == SPEC
    assert find_agent_file(tmp_path) == tmp_path / "loom-agent.toml"
    assert find_agent_file(tmp_path / "agent.py") == tmp_path / "loom-agent.toml"


def test_a_written_file_reads_back(tmp_path: Path) -> None:
    file = write_agent_file(SPEC, tmp_path)
    assert read_agent_file(file) == SPEC
    assert agent_file_text(read_agent_file(file)) == file.read_text("utf-8")


def test_a_name_is_enough(tmp_path: Path) -> None:
    assert read_agent_file(written(tmp_path, '[agent]\nname = "a"\n')) == AgentSpec(name="a")
    assert agent_file_text(AgentSpec(name="a")) == '[agent]\nname = "a"\n'


@given(
    st.dictionaries(st.from_regex(r"\A[A-Z_][A-Z0-9_]{0,9}\Z"), st.text(st.characters(codec="utf-8"), max_size=9)),
    st.text(st.characters(codec="utf-8")),
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=9), st.text(st.characters(codec="utf-8"), max_size=9)
    ),
)
def test_any_text_survives_the_file(environment: dict[str, str], description: str, tags: dict[str, str]) -> None:
    plain_environment = {name: value for name, value in environment.items() if not looks_like_secret(name, value)}
    valid_tags = {
        name: value for name, value in tags.items() if value.isprintable() and not name.startswith(("loom:", "aws:"))
    }
    spec = AgentSpec(name="a", environment=plain_environment, description=description, tags=valid_tags)
    assert parse_agent(tomllib.loads(agent_file_text(spec))) == spec


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The agent has no name"),
        ("agent = 1", "agent must be a table"),
        ('[agent]\nname = "a"\nnmae = "b"', r"Unknown key: nmae \(\[agent\] in .*Try: name, entry_point"),
        ('[agent]\nname = "a"\n[platfrom]\n', "Unknown key: platfrom"),
        ("[agent]\nname = 1", "agent.name must be a string in quotes"),
        ('[agent]\nname = "9a"', "'9a' is not a valid runtime name"),
        (
            '[agent]\nname = "a"\nprotocol = "SOAP"',
            "'SOAP' is not a valid protocol; choose one of: HTTP, MCP, A2A, AGUI",
        ),
        ('[agent]\nname = "a"\npython = "2.7"', "'2.7' is not a valid version of Python"),
        ('[agent]\nname = "a"\nbuild = "zip"', "'zip' is not a valid build; choose one of: code, container"),
        ('[agent]\nname = "a"\narchitecture = "x86_64"', "architecture must be arm64"),
        (
            '[agent]\nname = "a"\n[platform]\nversion = "V3"',
            r"'V3' is not a valid platform version; choose one of: V1, V2 \(\[platform\]",
        ),
        ('[agent]\nname = "a"\n[platform]\nidle_timeout_s = "60"', "platform.idle_timeout_s must be a whole number"),
        ('[agent]\nname = "a"\n[platform]\nidle_timeout_s = true', "platform.idle_timeout_s must be a whole number"),
        ('[agent]\nname = "a"\n[platform]\nidle_timeout_s = 0', "idle_timeout_s must be at least 1 second"),
        ('[agent]\nname = "a"\n[environment]\nN = 1', "environment.N must be a string"),
        ('[agent]\nname = "a"\n[environment]\n"A B" = "1"', "'A B' is not a valid name of an environment variable"),
        ('[agent]\nname = "a"\n[environment]\nAPI_KEY = "hush"', r"environment.API_KEY looks like a secret"),
        ('[agent]\nname = "a"\n[environment]\nKEY = "AKIAIOSFODNN7EXAMPLE"', "environment.KEY looks like a secret"),
        ('[agent]\nname = "a"\n[resources]\nmodels = "m"', "resources.models must be a list of strings"),
        ('[agent]\nname = "a"\n[resources]\nmodels = [1]', "resources.models must be a list of strings"),
        (
            '[agent]\nname = "a"\n[resources]\nmemories = {"1A" = "m"}',
            "'1A' is not a valid name of an environment variable",
        ),
        ('[agent]\nname = "a"\n[resources]\nqueues = ["q"]', "Unknown key: queues"),
        (
            '[agent]\nname = "a"\n[environment]\nM = "1"\n[resources]\nmemories = {M = "m"}',
            "M is given a value more than once",
        ),
        ('[agent]\nname = "a"\n[network]\nmode = "VPC"', "VPC needs subnets and security_groups"),
        ('[agent]\nname = "a"\n[network]\nsubnets = ["s"]', "require the network mode VPC"),
        ('[agent]\nname = "a"\n[authorizer]\nallowed_clients = ["w"]', "authorizer.discovery_url is missing"),
        ('[agent]\nname = "a"\n[authorizer]\ndiscovery_url = "https://x"', "an authorizer needs at least one of"),
        ('[agent]\nname = "a"\n[trigger]\n', "trigger must be an array of tables"),
        ('[agent]\nname = "a"\n[[trigger]]\nprompt = "p"', "a trigger needs either schedule or s3"),
        ('[agent]\nname = "a"\n[[trigger]]\nschedule = "rate(1 day)"', "a schedule needs a prompt or a payload"),
        (
            '[agent]\nname = "a"\n[[trigger]]\nschedule = "rate(1 day)"\npayload = {d = 2026-01-01}',
            "payload cannot be sent as JSON",
        ),
        ('[agent]\nname = "a"\n[tags]\n"loom:agent" = "b"', "the tag loom:agent is reserved"),
        ('[agent]\nname = "a"\n[endpoints]\nprod = "DEFAULT"', "'DEFAULT' is not a valid endpoint name"),
        ("[agent", "The agent file is not TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_clear_error(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        read_agent_file(written(tmp_path, text))
    assert "hush" not in str(caught.value)
    assert "AKIA" not in str(caught.value)


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.toml"):
        read_agent_file(tmp_path / "nowhere.toml")


def test_no_secret_is_written(tmp_path: Path) -> None:
    spec = AgentSpec(name="a", environment={"SERVICE_PASSWORD": "hush"})
    with pytest.raises(SettingsError, match=r"environment\.SERVICE_PASSWORD looks like a secret"):
        write_agent_file(spec, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert "hush" not in repr(spec)
