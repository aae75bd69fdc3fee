"""One service for all attacks: a user with secrets, a neighbour that is called meanwhile, and the attacking runtime.

The neighbour is another runtime: sessions of one version that are restored from its snapshot can signal each other.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sysconfig
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from attack import CANARY, Attack, Outcome
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from hostile_agent import HOSTILE_AGENT
from urllib3.exceptions import HTTPError

import loomlib as loom
from loomlib import local
from loomlib.local.sandbox.isolation import choose

PLATFORMS = {"attacker": "V2", "attacker_alone": "V2", "attacker_v1": "V1", "neighbour": "V2"}
LIMITS = "memory=400m,processes=64,storage=40m,answer=5m,open_files=256"
ANSWER_WITHIN_S = 12.0
"""The service's time for an agent to begin an answer, and between two pieces of it.

An attack imports boto3, or fills memory or storage, which takes seconds while other tests run.
"""


class Battlefield:
    """The service under attack, its neighbour's latencies, and the figures that attacks name."""

    sibling = "another-session-of-the-attacking-version"

    def __init__(self, state: local.ServiceState, arns: dict[str, str], figures: dict[str, str]) -> None:
        self.state, self.figures = state, figures
        self.arn, self.neighbour, self.attacker_v1 = arns["attacker"], arns["neighbour"], arns["attacker_v1"]
        self._alone = arns["attacker_alone"]
        self.quiet_s: list[float] = []
        self.busy_s: list[float] = []
        self.is_heavy = threading.Event()
        """Set while attacks on the service run; calls of the neighbour that begin then count as busy ones."""
        self.failures: list[str] = []
        self._stop = threading.Event()
        self.data = self._client("bedrock-agentcore")

    def _client(self, name: str) -> Any:
        return boto3.client(
            name,
            endpoint_url=self.state.url,
            region_name=self.state.region,
            aws_access_key_id=self.state.access_key,
            aws_secret_access_key=self.state.secret_key,
            config=Config(retries={"total_max_attempts": 1}, read_timeout=120, max_pool_connections=16),
        )

    def log_of(self, arn: str) -> list[str]:
        """Return the lines in the log of a runtime."""
        group = f"/aws/bedrock-agentcore/runtimes/{arn.rpartition('/')[2]}-DEFAULT"
        with contextlib.closing(self._client("logs")) as logs:
            return [event["message"] for event in logs.filter_log_events(logGroupName=group)["events"]]

    def call(self, code: str, session: str, arn: str = "") -> Outcome:
        """Run code in a session as a client does; the runtime is the attacker's unless another ARN is given."""
        for name, value in self.figures.items():
            code = code.replace(name, value)
        try:
            answer = self.data.invoke_agent_runtime(
                agentRuntimeArn=arn or self.arn, payload=json.dumps({"code": code}).encode(), runtimeSessionId=session
            )
            with answer["response"] as body:
                text = body.read().decode("utf-8", "replace")
        except (ClientError, BotoCoreError, HTTPError) as error:
            return Outcome(error=f"{type(error).__name__}: {error}")
        with contextlib.suppress(ValueError):
            value = json.loads(text)
            text = value if isinstance(value, str) else json.dumps(value)
        return Outcome(text=text)

    def run(self, attack: Attack, session: str = "", arn: str = "") -> Outcome:
        """Run an attack, in a session of its own unless one is given."""
        own = not session
        session = session or f"attack-{uuid.uuid4()}"
        arn = arn or (self._alone if attack.own_runtime else self.arn)
        outcome = self.call(attack.code, session, arn)
        print(f"{attack.name}: {outcome.error or outcome.text}"[:500])
        if own:
            self.stop_session(session, arn)
        return outcome

    def stop_session(self, session: str, arn: str = "") -> None:
        with contextlib.suppress(ClientError):  # it may have ended already
            self.data.stop_runtime_session(
                agentRuntimeArn=arn or self.arn, runtimeSessionId=session, qualifier="DEFAULT"
            )

    def call_neighbour(self, durations: list[float]) -> None:
        begun = time.monotonic()
        outcome = self.call("result = 'fine'", NEIGHBOUR, self.neighbour)
        durations.append(time.monotonic() - begun)
        if outcome.text != "fine":
            self.failures.append(outcome.error or outcome.text)

    def watch_neighbour(self) -> None:
        while not self._stop.wait(0.05):
            self.call_neighbour(self.busy_s if self.is_heavy.is_set() else [])

    def close(self) -> None:
        self._stop.set()
        self.data.close()


NEIGHBOUR = "neighbour-" * 4


def _shout(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(f"{CANARY} of a port".encode())


@pytest.fixture(scope="session")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Battlefield]:
    if choose().level != "bubblewrap":
        pytest.skip(f"attacks need the boundary: {choose().sentence}")
    folder = tmp_path_factory.mktemp("attacks")
    user, home, name = folder / "user", folder / "home", f"loom-test-{uuid.uuid4()}"
    for secret in (user / ".aws" / "credentials", user / ".ssh" / "id_ed25519"):
        secret.parent.mkdir(parents=True)
        secret.write_text(f"[default]\naws_secret_access_key = {CANARY} of a file\n")
    code = folder / "attacker"
    code.mkdir()
    (code / "agent.py").write_text(HOSTILE_AGENT)
    port = socket.create_server(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0{name}")
    abstract.listen()
    for listener in (port, abstract):
        threading.Thread(target=_shout, args=(listener,), daemon=True).start()
    options = local.ServiceOptions(limits=LIMITS, invoke_timeout_s=ANSWER_WITHIN_S)
    with contextlib.ExitStack() as closing:
        closing.callback(port.close)
        closing.callback(abstract.close)
        with pytest.MonkeyPatch.context() as patch:  # other files' tests in this process keep their own variables
            patch.delenv("LOOM_SERVICE_TEMPLATE")  # its environment shall be the one that a user's service has
            patch.setenv("HOME", str(user))
            patch.setenv("AWS_SECRET_ACCESS_KEY", f"{CANARY} of the environment")
            patch.setenv("LOOM_MODEL_API_KEY", f"{CANARY} of the model")
            state, _ = local.start(home, options, persistent=True)
            closing.callback(local.stop, home)
            with loom.connect(home=str(home)) as bench:
                arns = {
                    name: bench.deploy(code / "agent.py", name=name, platform_version=platform).arn
                    for name, platform in PLATFORMS.items()
                }
        site = sysconfig.get_paths()["purelib"]
        deployed = next((home / "runtimes").glob("attacker-*/*/code"))
        figures = {"HOME": str(user), "SERVICE": str(home), "PID": str(state.pid), "PORT": str(port.getsockname()[1])}
        figures |= {"NAME": name, "SITE": site, "CODE": str(deployed), "KEY": state.access_key}
        battlefield = Battlefield(state, arns, figures)
        closing.callback(battlefield.close)
        note = "import os; open('note', 'w').write('canary of a neighbour'); result = os.path.abspath('note')"
        figures["OTHER"] = battlefield.call(note, battlefield.sibling).text
        for _ in range(60):
            battlefield.call_neighbour(battlefield.quiet_s)
        watching = threading.Thread(target=battlefield.watch_neighbour, daemon=True)
        watching.start()
        yield battlefield
        battlefield.close()
        watching.join()


@pytest.fixture(scope="session")
def outcomes(field: Battlefield, request: pytest.FixtureRequest) -> dict[str, Outcome]:
    """The outcomes of the selected attacks on the service, three of which run at a time."""
    attacks: dict[str, Attack] = {}
    for item in request.session.items:
        values: dict[str, Any] = (
            item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        )
        if isinstance(values.get("disturbance"), Attack):
            attacks[values["disturbance"].name] = values["disturbance"]
    field.is_heavy.set()
    with ThreadPoolExecutor(3) as pool:
        outcomes_by_name = dict(zip(attacks, pool.map(field.run, attacks.values()), strict=True))
    field.is_heavy.clear()
    return outcomes_by_name
