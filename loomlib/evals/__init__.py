"""Evaluation: eval sets, answers, evaluators and judges, runs, and comparisons one may act on.

    import loomlib as loom
    from loomlib.evals import EvalSet

    evalset = EvalSet.read("orders.evalset.json")             # ADK, strands_evals, AgentCore, JSONL, CSV, or Loom's own
    run = agent.evaluate(evalset, ["contains", "trajectory"], repeats=3)
    run                                                       # each evaluator with its interval; failures apart
    run.compare(baseline)                                     # paired by case: what flipped, and is it chance?

Which evaluator for what (all by name; options as in `"rouge1(threshold=0.8)"`):

| to find out | take | it needs |
|---|---|---|
| is the answer this text | `exact`, `normalized` (case, spaces and punctuation aside) | expected answers |
| does it say this | `contains`, `regex:pattern`, `numeric:0.01` (within a tolerance) | expected answers or options |
| is this JSON right, field by field | `json` | expected answers in JSON |
| how near is the wording, the meaning | `rouge1`, `rougeL`; `embedding` (vectors, offline) | expected answers |
| did it do the right things | `trajectory`, `trajectory:in_order`, `trajectory:any_order` | traces, expected tools |
| names only, or some arguments | `trajectory(arguments=False)`, `trajectory(arguments={'date': 'ignore'})` | the same |
| how far off was the path | `trajectory_edit`; `align` shows where the two part | the same |
| was this tool used, or a forbidden one | `tool_used:name`, `forbidden_tools` | traces |
| were steps or tokens wasted | `redundant_calls`, `efficiency` | traces, for `efficiency` a reference |
| which single call was wrong | `tool_calls` | traces |
| what did the session end with | `final_state` | agents that tell it |
| is it right, in whatever words | `judge:correctness` | a model, expected answers |
| does it meet these criteria | `rubric`, `judge:assertions` | a model, rubrics or assertions |
| is it of use; was the way sound | `judge:helpfulness`; `judge:trajectory` | a model; traces |
| what AWS says of it | `agentcore:Builtin.Correctness` and others | AgentCore |
| what another library says | `strands:Faithfulness`, `adk:hallucinations_v1` and others | a model |
| something of your own | a function `(answer_text, case)` that returns a bool, a float or a Score | |

Ask those that ask nobody first: they are exact, cost nothing and never change their mind. An answer can be right by
luck: beside `contains` stands `trajectory`. A judge is worth what `calibrate` says against people's labels, and what
`judge_variance` says of its own chance; `Panel` asks several, `PairwiseJudge` compares two answers in both orders.
Locally judges are a scripted model: everything that it says is labelled "simulated judge".

A failure to answer and a failure to judge are no low scores: they stand apart and are in no mean. `compare` is in
`loomlib.evals.compare` and is `run.compare`. Names of the list below are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from loomlib.deprecation import renamed_names
from loomlib.dispatch import register

from .values.answers import FAILURE_STAGES, CaseAnswer, CaseFailure, TurnAnswer
from .values.cases import EvalCase, EvaluatorChoice, Rubric, Turn, UserScenario
from .values.eval_set import EvalSet
from .values.evaluator import LEVELS, Evaluator, NotApplicable, Score, Verdict
from .values.outcomes import OUTCOME_STATES, Outcome
from .values.tool_use import ExpectedTool, ToolUse

if TYPE_CHECKING:
    from .autoresearch import Autoresearch, Journal, Proposal
    from .capture import collect_cases
    from .compare import (
        Comparison,
        GateVerdict,
        Leaderboard,
        Slices,
        Summary,
        compare_slices,
        exit_code,
        gate_at_least,
        gate_not_worse,
        leaderboard,
        slices,
        summarize,
    )
    from .formats import shipped_sets
    from .judges import (
        AgentCoreJudge,
        AssertionJudge,
        ConverseJudge,
        CorrectnessJudge,
        HelpfulnessJudge,
        JudgeFailedError,
        JudgePanel,
        PairwiseJudge,
        RankingJudge,
        RecordedJudge,
        RecordingJudge,
        RubricJudge,
        StrandsJudge,
        TrajectoryJudge,
        calibrate,
        judge_variance,
        panel_agreement,
    )
    from .matching.alignment import Alignment, align
    from .registry import evaluator_plugins, make_evaluator
    from .runs import Budget, CallableTarget, EvalRun, Target, aevaluate, arescore, evaluate, rescore
    from .trajectories import tools_of

_HOMES = {
    **dict.fromkeys(("Alignment", "align"), "matching.alignment"),
    **dict.fromkeys(("Autoresearch", "Journal", "Proposal"), "autoresearch"),
    "collect_cases": "capture",
    **dict.fromkeys(
        (
            "Comparison", "GateVerdict", "Leaderboard", "Slices", "Summary", "compare_slices", "exit_code",
            "gate_at_least", "gate_not_worse", "leaderboard", "slices", "summarize",
        ),
        "compare",
    ),
    **dict.fromkeys(
        (
            "AgentCoreJudge", "AssertionJudge", "ConverseJudge", "CorrectnessJudge", "HelpfulnessJudge",
            "JudgeFailedError", "JudgePanel", "PairwiseJudge", "RankingJudge", "RecordedJudge", "RecordingJudge",
            "RubricJudge", "StrandsJudge", "TrajectoryJudge", "calibrate", "judge_variance", "panel_agreement",
        ),
        "judges",
    ),
    **dict.fromkeys(("evaluator_plugins", "make_evaluator"), "registry"),
    **dict.fromkeys(
        ("Budget", "CallableTarget", "EvalRun", "Target", "aevaluate", "arescore", "evaluate", "rescore"), "runs"
    ),
    "shipped_sets": "formats",
    "tools_of": "trajectories",
}  # fmt: skip

# What values do through packages above them.
for _operation, _path in {
    "EvalSet.read": "formats:read",
    "EvalSet.write": "formats:write",
    "EvalSet.to_frame": "formats:to_frame",
    "EvalSet.from_frame": "formats:from_frame",
    "EvalSet.from_rows": "formats:from_rows",
    "EvalSet.capture": "capture:capture",
    "EvalSet.text": "views:set_text",
    "EvalSet.html": "views:set_html",
    "EvalRun.scores": "runs.frames:score_frame",
    "EvalRun.rows": "runs.frames:case_frame",
    "EvalRun.failures": "runs.frames:failure_frame",
    "EvalRun.compare": "views.evidence:compare_runs",
    "EvalRun.figures": "views:draw_run",
    "EvalRun.html": "views:run_html",
    "Comparison.figures": "views:draw_comparison",
    "Alignment.html": "views.alignment:alignment_html",
}.items():
    register(_operation, f"{__name__}.{_path}")

__all__ = [
    "FAILURE_STAGES",
    "LEVELS",
    "OUTCOME_STATES",
    "AgentCoreJudge",
    "Alignment",
    "AssertionJudge",
    "Autoresearch",
    "Budget",
    "CallableTarget",
    "CaseAnswer",
    "CaseFailure",
    "Comparison",
    "ConverseJudge",
    "CorrectnessJudge",
    "EvalCase",
    "EvalRun",
    "EvalSet",
    "Evaluator",
    "EvaluatorChoice",
    "ExpectedTool",
    "GateVerdict",
    "HelpfulnessJudge",
    "Journal",
    "JudgeFailedError",
    "JudgePanel",
    "Leaderboard",
    "NotApplicable",
    "Outcome",
    "PairwiseJudge",
    "Proposal",
    "RankingJudge",
    "RecordedJudge",
    "RecordingJudge",
    "Rubric",
    "RubricJudge",
    "Score",
    "Slices",
    "StrandsJudge",
    "Summary",
    "Target",
    "ToolUse",
    "TrajectoryJudge",
    "Turn",
    "TurnAnswer",
    "UserScenario",
    "Verdict",
    "aevaluate",
    "align",
    "arescore",
    "calibrate",
    "collect_cases",
    "compare_slices",
    "evaluate",
    "evaluator_plugins",
    "exit_code",
    "gate_at_least",
    "gate_not_worse",
    "judge_variance",
    "leaderboard",
    "make_evaluator",
    "panel_agreement",
    "rescore",
    "shipped_sets",
    "slices",
    "summarize",
    "tools_of",
]


_renamed = renamed_names(__name__, {"Panel": "JudgePanel"})


def __getattr__(name: str) -> object:
    if name == "Panel":
        return _renamed(name)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
