"""Agents of other services, read into values and turned into agents for AgentCore."""
