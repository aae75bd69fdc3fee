"""Eval sets, runs, answers by content, and scores."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "eval_sets",
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("case_count", sa.Integer, nullable=False),
        sa.Column("details", sa.Text),
        sa.Column("cases", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_eval_sets"),
    )
    op.create_table(
        "eval_runs",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("set_digest", sa.Text, nullable=False),
        sa.Column("target_name", sa.Text, nullable=False),
        sa.Column("target_key", sa.Text, nullable=False),
        sa.Column("scope", sa.Text),
        sa.Column("agent_arn", sa.Text),
        sa.Column("repeats", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("labels", sa.Text),
        sa.Column("design", sa.Text),
        sa.Column("summary", sa.Text),
        sa.Column("lease_token", sa.Text),
        sa.Column("lease_host", sa.Text),
        sa.Column("lease_pid", sa.Integer),
        sa.Column("lease_born", sa.Text),
        sa.Column("lease_until", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_eval_runs"),
        sa.ForeignKeyConstraint(["set_digest"], ["eval_sets.digest"], name="fk_eval_runs_set_digest"),
    )
    op.create_index("ix_eval_runs_created_at", "eval_runs", ["created_at"])
    op.create_index("ix_eval_runs_agent_arn", "eval_runs", ["agent_arn"])
    op.create_table(
        "eval_answers",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("key", sa.Text),
        sa.Column("is_failure", sa.Boolean, nullable=False),
        sa.Column("duration_ms", sa.Double),
        sa.Column("ttft_ms", sa.Double),
        sa.Column("input_tokens", sa.BigInteger),
        sa.Column("output_tokens", sa.BigInteger),
        sa.Column("tool_calls", sa.Integer),
        sa.Column("cost", sa.Double),
        sa.Column("trace_id", sa.Text),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_eval_answers"),
        sa.UniqueConstraint("key", name="uq_eval_answers_key"),
    )
    op.create_table(
        "eval_results",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("answer_id", sa.Integer, nullable=False),
        sa.Column("is_reused", sa.Boolean, nullable=False),
        sa.Column("judge_failures", sa.Text),
        sa.PrimaryKeyConstraint("run_id", "repeat", "place", name="pk_eval_results"),
        sa.ForeignKeyConstraint(["run_id"], ["eval_runs.id"], name="fk_eval_results_run_id"),
        sa.ForeignKeyConstraint(["answer_id"], ["eval_answers.id"], name="fk_eval_results_answer_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_eval_results_answer_id", "eval_results", ["answer_id"])
    op.create_table(
        "eval_scores",
        sa.Column("answer_id", sa.Integer, nullable=False),
        sa.Column("case_digest", sa.Text, nullable=False),
        sa.Column("evaluator_digest", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("value", sa.Double),
        sa.Column("passed", sa.Boolean),
        sa.Column("part", sa.Text),
        sa.Column("labels", sa.Text),
        sa.Column("said", sa.Text),
        sa.PrimaryKeyConstraint("answer_id", "case_digest", "evaluator_digest", "position", name="pk_eval_scores"),
        sa.ForeignKeyConstraint(["answer_id"], ["eval_answers.id"], name="fk_eval_scores_answer_id"),
        sqlite_with_rowid=False,
    )
