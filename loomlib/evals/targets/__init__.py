"""Targets of an evaluation: their protocols, plain functions as targets, and simulated users."""

from .functions import CallableTarget
from .protocols import Target, TargetOfWorkers, UserConversation, UserSimulator, as_target

__all__ = ["CallableTarget", "Target", "TargetOfWorkers", "UserConversation", "UserSimulator", "as_target"]
