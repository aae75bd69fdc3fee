"""A local AgentCore in a temporary home with the benchmark's agents deployed, used as any AWS client would."""

from __future__ import annotations

import io
import json
import time
import uuid
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import psutil

from loomlib import local
from loomlib.agents.arn import RuntimeArn
from loomlib.agents.entry import AgentEntry
from loomlib.aws import Clients, Connection
from loomlib.aws.authorizers import JwtAuthorizer
from loomlib.aws.signing import SignedRequest, sign_invocation

from .agents import AGENTS


def new_session() -> str:
    return f"benchmark-{uuid.uuid4()}"


class Laboratory:
    """The service, its clients and the deployed agents' ARNs."""

    def __init__(self, folder: Path, options: local.ServiceOptions | None = None) -> None:
        self.folder = folder
        self.home = folder / "home"
        # Without isolation, because agents that are started by hand have none either.
        self.state, _ = local.start(self.home, options or local.ServiceOptions(sandbox="off"), persistent=True)
        self.clients = Clients(Connection(region=self.state.region, environment=self.state.environment()))
        self.clients.s3().create_bucket(Bucket="benchmarks")
        self.arns = {name: self._deploy(name, code) for name, code in AGENTS.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        local.stop(self.home)

    def entry(self, name: str, id: int) -> AgentEntry:
        """The agent as a catalog would know it, under the store's `id`."""
        arn = RuntimeArn.parse(self.arns[name])
        return AgentEntry(id=id, arn=arn, name=name, status="READY", registered_at=datetime.now(UTC))

    def signed(self, name: str, session_id: str, payload: dict[str, Any], bearer: str | None = None) -> SignedRequest:
        """An invocation, ready to be sent: signed, or with a token."""
        return sign_invocation(
            self.clients,
            arn=self.arns[name],
            region=self.state.region,
            qualifier="DEFAULT",
            session_id=session_id,
            body=json.dumps(payload).encode(),
            bearer=bearer,
        )

    def session_process(self, session_id: str) -> psutil.Process:
        """The process of a live session."""
        (session,) = [session for session in local.status(self.home).sessions if session.session_id == session_id]
        return psutil.Process(session.pid)

    def session_port(self, session_id: str) -> int:
        """Where the session's process listens."""
        connections = self.session_process(session_id).net_connections(kind="tcp")
        return next(connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN)

    def end_session(self, name: str, session_id: str) -> None:
        self.clients.data().stop_runtime_session(
            agentRuntimeArn=self.arns[name], runtimeSessionId=session_id, qualifier="DEFAULT"
        )

    def deploy(self, name: str, code: str, **environment: str) -> None:
        """One more agent, with variables of its own."""
        self.arns[name] = self._deploy(name, code, environment)

    def deploy_protected(self, name: str, code: str) -> None:
        """One more agent, which only tokens of the local issuer may call."""
        authorizer = JwtAuthorizer(discovery_url=local.issuer_address(self.state), clients=[local.DEFAULT_CLIENT])
        self.arns[name] = self._deploy(name, code, authorizerConfiguration=authorizer.configuration())

    def _deploy(self, name: str, code: str, environment: Mapping[str, str] | None = None, **more: Any) -> str:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("agent.py", code)
        self.clients.s3().put_object(Bucket="benchmarks", Key=f"{name}.zip", Body=packed.getvalue())
        place = {"bucket": "benchmarks", "prefix": f"{name}.zip"}
        control = self.clients.control()
        response = control.create_agent_runtime(
            agentRuntimeName=f"bench_{name}",
            agentRuntimeArtifact={
                "codeConfiguration": {"code": {"s3": place}, "runtime": "PYTHON_3_11", "entryPoint": ["agent.py"]}
            },
            roleArn="arn:aws:iam::123456789012:role/loom",
            networkConfiguration={"networkMode": "PUBLIC"},
            environmentVariables=dict(environment or {}),
            **more,
        )
        while (runtime := control.get_agent_runtime(agentRuntimeId=response["agentRuntimeId"]))["status"] == "CREATING":
            time.sleep(0.01)
        if runtime["status"] != "READY":
            raise RuntimeError(f"{name} could not be deployed: {runtime}")
        return str(response["agentRuntimeArn"])
