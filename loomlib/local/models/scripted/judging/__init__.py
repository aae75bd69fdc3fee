"""The simulated judge: verdicts of the scripted model, computed from the material by documented rules."""

from .verdicts import judge_reply

__all__ = ["judge_reply"]
