"""The workbench: what `connect()` opens, and where the rooms are wired together."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from math import inf
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from ..agents import AgentEntry, Catalog, InvocationRecord, Invoker, record_from_row
from ..aws import Clients
from ..aws.deploy import deploy_package
from ..aws.packages import make_package, runtime_name
from ..aws.runtimes import delete_runtime, stop_session
from ..errors import AgentNotFoundError
from ..settings import Settings
from ..store import InvocationRow, Store
from ..telemetry import AgentStart, LogReader, find_agent_start
from .agent import Agent
from .bench_alerts import BenchAlerts
from .bench_memory import BenchMemory
from .blueprints import find_blueprint, find_code, list_blueprints
from .cards import card
from .environment import Environment
from .frames import agent_frame, blueprint_frame, eval_run_frame, eval_set_frame, study_frame
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd

    from ..evals import EvalSet
    from ..evals.capture import Collection
    from ..evals.runs import EvalRun
    from .memory import Memory
    from .plugin_view import PluginView


class Workbench(BenchAlerts, BenchMemory):
    """A store, a catalog and a connection to one AgentCore; made by `connect()`, closed by `close()` or `with`."""

    def __init__(self, *, where: str, settings: Settings, store: Store, clients: Clients, house: Environment) -> None:
        self.where, self.settings, self.store, self.clients = where, settings, store, clients
        self._house = house
        self.labels = house.labels()
        self.catalog = Catalog(store, clients, scope=where)
        self.invoker = Invoker(store, clients, read_timeout_s=settings.read_timeout_s)
        self.log_reader = LogReader(clients)

    @property
    def region(self) -> str:
        """The connection's AWS region."""
        return self.clients.region

    def account_id(self, *, anew: bool = False) -> str:
        """The AWS account that the credentials belong to; `anew` asks AWS again, and so tells whether it answers."""
        return self.clients.account_id(anew=anew)

    def environment(self) -> dict[str, str]:
        """The variables that point other AWS clients at the same place (empty on AWS, where the usual ones do).

        os.environ.update(bench.environment()); boto3.client("bedrock-agentcore")
        """
        return dict(self._house.environment())

    def agents(self, *, refresh: bool = False) -> pd.DataFrame:
        """The catalog, newest first; `refresh` asks the service about each one before."""
        entries = self.catalog.list()
        if refresh:
            entries = [self.catalog.refresh(entry) for entry in entries]
        return agent_frame(entries)

    def agent(self, key: str) -> Agent:
        """The agent of that name, runtime id or ARN; raises `AgentNotFoundError` naming what there is."""
        return Agent(self.catalog.get(key), self)

    def register(self, arn: str) -> Agent:
        """Add a deployed runtime to the catalog: describes it and its endpoints.

        agent = bench.register("arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/name-AbC123dEf4")
        """
        return Agent(self.catalog.register(arn), self)

    def deploy(
        self,
        what: str | Path,
        *,
        name: str | None = None,
        environment: Mapping[str, str] | None = None,
        memory: Memory | str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Agent:
        """Deploy a blueprint, or the `agent.py` or folder at a path, and wait until it is READY.

        A runtime of that name gets a new version. `environment` are variables of the agent's processes; they are never
        shown or stored by Loom. `memory` (or its name, id or ARN) is told to the agent as LOOM_MEMORY_ID.
        Raises `LoomError` when there is nothing to deploy, `NotSupportedError` on AWS.

            agent = bench.deploy("calculator")
            agent = bench.deploy("my_agent/agent.py", environment={"MODEL_ID": "…"})
            agent = bench.deploy("assistant_with_memory", memory=bench.create_memory("assistant"))
        """
        self._house.check_deploy(str(what))
        blueprint = find_blueprint(what) if isinstance(what, str) else None
        code = blueprint.folder if blueprint else find_code(what)
        own = code.stem if code.name not in ("agent.py", "main.py") else code.absolute().parent.name
        package = make_package(code)
        named = name or runtime_name(blueprint.name if blueprint else own)
        if memory is not None:
            environment = {**self.memory_variables(memory, named), **(environment or {})}
        told = progress or WaitLine()
        runtime = deploy_package(self.clients, named, package, environment=environment, progress=told)
        return Agent(self.catalog.add(runtime), self)

    def ensure_agent(self, key: str) -> Agent:
        """The agent called `key`; when there is none, the blueprint of that name is deployed or the ARN registered."""
        return self.find_or_deploy(key)[0]

    def find_or_deploy(self, key: str) -> tuple[Agent, bool]:
        """`ensure_agent`, and whether it had to be deployed."""
        with contextlib.suppress(AgentNotFoundError):
            agent = self.agent(key).refresh()
            if not agent.entry.is_deleted:
                return agent, False
        if key.startswith("arn:"):
            return self.register(key), False
        if find_blueprint(key) is None:
            return self.agent(key), False  # raises, naming what there is
        return self.deploy(key), True

    def session_count(self) -> int | None:
        """How many runtime sessions are alive; None where AgentCore does not tell (on AWS)."""
        return self._house.session_count()

    def panel(self, name: str, **options: Any) -> Any:
        """The panel of that name, from a plugin (loom-widgets gives build, test, operate, evaluate and memory).

        bench.panel("test")
        """
        return self._plugins.get("panels", name, bench=self, **options)

    def plugins(self) -> PluginView:
        """What is plugged in, Loom's own parts among it; of a broken plugin the error and the mend."""
        from ..plugins import find_plugins
        from .plugin_view import PluginView

        return PluginView(find_plugins().check().knowing(self._plugins).lines())

    def blueprints(self) -> pd.DataFrame:
        """The templates that `deploy` knows by name; variants are spoiled copies for evaluation exercises."""
        return blueprint_frame(list_blueprints())

    def eval_sets(self) -> pd.DataFrame:
        """The eval sets that ship with Loom; `EvalSet.read` takes their names."""
        from ..evals import shipped_sets

        return eval_set_frame(shipped_sets().values())

    def studies(self) -> pd.DataFrame:
        """The stored studies, of latency and of recall, newest first."""
        return study_frame(self.store.studies.list())

    def eval_runs(self) -> pd.DataFrame:
        """The stored evaluations, newest first."""
        return eval_run_frame(self.store.eval_runs.list(), self.store.eval_runs.counts())

    def eval_run(self, id: str) -> EvalRun:
        """The stored evaluation of that id."""
        from ..evals.runs import EvalRun

        return EvalRun.load(self.store, id)

    def collect_cases(
        self,
        evalset: EvalSet,
        *agents: str,
        since: datetime | timedelta | None = None,
        by_session: bool = True,
        **options: Any,
    ) -> Collection:
        """What these agents (all, when none is named) were asked since then, as cases: failures and some successes.

        The options are those of `loomlib.evals.capture.collect_cases`: `failures`, `successes`, `seed`, `evaluators` …

            bench.collect_cases(evalset, "calculator", since=timedelta(days=1)).evalset.write("set.json")
        """
        from .capturing import collect

        return collect(self, evalset, agents, since=since, by_session=by_session, **options)

    def find_start(self, record: InvocationRecord, *, progress: Callable[[str], None] | None = None) -> AgentStart:
        """When the agent began with an invocation, by its logs; stored once found (see `Invocation.latency`)."""
        attempts = self.settings.log_poll_attempts
        # The settings' figures are for CloudWatch; a house that knows better waits less, never longer.
        interval_s = min(self._house.poll_interval_s(attempts) or inf, self.settings.log_poll_interval_s)

        told = progress or WaitLine()

        def looked(look: int, looks: int, lines: int) -> None:
            told(f"looked {look} of {looks} times for the start line · {lines} log lines so far")

        return find_agent_start(
            self.store,
            self.log_reader,
            self.catalog.get(record.agent_arn).arn,
            record.id,
            attempts=attempts,
            interval_s=interval_s,
            progress=looked,
        )

    def record_of(self, row: InvocationRow) -> InvocationRecord:
        """The record that a stored row means."""
        return record_from_row(row)

    def stored_invocation(self, record: InvocationRecord) -> InvocationRecord:
        """The record as it is stored now (the one given when it is not stored)."""
        row = self.store.invocations.get(record.id)
        return record if row is None else record_from_row(row)

    def stop_session(self, entry: AgentEntry, session_id: str, *, qualifier: str) -> bool:
        """End a runtime session; False when it was gone already."""
        return stop_session(self.clients, str(entry.arn), session_id, qualifier=qualifier, region=entry.region)

    def delete_runtime(self, entry: AgentEntry) -> None:
        """Delete the deployed runtime; one that is gone is no error."""
        delete_runtime(self.clients, entry.runtime_id, region=entry.region)

    async def is_alive(self, entry: AgentEntry) -> bool:
        """Whether the data plane takes connections, and (the local one) answers on them.

        The kernel takes connections for a process that is being killed until the very end, and then resets them.
        """
        address = urlsplit(await asyncio.to_thread(self.clients.data_endpoint, entry.region))
        port = address.port or (443 if address.scheme == "https" else 80)
        try:
            async with asyncio.timeout(10.0):
                reader, writer = await asyncio.open_connection(address.hostname, port)
                try:
                    if address.scheme != "http":
                        return True
                    writer.write(f"HEAD / HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
                    return bool(await reader.read(1))
                finally:
                    writer.close()
                    with contextlib.suppress(OSError):
                        await writer.wait_closed()
        except (OSError, TimeoutError):
            return False

    def close(self) -> None:
        """Store what is under way and let go; a local service that only this process used ends."""
        self.invoker.close()
        self.store.close()
        self.clients.close()
        self._house.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Workbench: {' · '.join(self.labels) or 'AWS'}, {self.store.url}>"

    def _repr_html_(self) -> str:
        entries = self.catalog.list()
        note = "" if entries else 'No agents yet. bench.deploy("calculator") gives you one in half a second.'
        return card(
            "Workbench",
            state=("good", "connected"),
            labels=self.labels or ("AWS",),
            facts=[
                ("agents", ", ".join(entry.name for entry in entries[:12]) or "none"),
                ("store", self.store.url),
                ("state folder", str(self.settings.home)),
            ],
            note=note,
        )
