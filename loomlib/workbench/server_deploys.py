"""Deploying one agent behind a server of each protocol."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..agents.protocols.ways import SERVERS
from .agent import Agent
from .bench import Workbench


def deploy_servers(
    bench: Workbench,
    source: str | Path = "calculator_protocols",
    *,
    name: str = "calculator",
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> Mapping[str, Agent]:
    """Deploy an agent behind every server of `loom.ProtocolStudy` at once; its variable SERVER selects the server.

        agents = deploy_servers(bench)
        loom.ProtocolStudy(agents).run()

    Args:
        bench: The workbench.
        source: A blueprint's name, or the path of an `agent.py` or of its folder.
        name: Prefix of the runtimes' names: `calculator_http`, `calculator_mcp_stateful`, ….
        environment: Environment variables of the agents, in addition to SERVER.
        **options: Other options of `Workbench.deploy`.

    Returns:
        The agents by server.
    """
    options.setdefault("progress", _silent)  # lines of several deployments would mix

    def deploy(server: str, protocol: str) -> Agent:
        return bench.deploy(
            source,
            name=f"{name}_{server.lower().replace('-', '').replace(' ', '_')}",
            protocol=protocol,
            environment={**(environment or {}), "SERVER": server},
            **options,
        )

    with ThreadPoolExecutor(max_workers=len(SERVERS)) as pool:
        agents = {server: pool.submit(deploy, server, protocol) for server, (protocol, _) in SERVERS.items()}
        return {server: agent.result() for server, agent in agents.items()}


def _silent(_line: str) -> None:
    """Drop a line of progress."""
