"""Autoresearch: try changes to an agent on an eval set, and keep those that a paired test shows to be better."""

from loomlib.deprecation import renamed_names

from .candidates import CandidateDeployer
from .deciding import decide, next_alpha
from .journal import Journal
from .model_proposer import ModelProposer
from .proposals import Proposal
from .research import Autoresearch, Proposer, ResearchState
from .result import ResearchResult
from .trials import Trial

__all__ = [
    "Autoresearch",
    "CandidateDeployer",
    "Journal",
    "ModelProposer",
    "Proposal",
    "Proposer",
    "ResearchResult",
    "ResearchState",
    "Trial",
    "decide",
    "next_alpha",
]

__getattr__ = renamed_names(__name__, {"Laboratory": "CandidateDeployer", "Standing": "ResearchState"})
