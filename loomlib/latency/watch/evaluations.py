"""The stored evaluation runs of an agent as nights: pass rates, scores, failures and costs by eval set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import TYPE_CHECKING, Any

from loomlib.experiments import StudyConditions

from .nights import ANSWERS, ANSWERS_COST, Group, Mean, Night

if TYPE_CHECKING:
    from loomlib.store import EvalRunRow, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvaluations:
    """The stored evaluations of an endpoint.

    Attributes:
        nights: One night per run, oldest first.
        unfinished: Number of runs that are not complete; they are left out.
        reused: Number of runs that reused answers of earlier runs and measured nothing new; they are left out.
    """

    nights: tuple[Night, ...]
    unfinished: int = 0
    reused: int = 0


def read_evaluations(
    store: Store, *, scope: str, arn: str, qualifier: str, since: datetime, allow_overload: bool = False
) -> StoredEvaluations:
    """Read the evaluation runs of an endpoint of an agent.

    Args:
        store: The store.
        scope: The environment: "local" or "aws".
        arn: The runtime's ARN.
        qualifier: The endpoint.
        since: Runs before this moment are not read.
        allow_overload: Whether evaluators of durations count also when an overloaded machine disturbed the run.
    """
    nights: list[Night] = []
    unfinished = reused = 0
    for run in reversed(store.eval_runs.list(agent_arn=arn, limit=None)):
        version, endpoint = _served(run, arn)
        if run.created_at < since or run.scope not in (scope, None) or endpoint != qualifier:
            continue
        if run.state != "complete":
            unfinished += 1
            continue
        results = store.eval_answers.results(run.id)
        if not results:
            continue
        if any(result.is_reused for result in results):
            reused += 1
            continue
        nights.append(_night(store, run, version, answers=len(results), allow_overload=allow_overload))
    return StoredEvaluations(nights=tuple(nights), unfinished=unfinished, reused=reused)


def _served(run: EvalRunRow, arn: str) -> tuple[str, str]:
    """Return the version and the endpoint of a run's target, which its key names; "" where the key is empty."""
    match = re.match(rf"{re.escape(arn)} version (?P<version>\S*) (?P<endpoint>\S+)", run.target_key)
    return (match["version"], match["endpoint"]) if match else ("", "")


def _night(store: Store, run: EvalRunRow, version: str, *, answers: int, allow_overload: bool) -> Night:
    name = str(run.design.get("set_name") or run.set_digest[:12])
    is_disturbed = StudyConditions.read(run.summary.get("machine")).is_disturbed and not allow_overload
    timed = run.summary.get("timed") or () if is_disturbed else ()
    digests: dict[str, str] = {}
    for evaluator, _, digest in run.design.get("evaluators", ()):
        digests[evaluator] = " ".join(filter(None, (digests.get(evaluator), digest)))
    common = {"eval set": run.set_digest, "number of repeats": str(run.repeats)}
    whole = (ANSWERS, name, "")
    conditions: dict[Group, dict[str, str]] = {whole: common}
    figures = store.eval_answers.figures_of_run(run.id)
    means: dict[tuple[Group, str], Mean] = {(whole, "failures"): Mean(value=1 - len(figures) / answers, n=answers)}
    costs = [cost for *_, cost in figures if cost is not None]
    if costs and len(costs) == len(figures):  # with a part of the answers, each night would have another mix of cases
        group = (ANSWERS_COST, name, "")
        conditions[group] = common
        means[group, "cost"] = Mean(value=fmean(costs), n=len(costs))
    for one in run.summary.get("evaluators", ()):
        evaluator = str(one["evaluator"])
        if evaluator not in timed:
            group = (ANSWERS, name, evaluator)
            conditions[group] = {**common, "evaluator": digests.get(evaluator, "")}
            means |= _means(group, one)
    facts = {"version": version, "labels": " · ".join(run.labels)}
    return Night(
        at=run.created_at,
        study_ids=(run.id,),
        facts={key: value for key, value in facts.items() if value},
        conditions=conditions,
        means=means,
    )


def _means(group: Group, summary: Mapping[str, Any]) -> dict[tuple[Group, str], Mean]:
    means: dict[tuple[Group, str], Mean] = {}
    for metric, name in (("pass_rate", "pass_rate"), ("score", "mean")):
        estimate = summary[name]
        if estimate.get("value") is not None:
            means[group, metric] = Mean(value=float(estimate["value"]), n=int(summary["scored"]))
    return means
