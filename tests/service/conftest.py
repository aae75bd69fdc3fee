"""A running local AgentCore, real boto3 clients, and agents to deploy."""

from __future__ import annotations

import contextlib
import io
import itertools
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ParamValidationError
from echo_agent import ECHO_AGENT, SDK_ECHO_AGENT
from loom_command import LoomCommand
from tenant_roles import Tenant
from waiting import wait_until

from loomlib import local
from loomlib.errors import LoomError


class Aws:
    """boto3 clients of one service, and the steps that most tests begin with."""

    def __init__(self, state: local.ServiceState) -> None:
        self.state = state
        self._clients: dict[str, Any] = {}
        self._numbers = itertools.count(1)

    def client(self, name: str, **config: Any) -> Any:
        key = name + repr(config)
        if key not in self._clients:
            self._clients[key] = boto3.client(
                name,
                endpoint_url=self.state.url,
                region_name=self.state.region,
                aws_access_key_id=self.state.access_key,
                aws_secret_access_key=self.state.secret_key,
                config=Config(**({"retries": {"total_max_attempts": 1}} | config)),
            )
        return self._clients[key]

    @property
    def control(self) -> Any:
        return self.client("bedrock-agentcore-control")

    @property
    def data(self) -> Any:
        return self.client("bedrock-agentcore")

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def upload(self, files: Mapping[str, str | bytes]) -> dict[str, Any]:
        """Zip `files` to S3; the artifact that CreateAgentRuntime takes."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return self.upload_bytes(packed.getvalue())

    def upload_bytes(self, content: bytes, entry_point: str = "agent.py") -> dict[str, Any]:
        s3 = self.client("s3")
        with contextlib.suppress(s3.exceptions.BucketAlreadyOwnedByYou):
            s3.create_bucket(Bucket="loom-code")
        key = f"packages/{next(self._numbers)}.zip"
        s3.put_object(Bucket="loom-code", Key=key, Body=content)
        place = {"bucket": "loom-code", "prefix": key}
        return {
            "codeConfiguration": {"code": {"s3": place}, "runtime": "PYTHON_3_11", "entryPoint": [entry_point]},
        }

    def create(self, name: str, artifact: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return self.control.create_agent_runtime(
            agentRuntimeName=name,
            agentRuntimeArtifact=artifact,
            roleArn="arn:aws:iam::123456789012:role/loom",
            networkConfiguration={"networkMode": "PUBLIC"},
            **more,
        )

    def settled(self, runtime_id: str) -> dict[str, Any]:
        """The runtime's description once it is READY or has failed."""

        def settled() -> dict[str, Any] | None:
            description = self.control.get_agent_runtime(agentRuntimeId=runtime_id)
            return None if description["status"] in ("CREATING", "UPDATING") else description

        runtime = wait_until(settled, what=f"the creation of {runtime_id}", pause_s=0.01)
        assert runtime is not None
        return runtime

    def deploy(self, name: str, code: str = ECHO_AGENT, **more: Any) -> dict[str, Any]:
        """A READY runtime running `code`."""
        runtime = self.settled(self.create(name, self.upload({"agent.py": code}), **more)["agentRuntimeId"])
        assert runtime["status"] == "READY", runtime
        return runtime

    def invoke(self, arn: str, payload: bytes = b'{"prompt": "hi"}', **more: Any) -> tuple[dict[str, Any], bytes]:
        answer = self.data.invoke_agent_runtime(agentRuntimeArn=arn, payload=payload, **more)
        with answer["response"] as body:
            return answer, body.read()


@pytest.fixture(scope="module", autouse=True)
def sessions_of_one_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """End the sessions that a file of tests leaves in shared services, which would hold memory for 15 idle minutes."""
    yield
    base = tmp_path_factory.getbasetemp()
    for file in [*base.glob("*/service.json"), *base.glob("*/*/service.json")]:
        with contextlib.suppress(LoomError, OSError):
            status = local.status(file.parent)
            arns = {runtime.runtime_id: runtime.arn for runtime in status.runtimes}
            if not status.sessions:
                continue
            with contextlib.closing(Aws(status.state)) as aws, ThreadPoolExecutor(4) as pool:
                for session in status.sessions:
                    pool.submit(_end_session, aws, arns.get(session.runtime_id, ""), session)


def _end_session(aws: Aws, arn: str, session: local.SessionInfo) -> None:
    try:
        aws.data.stop_runtime_session(
            agentRuntimeArn=arn, runtimeSessionId=session.session_id, qualifier=session.qualifier
        )
    except (ClientError, ParamValidationError):  # only who has a token may stop it, or its runtime is being deleted
        with contextlib.suppress(ClientError):
            aws.control.delete_agent_runtime(agentRuntimeId=session.runtime_id)


@pytest.fixture(scope="session")
def loom_command() -> Iterator[LoomCommand]:
    """`loom`, called again and again at the price of one import."""
    with contextlib.closing(LoomCommand()) as command:
        yield command


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[local.ServiceState]:
    home = tmp_path_factory.mktemp("home")
    shared = str(tmp_path_factory.getbasetemp())  # tests direct their agents by files
    state, _ = local.start(home, local.ServiceOptions(sandbox_write=(shared,)), persistent=True)
    yield state
    local.stop(home)


@pytest.fixture(scope="session")
def aws(service: local.ServiceState) -> Iterator[Aws]:
    with contextlib.closing(Aws(service)) as clients:
        yield clients


@pytest.fixture(scope="session")
def echo(aws: Aws) -> dict[str, Any]:
    """A READY runtime that answers what it was asked, served by the SDK."""
    return aws.deploy("echo", SDK_ECHO_AGENT)


@contextlib.contextmanager
def starting(first_home: Path) -> Iterator[Callable[..., Aws]]:
    """Starts services, in `first_home` unless told otherwise, and ends them."""
    services: list[Aws] = []

    def start(home: Path = first_home, *, persistent: bool = True, **options: Any) -> Aws:
        state, _ = local.start(home, local.ServiceOptions(**options), persistent=persistent)
        services.append(Aws(state))
        return services[-1]

    yield start
    for clients in services:
        clients.close()
        local.stop(clients.state.home)


@pytest.fixture(scope="module")
def a(aws: Aws) -> Iterator[Tenant]:
    """A caller of the tenant `a`, whose role allows everything."""
    with contextlib.closing(Tenant(aws, "a")) as tenant:
        yield tenant


@pytest.fixture(scope="module")
def b(aws: Aws) -> Iterator[Tenant]:
    """A caller of the tenant `b`, whose role allows everything."""
    with contextlib.closing(Tenant(aws, "b")) as tenant:
        yield tenant


@pytest.fixture(scope="module")
def nobody(aws: Aws) -> Iterator[Tenant]:
    """A caller without a tenant, whose role allows everything."""
    with contextlib.closing(Tenant(aws, "")) as tenant:
        yield tenant


@pytest.fixture
def start_service(tmp_path: Path) -> Iterator[Callable[..., Aws]]:
    """Starts services of a test's own."""
    with starting(tmp_path / "home") as start:
        yield start


@pytest.fixture(scope="module")
def service_with(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Aws]]:
    """Returns the service with these options that a file's tests share; each test names its own runtimes and groups.

    It is started when the first test asks for it.
    """
    services: dict[str, Aws] = {}
    with starting(tmp_path_factory.getbasetemp()) as start:

        def find(**options: Any) -> Aws:
            key = repr(sorted(options.items()))
            if key not in services:
                services[key] = start(tmp_path_factory.mktemp("shared") / "home", **options)
            return services[key]

        yield find
