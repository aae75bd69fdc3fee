"""Agents that never get to answer: RuntimeClientError 424 for plain boto3, with the last log lines in the message.

On V2 a version whose agent does not start is not created, for the same reason.
"""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from fault_lab import AGENTS, FaultLab

import loomlib as loom

FAILURES = {
    "dies": ("ended with exit code 1 before it served", "no model, no agent"),
    "import": ("ended with exit code 1 before it served", "No module named 'nothing_of_this_name'"),
    "never serves": ("did not start serving within 10 s", "about to fail: never serves"),
    "raises": ("answered 500", "the shuttle is stuck"),
    "is killed": ("was killed by SIGKILL without an answer", "about to fail: is killed"),
    "garbage": ("not HTTP", "about to fail: garbage"),
    "too slow": ("no answer within 2 s", "about to fail: too slow"),
}
AT_START = ("dies", "import", "never serves")


@pytest.fixture
def impatient(how: str, lab: FaultLab, build: Callable[..., FaultLab]) -> FaultLab:
    """The lab of all, and one of its own for either failure that is a matter of waiting."""
    options = {"never serves": {"start_timeout_s": 10.0}, "too slow": {"invoke_timeout_s": 2.0}}
    return build(**options[how]) if how in options else lab


def client(bench: loom.Workbench, name: str):
    env = bench.environment()
    return boto3.client(
        name,
        endpoint_url=env["AWS_ENDPOINT_URL"],
        region_name=env["AWS_REGION"],
        aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.mark.parametrize("how", FAILURES)
def test_an_agent_that_cannot_answer_is_a_runtime_client_error_with_its_last_lines(impatient: FaultLab, how: str):
    workbench = impatient.open()
    if how in AT_START:
        with pytest.raises(loom.errors.AwsError, match="The runtime is CREATE_FAILED") as not_created:
            impatient.deploy(workbench, "broken.py", HOW=how)
        for part in FAILURES[how]:
            assert part in str(not_created.value)
    platform = "V1" if how in AT_START else "V2"
    agent = impatient.deploy(workbench, "broken.py", platform_version=platform, HOW=how)
    boto = client(workbench, "bedrock-agentcore")
    with pytest.raises(ClientError) as caught:
        boto.invoke_agent_runtime(agentRuntimeArn=agent.arn, payload=b"{}", runtimeSessionId="s" * 40)
    boto.close()
    error, answer = caught.value.response["Error"], caught.value.response["ResponseMetadata"]
    assert (error["Code"], answer["HTTPStatusCode"]) == ("RuntimeClientError", 424)
    for part in FAILURES[how]:
        assert part in error["Message"]
    if how not in ("never serves", "too slow"):  # once is enough to wait for
        inv = agent.invoke("?")
        assert inv.failure == "agent_error"
        assert FAILURES[how][0] in (inv.error or "")


def test_a_package_without_its_entry_file_reports_it(bench: loom.Workbench):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(AGENTS / "obedient.py", "obedient.py")
    s3, control = client(bench, "s3"), client(bench, "bedrock-agentcore-control")
    s3.create_bucket(Bucket="missing-entry")
    s3.put_object(Bucket="missing-entry", Key="code.zip", Body=packed.getvalue())
    created = control.create_agent_runtime(
        agentRuntimeName="missing_entry",
        agentRuntimeArtifact={
            "codeConfiguration": {
                "code": {"s3": {"bucket": "missing-entry", "prefix": "code.zip"}},
                "runtime": "PYTHON_3_11",
                "entryPoint": ["agent.py"],
            }
        },
        roleArn="arn:aws:iam::123456789012:role/loom",
        networkConfiguration={"networkMode": "PUBLIC"},
    )
    while (runtime := control.get_agent_runtime(agentRuntimeId=created["agentRuntimeId"]))["status"] == "CREATING":
        time.sleep(0.01)
    boto = client(bench, "bedrock-agentcore")
    with pytest.raises(ClientError) as caught:
        boto.invoke_agent_runtime(agentRuntimeArn=created["agentRuntimeArn"], payload=b"{}")
    for aws_client in (s3, control, boto):
        aws_client.close()
    if runtime["status"] == "CREATE_FAILED":
        assert "agent.py" in runtime["failureReason"]
    assert "agent.py" in caught.value.response["Error"]["Message"]
