"""Autoresearch: changes proposed, tried on an eval set, kept or dropped by a paired verdict, and noted."""

from .candidates import Laboratory
from .deciding import decide, next_alpha
from .journal import Journal
from .model_proposer import ModelProposer
from .proposals import Proposal
from .research import Autoresearch, Proposer, Standing
from .result import ResearchResult
from .trials import Trial

__all__ = [
    "Autoresearch",
    "Journal",
    "Laboratory",
    "ModelProposer",
    "Proposal",
    "Proposer",
    "ResearchResult",
    "Standing",
    "Trial",
    "decide",
    "next_alpha",
]
