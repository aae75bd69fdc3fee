"""The OpenTelemetry variables of a session's process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from ..contract import RuntimeVersion

SPANS = "LOOM_SPANS"
"""Settings for the bootstrap's own export of spans; it removes the variable before the agent runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtlpTarget:
    """The local service's OTLP receiver: `url` is the part before `/v1/traces`."""

    url: str
    access_key: str = field(repr=False)


def otel_environment(
    target: OtlpTarget | None, runtime: RuntimeVersion, *, qualifier: str, session_id: str, stream: str
) -> dict[str, str]:
    """Return the variables for one process; none without a target.

    The `OTEL_` variables are for the agent's own exporters, and are left out if the runtime's variables send telemetry
    elsewhere. Loom's own exporter uses `LOOM_SPANS`, so spans always reach the local service, unless tracing is turned
    off. OTEL_PROPAGATORS stays unset: OpenTelemetry's default is W3C's, and AWS's `xray` needs a package without which
    OpenTelemetry would fail to import.

    Args:
        target: The local receiver.
        runtime: The version, with its own variables.
        qualifier: The endpoint's name.
        session_id: The runtime session id.
        stream: The uuid in the name of the process's log stream.
    """
    if target is None:
        return {}
    resource = {
        "service.name": f"{runtime.runtime_id.rpartition('-')[0] or runtime.runtime_id}.{qualifier}",
        "cloud.provider": "aws",
        "cloud.platform": "aws_bedrock_agentcore",
        "cloud.resource_id": f"{runtime.arn}/runtime-endpoint/{qualifier}:{qualifier}",
        "aws.log.group.names": f"/aws/bedrock-agentcore/runtimes/{runtime.runtime_id}-{qualifier}",
    }
    headers = {
        "Authorization": f"Bearer {target.access_key}",
        "x-loom-stream": stream,
        "x-loom-session": session_id,
        "x-aws-log-group": resource["aws.log.group.names"],
    }
    variables = {"AGENT_OBSERVABILITY_ENABLED": "true", "OTEL_RESOURCE_ATTRIBUTES": _list(resource)}
    if not any(name.startswith("OTEL_EXPORTER_OTLP_") for name in runtime.environment):
        variables |= _exporter_variables(target.url, headers)
    if not _is_off(runtime.environment):
        resource_attributes = {**resource, **_pairs(runtime.environment.get("OTEL_RESOURCE_ATTRIBUTES", ""))}
        if runtime.environment.get("OTEL_SERVICE_NAME"):
            resource_attributes["service.name"] = runtime.environment["OTEL_SERVICE_NAME"]
        sdk = {"telemetry.sdk.language": "python", "telemetry.sdk.name": "opentelemetry"}
        settings = {
            "url": target.url,
            "headers": headers,
            "session_id": session_id,
            "resource": {**sdk, "service.instance.id": stream, **resource_attributes},
            "adot": asks_for_adot(runtime),
            "metrics": runtime.environment.get("OTEL_METRICS_EXPORTER", "").strip().lower() != "none",
        }
        variables[SPANS] = json.dumps(settings)
    return variables


def _exporter_variables(url: str, headers: Mapping[str, str]) -> dict[str, str]:
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_HEADERS": _list(headers),
    }
    for signal in ("traces", "metrics", "logs"):
        variables[f"OTEL_{signal.upper()}_EXPORTER"] = "otlp"
        # Named one by one, because AWS's distribution would fill in its own endpoints for those that are not.
        variables[f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"] = f"{url}/v1/{signal}"
    return variables


def asks_for_adot(runtime: RuntimeVersion) -> bool:
    """Return whether the package requests to be started with AWS's OpenTelemetry distribution (ADOT)."""
    return runtime.entry_point[:-1] == ("opentelemetry-instrument",)


def _is_off(environment: Mapping[str, str]) -> bool:
    off = {
        "OTEL_SDK_DISABLED": "true",
        "OTEL_TRACES_EXPORTER": "none",
        "AGENT_OBSERVABILITY_ENABLED": "false",
    }
    return any(environment.get(name, "").strip().lower() == value for name, value in off.items())


def _pairs(text: str) -> dict[str, str]:
    """Parse OTEL_RESOURCE_ATTRIBUTES as OpenTelemetry does, ignoring items that are not pairs."""
    parts = [part.partition("=") for part in text.split(",") if "=" in part]
    return {name.strip(): unquote(value.strip()) for name, _, value in parts}


def _list(pairs: Mapping[str, str]) -> str:
    return ",".join(f"{name}={quote(value, safe='/:.-_')}" for name, value in pairs.items())
