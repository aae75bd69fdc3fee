"""Stored rows and log events as DataFrames: timezone-aware timestamps, units in the column names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..agents import AgentEntry
from ..aws.bedrock_agent_memory import AgentMemorySummary
from ..aws.bedrock_agent_traces import AgentStep
from ..aws.bedrock_agents import BedrockAgent
from ..aws.browsers import BrowserResource
from ..aws.credential_providers import CredentialProvider
from ..aws.functions import LambdaFunction
from ..aws.gateway_rules import GatewayRule
from ..aws.gateways import Gateway, GatewayTarget
from ..aws.guardrails import Guardrail, GuardrailMatch
from ..aws.knowledge_bases import KnowledgeBase, Passage
from ..aws.web_search import WebResult
from ..evals import EvalSet
from ..store import EvalRunRow, FoundCall, InvocationRow, SessionRow, StudyRow
from ..telemetry import LogEvent
from .blueprints import Blueprint

if TYPE_CHECKING:
    import pandas as pd

    from ..imports.bedrock_agents import ImportedAgent

_AGENTS = (
    "name", "status", "runtime_id", "region", "qualifiers", "tags", "registered_at", "last_refreshed_at", "arn",
)  # fmt: skip
_LOGS = ("timestamp", "level", "message", "session_id", "request_id", "stream")
_SESSIONS = ("session_id", "qualifier", "invocations", "failed", "first_call", "last_done", "cold_start_ms")
_INVOCATIONS = (
    "id", "started_at", "session_id", "qualifier", "status", "failure", "duration_ms", "ttft_ms", "cold_start_ms",
    "prompt", "response", "labels",
)  # fmt: skip
_FOUND_CALLS = (
    "invocation_id", "agent", "started_at", "status", "failure", "duration_ms", "session_id", "trace_id",
    "trace_state", "spans",
)  # fmt: skip
_STUDIES = ("id", "agent", "state", "created_at", "finished_at", "labels")
_EVAL_RUNS = ("id", "name", "set", "target", "state", "reason", "results", "created_at", "finished_at", "labels")
_EVAL_SETS = ("name", "cases", "multi-turn", "blueprint", "tags", "description")
_PROVIDERS = ("name", "kind", "vendor", "created_at", "updated_at", "arn")
_GATEWAYS = ("name", "status", "authorizer", "search", "url", "created_at", "arn")
_BROWSERS = ("name", "status", "description", "created_at", "id", "arn")
_FUNCTIONS = ("name", "status", "runtime", "handler", "description", "updated_at", "arn")
_TARGETS = ("name", "kind", "status", "reason", "updated_at", "id")
_WEB_RESULTS = ("title", "url", "text", "published_at")
_RULES = ("priority", "paths", "principals", "targets", "bundles", "status", "description", "created_at", "id")
_GUARDRAILS = ("name", "status", "policies", "description", "updated_at", "arn")
_GUARDRAIL_MATCHES = ("policy", "kind", "match", "action", "confidence", "score", "threshold")
_KNOWLEDGE_BASES = ("name", "status", "description", "updated_at", "id", "arn")
_BEDROCK_AGENTS = ("name", "status", "latest_version", "description", "updated_at", "id")
_FEATURES = ("agent", "feature", "state", "reason")
_AGENT_MEMORY = ("session_id", "started_at", "expires_at", "text")
_AGENT_STEPS = ("kind", "name", "agent", "input", "output", "duration_ms", "input_tokens", "output_tokens")
_PASSAGES = ("score", "text", "source", "metadata")
_BLUEPRINTS = ("name", "title", "description", "variant of", "try")


def agent_frame(entries: Iterable[AgentEntry]) -> pd.DataFrame:
    """Return the catalog, one row per agent."""
    return _frame(
        _AGENTS,
        (
            (
                e.name,
                e.status,
                e.runtime_id,
                e.region,
                ", ".join(e.qualifiers),
                ", ".join(f"{name}={value}" for name, value in e.own_tags.items()),
                e.registered_at,
                e.last_refreshed_at,
                str(e.arn),
            )
            for e in entries
        ),
    )


def gateway_frame(gateways: Iterable[Gateway]) -> pd.DataFrame:
    """Return gateways, one row each."""
    return _frame(
        _GATEWAYS,
        (
            (item.name, item.status, item.authorizer, item.searches, item.url, item.created_at, item.arn)
            for item in gateways
        ),
    )


def browser_frame(browsers: Iterable[BrowserResource]) -> pd.DataFrame:
    """Return browsers, one row each."""
    return _frame(_BROWSERS, ((b.name, b.status, b.description, b.created_at, b.id, b.arn) for b in browsers))


def function_frame(functions: Iterable[LambdaFunction]) -> pd.DataFrame:
    """Return Lambda functions, one row each."""
    return _frame(
        _FUNCTIONS, ((f.name, f.status, f.runtime, f.handler, f.description, f.updated_at, f.arn) for f in functions)
    )


def target_frame(targets: Iterable[GatewayTarget]) -> pd.DataFrame:
    """Return the targets of a gateway, one row each."""
    return _frame(
        _TARGETS, ((item.name, item.kind, item.status, item.reason, item.updated_at, item.id) for item in targets)
    )


def rule_frame(rules: Iterable[GatewayRule]) -> pd.DataFrame:
    """Return the rules of a gateway, one row each."""
    return _frame(
        _RULES,
        (
            (
                rule.priority,
                list(rule.paths),
                list(rule.principals),
                dict(rule.targets),
                dict(rule.bundles),
                rule.status,
                rule.description,
                rule.created_at,
                rule.id,
            )
            for rule in rules
        ),
    )


def guardrail_frame(guardrails: Iterable[Guardrail]) -> pd.DataFrame:
    """Return guardrails, one row each."""
    return _frame(
        _GUARDRAILS,
        (
            (item.name, item.status, ", ".join(item.policies), item.description, item.updated_at, item.arn)
            for item in guardrails
        ),
    )


def guardrail_match_frame(matches: Iterable[GuardrailMatch]) -> pd.DataFrame:
    """Return the matches of a guardrail, one row each."""
    return _frame(
        _GUARDRAIL_MATCHES,
        (
            (item.policy, item.kind, item.match, item.action, item.confidence, item.score, item.threshold)
            for item in matches
        ),
    )


def knowledge_base_frame(bases: Iterable[KnowledgeBase]) -> pd.DataFrame:
    """Return knowledge bases, one row each."""
    return _frame(
        _KNOWLEDGE_BASES,
        ((item.name, item.status, item.description, item.updated_at, item.id, item.arn) for item in bases),
    )


def passage_frame(passages: Iterable[Passage]) -> pd.DataFrame:
    """Return passages of a knowledge base, one row each."""
    return _frame(_PASSAGES, ((item.score, item.text, item.source, item.metadata) for item in passages))


def web_result_frame(results: Iterable[WebResult]) -> pd.DataFrame:
    """Return results of a web search, one row each."""
    return _frame(_WEB_RESULTS, ((item.title, item.url, item.text, item.published_at) for item in results))


def bedrock_agent_frame(agents: Iterable[BedrockAgent]) -> pd.DataFrame:
    """Return agents of Bedrock Agents, one row each."""
    return _frame(
        _BEDROCK_AGENTS,
        ((item.name, item.status, item.latest_version, item.description, item.updated_at, item.id) for item in agents),
    )


def feature_frame(agents: Iterable[ImportedAgent]) -> pd.DataFrame:
    """Return what becomes of the features of Bedrock agents, one row for each feature of each agent."""
    from ..imports.bedrock_agents import assess_features

    return _frame(
        _FEATURES,
        ((agent.name, item.name, item.state, item.reason) for agent in agents for item in assess_features(agent)),
    )


def agent_step_frame(steps: Iterable[AgentStep]) -> pd.DataFrame:
    """Return the steps of a trace, one row each."""
    return _frame(_AGENT_STEPS, (tuple(getattr(step, name) for name in _AGENT_STEPS) for step in steps))


def agent_memory_frame(summaries: Iterable[AgentMemorySummary]) -> pd.DataFrame:
    """Return the summaries of an agent's memory, one row each."""
    return _frame(_AGENT_MEMORY, (tuple(getattr(summary, name) for name in _AGENT_MEMORY) for summary in summaries))


def provider_frame(providers: Iterable[CredentialProvider]) -> pd.DataFrame:
    """Return credential providers, one row each."""
    return _frame(
        _PROVIDERS,
        ((item.name, item.kind, item.vendor, item.created_at, item.updated_at, item.arn) for item in providers),
    )


def log_frame(events: Iterable[LogEvent]) -> pd.DataFrame:
    """Return log events, one row each, in the given order."""
    return _frame(
        _LOGS, ((e.timestamp, e.level or "", e.message, e.session_id, e.request_id, e.stream) for e in events)
    )


def session_frame(rows: Iterable[SessionRow]) -> pd.DataFrame:
    """Return sessions, one row each."""
    return _frame(
        _SESSIONS,
        (
            (
                r.session_id, r.qualifier, r.invocations, r.failed, _time(r.first_invoke_time), _time(r.last_done_time),
                r.cold_start_latency_ms,
            )
            for r in rows
        ),
    )  # fmt: skip


def found_call_frame(calls: Iterable[FoundCall]) -> pd.DataFrame:
    """Return invocations that a search found, one row each."""
    return _frame(
        _FOUND_CALLS,
        (
            (
                call.invocation_id, call.agent_name or call.agent_arn, _time(call.sent_s), call.status, call.failure,
                call.duration_ms, call.session_id, call.trace_id, call.trace_state, call.spans,
            )
            for call in calls
        ),
    )  # fmt: skip


def invocation_frame(rows: Iterable[InvocationRow]) -> pd.DataFrame:
    """Return stored invocations, one row each."""
    return _frame(
        _INVOCATIONS,
        (
            (
                r.id, _time(r.client_invoke_time), r.session_id, r.qualifier, r.status, r.failure, r.client_duration_ms,
                r.ttft_ms, r.cold_start_latency_ms, r.prompt, r.response, " · ".join(r.labels),
            )
            for r in rows
        ),
    )  # fmt: skip


def study_frame(rows: Iterable[StudyRow]) -> pd.DataFrame:
    """Return stored studies, one row each."""
    return _frame(
        _STUDIES,
        (
            (r.id, r.agent_arn.rpartition("/")[2], r.state, r.created_at, r.finished_at, " · ".join(r.labels))
            for r in rows
        ),
    )


def eval_run_frame(rows: Iterable[EvalRunRow], counts: Mapping[str, int]) -> pd.DataFrame:
    """Return stored runs, one row each; `results` counts the answered cases × repeats."""
    return _frame(
        _EVAL_RUNS,
        (
            (
                r.id, r.name or "", r.design.get("set_name", ""), r.target_name, r.state, r.reason or "",
                counts.get(r.id, 0), r.created_at, r.finished_at, " · ".join(r.labels),
            )
            for r in rows
        ),
    )  # fmt: skip


def eval_set_frame(evalsets: Iterable[EvalSet]) -> pd.DataFrame:
    """Return eval sets, one row each; "multi-turn" counts the cases with several turns."""
    return _frame(
        _EVAL_SETS,
        (
            (
                s.name, len(s), sum(len(case.turns) > 1 for case in s), s.metadata.get("blueprint", ""),
                ", ".join(sorted({tag for case in s for tag in case.tags})), s.description,
            )
            for s in evalsets
        ),
    )  # fmt: skip


def blueprint_frame(blueprints: Iterable[Blueprint]) -> pd.DataFrame:
    """Return blueprints, one row each."""
    return _frame(
        _BLUEPRINTS,
        ((b.name, b.title, b.description, b.variant_of, b.prompts[0] if b.prompts else "") for b in blueprints),
    )


def rows_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return rows as a DataFrame; `columns` are used if there are no rows."""
    from ..presentation.text_frame import TextFrame

    return TextFrame(list(rows)) if rows else TextFrame(columns=list(columns))


def _frame(columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> pd.DataFrame:
    from ..presentation.text_frame import TextFrame

    return TextFrame(list(rows), columns=list(columns))


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
