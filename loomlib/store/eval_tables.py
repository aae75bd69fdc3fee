"""Tables of evaluations: eval sets, answers, scores, and runs with their results.

Answers and scores are addressed by content and belong to no run: the results of a run point to them, and other runs
reuse them.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from .columns import AgentText, CompressedTexts, JsonText, UtcDateTime, tenant_column, user_column
from .tables import metadata

eval_sets = Table(
    "eval_sets",
    metadata,
    Column("digest", Text, nullable=False),
    Column("name", AgentText, nullable=False),
    Column("version", AgentText, nullable=False),
    Column("description", AgentText),
    Column("case_count", Integer, nullable=False),
    Column("details", JsonText),
    # Compression level 1: a set of 100,000 cases takes a third of the time and is a fifth larger than at level 6.
    Column("cases", CompressedTexts(1), nullable=False),
    tenant_column(),
    PrimaryKeyConstraint("digest", "tenant"),
)

eval_runs = Table(
    "eval_runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", AgentText),
    Column("set_digest", Text, nullable=False),
    Column("target_name", AgentText, nullable=False),
    Column("target_key", AgentText, nullable=False),
    Column("scope", Text),
    Column("agent_arn", Text),
    Column("repeats", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", AgentText),
    Column("created_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Column("labels", JsonText),
    Column("design", JsonText),
    Column("summary", JsonText),
    Column("lease_token", Text),
    Column("lease_host", Text),
    Column("lease_pid", Integer),
    Column("lease_born", Text),
    Column("lease_until", UtcDateTime),
    tenant_column(),
    user_column(),
    ForeignKeyConstraint(["set_digest", "tenant"], ["eval_sets.digest", "eval_sets.tenant"]),
    Index(None, "created_at"),
    Index(None, "agent_arn"),
)

eval_answers = Table(
    "eval_answers",
    metadata,
    # Assigned consecutively by the writer, so that answers of one run lie together on disk.
    Column("id", Integer, primary_key=True, autoincrement=False),
    # The content key; NULL for answers that only their own run may use, such as failures.
    Column("key", Text),
    Column("is_failure", Boolean, nullable=False),
    Column("duration_ms", Double),
    Column("ttft_ms", Double),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("tool_calls", Integer),
    Column("cost", Double),
    Column("trace_id", Text),
    tenant_column(),
    # ASCII JSON, which preserves NUL and lone surrogates.
    Column("body", Text, nullable=False),
    UniqueConstraint("tenant", "key"),
)

eval_results = Table(
    "eval_results",
    metadata,
    Column("run_id", Text, ForeignKey("eval_runs.id"), nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("place", Integer, nullable=False),
    Column("answer_id", Integer, ForeignKey("eval_answers.id"), nullable=False),
    Column("is_reused", Boolean, nullable=False),
    # Judges that failed in this run: evaluator's name → kind, message, attempts.
    Column("judge_failures", Text),
    tenant_column(),
    PrimaryKeyConstraint("run_id", "repeat", "place"),
    Index(None, "answer_id"),
    sqlite_with_rowid=False,
)

eval_scores = Table(
    "eval_scores",
    metadata,
    Column("answer_id", Integer, ForeignKey("eval_answers.id"), nullable=False),
    Column("case_digest", Text, nullable=False),
    Column("evaluator_digest", Text, nullable=False),
    Column("position", Integer, nullable=False),
    # NULL: the evaluator does not apply to the case.
    Column("value", Double),
    Column("passed", Boolean),
    Column("part", Text),
    Column("labels", Text),
    # Rationale, details, tokens and cost as ASCII JSON; NULL where there are none.
    Column("said", Text),
    tenant_column(),
    PrimaryKeyConstraint("answer_id", "case_digest", "evaluator_digest", "position"),
    sqlite_with_rowid=False,
)
