"""Members of the previous release by their old names; they work for one release, with a `DeprecationWarning`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

AGENT_MEMBERS: Final[Mapping[str, str]] = {
    "sessions": "history.sessions",
    "runtime_id": "entry.runtime_id",
    "qualifiers": "entry.qualifiers",
    "scope": "context.where",
    "store": "context.store",
    "approve": "approvals.approve",
    "reject": "approvals.reject",
    "capture": "evals.capture",
    "capture_into": "evals.capture_into",
    "conversation": "history.conversation",
    "invocation": "history.get",
    "invocations": "history.table",
    "last_invocation": "history.last",
    "traces": "telemetry.traces",
    "queries": "telemetry.queries",
    "lives": "telemetry.processes",
    "overview": "telemetry.overview",
    "logs": "telemetry.logs",
    "labels": "context.labels",
    "sample_prompt": "targets.sample_prompt",
    "eval_target": "targets.eval_target",
    "study_target": "targets.study_target",
    "way_caller": "targets.way_caller",
    "a2a": "protocols.a2a",
    "agui": "protocols.agui",
    "mcp": "protocols.mcp",
    "messages": "protocols.messages",
    "websocket": "protocols.websocket",
    "removal_plan": "releases.removal_plan",
    "tags": "releases.tags",
}
"""New paths of an agent's members."""

AGENT_REPLACEMENTS: Final[Mapping[str, str]] = {
    "bench": "Workbench(agent.context)",
    "aevaluate": "loom.aevaluate(agent, …)",
    "with_bearer": "agent.at(bearer=…)",
}
"""What replaces members of an agent that have no new path on it; `former_names` implements them."""

WORKBENCH_MEMBERS: Final[Mapping[str, str]] = {
    "catalog": "context.catalog",
    "region": "clients.region",
    "metrics": "telemetry",
    "account_id": "clients.account_id",
    "add_alert": "alerts.add",
    "alert_history": "alerts.history",
    "check_alerts": "alerts.check",
    "remove_alert": "alerts.remove",
    "catch_up": "telemetry.catch_up",
    "overview": "telemetry.overview",
    "read_figures": "telemetry.figures",
    "session_count": "telemetry.session_count",
    "collect_cases": "evals.collect",
    "eval_run": "evals.run",
    "eval_runs": "evals.runs",
    "eval_sets": "evals.sets",
    "create_memory": "memories.create",
    "delete_memory": "memories.delete",
    "memory": "memories.get",
    "find_traces": "telemetry.find_traces",
    "prices": "telemetry.prices",
    "rules": "telemetry.rules",
    "browser": "tools.browser",
    "code_interpreter": "tools.code_interpreter",
    "a2a": "tools.a2a",
    "check_snapshot": "tools.check_snapshot",
    "mcp": "tools.mcp",
    "triggers": "tools.triggers",
    "labels": "context.labels",
    "settings": "context.settings",
    "store": "context.store",
}
"""New paths of a workbench's members."""

INVOCATION_MEMBERS: Final[Mapping[str, str]] = {
    "layers": "telemetry.layers",
    "logs": "telemetry.logs",
    "memories_used": "telemetry.memories_used",
    "agui": "protocols.agui",
    "views": "protocols.views",
    "captured": "evals.conversation",
    "as_case": "evals.case",
}
"""New paths of an invocation's members."""
