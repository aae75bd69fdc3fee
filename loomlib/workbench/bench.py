"""The workbench: what `connect()` opens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from ..agents import RuntimeArn
from ..aws import Clients
from ..aws.authorizers import JwtAuthorizer
from ..closing import Closing
from ..deprecation import renamed_members, renamed_parameter, warn_renamed
from ..errors import AgentNotFoundError, NotSupportedError
from ..plugins import find_plugins
from .agent import Agent
from .bench_alerts import BenchAlerts
from .bench_bedrock import BenchBedrock
from .bench_evals import BenchEvals
from .bench_gateways import BenchGateways
from .bench_groups import BenchGroups, choose_agents
from .bench_identity import BenchIdentity
from .bench_memories import Memories
from .bench_telemetry import BenchTelemetry
from .bench_tools import BenchTools
from .blueprints import find_blueprint, list_blueprints
from .cards import workbench_card
from .context import Context
from .frames import agent_frame, blueprint_frame, study_frame
from .renamed import WORKBENCH_MEMBERS

if TYPE_CHECKING:
    import pandas as pd

    from .agent_plan import AgentPlan
    from .deploy_options import DeployOptions
    from .memory import Memory
    from .plugin_view import PluginView


class Workbench(Closing):
    """A store, a catalog of agents and a connection to one AgentCore; returned by `connect()`.

    Close it with `close()` or use it in `with`. A workbench holds nothing but its context, so
    `Workbench(agent.context)` is the workbench of an agent.

    Args:
        context: The open resources.
    """

    def __init__(self, context: Context) -> None:
        self.context = context

    @property
    def where(self) -> str:
        """The environment: "local" or "aws"."""
        return self.context.where

    @property
    def clients(self) -> Clients:
        """The connection to AWS or the local AgentCore."""
        return self.context.clients

    @property
    def alerts(self) -> BenchAlerts:
        """Alert rules: add, remove, check, history."""
        return BenchAlerts(self.context)

    @property
    def bedrock(self) -> BenchBedrock:
        """Bedrock's own services around an agent: guardrails, knowledge bases, and Bedrock Agents."""
        return BenchBedrock(self.context)

    @property
    def groups(self) -> BenchGroups:
        """Groups of agents, and the catalog as a file."""
        return BenchGroups(self.context)

    @property
    def evals(self) -> BenchEvals:
        """Eval sets, stored runs, and cases collected from invocations."""
        return BenchEvals(self.context)

    @property
    def identity(self) -> BenchIdentity:
        """Tokens of the local issuer, for runtimes with a JWT authorizer, and credential providers of agents."""
        return BenchIdentity(self.context)

    @property
    def gateways(self) -> BenchGateways:
        """The account's gateways: list, get, create, delete, and their tools."""
        return BenchGateways(self.context)

    @property
    def memories(self) -> Memories:
        """The account's memories: list, get, create, delete."""
        return Memories(self.context)

    @property
    def tools(self) -> BenchTools:
        """Tools around agents: AgentCore's own, Lambda functions, MCP servers, triggers, the snapshot check."""
        return BenchTools(self.context)

    @property
    def telemetry(self) -> BenchTelemetry:
        """Overview of the agents, lookups that complete it, traces, diagnosis rules and prices."""
        return BenchTelemetry(self.context)

    def environment(self) -> dict[str, str]:
        """Return the variables that point other AWS clients to the same AgentCore; empty on AWS.

        They are the variables of `loom up --export`: boto3, AgentCore's SDK and clients with hard-coded AWS addresses
        reach the local AgentCore without changes. A proxy that this process already uses is kept.

        Examples:
            >>> os.environ.update(bench.environment())
            >>> boto3.client("bedrock-agentcore")
        """
        return dict(self.context.environment.environment())

    def agents(
        self, *, group: str | None = None, tags: Mapping[str, str] | None = None, refresh: bool = False
    ) -> pd.DataFrame:
        """Return the catalog, newest first, one row per agent.

            bench.agents(group="team-a", tags={"stage": "prod"})

        Args:
            group: Only the agents of this group (`bench.groups.add`).
            tags: Only agents that have all of these tags.
            refresh: Read each agent's current state and tags from the service first.

        Raises:
            LoomError: There is no such group.
        """
        return agent_frame(choose_agents(self.context, group=group, tags=tags or {}, refresh=refresh))

    def agent(self, key: str, *, deploy: bool = False) -> Agent:
        """Return the agent with that name, runtime id or ARN.

        Args:
            key: The name, runtime id or ARN.
            deploy: When the catalog has no such agent, deploy the blueprint of that name, or register the ARN.

        Raises:
            AgentNotFoundError: The catalog does not have the agent; the message lists those it has.
        """
        return find_or_deploy(self, key)[0] if deploy else Agent(self.context.catalog.get(key), self.context)

    def bedrock_agents(self, *, region: str | None = None) -> pd.DataFrame:
        """Return the inventory of the account's Bedrock agents ("Classic"): what can be kept on AgentCore.

        Nothing is written to AWS. `bench.bedrock.agents.get(name).features()` has the reasons.

        Args:
            region: The AWS region; the connection's by default.

        Returns:
            One row per agent: name, id, status, the version that was read (that of the most recently changed alias),
            aliases, model, number of collaborators, last update, and a column for each of eleven features with "kept",
            "approximated", "lost", "needs you" or "unused". An agent that cannot be read has a `problem` instead.
        """
        from .agent_inventory import inventory_frame, read_inventory

        return inventory_frame(read_inventory(self.context, region=region))

    def register(self, arn: str) -> Agent:
        """Add a deployed runtime to the catalog, with its description and endpoints.

        Examples:
            >>> agent = bench.register("arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/name-AbC123dEf4")

        Raises:
            InvalidArnError: The ARN is not that of a runtime.
            NotSupportedError: The workbench is local and the ARN names another account or region.
            AwsError: The runtime cannot be described.
        """
        runtime = RuntimeArn.parse(arn)
        if self.where == "local":
            self._check_local(runtime)
        return Agent(self.context.catalog.register(runtime), self.context)

    def _check_local(self, runtime: RuntimeArn) -> None:
        if (runtime.account_id, runtime.region) == (self.clients.account_id(), self.clients.region):
            return
        raise NotSupportedError(
            f"This is the local AgentCore, which has no runtimes of account {runtime.account_id} in {runtime.region}",
            on=str(runtime),
            try_=f'connect to AWS to register that ARN: loom.connect("aws", region="{runtime.region}").register(…)',
        )

    @renamed_parameter("what", "source")
    def deploy(
        self,
        source: str | Path,
        *,
        name: str | None = None,
        environment: Mapping[str, str] | None = None,
        memory: Memory | str | None = None,
        platform_version: str | None = None,
        warmup: str | None = None,
        idle_timeout_s: int | None = None,
        max_lifetime_s: int | None = None,
        protocol: str | None = None,
        storage: str | None = None,
        authorizer: JwtAuthorizer | Literal["local"] | None = None,
        role: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Agent:
        """Deploy an agent and wait until it is READY: `plan(…).apply()`.

        An existing runtime with that name gets a new version, unless nothing has changed. Settings in a
        `loom-agent.toml` beside the code apply unless they are overridden here.

            agent = bench.deploy("calculator")
            agent = bench.deploy("my_agent/agent.py", environment={"MODEL_ID": "…"})
            agent = bench.deploy("assistant_with_memory", memory=bench.memories.create("assistant"))
            agent = bench.deploy("my_agent", warmup="/warmup")

        Args:
            source: A blueprint's name, or the path of an `agent.py`, which is deployed alone, or of its folder.
            name: The runtime's name; derived from `source` by default.
            environment: Environment variables of the agent's processes. Loom neither shows nor stores them.
            memory: A memory, its name, id or ARN, passed to the agent as LOOM_MEMORY_ID.
            platform_version: "V1" boots each session; "V2" restores it from a snapshot of the version, so that all
                sessions share everything that the agent created at startup. AgentCore's default is V2.
            warmup: Path that is called once, with an empty POST, before the snapshot is taken (V2 only);
                ":9001/warmup" uses another port of the agent.
            idle_timeout_s: Seconds after which an idle session ends, at least 60; by default 900.
            max_lifetime_s: Seconds after which a session ends in any case; by default 28,800.
            protocol: Protocol of the agent's server: "HTTP", "MCP", "A2A" or "AGUI"; by default the blueprint's, else
                AgentCore's, which is HTTP.
            storage: Folder below /mnt that is preserved when a session is stopped, such as "/mnt/data".
            authorizer: The authorizer whose bearer tokens are accepted instead of signed requests; "local" for the
                issuer of `bench.identity.token`.
            role: ARN of the role that the agent runs as, or "own" for a role that Loom creates with only the
                permissions that the agent uses. "own" is the default on AWS, and if a `loom-agent.toml` names resources
                or secrets. The default role of the local AgentCore may use everything there.
            progress: Called with a line at each step; displayed in the notebook by default.

        Raises:
            LoomError: There is nothing to deploy under that name or path, or a step failed; its changes are undone.
        """
        plan = self.plan(
            source,
            name=name,
            environment=environment,
            memory=memory,
            platform_version=platform_version,
            warmup=warmup,
            idle_timeout_s=idle_timeout_s,
            max_lifetime_s=max_lifetime_s,
            protocol=protocol,
            storage=storage,
            authorizer=authorizer,
            role=role,
            progress=progress,
        )
        return plan.apply(progress=progress)

    def plan(self, source: str | Path, **options: Unpack[DeployOptions]) -> AgentPlan:
        """Return what deploying an agent would create, change and cost; nothing is created before its `apply()`.

            plan = bench.plan("my_agent")
            agent = plan.apply()

        Args:
            source: A blueprint's name, or the path of an `agent.py`, which is deployed alone, or of its folder.
            **options: As in `deploy`, and `assumptions` (`loomlib.deploy.costs.UseAssumptions`) about the agent's use,
                for the cost estimate.

        Raises:
            LoomError: There is nothing to deploy under that name or path, or its `loom-agent.toml` is invalid.
        """
        from .planning import plan_agent

        return plan_agent(self.context, source, options)

    def panel(self, name: str, **options: Any) -> Any:
        """Return a panel of a plugin; loom-widgets provides build, test, operate, evaluate, memory and tools.

            bench.panel("test")

        Args:
            name: The panel's name.
            **options: Its own options.
        """
        return self.context.plugins.get("panels", name, bench=self, **options)

    def plugins(self) -> PluginView:
        """Return the installed plugins and Loom's built-in ones; for a broken one, the error and the fix."""
        from .plugin_view import PluginView

        return PluginView(find_plugins().check().merge_problems(self.context.plugins).lines())

    def blueprints(self) -> pd.DataFrame:
        """Return the templates that `deploy` accepts by name; variants have planted faults for exercises."""
        return blueprint_frame(list_blueprints())

    def studies(self) -> pd.DataFrame:
        """Return the stored latency and memory studies, newest first."""
        return study_frame(self.context.store.studies.list(limit=None))

    def close(self) -> None:
        """Finish pending writes and close all connections; stop a local service that only this process used."""
        self.context.close()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "find_or_deploy":
                warn_renamed("Workbench.find_or_deploy", "loomlib.workbench.find_or_deploy(bench, …)")
                return partial(find_or_deploy, self)
            if name == "ensure_agent":
                warn_renamed("Workbench.ensure_agent", "bench.agent(…, deploy=True)")
                return partial(self.agent, deploy=True)
            return renamed_members(self, WORKBENCH_MEMBERS, name)

    def __repr__(self) -> str:
        return f"<Workbench: {' · '.join(self.context.labels) or 'AWS'}, {self.context.store.url}>"

    def _repr_html_(self) -> str:
        return workbench_card(self.context)


def find_or_deploy(bench: Workbench, key: str) -> tuple[Agent, bool]:
    """Return the agent, deployed or registered if it is not in the catalog, and whether it had to be deployed.

    Args:
        bench: The workbench.
        key: The agent's name, runtime id or ARN, or a blueprint's name.
    """
    with contextlib.suppress(AgentNotFoundError):
        agent = bench.agent(key).refresh()
        if not agent.entry.is_deleted:
            return agent, False
    if key.startswith("arn:"):
        return bench.register(key), False
    if find_blueprint(key) is None:
        return bench.agent(key), False  # raises, listing the agents
    return bench.deploy(key), True
