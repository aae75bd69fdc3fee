"""The environment variables of a session's process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import quote

from ..contract import RuntimeVersion
from ..sandbox.variables import FOR_AGENTS

MARK = "LOOM_SESSION"
"""The variable that identifies a session's processes, whatever process group they are in."""

SERVER = "LOOM_SERVER"
"""The variable with the port and the path that the agent's server must have."""

NODE = "LOOM_NODE"
"""The variable with the Node.js that runs the agent, read by the bootstrap."""


def session_environment(
    runtime: RuntimeVersion,
    service: Mapping[str, str],
    user: Mapping[str, str],
    *,
    mark: str,
    telemetry: Mapping[str, str] | None = None,
    home: str = "",
) -> dict[str, str]:
    """Return the variables of one process; later sources take precedence.

    The user's AWS files are hidden unless the runtime's variables name them: an agent that uses a boto3 profile must
    not reach AWS unnoticed.

    Args:
        runtime: The version, with its own variables; its ARN gives the region.
        service: Variables that point AWS SDKs at the local service.
        user: The user's variables, of which an allow-list is passed on.
        mark: The session's mark.
        telemetry: Variables for OpenTelemetry exporters.
        home: The home folder in the sandbox, where the session also has its own /tmp; empty without a sandbox.
    """
    environment = {name: value for name, value in user.items() if name in FOR_AGENTS or name.startswith("LC_")}
    if home:
        environment["HOME"] = home
        for name in ("TMPDIR", "TEMP", "TMP"):
            environment.pop(name, None)
    environment["AWS_CONFIG_FILE"] = environment["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    environment["TZ"] = "UTC"
    environment["PYTHONUNBUFFERED"] = "1"
    environment.update(service)
    if region := (runtime.arn.split(":") + [""] * 4)[3]:
        environment["AWS_REGION"] = environment["AWS_DEFAULT_REGION"] = region
    if endpoint := environment.get("AWS_ENDPOINT_URL"):
        # The address at which callers reach the agent; A2A servers write it into their agent card.
        environment["AGENTCORE_RUNTIME_URL"] = f"{endpoint}/runtimes/{quote(runtime.arn, safe='')}/invocations/"
    environment.update(telemetry or {})
    environment.update(runtime.environment)
    path = [str(folder) for folder in runtime.search_path]
    if runtime.environment.get("PYTHONPATH"):
        path.append(runtime.environment["PYTHONPATH"])
    if path:
        environment["PYTHONPATH"] = os.pathsep.join(path)
    else:
        environment.pop("PYTHONPATH", None)
    environment[MARK] = mark
    if runtime.node is not None:
        environment[NODE] = str(runtime.node)
    environment[SERVER] = f"{runtime.protocol} {runtime.port} {runtime.path}"
    return environment
