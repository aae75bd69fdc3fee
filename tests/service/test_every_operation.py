"""Whatever a client asks, it gets an answer or an error in AWS's own form: never a page, never a 500."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore
import pytest
from aws_requests import minimal_parameters
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import Session

from loomlib import local

SERVICES = """
    iam ecr ssm lambda codebuild cloudformation cognito-idp kinesis xray ec2 dynamodb s3 sqs sns sts secretsmanager
    kms events logs cloudwatch stepfunctions apigateway bedrock bedrock-runtime bedrock-agent bedrock-agent-runtime ecs
    s3vectors opensearchserverless athena bedrock-agentcore bedrock-agentcore-control
""".split()  # noqa: SIM905
_SOME = 12
OPERATIONS = Path(__file__).parent / "every_operation.py"
SCRIPT = Path(__file__).parents[1] / "contract" / "scripts" / "stay_local.py"


@pytest.fixture(scope="module")
def service_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[local.ServiceState]:
    """A service of this file alone: the operations create and delete whatever they name."""
    state, _ = local.start(tmp_path_factory.mktemp("operations"), persistent=True)
    yield state
    local.stop(state.home)


@pytest.fixture(scope="module")
def session() -> Session:
    return botocore.session.get_session()


def _client(session: Session, state: local.ServiceState, service: str) -> Any:
    return session.create_client(
        service,
        endpoint_url=state.url,
        region_name=state.region,
        aws_access_key_id=state.access_key,
        aws_secret_access_key=state.secret_key,
        config=Config(retries={"total_max_attempts": 1}, inject_host_prefix=False),
    )


def _without_network(home: Path, how_many: int) -> dict[str, Any]:
    """Call operations of all services from a process that has loopback and no other network."""
    alone = ["bwrap", "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent"]
    if shutil.which("bwrap") is None or subprocess.run([*alone, "true"], check=False).returncode:
        alone = []  # the script notes attempts to connect elsewhere, in any case
    process = subprocess.run(
        [*alone, sys.executable, str(OPERATIONS), str(home), str(how_many), *SERVICES],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=1_500,
        cwd=home.parent,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


@pytest.mark.parametrize("how_many", [_SOME, pytest.param(0, marks=pytest.mark.long)])
def test_operations_answer_in_their_own_form_without_any_network(tmp_path: Path, how_many: int) -> None:
    report = _without_network(tmp_path / "home", how_many)
    assert report["faults"] == []
    assert report["outside"] == []
    assert len([name for name, tally in report["tally"].items() if tally.get("answered") or tally.get("refused")]) >= 20


def test_an_operation_that_is_missing_is_named(session: Session, service_once: local.ServiceState) -> None:
    for service, operation in (
        ("iam", "acquire_role"),
        ("xray", "list_retrieved_traces"),
        ("ec2", "describe_ipam_pools"),
    ):
        client = _client(session, service_once, service)
        name = next(n for n in client.meta.service_model.operation_names if botocore.xform_name(n) == operation)
        with pytest.raises(ClientError, match=f"{service}:{name}") as refused:
            getattr(client, operation)(**minimal_parameters(client.meta.service_model.operation_model(name)))
        assert refused.value.response["Error"]["Code"] == "NotImplementedException"


def test_what_s3_lacks_changes_nothing(session: Session, service_once: local.ServiceState) -> None:
    client = _client(session, service_once, "s3")
    client.create_bucket(Bucket="kept")
    client.create_bucket(Bucket="emptied")
    client.put_object(Bucket="kept", Key="a", Body=b"first")
    lacks = re.compile(
        "Abac|Analytics|Annotation|IntelligentTiering|Metadata|Metrics|Rename|RequestPayment|Torrent|CreateSession"
    )
    operations = [name for name in client.meta.service_model.operation_names if lacks.search(name)]
    assert len(operations) >= 30
    for name in [*operations, "DeleteBucketInventoryConfiguration", "GetObjectRetention", "UpdateObjectEncryption"]:
        parameters = minimal_parameters(client.meta.service_model.operation_model(name))
        parameters["Bucket"] = "kept" if "Key" in parameters else "emptied"
        parameters |= {"Key": "a"} if "Key" in parameters else {}
        with pytest.raises(ClientError, match=f"s3:{name}") as refused:
            getattr(client, botocore.xform_name(name))(**parameters)
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501
    client.head_bucket(Bucket="emptied")
    assert client.get_object(Bucket="kept", Key="a")["Body"].read() == b"first"


def test_exported_variables_keep_every_call_on_this_machine(service_once: local.ServiceState, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[profile team]\nregion = eu-central-1\nservices = elsewhere\n[services elsewhere]\niam =\n  endpoint_url = http://192.0.2.1\n"
    )
    user = {"PATH": os.environ["PATH"], "AWS_CONFIG_FILE": str(config), "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}
    process = subprocess.run(
        [sys.executable, str(SCRIPT), *SERVICES],
        env=user | service_once.environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert result["outside"] == []
    assert {name: answer for name, answer in result["answers"].items() if ":" in answer} == {}


def test_the_export_removes_what_leads_past_it(service_once: local.ServiceState) -> None:
    user = {
        "PATH": os.environ["PATH"],
        "AWS_PROFILE": "team",
        "AWS_SESSION_TOKEN": "t",
        "BEDROCK_AGENTCORE_DP_ENDPOINT": service_once.url,
        "AWS_ENDPOINT_URL_S3": "http://192.0.2.1",
    }
    command = [
        sys.executable,
        "-c",
        "from loomlib.cli import main; main()",
        "--home",
        str(service_once.home),
        "up",
        "--export",
    ]
    script = f'eval "$({shlex.join(command)})"; env'
    process = subprocess.run(
        ["sh", "-c", script], env=user, capture_output=True, text=True, timeout=120, cwd=service_once.home
    )
    assert process.returncode == 0, process.stderr
    variables = dict(line.partition("=")[::2] for line in process.stdout.splitlines())
    assert not {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3"} & variables.keys()
    assert variables["AWS_ENDPOINT_URL"] == service_once.url
    # AWS's name, for which the proxy answers: the SDK refuses an address of this machine
    assert variables["BEDROCK_AGENTCORE_DP_ENDPOINT"] == "https://bedrock-agentcore.us-east-1.amazonaws.com"
