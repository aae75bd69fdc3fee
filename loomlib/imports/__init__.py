"""Agents of other services, imported and converted into agents for AgentCore."""
