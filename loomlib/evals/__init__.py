"""Evaluation: eval sets, evaluators and judges, runs, and statistical comparisons.

    import loomlib as loom
    from loomlib.evals import EvalSet

    evalset = EvalSet.read("orders.evalset.json")             # ADK, strands_evals, AgentCore, JSONL, CSV, or Loom's own
    run = agent.evaluate(evalset, ["contains", "trajectory"], repeats=3)
    run                                                       # each evaluator's estimate with its interval
    run.compare(baseline)                                     # paired by case: what changed, and is it significant?

Which evaluator for what (all by name; options as in `"rouge1(threshold=0.8)"`):

| question | evaluator | needs |
|---|---|---|
| does the answer equal a text | `exact`, `normalized` (ignores case, spaces and punctuation) | expected answers |
| does it contain a text or a number | `contains`, `regex:pattern`, `numeric:0.01` (tolerance) | expected answers |
| is a JSON answer right, field by field | `json` | expected answers in JSON |
| how similar are wording and meaning | `rouge1`, `rougeL`; `embedding` (vectors, offline) | expected answers |
| were the right tools called | `trajectory`, `trajectory:in_order`, `trajectory:any_order` | traces, expected tools |
| by names, or some arguments | `trajectory(arguments=False)`, `trajectory(arguments={'date': 'ignore'})` | the same |
| how much does the path differ | `trajectory_edit`; `align` shows where | the same |
| was a tool used, or a forbidden one | `tool_used:name`, `forbidden_tools` | traces |
| were steps or tokens wasted | `redundant_calls`, `efficiency` | traces, for `efficiency` a reference |
| which single call was wrong | `tool_calls` | traces |
| is the final session state right | `final_state` | agents that report it |
| is it correct, whatever the wording | `judge:correctness` | a model, expected answers |
| does it meet given criteria | `rubric`, `judge:assertions` | a model, rubrics or assertions |
| is it helpful; was the trajectory sound | `judge:helpfulness`; `judge:trajectory` | a model; traces |
| the verdict of AgentCore Evaluations | `agentcore:Builtin.Correctness` and others | AgentCore |
| the verdict of another library | `strands:Faithfulness`, `adk:hallucinations_v1` and others | a model |
| your own criterion | a function `(answer_text, case)` that returns a bool, a float or a Score | |

Prefer evaluators that do not call a model: they are exact, free and deterministic. An answer can be right by luck, so
use `trajectory` together with `contains`. Check a judge with `calibrate` against human labels, and its randomness with
`judge_variance`; a panel of judges calls several models, and `PairwiseJudge` compares two answers in both orders.
Locally, the judge is a scripted model, and all its scores are labelled "simulated judge".

Cases that failed to run or to be scored are excluded from averages and counted separately. `run.compare` is
`loomlib.evals.compare.compare`. The names below are imported on first use.
"""

from typing import TYPE_CHECKING

from loomlib.deprecation import renamed_names
from loomlib.dispatch import names_on_use, register

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


# Methods of values that are implemented in packages above them.
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


__getattr__ = names_on_use(
    __name__,
    {
        "autoresearch": "Autoresearch Journal Proposal",
        "capture": "collect_cases",
        "compare": (
            "Comparison GateVerdict Leaderboard Slices Summary compare_slices exit_code gate_at_least gate_not_worse "
            "leaderboard slices summarize"
        ),
        "formats": "shipped_sets",
        "judges": (
            "AgentCoreJudge AssertionJudge ConverseJudge CorrectnessJudge HelpfulnessJudge JudgeFailedError JudgePanel "
            "PairwiseJudge RankingJudge RecordedJudge RecordingJudge RubricJudge StrandsJudge TrajectoryJudge "
            "calibrate judge_variance panel_agreement"
        ),
        "matching.alignment": "Alignment align",
        "registry": "evaluator_plugins make_evaluator",
        "runs": "Budget CallableTarget EvalRun Target aevaluate arescore evaluate rescore",
        "trajectories": "tools_of",
    },
    renamed_names(__name__, {"Panel": "JudgePanel"}),
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
