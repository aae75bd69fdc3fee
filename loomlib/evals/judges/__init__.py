"""Judges: evaluators that call a model, alone or in panels, and measures of their reliability."""

from loomlib.deprecation import renamed_names

from ..evaluators.connecting import StoredSpans
from ..values.judge_error import JudgeFailedError
from .agentcore import AgentCoreJudge
from .answer_judges import AssertionJudge, CorrectnessJudge, HelpfulnessJudge, RubricJudge
from .calibration import Calibration, calibrate
from .factories import JUDGE_FACTORIES
from .judge import ModelJudge
from .judge_input import JudgeInput
from .model import DEFAULT_MODEL, SIMULATED_JUDGE, ConverseJudge, JudgeModel, JudgeReply
from .pairwise import PairVerdict, PairwiseJudge, PairwiseSummary, summarize_pairs
from .panel import JudgePanel, panel_agreement
from .question import Question, ReplyForm
from .ranking import Ranking, RankingJudge
from .recorded import RecordedJudge, RecordingJudge
from .scales import BINARY, CORRECTNESS, FIVE, SCALES, Scale
from .session_spans import SessionSpanReader, spans_from_answer
from .strands_judges import STRANDS_EVALUATORS, StrandsJudge
from .trajectory_judge import TrajectoryJudge
from .variance import JudgeVariance, judge_variance

__all__ = [
    "BINARY",
    "CORRECTNESS",
    "DEFAULT_MODEL",
    "FIVE",
    "JUDGE_FACTORIES",
    "SCALES",
    "SIMULATED_JUDGE",
    "STRANDS_EVALUATORS",
    "AgentCoreJudge",
    "AssertionJudge",
    "Calibration",
    "ConverseJudge",
    "CorrectnessJudge",
    "HelpfulnessJudge",
    "JudgeFailedError",
    "JudgeInput",
    "JudgeModel",
    "JudgePanel",
    "JudgeReply",
    "JudgeVariance",
    "ModelJudge",
    "PairVerdict",
    "PairwiseJudge",
    "PairwiseSummary",
    "Question",
    "Ranking",
    "RankingJudge",
    "RecordedJudge",
    "RecordingJudge",
    "ReplyForm",
    "RubricJudge",
    "Scale",
    "SessionSpanReader",
    "StoredSpans",
    "StrandsJudge",
    "TrajectoryJudge",
    "calibrate",
    "judge_variance",
    "panel_agreement",
    "spans_from_answer",
    "summarize_pairs",
]

__getattr__ = renamed_names(__name__, {"AnswerForm": "ReplyForm", "SpanSource": "SessionSpanReader"})
