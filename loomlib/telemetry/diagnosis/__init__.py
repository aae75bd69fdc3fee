"""Diagnosis: why an invocation, a session or a study took its time, ranked by the milliseconds at stake."""

from .case import Case, ClientSide, InvocationTimes, client_side
from .diagnose import diagnose, diagnose_session, diagnose_study
from .finding import CONFIDENCES, Diagnosis, Draft, Evidence, Finding, RuleProblem, rank
from .rulebook import Rule, RuleBook, rule_book

__all__ = [
    "CONFIDENCES",
    "Case",
    "ClientSide",
    "Diagnosis",
    "Draft",
    "Evidence",
    "Finding",
    "InvocationTimes",
    "Rule",
    "RuleBook",
    "RuleProblem",
    "client_side",
    "diagnose",
    "diagnose_session",
    "diagnose_study",
    "rank",
    "rule_book",
]
