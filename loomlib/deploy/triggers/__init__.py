"""Automatic triggers of an agent: schedules, and new objects in S3."""

from .values import AgentTrigger, agent_triggers, find_trigger

__all__ = ["AgentTrigger", "agent_triggers", "find_trigger"]
