"""Diagnosis: why an invocation, a session or a study took as long as it did, ranked by the milliseconds at stake."""

from .case import ClientSide, InvocationCase, client_side
from .diagnose import diagnose, diagnose_session, diagnose_study
from .finding import CONFIDENCES, Diagnosis, FindingDraft, FindingEvidence, LatencyFinding, RuleProblem, rank
from .rulebook import Rule, RuleBook, rule_book

__all__ = [
    "CONFIDENCES",
    "ClientSide",
    "Diagnosis",
    "FindingDraft",
    "FindingEvidence",
    "InvocationCase",
    "LatencyFinding",
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
