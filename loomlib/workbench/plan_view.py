"""A plan of a deployment as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from markupsafe import Markup

from ..aws.runtime_requests import SettingChange
from ..deploy.steps import DeployPlan, PlanStep
from ..presentation.formats import day
from ..presentation.html import card, table
from ..telemetry.cost import Amount

_SIGNS: Final = {"create": "+", "change": "~", "keep": "="}


def plan_sentence(plan: DeployPlan) -> str:
    """Return a summary of a plan in one sentence."""
    counts = plan.counts()
    place = "the local AgentCore" if plan.where == "local" else f"AWS, account {plan.account_id} in {plan.region}"
    if plan.is_empty:
        return f"{plan.agent} on {place} matches its description: nothing to do"
    return f"{plan.agent} on {place}: create {counts['create']}, change {counts['change']}, keep {counts['keep']}"


def plan_text(plan: DeployPlan) -> str:
    """Return a plan as lines of text."""
    return "\n".join(_lines(plan))


def plan_html(plan: DeployPlan, labels: Sequence[str]) -> str:
    """Return a plan as HTML.

    Args:
        plan: The plan.
        labels: Provenance labels of the workbench.
    """
    steps = [(step.action, step.kind, step.name, step.note) for step in plan.steps]
    changes = [
        (f"{step.kind} {change.setting}", change.before or "–", change.after or "–")
        for step in plan.steps
        for change in step.changes
    ]
    costs = [
        (item.what, _amount(item.amount), item.assumption, day(item.as_of) if item.as_of else "")
        for item in plan.cost.items
    ]
    parts = [table(("action", "resource", "name", "note"), steps)]
    if changes:
        parts.append(table(("setting", "now", "then"), changes, caption="What changes"))
    if plan.policy and plan.policy.unresolved:
        needs = [(item.place, item.what, item.try_) for item in plan.policy.unresolved]
        parts.append(table(("where", "unknown", "what to do"), needs, caption="Permissions to decide on"))
    parts.append(table(("item", "per month", "assumption", "price as of"), costs, caption=_cost_line(plan)))
    return card(
        plan.agent,
        state=("good", "nothing to do") if plan.is_empty else ("wait", "plan"),
        labels=labels or ("AWS",),
        note=" ".join((plan_sentence(plan) + ".", *plan.notes)),
        body=Markup("").join(parts),
    )


def _lines(plan: DeployPlan) -> Iterator[str]:
    yield plan_sentence(plan)
    for step in plan.steps:
        yield from _step_lines(step)
    yield _cost_line(plan)
    for item in plan.cost.items:
        yield f"    {item.what}: {_amount(item.amount)} ({item.assumption})"
    for item in plan.policy.unresolved if plan.policy else ():
        yield f"  ! {item.place}: {item.what}. Try: {item.try_}"
    yield from plan.notes


def _step_lines(step: PlanStep) -> Iterator[str]:
    note = f" ({step.note})" if step.note else ""
    yield f"  {_SIGNS[step.action]} {step.action:<6} {step.kind} {step.name}{note}"
    for change in step.changes:
        yield f"      {_change(change)}"


def _change(change: SettingChange) -> str:
    if not change.before:
        return f"{change.setting}: {change.after}"
    return f"{change.setting}: {change.before} → {change.after or 'removed'}"


def _cost_line(plan: DeployPlan) -> str:
    if plan.where == "local":
        return f"Free on the local AgentCore; on AWS, with the assumed use, a month costs {_amount(plan.cost.total)}:"
    return f"With the assumed use, a month costs {_amount(plan.cost.total)}:"


def _amount(amount: Amount) -> str:
    """Return an amount without "estimated", which is stated once above."""
    return str(replace(amount, is_estimate=False))
